// `mullion get` of what OVN consists of, in the cluster of examples/ovn-transparent.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { get } from "./get.ts";
import { OVN_KINDS, type OvnKind } from "./listings-ovn.ts";

const CLUSTER = readFileSync("examples/ovn-transparent/cluster.yaml", "utf8");
const OBJECTS = readFileSync("examples/ovn-transparent/objects.yaml", "utf8");

interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function ask(cluster: string, ...argv: readonly string[]): Promise<Answer> {
  const terminal = new MemoryTerminal({ "cluster.yaml": cluster, "objects.yaml": OBJECTS });
  const code = await runMullion({
    argv: ["get", ...argv, "-f", "cluster.yaml"],
    verbs: { get },
    terminal,
    version: "0",
    isDebug: false,
  });
  return { code, out: terminal.output, err: terminal.errors };
}

describe("kinds of OVN", () => {
  const listed = new Map<OvnKind, string>();
  beforeAll(async () => {
    const { out } = await ask(CLUSTER, OVN_KINDS.join(","));
    const tables = out.split("\n\n");
    for (const [index, kind] of OVN_KINDS.entries())
      listed.set(kind, (tables[index] ?? "").replaceAll(/ {2,}/g, " | "));
  });

  // Names and numbers of control-planes.md §4.2: one gateway router for each node, a Service's load balancer by its name.
  it.each<[OvnKind, string]>([
    ["logicalswitches", "logicalswitch/win-1 | 10.128.0.0/24 | 4 | 1 | 5"],
    ["logicalrouters", "logicalrouter/GR_win-2 | win-2 | 2 | 2 | 0 | 2 | 4"],
    ["logicalswitchports", "win-2 | default_api | <none> | 0a:58:0a:80:01:03 10.128.1.3 | true"],
    ["logicalrouterports", "ovn_cluster_router | rtos-win-1 | 0a:58:0a:80:00:01 | 10.128.0.1/24 | win-1"],
    [
      "ovnloadbalancers",
      "ovnloadbalancer/Service_default/web_TCP_cluster | tcp | 10.96.0.20:80 → 10.128.0.4:8080,10.128.1.3:8080",
    ],
    ["acls", "to-lport | 1001 | allow-related | ip4.src==10.128.0.2 | Node win-1"],
    ["chassis", "chassis/win-1 | win-1 | geneve 10.0.0.11 | 8"],
  ])("%s", (kind, line) => {
    expect(listed.get(kind)?.split("\n")).toContain(line);
  });

  it("one by its name, in the spelling of OVN's tables, as data", async () => {
    const { code, out } = await ask(CLUSTER, "Logical_Switch_Port", "default_web", "-o", "json");
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { name: "default_web", options: { "requested-chassis": "win-1" } },
    ]);
  });

  it.each([
    [
      "a cluster without OVN",
      CLUSTER.replace(/ {2}plugin: .*\n.*\n/, "  plugin: flannel\n"),
      [],
      /no OVN runs/,
    ],
    ["one node of it", CLUSTER, ["--node", "win-1"], /--node is for pods, .* not for chassis/],
  ])("are refused for %s", async (_title, cluster, more, message) => {
    const { code, err } = await ask(cluster, "chassis", ...more);
    expect([code, err]).toEqual([2, expect.stringMatching(message)]);
  });
});
