// What is broken in an OVN cluster is red with its code, and policies are what they say.
import { describe, expect, it } from "vitest";
import type { OvsdbOperation } from "#contracts/ovsdb/client.ts";
import { validateVerification } from "#test/support/cluster/report-schemas.ts";
import { policy } from "#test/support/policy/policy-cluster.ts";
import {
  EXAMPLE,
  OBJECTS,
  codeOf,
  saidOf,
  traced,
  verified,
  write,
} from "#test/support/cluster/ovn-world.ts";
import { openSessionWorld } from "#test/support/cluster/session-world.ts";

describe("the example", () => {
  it("is green with what the documentation promises, in valid JSON", async () => {
    const report = verified(await openSessionWorld(EXAMPLE, OBJECTS));
    expect(report.findings).toEqual([]);
    expect(validateVerification(JSON.parse(JSON.stringify(report)))).toBe(true);
  });

  it("is red with an ACL that drops, and with the flow's own name", async () => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS);
    await write(
      world,
      {
        op: "insert",
        table: "ACL",
        row: { priority: 2000, direction: "to-lport", match: 'outport == "default_api"', action: "drop" },
        "uuid-name": "a",
      },
      {
        op: "mutate",
        table: "Logical_Switch",
        where: [["name", "==", "win-2"]],
        mutations: [["acls", "insert", ["named-uuid", "a"]]],
      },
    );
    const report = traced(world, "pod/client", "pod/api");
    expect(saidOf(report)).toContain("ls_out_acl, priority 3000");
    expect(codeOf(world, "pod/client", "pod/api")).toBe("ovn-packet-dropped");
  });

  const byName = (name: string) => [["name", "==", name]] as const;
  it.each<[title: string, readonly OvsdbOperation[], to: string, port: number, code: string]>([
    [
      "an ACL that drops",
      [
        {
          op: "insert",
          table: "ACL",
          row: { priority: 2000, direction: "to-lport", match: 'outport == "default_api"', action: "drop" },
          "uuid-name": "a",
        },
        {
          op: "mutate",
          table: "Logical_Switch",
          where: byName("win-2"),
          mutations: [["acls", "insert", ["named-uuid", "a"]]],
        },
      ],
      "pod/api",
      8080,
      "ovn-packet-dropped",
    ],
    [
      "a port that is to be on another chassis",
      [
        {
          op: "update",
          table: "Logical_Switch_Port",
          where: byName("default_api"),
          row: { options: ["map", [["requested-chassis", "win-9"]]] },
        },
      ],
      "pod/api",
      8080,
      "ovn-port-unbound",
    ],
    [
      "port security with another MAC",
      [
        {
          op: "update",
          table: "Logical_Switch_Port",
          where: byName("default_client"),
          row: { port_security: "0a:58:0a:80:00:99 10.128.0.3" },
        },
      ],
      "pod/api",
      8080,
      "neighbor-unresolved",
    ],
    [
      "a gateway router without its route",
      [
        {
          op: "update",
          table: "Logical_Router",
          where: byName("GR_win-1"),
          row: { static_routes: ["set", []] },
        },
      ],
      "external",
      443,
      "ovn-packet-dropped",
    ],
  ])("is red with %s", async (_title, operations, to, port, code) => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS);
    expect(codeOf(world, "pod/client", to, port)).toBe("answered");
    await write(world, ...operations);
    expect(codeOf(world, "pod/client", to, port)).toBe(code);
    expect(verified(world).findings).not.toEqual([]);
  });
});

describe("NetworkPolicies", () => {
  it.each([
    [
      "everything denied",
      "{ podSelector: {}, policyTypes: [Ingress] }",
      "ovn-packet-dropped",
      "ovn-packet-dropped",
    ],
    [
      "one peer allowed",
      "{ podSelector: { matchLabels: { app: web } }, ingress: [{ from: [{ podSelector: { matchLabels: { app: web } } }] }] }",
      "ovn-packet-dropped",
      "answered",
    ],
    [
      "another port allowed",
      "{ podSelector: { matchLabels: { app: web } }, ingress: [{ ports: [{ port: 81 }] }] }",
      "ovn-packet-dropped",
      "ovn-packet-dropped",
    ],
    [
      "a range allowed but for a part",
      "{ podSelector: { matchLabels: { app: web } }, ingress: [{ from: [{ ipBlock: { cidr: 10.128.0.0/16, except: [10.128.1.0/24] } }] }] }",
      "answered",
      "ovn-packet-dropped",
    ],
    [
      "a range of ports",
      "{ podSelector: { matchLabels: { app: web } }, ingress: [{ ports: [{ port: 8000, endPort: 8100 }] }] }",
      "answered",
      "answered",
    ],
  ])("%s", async (_title, spec, fromClient, fromApi) => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS, policy(spec));
    const said = saidOf(traced(world, "pod/client", "pod/web"));
    if (fromClient !== "answered")
      expect(said).toContain("(ACL NP:default:Ingress, to-lport 1000 drop, NetpolNamespace default)");
    expect([codeOf(world, "pod/client", "pod/web"), codeOf(world, "pod/api", "pod/web")]).toEqual([
      fromClient,
      fromApi,
    ]);
  });
});
