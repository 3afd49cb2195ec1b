/** The MAC address that kube-proxy makes up for a remote endpoint (kube-proxy.md §3.1). */
import { parseIp } from "#core/net/ip.ts";

const PREFIX = "02-11";
/** For what is no address. */
const FALLBACK = `${PREFIX}-22-33-44-55`;

function formatBytes(bytes: readonly number[]): string {
  return [PREFIX, ...bytes.map((byte) => byte.toString(16).padStart(2, "0"))].join("-");
}

/** Four bytes of IPv4, or the last four of IPv6 from the end. */
export function deriveMac(address: string): string {
  const ip = parseIp(address);
  if (ip === undefined) return FALLBACK;
  if (typeof ip === "number") return formatBytes([24, 16, 8, 0].map((shift) => (ip >>> shift) & 0xff));
  return formatBytes([0n, 8n, 16n, 24n].map((shift) => Number((ip >> shift) & 0xffn)));
}
