/**
 * Random changes of a running cluster. After each, what is judged again of a cluster that was verified before has to be
 * what an ordinary verification says of a second cluster that went the same way.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect } from "vitest";
import { Prng } from "#core/base/prng.ts";
import type { QuirkName } from "#core/catalogue/quirks.ts";
import type { NodeChange } from "#cluster/life/node-change.ts";
import type { RunningCluster } from "#cluster/session/running-cluster.ts";
import { KeptResults } from "#cluster/verify/kept/kept-results.ts";
import { verifyAgain } from "#cluster/verify/kept/verify-again.ts";
import { tryBatch } from "#cluster/verify/machines-of-batch.ts";
import type { CellResult } from "#cluster/verify/observation.ts";
import { batchesOf } from "#cluster/verify/batches.ts";
import { type VerifyOptions, planVerification } from "#cluster/verify/plan.ts";
import type { VerifyCell, VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { deviate } from "./deviations.ts";
import {
  type SessionWorld,
  apply,
  clusterText,
  deployment,
  openSessionWorld,
  podsOf,
  remove,
  service,
} from "./session-world.ts";

/**
 * An uplink's port that sends broadcasts back to the cable disturbs machines that ask others, and no program and no fault makes
 * it so: the one state of a third machine that is not looked at (`src/cluster/verify/kept/README.md`).
 */
const REPEATS = /\.device\.receiver\.port\.sendsToFabric$/;
const DISTURBS = "a machine repeats what others ask";

const APPS = ["a", "b", "c"] as const;
const NODES = ["win-1", "win-2", "linux-1"] as const;
const SERVICE_KINDS: Readonly<Record<string, string>> = {
  plain: "",
  open: "type: NodePort,",
  outer: "type: LoadBalancer,",
  local: "type: LoadBalancer, externalTrafficPolicy: Local,",
  sticky: "sessionAffinity: ClientIP,",
  headless: "clusterIP: None,",
};
/** Each changes what packets meet, now or with the next program of a port; none hangs a call for good. */
const QUIRKS: readonly QuirkName[] = [
  "large-udp-dropped",
  "load-balancer-rules-missing",
  "outbound-nat-rules-missing",
  "acl-without-effect",
  "management-address-flips",
];

export type Change =
  | {
      readonly do: "deploy";
      readonly app: string;
      readonly os: "windows" | "linux";
      readonly replicas: number;
    }
  | { readonly do: "serve"; readonly app: string; readonly kind: string; readonly port: number }
  | { readonly do: "kill"; readonly app: string; readonly which: number }
  | { readonly do: "delete"; readonly what: string }
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "node"; readonly node: string; readonly change: NodeChange }
  | { readonly do: "quirk"; readonly node: string; readonly quirk: QuirkName; readonly isOn: boolean }
  | { readonly do: "fault"; readonly node: string; readonly seed: number };

const APP = fc.constantFrom(...APPS);
const KIND = fc.constantFrom(...Object.keys(SERVICE_KINDS));
const WINDOWS = fc.constantFrom(NODES[0], NODES[1]);

export const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    do: fc.constant("deploy" as const),
    app: APP,
    os: fc.constantFrom("windows" as const, "linux" as const),
    replicas: fc.nat(3),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("serve" as const),
      app: APP,
      kind: KIND,
      port: fc.integer({ min: 80, max: 82 }),
    }),
  },
  fc.record({ do: fc.constant("kill" as const), app: APP, which: fc.nat(3) }),
  fc.record({
    do: fc.constant("delete" as const),
    what: fc.oneof(
      APP.map((app) => `deployment/${app}`),
      KIND.map((kind) => `service/${kind}`),
    ),
  }),
  fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 30) }),
  fc.record({
    do: fc.constant("node" as const),
    node: WINDOWS,
    change: fc.constantFrom<NodeChange>(
      { do: "restart-hns", state: "keep" },
      { do: "restart-hns", state: "forget-load-balancers" },
      { do: "restart-hns", state: "lose" },
    ),
  }),
  fc.record({
    do: fc.constant("quirk" as const),
    node: WINDOWS,
    quirk: fc.constantFrom(...QUIRKS),
    isOn: fc.boolean(),
  }),
  fc.record({ do: fc.constant("fault" as const), node: fc.constantFrom(...NODES), seed: fc.nat(1_000_000) }),
);

async function change(world: SessionWorld, each: Change): Promise<void> {
  const { session } = world;
  switch (each.do) {
    case "deploy":
      await apply(world, deployment(each.app, each.os, each.replicas));
      return;
    case "serve": {
      const type = SERVICE_KINDS[each.kind] ?? "";
      const ports = `ports: [{ port: ${each.port}, targetPort: 8080 }]`;
      await apply(world, service(each.kind, `${type} selector: { app: ${each.app} }, ${ports}`));
      return;
    }
    case "kill": {
      const pods = podsOf(world, `${each.app}-`);
      const pod = pods[each.which % Math.max(1, pods.length)];
      if (pod !== undefined) await remove(world, `pod/${pod.metadata.name}`);
      return;
    }
    case "delete":
      await remove(world, each.what);
      return;
    case "wait":
      await session.passTime(each.seconds * 1_000);
      return;
    case "node":
      await session.changeNode(each.node, each.change);
      return;
    case "quirk": {
      const node = session.cluster.nodes.find(({ spec }) => spec.name === each.node);
      node?.hns?.setQuirk(each.quirk, each.isOn ? "on" : "off");
      return;
    }
    case "fault":
      if (REPEATS.test(deviate(session.cluster, new Prng(each.seed), each.node).path))
        throw new Error(DISTURBS);
  }
}

function optionsOf(session: RunningCluster): VerifyOptions {
  return { troubles: session.troubles(), limits: session.limits() };
}

type Told =
  | { readonly cells: readonly unknown[]; readonly findings: readonly unknown[]; readonly rest: unknown }
  | { readonly thrown: string };

/** Of a lookup that went wrong: the DNS servers are back ends of a Service, too, and one of them may know less. */
const NAMES = "names";

/** True when chance says which of several back ends answers a cell, or a name of it, and one of them does not answer. */
function isByChance({ to, relation, name, flow }: VerifyCell, troubled: ReadonlySet<string>): boolean {
  if (relation === "service" && troubled.has(to)) return true;
  return troubled.has(NAMES) && (name !== undefined || flow.endsWith("-name") || flow.includes("dns"));
}

/** What two verifications of one state need not say alike. */
interface Tolerance {
  /** Who has a finding, and `NAMES`. */
  readonly troubled: ReadonlySet<string>;
  readonly isDamaged: boolean;
  /**
   * Positions of cells that came out otherwise with a damaged machine among the nodes: whether it answers can depend on what
   * it and its neighbours learned from the cells before, as with a node that has the address of a pod. What is kept has to
   * be what the cell says alone, unless both have tried it and differed.
   */
  readonly byOrder: ReadonlySet<number>;
}

/** Whether the cell comes out as expected in a copy in which nothing else was asked. */
async function holdsAlone(session: RunningCluster, position: number): Promise<boolean> {
  const plan = planVerification(session.cluster, undefined, optionsOf(session));
  const alone = { ...plan, batches: batchesOf(plan.cells, plan.model, [position]) };
  const found: CellResult[] = [];
  for (const batch of alone.batches.keys()) {
    const work = tryBatch(session, alone, batch);
    for (let step = await work.next(); ; step = await work.next()) {
      if (step.done !== true) continue;
      found.push(...step.value.results);
      break;
    }
  }
  const own = found.find((result) => result.position === position);
  return own !== undefined && own.disagreement === undefined;
}

/** Who asks whom for what. */
function askedBy({ from, to, flow, protocol, port }: VerifyCell): string {
  return `${flow} ${from} ${to} ${protocol} ${port ?? ""}`;
}

/** `shaky`: what came out otherwise when both tried it; it is added to. */
async function toleranceOf(
  now: VerifyReport,
  all: VerifyReport,
  {
    isDamaged,
    whole,
    shaky,
  }: { readonly isDamaged: boolean; readonly whole: RunningCluster; readonly shaky: Set<string> },
): Promise<Tolerance> {
  const byOrder = new Set<number>();
  const differing = [...now.cells.entries()].filter(
    ([at, { verdict }]) => all.cells[at]?.verdict !== verdict,
  );
  for (const [at, cell] of isDamaged ? differing : []) {
    const { keptFrom, verdict } = cell;
    if (keptFrom === undefined) shaky.add(askedBy(cell));
    const isShaky = shaky.has(askedBy(cell));
    if (isShaky || (await holdsAlone(whole, at)) === (verdict === "as-expected")) byOrder.add(at);
  }
  return { troubled: troubledIn([now, all]), isDamaged, byOrder };
}

/**
 * A report without what chance decides: how many connections it takes until each back end has answered, and which of the
 * clients of a Service meet the back end that does not answer, or answers otherwise than the others.
 */
function tell(report: VerifyReport, { troubled, isDamaged, byOrder }: Tolerance): Told {
  const { cells, findings, counts, kept: _, ...rest } = report;
  const { attempts: _attempts, works: _works, denied: _denied, findings: _findings, ...sums } = counts;
  const isOpen = (cell: VerifyCell, position: number): boolean =>
    byOrder.has(position) || isByChance(cell, troubled);
  const plain = (cell: VerifyCell, position: number): unknown => {
    const { attempts: _own, backEnds: _backEnds, keptFrom: _keptFrom, ...told } = cell;
    return isOpen(cell, position) ? { ...told, verdict: "by chance" } : told;
  };
  const own = findings.filter(({ cell }) => {
    const about = cell === undefined ? undefined : cells[cell];
    return cell === undefined || about === undefined || !isOpen(about, cell);
  });
  return {
    cells: cells.map(plain),
    // Why a damaged machine loses a packet depends on what it has learned from those before.
    findings: own.map(({ cell, about, code }) => ({
      about,
      code: isDamaged ? "" : code,
      cell: cell === undefined ? "" : cell,
    })),
    rest: { ...rest, sums },
  };
}

function troubledIn(reports: readonly VerifyReport[]): ReadonlySet<string> {
  return new Set(
    reports.flatMap(({ cells, findings }) =>
      findings.flatMap(({ cell, code }) => [
        ...(code?.startsWith("dns-") === true ? [NAMES] : []),
        ...(cell === undefined ? [] : [cells[cell]?.to ?? ""]),
      ]),
    ),
  );
}

async function reportOrError(
  verify: () => VerifyReport | Promise<VerifyReport>,
): Promise<VerifyReport | string> {
  try {
    return await verify();
  } catch (error) {
    return String(error);
  }
}

/** What an assertion says that a damaged machine does not keep. */
const BROKEN = "AssertionError: ";

/** A damaged machine may leave a call without an answer; nobody can go on with it then. */
const HANGS = "hangs";
/** Turns of the process without an answer: nothing that runs here waits for the real world. */
const TURNS_MAX = 20_000;

async function turns(isOver: () => boolean): Promise<string> {
  for (let turn = 0; turn < TURNS_MAX && !isOver(); turn++) await nextTurn();
  return HANGS;
}

/** What came of a change: undefined, an error as text, or `HANGS`. */
async function attempt(world: SessionWorld, each: Change): Promise<string | undefined> {
  let isOver = false;
  const work = async (): Promise<string | undefined> => {
    try {
      await change(world, each);
      return undefined;
    } catch (error) {
      return String(error);
    } finally {
      isOver = true;
    }
  };
  return Promise.race([work(), turns(() => isOver)]);
}

export interface ChangesSurvived {
  /** Those after which both were compared. */
  readonly changed: number;
  readonly cells: number;
  readonly kept: number;
  /** Changes after which something was kept, and something was not. */
  readonly mixed: number;
}

const START = `${deployment("a", "windows", 2)}${deployment("b", "linux", 1)}${service(
  "plain",
  "selector: { app: a }, ports: [{ port: 80, targetPort: 8080 }]",
)}`;

/** Makes these changes in two clusters, one of which is verified again after each, and the other wholly. */
export async function compareAfterChanges(changes: readonly Change[], fields = ""): Promise<ChangesSurvived> {
  const [again, whole] = [
    await openSessionWorld(clusterText(fields), START),
    await openSessionWorld(clusterText(fields), START),
  ];
  const known = new KeptResults();
  let [changed, cells, kept, mixed] = [0, 0, 0, 0];
  let isDamaged = false;
  const shaky = new Set<string>();
  const compare = async (what: string): Promise<boolean> => {
    const now = await reportOrError(() =>
      verifyAgain(again.session, known, { ...optionsOf(again.session), at: "before" }),
    );
    const all = await reportOrError(() =>
      verifyCluster(whole.session.cluster, undefined, optionsOf(whole.session)),
    );
    if (typeof now === "string" || typeof all === "string") {
      // A machine that was damaged so that it cannot be asked at all; which packets meet the damage is chance.
      const isByDamage =
        isDamaged && [now, all].some((each) => typeof each === "string" && each.startsWith(BROKEN));
      if (!isByDamage) expect(now, what).toBe(all);
      return false;
    }
    const tolerance = await toleranceOf(now, all, { isDamaged, whole: whole.session, shaky });
    expect(tell(now, tolerance), what).toEqual(tell(all, tolerance));
    cells += now.counts.tried;
    kept += now.kept?.cells ?? 0;
    if (now.kept !== undefined && now.kept.cells < now.kept.of) mixed++;
    return true;
  };
  await compare("at the start");
  for (const each of changes) {
    isDamaged ||= each.do === "fault";
    const [here, there] = [await attempt(again, each), await attempt(whole, each)];
    expect(here, JSON.stringify(each)).toBe(there);
    if (here === HANGS || here === String(new Error(DISTURBS)) || !(await compare(JSON.stringify(each))))
      break;
    changed++;
  }
  return { changed, cells, kept, mixed };
}

/** Random courses of `length` changes, `count` of them, with each network in turn. */
export async function surviveJudgingAgain(
  seed: number,
  count: number,
  length: number,
): Promise<ChangesSurvived> {
  const networks = ["", "network: { driver: Overlay }\n", "kubeProxy: { enableDSR: true }\n"];
  const sum = { changed: 0, cells: 0, kept: 0, mixed: 0 };
  let course = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(CHANGE, { minLength: length, maxLength: length }), async (changes) => {
      const survived = await compareAfterChanges(changes, networks[course++ % networks.length]);
      sum.changed += survived.changed;
      sum.cells += survived.cells;
      sum.kept += survived.kept;
      sum.mixed += survived.mixed;
    }),
    { seed, numRuns: count, endOnFailure: true },
  );
  return sum;
}
