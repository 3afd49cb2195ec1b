/** `mullion top`: what passes the switch ports of Windows nodes now, and what they drop. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlClient } from "#cluster/api/client.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { PacketComponent } from "#cluster/views/packet-counters.ts";
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
  readonly kind: string;
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

const NOTHING = { packets: 0, bytes: 0 };

function dropsOf(components: readonly PacketComponent[]): Readonly<Record<string, number>> {
  const drops: Record<string, number> = {};
  for (const { code, packets } of components.flatMap((each) => each.drops))
    drops[code] = (drops[code] ?? 0) + packets;
  return drops;
}

async function read(client: ControlClient): Promise<readonly PortReading[]> {
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
      kind,
      // What the wire sends is what the node receives.
      received: isUplink ? outbound : inbound,
      sent: isUplink ? inbound : outbound,
      drops: dropsOf(own),
    };
  });
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

const PREFIXES = ["", "k", "M", "G"];

/** `12.3M`, as tools for networks write it. */
export function formatRate(value: number): string {
  let [rest, index] = [value, 0];
  while (rest >= 1000 && index < PREFIXES.length - 1) [rest, index] = [rest / 1000, index + 1];
  return `${index === 0 ? rest : rest.toFixed(1)}${PREFIXES[index] ?? ""}`;
}

const COLUMNS: readonly Column<PortRate>[] = [
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

function print(rates: readonly PortRate[], { output }: TopRequest, terminal: Terminal): void {
  if (isDocumentFormat(output)) {
    terminal.stdout(formatDocument({ items: rates }, output));
    return;
  }
  const listing = {
    singular: "port",
    plural: "ports",
    columns: COLUMNS,
    rows: rates,
    name: ({ who }: PortRate) => who,
    data: (rate: PortRate) => rate,
  };
  terminal.stdout(formatListing(listing, "table"));
}

const KINDS = { ports: undefined, nodes: "external", pods: "container" } as const;

export async function top(request: TopRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectRunning(request.running);
  const { what, intervalMs, times } = request;
  const readAll = async (): Promise<readonly PortReading[]> =>
    (await read(client)).filter(({ kind }) => KINDS[what] === undefined || kind === KINDS[what]);
  const ending = new AbortController();
  void terminal.untilInterrupted().then(() => ending.abort());
  let [before, beforeMs] = [await readAll(), performance.now()];
  for (let round = 0; round < times; round++) {
    // Ctrl-C ends the wait, and with it the command.
    const isEnded = await sleep(intervalMs, false, { signal: ending.signal }).catch(() => true);
    if (isEnded) return 0;
    const [after, afterMs] = [await readAll(), performance.now()];
    if (round > 0) terminal.stdout("\n");
    print(ratesOf(before, after, (afterMs - beforeMs) / MS_PER_S), request, terminal);
    [before, beforeMs] = [after, afterMs];
  }
  return 0;
}
