// Cluster files stand for the files that an operator would write: the same rules look at them.
import { describe, expect, it } from "vitest";
import { lintExample } from "#test/support/lint/example-input.ts";

function codesOf(network: string, more = ""): readonly string[] {
  const text = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: c}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11${more}}
network: {plugin: flannel${network}}
`;
  const { findings } = lintExample({ files: [{ name: "cluster.yaml", text }] });
  return findings.map(({ line, severity, code }) => `${line} ${severity} ${code}`);
}

describe("the VNI of a cluster with flannel (windows-networking-documentation.md §8: 4096 only)", () => {
  it.each([
    ["", []],
    [", vni: 4096", []],
    [", vni: 1", ["6 error flannel-vni-below-4096"]],
    [", vni: 4095", ["6 error flannel-vni-below-4096"]],
    [", vni: 4097", ["6 warning flannel-vni-other-than-4096"]],
    [", vni: 65535", ["6 warning flannel-vni-other-than-4096"]],
    [", vni: 70000", ["6 warning cluster-file-vni-too-large"]],
  ])("%s", (network, codes) => {
    expect(codesOf(network)).toEqual(codes);
  });
});

describe("the exceptions of OutBoundNAT (§9 row 2)", () => {
  it.each([
    ["vxlan", "[10.244.0.0/16, 10.96.0.0/12]", []],
    ["vxlan", "[10.96.0.0/12]", ["cni-exception-list-without-pods"]],
    ["vxlan", "[10.244.0.0/16]", ["cni-exception-list-without-services"]],
    // flannel adds its network for win-bridge.
    ["host-gw", "[10.96.0.0/12]", []],
    ["host-gw", "[10.244.0.0/16, 10.96.0.0/12, 203.0.113.0/24]", ["cni-exception-list-external"]],
    ["host-gw", "[0.0.0.0/0]", ["cni-exception-list-external"]],
  ])("%s %s", (backend, exceptions, codes) => {
    const found = codesOf(`, backend: ${backend}, outboundNAT: {exceptions: ${exceptions}}`);
    expect(found.map((each) => each.split(" ").at(-1))).toEqual(codes);
  });
});

describe("sourceVip.json on a node (§9 row 5)", () => {
  const file = (name: string, text: string): string =>
    `, podCIDR: 10.244.1.0/24, files: {'${name}': '${text}'}`;
  const answer = (ip: string): string => `{"ip4":{"ip":"${ip}/24"}}`;

  it.each([
    [String.raw`C:\k\sourceVip.json`, answer("10.244.1.2"), []],
    [String.raw`C:\k\SourceVip.json`, answer("10.244.7.2"), ["5 error kube-proxy-source-vip-invalid"]],
    ["/k/sourceVip.json", answer("10.244.7.2"), ["5 error kube-proxy-source-vip-invalid"]],
    [String.raw`C:\k\other.json`, answer("10.244.7.2"), []],
    [String.raw`C:\k\sourceVip.json`, "no JSON", []],
  ])("%s %s", (name, text, codes) => {
    expect(codesOf("", file(name, text))).toEqual(codes);
  });
});
