// Every example and every dump: machines that come up when somebody asks equal those that come up at the start.
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type World, checkLate, inputOf, questionsIn } from "#test/support/cluster/late-machines.suite.ts";
import { type ClusterInput, readInput } from "../input/read-input.ts";

const TEXTS = /(?:^|\/)(?:cluster|dump|services|shop|manifests\/[^/]+)\.yaml$/;

function inputIn(folder: string): ClusterInput | undefined {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => TEXTS.test(`/${name}`))
    .toSorted();
  if (names.length === 0) return undefined;
  const read = readInput(names.map((name) => ({ name, text: readFileSync(`${folder}/${name}`, "utf8") })));
  return "input" in read ? read.input : undefined;
}

const INPUTS = ["examples", "examples/dumps"]
  .flatMap((root) =>
    readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() && entry.name !== "dumps" ? [`${root}/${entry.name}`] : [],
    ),
  )
  .flatMap((folder) => {
    const input = inputIn(folder);
    return input === undefined ? [] : [{ folder, input }];
  });

it("there are at least 25 inputs", () => {
  expect(INPUTS.length).toBeGreaterThanOrEqual(25);
});

describe.each(INPUTS)("$folder", ({ input }) => {
  it("late machines equal early ones", async () => {
    const { nodes } = input.file;
    const questions = nodes.map(({ name }) => [`node/${name}`, "service/default/kubernetes"] as const);
    await checkLate({ input, questions: questions.slice(0, 3), asksPods: true });
    expect.hasAssertions();
  });
});

describe("a cluster", () => {
  /** Nodes with addresses for three or four of their four or five pods. */
  const refused = {
    second: "build: ws2025, podCIDR: 10.244.1.0/29",
    third: "build: ws2025, podCIDR: 10.244.2.0/29",
  };
  it.each<readonly [string, World, readonly string[]]>([
    ["of Overlay", { network: "{ driver: Overlay }" }, ["win-2", "win-3"]],
    ["of L2Tunnel", { network: "{ driver: L2Tunnel }" }, ["win-2", "win-3"]],
    ["of NAT, which kube-proxy does not serve", { network: "{ driver: NAT }" }, []],
    ["of win-overlay", { network: "{ plugin: win-overlay }" }, ["win-2", "win-3"]],
    ["of flannel host-gw", { network: "{ plugin: flannel, backend: host-gw }" }, ["win-2", "win-3"]],
    ["of flannel vxlan", { network: "{ plugin: flannel, backend: vxlan }" }, ["win-2", "win-3"]],
    ["of different builds", { third: "build: ws2019" }, ["win-2"]],
    ["of different modes", { third: "build: ws2025, compat: hardened" }, ["win-2"]],
    ["with refused pods", { second: "build: ws2025, podCIDR: 10.244.9.0/29" }, ["win-2", "win-3"]],
    [
      "of flannel vxlan with refused pods",
      { network: "{ plugin: flannel, backend: vxlan }", ...refused },
      ["win-2", "win-3"],
    ],
    [
      "of flannel host-gw with refused pods",
      { network: "{ plugin: flannel, backend: host-gw }", ...refused },
      ["win-2", "win-3"],
    ],
  ])("%s has late machines that equal early ones", async (_name, world, waiting) => {
    expect(await checkLate({ input: inputOf(world), questions: questionsIn(), asksPods: true })).toEqual(
      waiting,
    );
  });
});
