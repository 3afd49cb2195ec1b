/**
 * What do objects of HNS cost: endpoints made and deleted, in memory and on disk, listed with and without a filter, and
 * load balancers programmed and replaced? Cost per object while their count grows tenfold, against a bare `Map` of
 * parsed JSON, and on disk against the store's own put, and what
 * that cost before it had checksums.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type LocalHns, createHns } from "#hns/local-hns.ts";
import type { JsonObject } from "#core/base/json.ts";
import { openStateFolder } from "#hns/store/state-folder.node.ts";
import { formatIp, type Ipv4 } from "#core/net/ip.ts";
import { NETWORK, V2, endpointDocument } from "./hns-documents.ts";
import { measureOnDisk } from "./hns-on-disk.ts";
import { type Measured, printTable } from "./measure.ts";

const FEW = 1_000;
const MANY = 10_000;
const BACK_ENDS = 10;
const ROUNDS = 5;
const LOOK_UPS = 100;
const NS_PER_US = 1_000;
/** Listings are asked again and again: a processor counts its time in steps of a millisecond or more. */
const REPEATS = 100;
const REPLACEMENTS = 20;

const FIRST_VIP = 0x0a60_0001;

function loadBalancerDocument(index: number, backEnds: readonly string[]): JsonObject {
  return {
    HostComputeEndpoints: backEnds,
    FrontendVIPs: [formatIp((FIRST_VIP + index) as Ipv4)],
    PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
    Flags: 1,
    SchemaVersion: V2,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/**
 * Nanoseconds of `work` per operation, the median of some rounds that each begin anew. Counted is what the processor did
 * for this thread: other programs on the machine do not show.
 */
function time<T>(prepare: () => T, work: (subject: T) => unknown, operations: number): number {
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const subject = prepare();
    globalThis.gc?.();
    const started = process.threadCpuUsage();
    work(subject);
    const { user, system } = process.threadCpuUsage(started);
    samples.push(((user + system) * NS_PER_US) / operations);
  }
  return median(samples);
}

function row(name: string, ns: number): Measured {
  return { name, ns, minNs: ns };
}

interface Node extends LocalHns {
  readonly network: string;
}

function nodeWithNetwork(): Node {
  const hns = createHns({ profile: "ws2025" });
  return { ...hns, network: hns.service.create("Network", NETWORK) };
}

function addEndpoints({ service, network }: Node, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    service.create("Endpoint", endpointDocument(index), { network }),
  );
}

function nodeWith(count: number): { readonly node: Node; readonly ids: readonly string[] } {
  const node = nodeWithNetwork();
  return { node, ids: addEndpoints(node, count) };
}

/** The floor: documents as text, parsed and put into a `Map`. */
function intoMap(count: number): ReadonlyMap<string, unknown> {
  const map = new Map<string, unknown>();
  for (let index = 0; index < count; index++) {
    const document = JSON.parse(JSON.stringify(endpointDocument(index))) as { readonly Name: string };
    map.set(document.Name, document);
  }
  return map;
}

function measureCreation(): void {
  time(nodeWithNetwork, (node) => addEndpoints(node, FEW), FEW);
  const rows = [
    row(
      `Map of parsed JSON, ${MANY}`,
      time(
        () => undefined,
        () => intoMap(MANY),
        MANY,
      ),
    ),
  ];
  for (const count of [FEW, MANY]) {
    rows.push(
      row(
        `create, ${count}`,
        time(nodeWithNetwork, (node) => addEndpoints(node, count), count),
      ),
    );
    const deleteAll = ({ node, ids }: ReturnType<typeof nodeWith>): void => {
      for (const id of ids) node.service.delete("Endpoint", id);
    };
    rows.push(
      row(
        `delete, ${count}`,
        time(() => nodeWith(count), deleteAll, count),
      ),
    );
  }
  printTable("Endpoints in memory, each", rows, rows[0]?.name ?? "");
}

function measureAttachment(): void {
  const rows = [FEW / 10, FEW].map((count) => {
    const attachAll = ({ node, ids }: ReturnType<typeof nodeWith>): void => {
      for (const id of ids) {
        const namespace = node.service.create("Namespace", { SchemaVersion: V2 });
        node.service.modify("Namespace", namespace, {
          RequestType: "Add",
          ResourceType: "Endpoint",
          Settings: { EndpointId: id },
        });
      }
    };
    return row(
      `attach, ${count}`,
      time(() => nodeWith(count), attachAll, count),
    );
  });
  printTable("Endpoints attached, each", rows, rows[0]?.name ?? "");
}

function measureEnumeration(): void {
  const rows: Measured[] = [];
  for (const count of [FEW, MANY]) {
    const { node, ids } = nodeWith(count);
    const { service } = node;
    const filter = (fields: JsonObject): JsonObject => ({
      SchemaVersion: V2,
      Filter: JSON.stringify(fields),
    });
    const ask = (name: string, per: number, repeats: number, work: () => unknown): void => {
      const again = (): void => {
        for (let asked = 0; asked < repeats; asked++) work();
      };
      rows.push(
        row(
          `${name}, ${count}`,
          time(() => undefined, again, per * repeats),
        ),
      );
    };
    ask("enumerate", count, REPEATS, () => service.enumerate("Endpoint"));
    ask("filter by name", count, REPEATS, () => service.enumerate("Endpoint", filter({ Name: "pod-7" })));
    ask("filter by network", count, REPEATS, () =>
      service.enumerate("Endpoint", filter({ VirtualNetwork: node.network })),
    );
    ask("query, v2", count, 10, () => ids.map((id) => service.query("Endpoint", id, { SchemaVersion: V2 })));
    ask("filter by id (each call)", LOOK_UPS, REPEATS, () => {
      for (const id of ids.slice(0, LOOK_UPS)) service.enumerate("Endpoint", filter({ ID: id }));
    });
    ask("v1 document of the network (each call)", LOOK_UPS, REPEATS, () => {
      for (let asked = 0; asked < LOOK_UPS; asked++) service.query("Network", node.network);
    });
  }
  printTable("Endpoints listed, each endpoint or call", rows, `enumerate, ${FEW}`);
}

interface Balanced {
  readonly node: Node;
  readonly backEnds: readonly string[];
}

function nodeWithBackEnds(): Balanced {
  const { node, ids } = nodeWith(2 * BACK_ENDS);
  return { node, backEnds: ids };
}

function addLoadBalancers({ node, backEnds }: Balanced, count: number): readonly string[] {
  const first = backEnds.slice(0, BACK_ENDS);
  return Array.from({ length: count }, (_, index) =>
    node.service.create("LoadBalancer", loadBalancerDocument(index, first)),
  );
}

function measureLoadBalancers(): void {
  const rows: Measured[] = [];
  for (const count of [FEW, MANY]) {
    const program = (subject: Balanced): unknown => addLoadBalancers(subject, count);
    rows.push(row(`program, ${count}`, time(nodeWithBackEnds, program, count)));
    const full = (): Balanced & { readonly ids: readonly string[] } => {
      const subject = nodeWithBackEnds();
      return { ...subject, ids: addLoadBalancers(subject, count) };
    };
    const replace = ({ node, backEnds, ids }: ReturnType<typeof full>): void => {
      const others = [backEnds.slice(BACK_ENDS), backEnds.slice(0, BACK_ENDS)];
      for (let round = 0; round < REPLACEMENTS; round++)
        for (const [index, id] of ids.slice(0, LOOK_UPS).entries())
          node.service.modify("LoadBalancer", id, loadBalancerDocument(index, others[round % 2] ?? []));
    };
    rows.push(row(`replace one, ${count}`, time(full, replace, LOOK_UPS * REPLACEMENTS)));
  }
  printTable(`Load balancers of ${BACK_ENDS} back ends, each`, rows, `program, ${FEW}`);
}

async function measureDurable(): Promise<void> {
  // Beside the sources: a folder of the system may lie in memory.
  const root = mkdtempSync(resolve(".bench-"));
  try {
    await measureOnDisk(root);
    await measureOpening(join(root, "many"));
  } finally {
    rmSync(root, { recursive: true });
  }
}

/** A service of 10 000 endpoints that comes back. */
async function measureOpening(folder: string): Promise<void> {
  const { node } = nodeWith(MANY);
  const store = openStateFolder(folder, { node: "bench", version: { Major: 15, Minor: 3 } });
  await store.write(node.service.export().map((object) => ({ kind: object.kind, id: object.id, object })));
  const started = process.threadCpuUsage();
  const objects = await store.list();
  const read = process.threadCpuUsage(started);
  createHns({ profile: "ws2025" }).service.restore(objects, { areStored: true });
  const both = process.threadCpuUsage(started);
  await store.close();
  const nsOf = ({ user, system }: NodeJS.CpuUsage): number => ((user + system) * NS_PER_US) / objects.length;
  const rows = [row("read", nsOf(read)), row("restore", nsOf(both) - nsOf(read))];
  printTable(`A store of ${objects.length} objects comes back, each`, rows, "read");
}

export async function run(): Promise<void> {
  measureCreation();
  measureAttachment();
  measureEnumeration();
  measureLoadBalancers();
  await measureDurable();
}
