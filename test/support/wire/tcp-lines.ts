/** TCP segments as lines of text, to compare conversations with tables. */
import { EthernetView } from "#core/wire/ethernet.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import { TcpFlag, TcpView } from "#core/wire/tcp.ts";
import type { CapturedFrame } from "../dataplane/stack-world.ts";

const FLAG_NAMES = [
  ["SYN", TcpFlag.syn],
  ["FIN", TcpFlag.fin],
  ["RST", TcpFlag.rst],
  ["PSH", TcpFlag.psh],
  ["ACK", TcpFlag.ack],
  ["ECE", TcpFlag.ece],
  ["CWR", TcpFlag.cwr],
] as const;

/** The TCP segment of a frame; undefined for other frames. */
export function tcpOf(frame: Uint8Array): { readonly ip: Ipv4View; readonly tcp: TcpView } | undefined {
  const ethernet = EthernetView.parse(frame);
  const ip = Ipv4View.parse(frame, 14);
  if (
    typeof ethernet === "string" ||
    ethernet.etherType !== 0x0800 ||
    typeof ip === "string" ||
    ip.protocol !== 6
  )
    return undefined;
  const tcp = TcpView.parse(frame, ip.payloadStart, ip.payloadEnd);
  return typeof tcp === "string" ? undefined : { ip, tcp };
}

/** `client SYN`, `server PSH ACK 20`: who sent what, in order of time; numbers are payload bytes. */
export function tcpLines(sides: Readonly<Record<string, readonly CapturedFrame[]>>): string[] {
  const all = Object.entries(sides).flatMap(([name, frames]) => frames.map((entry) => ({ name, ...entry })));
  all.sort((a, b) => a.atMs - b.atMs);
  return all.flatMap(({ name, frame }) => {
    const found = tcpOf(frame);
    if (found === undefined) return [];
    const flags = FLAG_NAMES.filter(([, mask]) => found.tcp.has(mask)).map(([flag]) => flag);
    const bytes = found.tcp.payloadLength === 0 ? [] : [String(found.tcp.payloadLength)];
    return [[name, ...flags, ...bytes].join(" ")];
  });
}

/** Times of the segments that carry all flags of `mask`, relative to the first. */
export function tcpTimes(frames: readonly CapturedFrame[], mask: number): number[] {
  const times = frames.filter(({ frame }) => tcpOf(frame)?.tcp.has(mask) === true).map(({ atMs }) => atMs);
  return times.map((atMs) => atMs - (times[0] ?? 0));
}
