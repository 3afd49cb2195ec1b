import { describe, expect, it } from "vitest";
import { compareAfterChanges, type Change } from "#test/support/cluster/kept-results.suite.ts";
import {
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  service,
  type SessionWorld,
} from "#test/support/cluster/session-world.ts";
import type { VerifyReport } from "../report.ts";
import type { RunningCluster } from "../../session/running-cluster.ts";
import type { ClusterSession } from "../../session/session.ts";
import { KeptResults } from "./kept-results.ts";
import { verifyAgain } from "./verify-again.ts";

const OBJECTS = [
  deployment("a", "windows", 2),
  deployment("b", "linux", 1),
  service("web", "selector: { app: a }, ports: [{ port: 80, targetPort: 8080 }]"),
  service("other", "selector: { app: b }, ports: [{ port: 80, targetPort: 8080 }]"),
].join("");

class Judged {
  private readonly known = new KeptResults();
  /** Nodes that copies of the cluster have held. */
  readonly copied: Set<string> = new Set();
  readonly world: SessionWorld;

  constructor(world: SessionWorld) {
    this.world = world;
  }

  static async open(): Promise<Judged> {
    return new Judged(await openSessionWorld(clusterText(), OBJECTS));
  }

  async judge(at: string, isWhole = false): Promise<VerifyReport> {
    const { session } = this.world;
    const options = { troubles: session.troubles(), limits: session.limits(), at, isWhole };
    const askInSteps: ClusterSession["askInSteps"] = (question, touched) =>
      session.askInSteps((cluster) => {
        const held = cluster.nodes.filter(({ spec }) => cluster.part?.has(spec.name) !== false);
        for (const { spec } of held) this.copied.add(spec.name);
        return question(cluster);
      }, touched);
    return verifyAgain(
      Object.assign(Object.create(session) as RunningCluster, { askInSteps }),
      this.known,
      options,
    );
  }
}

function judgedAgain({ cells }: VerifyReport): readonly string[] {
  const again = cells.filter(({ keptFrom, attempts }) => keptFrom === undefined && attempts > 0);
  return again.map(({ flow, from, to }) => `${flow} ${from} ${to}`);
}

describe("a cluster that is judged again", () => {
  it("keeps everything when nothing has changed, and 30 s change nothing", async () => {
    const judged = await Judged.open();
    const first = await judged.judge("first");
    expect(first.kept).toBeUndefined();
    expect(first.cells.every(({ keptFrom }) => keptFrom === undefined)).toBe(true);
    await judged.world.session.passTime(30_000);
    const second = await judged.judge("second");
    expect(second.kept).toEqual({ cells: first.counts.tried, of: first.counts.tried, since: "first" });
    expect(second.counts).toEqual(first.counts);
    expect((await judged.judge("third")).kept?.since).toBe("first");
  });

  it("judges everything when that is asked for", async () => {
    const judged = await Judged.open();
    const first = await judged.judge("first");
    expect(await judged.judge("second", true)).toEqual(first);
    expect((await judged.judge("third")).kept?.since).toBe("second");
  });

  it("judges a Service again that has changed, and what has its pods, and no other Service", async () => {
    const judged = await Judged.open();
    await judged.judge("first");
    await apply(
      judged.world,
      service("other", "selector: { app: b }, ports: [{ port: 81, targetPort: 8080 }]"),
    );
    const again = judgedAgain(await judged.judge("second"));
    expect(again.filter((cell) => cell.endsWith(" service/default/other"))).not.toEqual([]);
    expect(again.filter((cell) => cell.endsWith(" service/default/web"))).toEqual(
      again.filter((cell) => cell.includes("pod/default/b-") && cell.endsWith(" service/default/web")),
    );
    expect(again.filter((cell) => !cell.includes("other") && !cell.includes("pod/default/b-"))).toEqual([]);
  });

  it("copies the machines that its cells touch, and no other", async () => {
    // win-3 stands for nodes without pods, and nobody asks win-4.
    const idle = ["win-3", "win-4"].map(
      (name, index) => `  - { name: ${name}, os: windows, address: 10.0.0.3${index} }\n`,
    );
    const text = clusterText().replace("loadBalancers:", `${idle.join("")}loadBalancers:`);
    const judged = new Judged(await openSessionWorld(text, OBJECTS));
    await judged.judge("first");
    judged.copied.clear();
    await judged.judge("second");
    expect([...judged.copied]).toEqual([]);
    await apply(
      judged.world,
      service("other", "selector: { app: b }, ports: [{ port: 81, targetPort: 8080 }]"),
    );
    await judged.judge("third");
    expect(judged.copied).toContain("linux-1");
    expect(judged.copied).not.toContain("win-4");
  });

  it("judges what is asked through a node port that has changed, and nothing else of its nodes", async () => {
    const open = (nodePort: number): string =>
      service(
        "other",
        `type: NodePort, selector: { app: b }, ports: [{ port: 80, targetPort: 8080, nodePort: ${nodePort} }]`,
      );
    const judged = await Judged.open();
    await apply(judged.world, open(30_081));
    await judged.judge("first");
    await apply(judged.world, open(30_082));
    const again = judgedAgain(await judged.judge("second"));
    expect(again.filter((cell) => cell.includes("node-port"))).not.toEqual([]);
    // Its pods answer for it, and whoever asks them may meet it.
    const others = again.filter((cell) => !/node-port|service\/default\/other|pod\/default\/b-/.test(cell));
    expect(others).toEqual([]);
  });

  it("always judges what came out otherwise than expected", async () => {
    const judged = await Judged.open();
    const { session } = judged.world;
    const [node] = session.cluster.nodes;
    for (const port of node?.hns?.listSwitches().flatMap((each) => [...each.listPorts()]) ?? [])
      port.vfp.isBlocked = true;
    const first = await judged.judge("first");
    expect(first.counts.findings).toBeGreaterThan(0);
    const { kept } = await judged.judge("second");
    expect(kept?.cells).toBe(
      first.counts.tried - first.findings.filter(({ cell }) => cell !== undefined).length,
    );
  });

  it("judges Services again when their rules are no longer found, though everybody still has them", async () => {
    const judged = await Judged.open();
    await judged.judge("first");
    const { nodes } = judged.world.session.cluster;
    const netfilter = nodes.find(({ spec }) => spec.name === "linux-1")?.host.root.netfilter;
    const { sets } = netfilter as unknown as {
      readonly sets: readonly { readonly hooks: Map<string, unknown> }[];
    };
    expect(sets.map(({ hooks }) => hooks.delete("nat-prerouting"))).toContain(true);
    const { cells } = await judged.judge("second");
    const asked = cells.filter(
      ({ flow, from, attempts }) =>
        attempts > 0 && flow === "pod-to-cluster-ip" && from.startsWith("pod/default/b-"),
    );
    expect(new Set(asked.map(({ verdict }) => verdict))).toEqual(new Set(["finding"]));
  });

  // A slice of the long run.
  it("says what a whole verification says, whatever has changed", async () => {
    const changes: readonly Change[] = [
      { do: "serve", app: "b", kind: "plain", port: 81 },
      { do: "wait", seconds: 30 },
      { do: "fault", node: "win-2", seed: 11 },
      { do: "kill", app: "a", which: 0 },
    ];
    const { kept, mixed } = await compareAfterChanges(changes);
    expect(kept).toBeGreaterThan(0);
    expect(mixed).toBeGreaterThan(0);
  });
});
