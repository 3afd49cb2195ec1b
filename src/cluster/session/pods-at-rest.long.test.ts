// Pods of a dump that wait until somebody asks about their node: late or early, on sound nodes and on those where none may wait.
import { describe, expect, it } from "vitest";
import { checkLate, dumpOf, started } from "#test/support/cluster/late-machines.suite.ts";
import { openSession } from "./open-session.ts";

/** The text with the address of the second pod of a node in place of that of the first. */
function withAddress(replace: (first: string, second: string) => readonly [from: string, to: string]) {
  return (text: string): string => {
    const addresses = [...text.matchAll(/podIP: (10\.128\.1\.\d+)/g)].flatMap(([, address]) => address ?? []);
    const [first = "", second = ""] = addresses;
    const [from, to] = replace(first, second);
    return text.replace(
      `podIP: ${from}\n    podIPs:\n    - ip: ${from}\n`,
      `podIP: ${to}\n    podIPs:\n    - ip: ${to}\n`,
    );
  };
}

/** All pods of two nodes are processes of the node, which quarrel about a port. */
function withHostProcesses(text: string): string {
  return text.replaceAll(
    /(nodeName: win-000[23]\n[^]*?)securityContext: \{\}\n/g,
    (_all, before: string) =>
      `hostNetwork: true\n    ${before}securityContext:\n      windowsOptions:\n        hostProcess: true\n`,
  );
}

describe("pods of a dump", () => {
  it("that start late equal those that start early", async () => {
    const { session } = await openSession(dumpOf(), undefined, "when asked");
    expect(started(session)).toEqual(["win-0001"]);
    expect(await checkLate({ input: dumpOf(), questions: [], asksPods: true })).toHaveLength(5);
  });

  it.each([
    ["an address twice", withAddress((first, second) => [first, second])],
    ["the gateway's address", withAddress((first) => [first, "10.128.1.1"])],
    ["an address of another node", withAddress((first) => [first, "10.128.2.77"])],
  ])("start at once on a node with %s", async (_name, change) => {
    const { session } = await openSession(dumpOf(change), undefined, "when asked");
    expect(started(session)).toEqual(["win-0001", "win-0002"]);
    expect(session.notes()).toEqual((await openSession(dumpOf(change))).session.notes());
  });

  it("of the node's own network have started", async () => {
    const { session } = await openSession(dumpOf(withHostProcesses), undefined, "when asked");
    expect(started(session)).toEqual(["win-0001", "win-0002", "win-0003"]);
    expect(session.notes().map(({ code }) => code)).toContain("pod-port-in-use");
    await checkLate({ input: dumpOf(withHostProcesses), questions: [], asksPods: true });
  });
});
