/** What the identification server answers: who it is and whom it saw. */
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { isPort } from "#core/net/port-range.ts";

/** One answer: `web-1 saw 10.244.1.10:49152`. */
export interface Identification {
  /** Name of the server, without spaces at its ends. */
  readonly name: string;
  /** The client as the server saw it, after every NAT on the way. */
  readonly clientIp: Ip;
  readonly clientPort: number;
}

/** Formats one answer as a line, its end included. */
export function formatIdentification(identification: Identification): string {
  const { name, clientIp, clientPort } = identification;
  return `${name} saw ${formatSocketAddress(clientIp, clientPort)}\n`;
}

/** Parses an answer; undefined when somebody else wrote it. */
export function parseIdentification(text: string): Identification | undefined {
  const match = /^(.+) saw (?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})\s*$/.exec(text);
  const clientIp = parseIp(match?.[2] ?? match?.[3] ?? "");
  const clientPort = Number(match?.[4]);
  if (match?.[1] === undefined || clientIp === undefined || !isPort(clientPort)) return undefined;
  return { name: match[1], clientIp, clientPort };
}
