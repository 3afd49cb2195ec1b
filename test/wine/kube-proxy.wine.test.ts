/**
 * The real kube-proxy for Windows, unmodified, under Wine, and ours beside it: each with an HNS of its own, both on one
 * API server. What they leave in HNS is compared after each step.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { type WinePrefix, prepareWinePrefix } from "#cli/mullion/wine/wine-prefix.ts";
import {
  type ApiServerSource,
  openApiServerSource,
} from "#contracts/kubernetes/server/api-server-source.node.ts";
import type { HnsFaults } from "#hns/failures/faults/fault.ts";
import { Program } from "../live/kubernetes/processes.ts";
import { WrittenCluster } from "./proxy/cluster.ts";
import { COLUMNS, type Pair, type Side, machineAddress, openPair } from "./proxy/columns.ts";
import { beyondChance, difference, stateOf } from "./proxy/hns-state.ts";
import { type Nodes, STEPS } from "./proxy/steps.ts";
import { ROOT } from "./test-daemon.ts";

/** Compiling two kube-proxies takes minutes on a small machine, once. */
const BUILD_MS = 3_600_000;
/** A machine on which everything else runs, too, needs it; else a step takes some seconds. */
const SETTLED_MS = 240_000;
/** Two periods and some more. */
const UNCHANGED_MS = 18_000;
const QUIET_MS = 1_200;
const TICK_MS = 400;

/** Endpoints that are there before a kube-proxy is; less than this is a state of nothing. */
const PODS_OF_A_NODE = 6;

const CACHE = join(ROOT, "out", "wine", "cache");

let folder: string;
let prefix: WinePrefix;
const apis: Program[] = [];
const sources: ApiServerSource[] = [];
let cluster: WrittenCluster;
const pairs: Pair[] = [];

function sidesOf(): readonly Side[] {
  return pairs.flatMap(({ real, ours }) => [real, ours]);
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/**
 * Lets both kube-proxies sync at once what they sync without waiting, so that what is written next waits for the rest of
 * their shortest period and is taken together: some versions lose a load balancer with each sync that sees its slices.
 */
async function tick(): Promise<void> {
  for (const port of [81, 82]) {
    const ports = [{ name: "http", port, protocol: "TCP" }];
    const clusterIPs = ["10.96.8.1", "fd00:10:96::8001"] as const;
    const families = { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" };
    await cluster.service("tick", { spec: { ports, clusterIP: clusterIPs[0], clusterIPs, ...families } });
    await pause(TICK_MS);
  }
}

/** How long a fault stays in force after it has struck every HNS. */
const FAULT_MS = 4_000;

async function untilStruck(faults: HnsFaults): Promise<void> {
  const end = performance.now() + SETTLED_MS;
  while ((await faults.list())[0]?.struck === 0) {
    if (performance.now() > end) throw new Error("no call of HNS was struck by the fault");
    await pause(TICK_MS);
  }
}

const nodes: Nodes = {
  each: async (work) => {
    for (const { faults } of sidesOf()) await work(faults);
  },
  during: async (fault, change) => {
    for (const { faults } of sidesOf()) await faults.add(fault);
    await change();
    await Promise.all(sidesOf().map(({ faults }) => untilStruck(faults)));
    await pause(FAULT_MS);
    for (const { faults } of sidesOf()) await faults.clear();
  },
  restart: async (meanwhile) => {
    await Promise.all(sidesOf().map((side) => side.end()));
    await meanwhile();
    await Promise.all(sidesOf().map((side) => side.start()));
  },
};

let marks = 0;

/** A Service that each step makes last: who has programmed it has heard of everything before. */
async function mark(): Promise<readonly [ipv4: string, ipv6: string]> {
  marks += 1;
  const name = `mark${marks}`;
  const clusterIPs = [`10.96.9.${marks}`, `fd00:10:96::${9_000 + marks}`] as const;
  const families = { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" };
  const ports = [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }];
  await cluster.service(name, { spec: { ports, clusterIP: clusterIPs[0], clusterIPs, ...families } });
  await cluster.slice(`${name}-4`, { pods: "6" });
  await cluster.slice(`${name}-6`, { pods: "6", family: 6 });
  return clusterIPs;
}

interface States {
  readonly real: readonly string[];
  readonly ours: readonly string[];
}

/**
 * Waits until both have programmed the mark and are equal, and stay so; or until neither changes anything in two periods:
 * then they differ.
 */
async function settle({ column, real, ours }: Pair, marked: readonly string[]): Promise<States> {
  // kube-proxy knows one family on Overlay networks.
  const isSingle = column.network === "Overlay" || column.isIpv4Only === true;
  const vips = isSingle ? marked.slice(0, 1) : marked;
  const isMarked = (state: readonly string[]): boolean =>
    vips.every((vip) => state.some((line) => line.includes(`"FrontendVIPs":["${vip}"]`)));
  const end = performance.now() + SETTLED_MS;
  let before = "";
  let changed = performance.now();
  for (;;) {
    const [left, right] = await Promise.all([stateOf(real.client), stateOf(ours.client)]);
    const states: States = { real: left, ours: right };
    const text = JSON.stringify(states);
    const now = performance.now();
    const isEqual = JSON.stringify(left) === JSON.stringify(right);
    const isOver = isMarked(left) && isMarked(right) && (isEqual || now - changed > UNCHANGED_MS);
    if (now > end || (isOver && text === before)) return states;
    if (text !== before) changed = now;
    before = text;
    await pause(QUIET_MS);
  }
}

async function openApi(name: string): Promise<string> {
  const kubeconfig = join(folder, name);
  const serve = [
    process.execPath,
    join(ROOT, "bin", "mullion.js"),
    "kube",
    "serve",
    "--kubeconfig",
    kubeconfig,
  ];
  const api = new Program(serve, join(folder, `${name}.log`));
  await api.until(() => api.written.includes("Ctrl-C"), 60_000);
  apis.push(api);
  sources.push(await openApiServerSource({ kubeconfig }));
  return kubeconfig;
}

beforeAll(async () => {
  execFileSync(process.execPath, [join(ROOT, "tools", "build-shim.ts")], { stdio: "inherit" });
  prefix = await prepareWinePrefix(join(CACHE, "mullion", "wine-prefix"), join(ROOT, "dist", "shim"));
  folder = mkdtempSync(join(tmpdir(), "mullion-proxy-"));
  const kubeconfigs = { one: await openApi("one"), both: await openApi("both") };
  cluster = new WrittenCluster(sources.map((source, index) => ({ source, isIpv4Only: index === 0 })));
  await cluster.makeNodes([machineAddress().address, "10.0.0.12"]);
  for (const column of COLUMNS) pairs.push(await openPair(column, { prefix, kubeconfigs }));
  await Promise.all(sidesOf().map((side) => side.start()));
}, BUILD_MS);

afterAll(async () => {
  for (const side of sidesOf()) {
    await side.end();
    await side.client.close();
    await side.daemon.stop();
  }
  for (const source of sources) await source.close();
  for (const api of apis) await api.end("SIGKILL");
  rmSync(folder, { recursive: true });
  execFileSync(prefix.server, ["-w"], { env: { ...process.env, ...prefix.variables }, stdio: "ignore" });
});

/**
 * Before 1.36 the order of a Go map decides which of two entries of one address counts (endpointslicecache.go,
 * addEndpoints): whether it is a back end, and with that whether its Service has a load balancer, is chance until the
 * Service has other slices.
 */
const CHANCE = {
  steps: [
    "two slices list one address",
    "a pod moves to this node, and another away",
    "Services go, slices stay; slices go, Services stay",
  ],
  frontEnds: ["10.96.0.20", "10.96.0.21"],
};

function withoutChance(lines: readonly string[], step: string, column: string): readonly string[] {
  if (!column.startsWith("1.30.") || !CHANCE.steps.includes(step)) return lines;
  return lines.filter((line) => !CHANCE.frontEnds.some((ip) => line.includes(`"FrontendVIPs":["${ip}"]`)));
}

describe.each(STEPS)("$name", ({ name: step, change }) => {
  let states: readonly States[] = [];

  beforeAll(async () => {
    await tick();
    await change(cluster, nodes);
    const marked = await mark();
    states = await Promise.all(pairs.map((pair) => settle(pair, marked)));
  }, 2 * SETTLED_MS);

  it.each(COLUMNS.map(({ name }, index) => [name, index] as const))("%s", (name, index) => {
    const state = defined(states[index], "the column was opened");
    const real = withoutChance(state.real, step, name);
    const ours = withoutChance(state.ours, step, name);
    expect(real.length).toBeGreaterThan(PODS_OF_A_NODE);
    const log = readFileSync(defined(pairs[index], "the column was opened").real.log, "utf8");
    expect(beyondChance(difference(real, ours), log)).toEqual({ onlyReal: [], onlyOurs: [] });
  });
});
