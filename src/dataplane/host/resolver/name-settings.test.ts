/** Name servers and suffixes of a Windows machine, from the keys of its registry. */
import { expect, it } from "vitest";
import { ip } from "#test/support/dataplane/engine-kit.ts";
import type { DnsSettings } from "../stack.ts";
import { type NamedInterface, resolverSettings } from "./candidate-names.ts";

const NOTHING: DnsSettings = { domain: "", search: [], servers: [] };

function settings(servers: readonly string[], search: readonly string[] = [], domain = ""): DnsSettings {
  return { domain, search, servers: servers.map(ip) };
}

function link(
  metric: number,
  configured: DnsSettings | undefined,
  learned: readonly string[] = [],
): NamedInterface {
  return { metric, names: { configured, learned: learned.map(ip) } };
}

it("those of one interface are the machine's, as they are", () => {
  const own = settings(["10.96.0.10"], ["shop.svc.cluster.local", "svc.cluster.local"]);
  expect(resolverSettings(NOTHING, [link(15, own), { metric: 5, names: undefined }])).toBe(own);
  expect(resolverSettings(own, [])).toBe(own);
});

it("NameServer takes precedence over DhcpNameServer, and an empty one does not", () => {
  expect(resolverSettings(NOTHING, [link(15, settings(["10.0.0.53"]), ["10.0.0.1"])]).servers).toEqual([
    ip("10.0.0.53"),
  ]);
  expect(resolverSettings(NOTHING, [link(15, NOTHING, ["10.0.0.1"])]).servers).toEqual([ip("10.0.0.1")]);
  expect(resolverSettings(NOTHING, [link(15, undefined, ["10.0.0.1"])]).servers).toEqual([ip("10.0.0.1")]);
  expect(resolverSettings(settings(["10.0.0.2"]), [link(15, undefined, ["10.0.0.1"])]).servers).toEqual([
    ip("10.0.0.2"),
  ]);
});

it("the interface with the lowest metric is asked first, and a server once", () => {
  const slow = link(25, settings(["10.0.0.3", "10.0.0.4"], ["slow.example"]));
  const fast = link(5, settings(["10.0.0.4"], ["fast.example"], "fast.example"));
  expect(resolverSettings(NOTHING, [slow, fast])).toEqual({
    domain: "fast.example",
    search: ["fast.example", "slow.example"],
    servers: [ip("10.0.0.4"), ip("10.0.0.3")],
  });
});

it("the SearchList of the machine takes the place of those of the interfaces", () => {
  const machine = settings([], ["corp.example"]);
  expect(resolverSettings(machine, [link(15, settings(["10.96.0.10"], ["pod.example"]))])).toEqual({
    domain: "",
    search: ["corp.example"],
    servers: [ip("10.96.0.10")],
  });
});
