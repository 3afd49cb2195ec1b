/**
 * What does kube-proxy cost with many Services: the first sync, an idle one, one change, a comparison with HNS; how many calls
 * of HNS is that, beside what kube-proxy.md §9.2 derives for upstream; and what does a Service hold in memory? At the end the
 * times that users published, beside those that the cost model predicts.
 */
import type { Compat } from "#core/base/compat.ts";
import type { HcnClient, HcnObjectKind } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { CallOperation } from "#hns/failures/faults/fault.ts";
import { createEndpoint, createNetwork } from "#contracts/hcn/operations.ts";
import { COST_MODEL_TABLE, type CostModel, costOf } from "#hns/failures/faults/cost-model.ts";
import { ProxyObjects, createKubeProxy } from "#programs/kube-proxy/mod.ts";
import { CBR0, type HnsNode, hnsNode } from "#test/support/hns/hns-node.ts";
import { publishFigure } from "./measure.ts";
import { NODE_NAME, service, slice } from "#test/support/kube-proxy/kube-proxy-node.ts";

const BACK_ENDS = 10;
const REMOTE_MAX = 10_000;
const COUNTS = [1_000, 10_000];
/** The last version of HNS before two families: what is derived is derived for one. */
const ONE_FAMILY = { Major: 11, Minor: 9 } as const;

/** Functions of computenetwork.dll that one call of the client comes to (kube-proxy.md §9.2 counts in these). */
function nativeCalls(operation: string, kind: HcnObjectKind | undefined): number {
  if (operation === "enumerate" || operation === "delete") return 1;
  if (operation === "create") return kind === "Endpoint" ? 4 : 2;
  return 3;
}

/** Passes calls on, counts them, and adds up what the cost model says of them. */
class Counter {
  calls = 0;
  native = 0;
  costMs = 0;
  readonly client: HcnClient;

  constructor(inner: HcnClient, node: HnsNode, model: CostModel | undefined) {
    const count = (operation: CallOperation, kind: HcnObjectKind | undefined): void => {
      this.calls++;
      this.native += nativeCalls(operation, kind);
      if (model === undefined) return;
      const objects = node.client.countOf("Endpoint") + node.client.countOf("LoadBalancer");
      this.costMs += costOf(model, operation, kind, objects);
    };
    // As over a socket: HNS does not tell its revision.
    this.client = new Proxy(inner, {
      get: (target, name) => {
        if (name === "revision") return undefined;
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]) => {
          if (OPERATIONS.has(name as CallOperation)) count(name as CallOperation, args[0] as HcnObjectKind);
          return Reflect.apply(member, target, args) as unknown;
        };
      },
    });
  }

  reset(): void {
    this.calls = 0;
    this.native = 0;
    this.costMs = 0;
  }
}

const OPERATIONS: ReadonlySet<CallOperation> = new Set(["enumerate", "query", "create", "modify", "delete"]);

function remoteAddress(index: number): string {
  return `10.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

interface Shape {
  readonly services: number;
  readonly remote: number;
  readonly backEnds: number;
}

/** A node with these Services listed; nothing is synced. */
async function nodeWith(
  { services, remote, backEnds }: Shape,
  compat: Compat,
  model?: CostModel,
  known?: HnsNode,
): Promise<{
  readonly node: HnsNode;
  readonly counter: Counter;
  readonly objects: ProxyObjects;
  readonly sync: (comparesHns?: boolean) => Promise<void>;
  readonly sliceOf: (index: number, extra: number) => ReturnType<typeof slice>;
}> {
  const node = known ?? hnsNode({ profile: "ws2022", version: ONE_FAMILY });
  if (known === undefined) {
    const network: Guid = (await createNetwork(node.client, CBR0)).ID ?? "";
    await createEndpoint(node.client, network, { IpConfigurations: [{ IpAddress: "10.244.2.10" }] });
  }
  const objects = new ProxyObjects();
  const counter = new Counter(node.client, node, model);
  const sliceOf = (index: number, extra: number): ReturnType<typeof slice> =>
    slice(
      Array.from({ length: backEnds + extra }, (_, n) => ({
        at: { address: remoteAddress((index * backEnds + n) % remote), node: "other-node" },
      })),
      { of: `s${index}` },
    );
  const names = Array.from({ length: services }, (_, index) => index);
  objects.servicesListed(
    names.map((index) =>
      service({ name: `s${index}`, spec: { clusterIP: `10.96.${index >> 8}.${index & 255}` } }),
    ),
  );
  objects.endpointSlicesListed(names.map((index) => sliceOf(index, 0)));
  const proxy = createKubeProxy({
    client: counter.client,
    objects,
    options: {
      kubernetes: { major: 1, minor: 36 },
      compat,
      hostname: NODE_NAME,
      nodeIp: "10.0.2.15",
      networkName: "cbr0",
    },
  });
  await proxy.start();
  const sync = async (comparesHns = false): Promise<void> => {
    await proxy.sync({ comparesHns });
  };
  return { node, counter, objects, sync, sliceOf };
}

function print(cells: readonly (string | number)[]): void {
  const [name = "", ...rest] = cells.map(String);
  process.stdout.write(`  ${name.padEnd(34)}${rest.map((cell) => cell.padStart(14)).join("")}\n`);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The rows of one number of Services, `hardened` beside `upstream` and the derived counts. */
async function measureServices(services: number): Promise<void> {
  const remote = Math.min(services * BACK_ENDS, REMOTE_MAX);
  const shape: Shape = { services, remote, backEnds: BACK_ENDS };
  process.stdout.write(`\n${services} Services × ${BACK_ENDS} endpoints, ${remote} pods of other nodes\n`);
  print(["", "ms (cpu)", "calls", "native", "upstream", "derived"]);
  const hardened = await nodeWith(shape, "hardened");
  const upstream = await nodeWith(shape, "upstream");
  const idleDerived = 4 + 4 + 1 + 3 * (remote + 1) + 1 + 3 * services;
  const firstDerived = 4 + 4 + 1 + 3 + 1 + 9 * remote + 3 * services;
  const row = async (
    name: string,
    work: (of: typeof hardened) => Promise<void>,
    derived: number | string,
  ): Promise<void> => {
    hardened.counter.reset();
    upstream.counter.reset();
    const ms = await timed(async () => work(hardened));
    await work(upstream);
    const { calls, native } = hardened.counter;
    publishFigure(`${services} Services`, name, native, "calls");
    if (typeof derived === "number") publishFigure(`${services} Services`, name, native / derived);
    print([name, ms.toFixed(1), calls, native, upstream.counter.native, derived]);
  };
  await row("first sync", async ({ sync }) => sync(), firstDerived);
  await row("idle sync", async ({ sync }) => sync(), idleDerived);
  await row(
    "one back end more",
    async ({ objects, sync, sliceOf }) => {
      objects.endpointSliceChanged(sliceOf(7, 0), sliceOf(7, 1));
      await sync();
    },
    idleDerived + 8,
  );
  await row("comparison with HNS", async ({ sync }) => sync(true), "none");
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  // A second process on the same node: HNS holds as much as before.
  const second = await nodeWith(shape, "hardened", undefined, hardened.node);
  await second.sync();
  globalThis.gc?.();
  const bytes = (process.memoryUsage().heapUsed - heap) / services;
  await second.sync();
  publishFigure(`${services} Services`, "memory per Service", bytes / 1_024, "KiB");
  process.stdout.write(
    `  memory per Service, its object and its slice included: ${(bytes / 1_024).toFixed(1)} KiB\n`,
  );
}

/** What users published (kube-proxy.md §9.3), as predicted/published. */
async function compareWithPublished(): Promise<void> {
  process.stdout.write(
    "\nPublished times (kubernetes#109124: 2000 ClusterIP Services, 5000 remote endpoints), predicted/published\n",
  );
  const shape: Shape = { services: 2_000, remote: 5_000, backEnds: 2.5 };
  const rows = [
    ["ws2019", 110, 114],
    ["ws2019-updated", 22, undefined],
    ["ws2022", 10, 192],
    ["ws2022-updated", 1, undefined],
  ] as const;
  const readMs = COST_MODEL_TABLE.ws2022.readMs;
  // Before 1.24.3 each load balancer listed all load balancers and got each of its endpoints by id.
  const listsMs =
    readMs * ((shape.services * (3 * (shape.services - 1))) / 2 + shape.services + 4 * shape.remote);
  for (const [name, minutes, before] of rows) {
    const { counter, sync } = await nodeWith({ ...shape, backEnds: 3 }, "upstream", COST_MODEL_TABLE[name]);
    counter.reset();
    await sync();
    const predicted = counter.costMs / 60_000;
    print([
      `${name}, first sync (calibrated)`,
      `${predicted.toFixed(1)} min`,
      `${minutes} min`,
      (predicted / minutes).toFixed(2),
    ]);
    if (before === undefined) continue;
    const earlier = predicted + listsMs / 60_000;
    print([
      `${name}, before 1.24.3`,
      `${earlier.toFixed(1)} min`,
      `${before} min`,
      (earlier / before).toFixed(2),
    ]);
  }
  const { readMs: read, changeMs, changeMsPerObject } = COST_MODEL_TABLE.ws2019;
  const policy = (changeMs + changeMsPerObject * 7_000 + read * (3 * 2_000 + 10)) / 1_000;
  print(["one policy on a busy ws2019", `${policy.toFixed(1)} s`, "30 s", (policy / 30).toFixed(2)]);
  const idle = read * (4 + 4 + 1 + 3 * 15 + 1 + 3 * 7);
  print(["idle, 7 load balancers (calibrated)", `${idle.toFixed(1)} ms`, "7.2 ms", (idle / 7.2).toFixed(2)]);
  const failed = read * (4 + 1 + 3 + 1) + changeMs;
  print(["failed source VIP", `${failed.toFixed(1)} ms`, "19.8 ms", (failed / 19.8).toFixed(2)]);
}

/** 577 load balancers were lost, and it took days (kubernetes#110674). */
async function recover(): Promise<void> {
  const shape: Shape = { services: 577, remote: 577, backEnds: 3 };
  const { counter, sync } = await nodeWith(shape, "hardened", COST_MODEL_TABLE.ws2019);
  await sync();
  const { client } = counter;
  for (const id of await client.enumerate("LoadBalancer")) await client.delete("LoadBalancer", id);
  counter.reset();
  await sync(true);
  const back = (await client.enumerate("LoadBalancer")).length;
  process.stdout.write(
    `\n577 lost load balancers (published: days; upstream never looks): ${back} back after one comparison, ${(counter.costMs / 1_000).toFixed(0)} s on ws2019\n`,
  );
}

export async function run(): Promise<void> {
  for (const services of COUNTS) await measureServices(services);
  await compareWithPublished();
  await recover();
}
