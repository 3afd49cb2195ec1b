import { describe, expect, it } from "vitest";
import type { NetworkName } from "#test/support/cluster/every-network.suite.ts";
import { NETWORKS } from "#test/support/cluster/every-network.suite.ts";
import { TWIN_STATES, twinTexts } from "#test/support/cluster/naive-twin.suite.ts";
import { askTwin, changedAnswers, raiseTwin, twinQuestions } from "#test/support/cluster/naive-twin.ts";
import { compareRaised, countDeviations } from "#test/support/cluster/node-classes.suite.ts";
import { largeDumpText } from "#test/support/cluster/large-dump.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { comparedFields, isLeftOut } from "./left-out.ts";
import { type Machine, Machines } from "./machine.ts";

const NO_MEMORIES = { of: () => ({}), isUp: () => true, shared: [] };
const SEED = Number(process.env["SEED"] ?? 0);
const NAMES = Object.keys(NETWORKS) as readonly NetworkName[];

/** Everything of a machine that may change, as the comparison meets it. */
function partsOf({ parts, outside }: Machine): readonly object[] {
  const met = new Set<object>(outside.keys());
  const found: object[] = [];
  const waiting: unknown[] = [parts];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== "object" || value === null || met.has(value)) continue;
    met.add(value);
    found.push(value);
    if (value instanceof Map)
      waiting.push(...(value as Map<unknown, unknown>).keys(), ...(value as Map<unknown, unknown>).values());
    else if (value instanceof Set) waiting.push(...(value as Set<unknown>));
    if (!ArrayBuffer.isView(value)) waiting.push(...(Object.values(value) as readonly unknown[]));
  }
  return found;
}

function turnRound(value: object): boolean {
  if (Object.isFrozen(value)) return false;
  if (value instanceof Map) {
    const entries = [...(value as Map<unknown, unknown>)].toReversed();
    value.clear();
    for (const [key, each] of entries) value.set(key, each);
  } else if (value instanceof Set) {
    const members = [...(value as Set<unknown>)].toReversed();
    value.clear();
    for (const each of members) value.add(each);
  } else return false;
  return true;
}

function answersOf(cluster: Cluster): ReturnType<typeof askTwin> {
  return askTwin(cluster, twinQuestions(cluster));
}

/** Which back end answers is chance. */
function withoutBackEnds(answers: ReturnType<typeof askTwin>): ReturnType<typeof askTwin> {
  return new Map(
    [...answers].map(([id, answer]) => [
      id,
      id.includes(" service/") ? answer.replace(/ by \S+/, "") : answer,
    ]),
  );
}

describe("machines of one class", () => {
  it.each(NAMES.flatMap((network) => TWIN_STATES.map((state) => [network, state] as const)))(
    "are equal: %s, %s",
    async (network, state) => {
      const { differences, compared } = await compareRaised(twinTexts(network, state, 12));
      expect(differences).toEqual([]);
      expect(compared).toBeGreaterThan(5);
    },
  );

  it.each(["none", "host-gw", "vxlan"] as const)("are equal in a dump, network %s", async (network) => {
    const text = largeDumpText({ nodes: 12, pods: 70, services: 7, network });
    const { differences, compared } = await compareRaised([{ name: "dump.yaml", text }]);
    expect(differences).toEqual([]);
    expect(compared).toBeGreaterThan(0);
  });

  it("have tables in any order: turned round, they give the same answers", async () => {
    const { cluster } = await raiseTwin(twinTexts("L2Bridge", "healthy", 3));
    const copy = forkCluster(cluster);
    const machines = new Machines(copy, NO_MEMORIES);
    const turned = copy.nodes.flatMap((node) => partsOf(machines.of(node))).filter((each) => turnRound(each));
    expect(turned.length).toBeGreaterThan(100);
    expect(changedAnswers(answersOf(cluster), answersOf(copy))).toEqual([]);
  });

  it("may have otherwise what is left out: it changes no answer", async () => {
    const { cluster } = await raiseTwin(twinTexts("L2Bridge", "healthy", 3));
    const copy = forkCluster(cluster);
    const machines = new Machines(copy, NO_MEMORIES);
    let changed = 0;
    for (const part of copy.nodes.flatMap((node) => partsOf(machines.of(node)))) {
      const kept = new Set(isLeftOut(part) ? [] : comparedFields(part));
      for (const [name, value] of Object.entries(part)) {
        if (kept.has(name) || typeof value !== "number" || Object.isFrozen(part)) continue;
        Object.assign(part, { [name]: value + 1 });
        changed++;
      }
    }
    expect(changed).toBeGreaterThan(10);
    const [before, after] = [cluster, copy].map((each) => withoutBackEnds(answersOf(each)));
    expect(changedAnswers(before ?? new Map(), after ?? new Map())).toEqual([]);
  });
});

describe("one deviation among many", () => {
  it.each(["L2Bridge", "Overlay"] as const)(
    "is found among twelve nodes, and nothing else is: %s",
    async (network) => {
      const seeds = Array.from({ length: 50 }, (_, step) => 5 * step + (SEED % 5));
      const { named, missed, falseAlarms } = await countDeviations(twinTexts(network, "healthy", 12), seeds);
      expect(missed).toEqual([]);
      expect(falseAlarms).toEqual([]);
      expect(named).toBeGreaterThan(30);
    },
  );
});
