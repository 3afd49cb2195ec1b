/** Addresses that never leave a compartment. */
import type { Ip } from "#core/net/ip.ts";

/** True for 127.0.0.0/8 and ::1. */
export function isLoopback(ip: Ip): boolean {
  return typeof ip === "number" ? ip >>> 24 === 127 : ip === 1n;
}
