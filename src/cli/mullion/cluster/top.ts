/** `mullion top`: what passes the switch ports of Windows nodes now, what they drop, and which Services are asked for. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlClient } from "#cluster/api/client.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { PacketComponent } from "#cluster/views/packet-counters.ts";
import type { ServiceFrontEnd } from "#cluster/views/service-view.ts";
import { FRONT_END_WORDS, frontEndAddress } from "../get/listings-hns.ts";
import { formatDocument, isDocumentFormat } from "../print-document.ts";
import { type Column, formatListing } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { TopRequest } from "../verbs.ts";
import { connectRunning } from "./cluster-target.ts";

const MS_PER_S = 1000;
const BITS = 8;
const FILTER = "VFP Extension, ";

/** What a port has counted since it was made. `received`: by whoever is behind it. */
export interface PortReading {
  readonly node: string;
  /** `default/web`, `uplink`, `host`, or as traces name the port. */
  readonly who: string;
  /** `host` is whatever leads to the node itself: the vNIC that an L2Bridge network has among its endpoints, too. */
  readonly kind: "uplink" | "host" | "pod";
  readonly received: { readonly packets: number; readonly bytes: number };
  readonly sent: { readonly packets: number; readonly bytes: number };
  /** By code, both ways. */
  readonly drops: Readonly<Record<string, number>>;
}

/** The same per second; bytes as bits. */
export interface PortRate {
  readonly node: string;
  readonly who: string;
  readonly receivedPackets: number;
  readonly sentPackets: number;
  readonly receivedBits: number;
  readonly sentBits: number;
  readonly drops: Readonly<Record<string, number>>;
}

/** A front end of a Service on one node. */
export interface ServiceReading {
  readonly node: string;
  /** `default/web`; empty for load balancers of HNS that stand for none. */
  readonly service: string;
  /** `ClusterIP`, `NodePort`, …; empty for those. */
  readonly kind: string;
  /** `10.96.0.1:80/TCP`, `node:30080/TCP`. */
  readonly address: string;
  /** Connections, and of UDP first packets, since the rules were made. */
  readonly connections: number;
}

const NOTHING = { packets: 0, bytes: 0 };

function dropsOf(components: readonly PacketComponent[]): Readonly<Record<string, number>> {
  const drops: Record<string, number> = {};
  for (const { code, packets } of components.flatMap((each) => each.drops))
    drops[code] = (drops[code] ?? 0) + packets;
  return drops;
}

async function readPorts(client: ControlClient): Promise<readonly PortReading[]> {
  const [counters, ports, pods] = await Promise.all([
    client.packetCounters(),
    client.vfpPorts(),
    client.objects("pods"),
  ]);
  const podAt = new Map(
    (pods.items as readonly Pod[]).map(({ metadata, spec, status }) => [
      `${spec?.nodeName ?? ""} ${status?.podIP ?? ""}`,
      `${metadata.namespace}/${metadata.name}`,
    ]),
  );
  return ports.items.map(({ node, place, kind, addresses }) => {
    const all = counters.items.find((each) => each.node === node)?.components ?? [];
    const own = all.filter(({ name }) => name === place || name === `${FILTER}${place}`);
    const { inbound = NOTHING, outbound = NOTHING } = own.find(({ type }) => type === "NIC") ?? {};
    const isUplink = kind === "external";
    const pod =
      kind === "container" ? addresses.flatMap((ip) => podAt.get(`${node} ${ip}`) ?? [])[0] : undefined;
    return {
      node,
      who: pod ?? (isUplink ? "uplink" : kind === "host" ? "host" : place),
      kind: isUplink ? "uplink" : pod === undefined ? "host" : "pod",
      // What the wire sends is what the node receives.
      received: isUplink ? outbound : inbound,
      sent: isUplink ? inbound : outbound,
      drops: dropsOf(own),
    };
  });
}

function serviceReading(frontEnd: ServiceFrontEnd): ServiceReading {
  const { node, namespace, name, frontEnd: kind, matchedPackets } = frontEnd;
  return {
    node,
    service: name === "" ? "" : `${namespace}/${name}`,
    kind: kind === undefined ? "" : FRONT_END_WORDS[kind],
    address: frontEndAddress(frontEnd),
    connections: matchedPackets,
  };
}

async function readServices(client: ControlClient): Promise<readonly ServiceReading[]> {
  return (await client.services()).items.map(serviceReading);
}

/** A port that was made anew counts from zero. */
function grown(before: number | undefined, after: number): number {
  return before === undefined || after < before ? after : after - before;
}

/** What came between two readings, the busiest first; a port that was not there before counts whole. */
export function ratesOf(
  before: readonly PortReading[],
  after: readonly PortReading[],
  seconds: number,
): readonly PortRate[] {
  const known = new Map(before.map((each) => [`${each.node} ${each.who}`, each]));
  const rate = (from: number | undefined, to: number): number => Math.round(grown(from, to) / seconds);
  const rates = after.map(({ node, who, received, sent, drops }): PortRate => {
    const old = known.get(`${node} ${who}`);
    const lost = Object.entries(drops).map(
      ([code, count]) => [code, rate(old?.drops[code] ?? 0, count)] as const,
    );
    return {
      node,
      who,
      receivedPackets: rate(old?.received.packets, received.packets),
      sentPackets: rate(old?.sent.packets, sent.packets),
      receivedBits: rate(old && old.received.bytes * BITS, received.bytes * BITS),
      sentBits: rate(old && old.sent.bytes * BITS, sent.bytes * BITS),
      drops: Object.fromEntries(lost.filter(([, count]) => count > 0)),
    };
  });
  const weight = ({ receivedBits, sentBits }: PortRate): number => receivedBits + sentBits;
  return rates.toSorted((a, b) => weight(b) - weight(a));
}

const TENTHS = 10;

/** New connections a second, by the tenth; the Service that is asked for most stands first. */
export function serviceRatesOf(
  before: readonly ServiceReading[],
  after: readonly ServiceReading[],
  seconds: number,
): readonly ServiceReading[] {
  const keyOf = ({ node, service, kind, address }: ServiceReading): string =>
    [node, service, kind, address].join(" ");
  const known = new Map(before.map((each) => [keyOf(each), each.connections]));
  return after
    .map((each) => {
      const came = grown(known.get(keyOf(each)), each.connections);
      return { ...each, connections: Math.round((came / seconds) * TENTHS) / TENTHS };
    })
    .toSorted((a, b) => b.connections - a.connections);
}

const PREFIXES = ["", "k", "M", "G"];

/** `12.3M`, as tools for networks write it. */
export function formatRate(value: number): string {
  let [rest, index] = [value, 0];
  while (rest >= 1000 && index < PREFIXES.length - 1) [rest, index] = [rest / 1000, index + 1];
  return `${index === 0 ? rest : rest.toFixed(1)}${PREFIXES[index] ?? ""}`;
}

const PORT_COLUMNS: readonly Column<PortRate>[] = [
  { title: "NODE", text: ({ node }) => node },
  { title: "PORT", text: ({ who }) => who },
  { title: "RX PKT/S", isRightAligned: true, text: (row) => formatRate(row.receivedPackets) },
  { title: "TX PKT/S", isRightAligned: true, text: (row) => formatRate(row.sentPackets) },
  { title: "RX BIT/S", isRightAligned: true, text: (row) => formatRate(row.receivedBits) },
  { title: "TX BIT/S", isRightAligned: true, text: (row) => formatRate(row.sentBits) },
  {
    title: "DROPS/S",
    text: ({ drops }) =>
      Object.entries(drops)
        .map(([code, count]) => `${count} ${code}`)
        .join(", ") || "0",
  },
];

const SERVICE_COLUMNS: readonly Column<ServiceReading>[] = [
  { title: "NODE", text: ({ node }) => node },
  { title: "SERVICE", text: ({ service }) => service || "-" },
  { title: "FRONT END", text: ({ kind }) => kind || "-" },
  { title: "ADDRESS", text: ({ address }) => address },
  { title: "CONN/S", isRightAligned: true, text: ({ connections }) => formatRate(connections) },
];

/** What is read again and again, and how what came in between is printed. */
interface Subject<Reading, Rate> {
  read(client: ControlClient): Promise<readonly Reading[]>;
  ratesOf(before: readonly Reading[], after: readonly Reading[], seconds: number): readonly Rate[];
  readonly singular: string;
  readonly plural: string;
  readonly columns: readonly Column<Rate>[];
  name(rate: Rate): string;
}

function portSubject(only?: PortReading["kind"]): Subject<PortReading, PortRate> {
  return {
    read: async (client) =>
      (await readPorts(client)).filter(({ kind }) => only === undefined || kind === only),
    ratesOf,
    singular: "port",
    plural: "ports",
    columns: PORT_COLUMNS,
    name: ({ who }) => who,
  };
}

const SERVICES: Subject<ServiceReading, ServiceReading> = {
  read: readServices,
  ratesOf: serviceRatesOf,
  singular: "Service",
  plural: "Services",
  columns: SERVICE_COLUMNS,
  name: ({ service, address }) => service || address,
};

function print<Rate>(
  { singular, plural, columns, name }: Omit<Subject<unknown, Rate>, "read" | "ratesOf">,
  rates: readonly Rate[],
  { output }: TopRequest,
  terminal: Terminal,
): void {
  if (isDocumentFormat(output)) {
    terminal.stdout(formatDocument({ items: rates }, output));
    return;
  }
  const listing = { singular, plural, columns, rows: rates, name };
  terminal.stdout(formatListing(listing, "table"));
}

async function watch<Reading, Rate>(
  subject: Subject<Reading, Rate>,
  client: ControlClient,
  request: TopRequest,
  terminal: Terminal,
  nowMs: () => number,
): Promise<ExitCode> {
  const { intervalMs, times } = request;
  const ending = new AbortController();
  void terminal.untilInterrupted().then(() => ending.abort());
  let [before, beforeMs] = [await subject.read(client), nowMs()];
  for (let round = 0; round < times; round++) {
    // Ctrl-C ends the wait, and with it the command.
    const isEnded = await sleep(intervalMs, false, { signal: ending.signal }).catch(() => true);
    if (isEnded) return 0;
    const [after, afterMs] = [await subject.read(client), nowMs()];
    if (round > 0) terminal.stdout("\n");
    print(subject, subject.ratesOf(before, after, (afterMs - beforeMs) / MS_PER_S), request, terminal);
    [before, beforeMs] = [after, afterMs];
  }
  return 0;
}

/** Prints what passes a cluster, as often as is asked for. `nowMs` is a clock that only goes forward. */
export function watchTraffic(
  client: ControlClient,
  request: TopRequest,
  terminal: Terminal,
  nowMs: () => number = () => performance.now(),
): Promise<ExitCode> {
  switch (request.what) {
    case "services":
      return watch(SERVICES, client, request, terminal, nowMs);
    case "ports":
      return watch(portSubject(), client, request, terminal, nowMs);
    case "nodes":
      return watch(portSubject("uplink"), client, request, terminal, nowMs);
    case "pods":
      return watch(portSubject("pod"), client, request, terminal, nowMs);
  }
}

export async function top(request: TopRequest, terminal: Terminal): Promise<ExitCode> {
  return watchTraffic(await connectRunning(request.running), request, terminal);
}
