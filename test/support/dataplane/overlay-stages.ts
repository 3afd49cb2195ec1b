/** Walks of overlay networks as the tables of dataplane.md §2.3 write them: names of MACs and addresses, one row a frame. */
import { defined } from "#core/base/assert.ts";
import { readU16, readU32, readU48, readU8 } from "#core/base/bytes.ts";
import type { TraceEvent } from "#core/base/recorder.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";

const mac = (text: string): Mac => defined(parseMac(text), "a MAC");

/** MACs of dataplane.md §6.10, and two of the Linux node. */
export const OVERLAY_MACS: Readonly<
  Record<"Am" | "Bm" | "Cm" | "W1dr" | "W2dr" | "W1m" | "W2m" | "L1m" | "L1v" | "Rm", Mac>
> = {
  Am: mac("0E-2A-0A-F4-01-0A"),
  Bm: mac("0E-2A-0A-F4-01-0B"),
  Cm: mac("0E-2A-0A-F4-02-0A"),
  W1dr: mac("00-15-5D-AA-00-01"),
  W2dr: mac("00-15-5D-AA-00-02"),
  W1m: mac("00-15-5D-00-00-11"),
  W2m: mac("00-15-5D-00-00-12"),
  L1m: mac("52-54-00-00-00-21"),
  L1v: mac("66-00-00-00-00-21"),
  Rm: mac("52-54-00-00-00-01"),
};
/** What stands for addresses in walks (dataplane.md §0.4). */
const SYMBOLS: readonly (readonly [string, string])[] = [
  ["10.0.0.11", "W1"],
  ["10.0.0.12", "W2"],
  ["10.0.0.21", "L1"],
  ["10.244.1.10", "A"],
  ["10.244.1.11", "B"],
  ["10.244.2.10", "C"],
  ["10.244.3.10", "D"],
  ["10.244.1.2", "S1"],
  ["10.96.0.50", "V"],
  ["203.0.113.10", "X"],
];

/** One frame of a walk: `eth`, `ip`, `ttl`, `l4` are those of the innermost packet, `outer` is what is around it. */
export interface OverlayStage {
  readonly at: string;
  readonly outer?: string;
  readonly eth: string;
  readonly ip: string;
  readonly ttl: number;
  readonly l4: string;
}
/** `W1 out LB_DSR`, `wire`, `drop W1 …`; undefined for what a table does not show. */
export function stageName(event: TraceEvent): string | undefined {
  const { kind, node } = event;
  if (kind === "layer")
    return event.outcome === "miss" ? undefined : `${node} ${event.direction} ${event.layer}`;
  if (kind === "drop") return `drop ${node} ${event.code}`;
  if (kind === "wire") return "wire";
  return kind === "switch" || kind === "translate" || kind === "unified-flow" ? undefined : `${kind} ${node}`;
}

function symbolOf(address: Ip): string {
  const text = formatIp(address);
  return SYMBOLS.find(([each]) => each === text)?.[1] ?? text;
}

function macSymbol(address: number): string {
  const known = Object.entries(OVERLAY_MACS).find(([, each]) => each === address)?.[0];
  return known ?? formatMac(address as Mac);
}

/** Reads a frame as the tables write it. */
export function describeStage(at: string, frame: Uint8Array): OverlayStage {
  const headers = new Headers();
  headers.parseBytes(frame, 0, frame.length);
  const tunnel = new TunnelHeaders();
  tunnel.locate(frame, headers);
  const isInTunnel = tunnel.kind !== undefined;
  const inner = isInTunnel ? tunnel.inner : headers;
  const start = isInTunnel ? tunnel.innerStart : 0;
  return {
    at,
    ...(isInTunnel && { outer: describeOuter(frame, headers, tunnel) }),
    eth: describeLink(frame, start),
    ip: `${symbolOf(sourceIp(frame, inner))}→${symbolOf(destinationIp(frame, inner))}`,
    ttl: readU8(frame, inner.network + 8),
    l4: `${portSymbol(readU16(frame, inner.transport))}→${portSymbol(readU16(frame, inner.transport + 2))}`,
  };
}

function portSymbol(port: number): string {
  if (port === 50_000) return "p";
  return port >= 49_152 ? "q" : String(port);
}

function describeLink(frame: Uint8Array, start: number): string {
  return `${macSymbol(readU48(frame, start + 6))}→${macSymbol(readU48(frame, start))}`;
}

/** `W1m→W2m W1→W2 ttl 128 DF :4789 VNI 4096`. */
function describeOuter(frame: Uint8Array, headers: Headers, tunnel: TunnelHeaders): string {
  const at = headers.network;
  const isDontFragment = (readU16(frame, at + 6) & 0x4000) !== 0;
  return [
    describeLink(frame, 0),
    `${symbolOf(readU32(frame, at + 12) as Ip)}→${symbolOf(readU32(frame, at + 16) as Ip)}`,
    `ttl ${readU8(frame, at + 8)}`,
    ...(isDontFragment ? ["DF"] : []),
    `:${readU16(frame, headers.transport + 2)}`,
    `VNI ${tunnel.id}`,
  ].join(" ");
}
