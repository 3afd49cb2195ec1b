// In which state a node is when the cluster comes up: its own name, its disk, how flanneld is started.
import { describe, expect, it } from "vitest";
import { parseClusterFile } from "./parse-cluster-file.ts";

const FLANNEL = "network: {plugin: flannel}\n";

function fileWith(fields: string, network = FLANNEL, os = "windows"): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: state}
nodes:
  - {name: win-1, os: ${os}, address: 10.0.0.11${fields}}
${network}`;
}

function nodeOf(text: string): object {
  const result = parseClusterFile(text, "cluster.yaml");
  if ("problems" in result) throw new Error(JSON.stringify(result.problems));
  return result.cluster.nodes[0] ?? {};
}

function problemsOf(text: string): readonly string[] {
  const result = parseClusterFile(text, "cluster.yaml");
  const problems = "problems" in result ? result.problems : [];
  return problems.map(({ line, path, message }) => `${line} ${path}: ${message}`);
}

describe("a node's state", () => {
  it("by default is that of a fresh machine, on which a service starts flanneld", () => {
    expect(nodeOf(fileWith(""))).toMatchObject({
      hostname: "win-1",
      files: {},
      addressDelayMs: 0,
      flanneld: { iface: "10.0.0.11", isRestarted: true },
    });
  });

  it("has a name, files and delays of its own", () => {
    const text = fileWith(
      String.raw`, hostname: WIN-8QT3L1K2V9E, files: {'C:\k\sourceVip.json': '{}'}, addressDelay: 20, flanneld: {iface: Ethernet 2, restart: never}`,
    );
    expect(nodeOf(text)).toMatchObject({
      hostname: "WIN-8QT3L1K2V9E",
      files: { [String.raw`C:\k\sourceVip.json`]: "{}" },
      addressDelayMs: 20_000,
      flanneld: { iface: "Ethernet 2", isRestarted: false },
    });
  });

  it.each([
    [", hostname: win_1", FLANNEL, '5 nodes[0].hostname: "win_1" is not a computer name'],
    [", files: {a: 1}", FLANNEL, "5 nodes[0].files.a: the value of a file must be text"],
    [", files: [a]", FLANNEL, "5 nodes[0].files: must be a mapping, but is a list"],
    [", addressDelay: 601", FLANNEL, "5 nodes[0].addressDelay: 601 is not a number of seconds"],
    [
      ", flanneld: {iface: ' '}",
      FLANNEL,
      '5 nodes[0].flanneld.iface: " " is not the name or address of an adapter',
    ],
    [", flanneld: {restart: never}", "", "5 nodes[0].flanneld: flanneld does not run without plugin flannel"],
    [", files: {a: b}", "", "5 nodes[0].files: only the programs of flannel read files of the node"],
    [", addressDelay: 1", "", "5 nodes[0].addressDelay: only flanneld on Windows waits for the address"],
  ])("%s %s", (fields, network, problem) => {
    const [first] = problemsOf(fileWith(fields, network));
    expect(first).toContain(problem);
  });

  it("a Linux node has no name that a program of Windows takes", () => {
    expect(problemsOf(fileWith(", hostname: box", FLANNEL, "linux"))).toEqual([
      "5 nodes[0].hostname: only programs of Windows nodes look at it",
    ]);
  });
});
