/** Which plugins of a configuration rules look at. */
import { describe, expect, it } from "vitest";
import { lint } from "../lint.ts";
import { SourceText } from "#core/base/source-text.ts";

/** Codes that are found, each once. */
function codesOf(document: object, file = "10-pods.conflist"): readonly string[] {
  const source = new SourceText(file, JSON.stringify(document));
  return [...new Set(lint({ sources: [source] }).findings.map(({ code }) => code))].toSorted();
}

const POLICY = {
  name: "EndpointPolicy",
  value: { Type: "OutBoundNAT", Settings: { Exceptions: ["10.244.0.0/16"] } },
};
const BRIDGE = {
  type: "win-bridge",
  apiVersion: 2,
  policies: [POLICY],
  dns: { nameservers: ["10.96.0.10"], search: ["svc.cluster.local"] },
  ipam: { type: "host-local", subnet: "10.244.3.0/24", rangeStart: "10.244.3.3" },
};
const CAPABILITIES = { dns: true, portMappings: true };

function list(...plugins: readonly object[]): object {
  return { cniVersion: "1.0.0", name: "cbr0", plugins };
}

describe("the delegate of mullion-netns", () => {
  it("is looked at as any plugin for HNS; the capabilities are those of mullion-netns", () => {
    const netns = { type: "mullion-netns", capabilities: CAPABILITIES, delegate: BRIDGE };
    expect(codesOf(list(netns))).toEqual([]);
    const { apiVersion: _left, ...old } = BRIDGE;
    expect(codesOf(list({ ...netns, delegate: old }))).toContain("cni-api-version-missing");
    const named = { ...netns, delegate: { ...BRIDGE, type: "l2bridge" } };
    expect(codesOf(list(named))).toContain("cni-plugin-name-outdated");
    const { capabilities: _none, ...without } = netns;
    expect(codesOf(list(without))).toEqual(codesOf(list(BRIDGE)));
  });

  it("may be flannel, whose delegate is looked at in turn", () => {
    const flannel = { type: "flannel", delegate: { type: "win-overlay", apiVersion: 1, policies: [POLICY] } };
    const netns = { type: "mullion-netns", capabilities: CAPABILITIES, delegate: flannel };
    expect(codesOf(list(netns))).toContain("cni-api-version-missing");
  });

  it("stands beside plugins for Linux, which are for the pod's own namespace", () => {
    const netns = { type: "mullion-netns", capabilities: CAPABILITIES, delegate: BRIDGE };
    expect(codesOf(list(netns, { type: "loopback" }))).toEqual([]);
    expect(codesOf(list({ ...BRIDGE, capabilities: CAPABILITIES }, { type: "loopback" }))).toEqual([
      "cni-linux-plugin-on-windows",
    ]);
  });
});

describe("plugins that make endpoints in HNS", () => {
  it.each(["nat", "sdnbridge", "sdnoverlay"])("%s knows fewer versions of CNI", (type) => {
    const plugin = { type, ipam: { type: "host-local", subnet: "10.244.3.0/24" } };
    const document = { cniVersion: "1.1.0", name: "cbr0", plugins: [plugin] };
    expect(codesOf(document)).toContain("cni-version-not-supported");
  });
});
