/** What names a connection. */
import { type Ip, familyOf, formatIp } from "./ip.ts";

export interface FiveTuple {
  /** IANA protocol number. */
  readonly protocol: number;
  readonly source: Ip;
  readonly sourcePort: number;
  readonly destination: Ip;
  readonly destinationPort: number;
}

/** The tuple of the answer. */
export function reverseTuple(tuple: FiveTuple): FiveTuple {
  return {
    protocol: tuple.protocol,
    source: tuple.destination,
    sourcePort: tuple.destinationPort,
    destination: tuple.source,
    destinationPort: tuple.sourcePort,
  };
}

/** Formats `address:port`, with brackets around IPv6. */
export function formatSocketAddress(ip: Ip, port: number): string {
  return familyOf(ip) === 4 ? `${formatIp(ip)}:${port}` : `[${formatIp(ip)}]:${port}`;
}
