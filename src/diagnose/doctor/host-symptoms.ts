/**
 * What people tried in a session and what came of it: names that they looked up, connections that they tested. A first
 * time-out that an answer follows is none of it, and neither is ping: Windows balances and translates no ICMP.
 */
import { type Ip, parseIp } from "#core/net/ip.ts";
import type { Line, Place } from "./place.ts";

/** A name that was asked for with nslookup or Resolve-DnsName. */
export interface LookUp {
  /** Undefined where nobody answered who it is. */
  readonly server: Ip | undefined;
  /** That there is no such name is an answer. */
  readonly isAnswered: boolean;
  readonly place: Place;
}

/** What `Test-NetConnection ADDRESS -Port PORT` found. */
export interface Attempt {
  readonly address: Ip;
  readonly port: number;
  readonly isConnected: boolean;
  readonly place: Place;
}

interface OpenLookUp {
  server: Ip | undefined;
  isAnswered: boolean;
  hasFailed: boolean;
  readonly place: Place;
}

const PROMPT = /^(?:>{0,2}\s{0,2})?(?:PS\s)?[A-Za-z]:\\[^>]{0,200}>|^[\w.@:~/-]{0,80}[#$]\s/u;
const LOOK_UP = /(?:^|\s)(?:nslookup(?:\.exe)?|Resolve-DnsName)(?:\s|$)/iu;
const TIMED_OUT = /^DNS request timed out\.?\s*$|timed-out\s*$/u;
/** Of Resolve-DnsName the id of an error is the same in every language. */
const TIME_OUT_ID = "ERROR_TIMEOUT,Microsoft.DnsClient";
const NO_NAME_ID = "DNS_ERROR_RCODE_NAME_ERROR,Microsoft.DnsClient";
/** `kubernetes.default.svc.cluster.local   A   5   Answer   10.0.0.1` */
const RESOLVED = /^\S{1,200}\s{1,80}[A-Z]{1,5}\s{1,8}\d{1,9}\s{1,8}(?:Answer|Authority)\s/u;
const SERVER = /^Server:\s{1,12}\S/u;
const ADDRESS = /^Address(?:es)?:\s{1,12}(\S{3,60})\s*$/u;
const ANSWER = /^Name:\s{1,12}\S|^\*\*\*.{1,200}(?:Non-existent domain|No .{0,60}records available)/u;

/** The look-ups of a session, or of what nslookup alone printed. */
export function readLookUps(lines: readonly Line[]): readonly LookUp[] {
  const found: OpenLookUp[] = [];
  let open: OpenLookUp | undefined;
  const opened = (place: Place): OpenLookUp => {
    open ??= { server: undefined, isAnswered: false, hasFailed: false, place };
    if (found.at(-1) !== open) found.push(open);
    return open;
  };
  for (const { text, file, line } of lines) {
    const place = { file, line };
    if (PROMPT.test(text)) {
      open = undefined;
      if (LOOK_UP.test(text.slice(text.search(/[>#$]/u) + 1))) opened(place);
      continue;
    }
    if (TIMED_OUT.test(text) || text.includes(TIME_OUT_ID)) opened(place).hasFailed = true;
    if (SERVER.test(text)) {
      if (open?.server !== undefined) open = undefined;
      opened(place);
    }
    const address = parseIp(ADDRESS.exec(text)?.[1] ?? "");
    if (open !== undefined && address !== undefined && open.server === undefined) open.server = address;
    const isAnswer = ANSWER.test(text) || RESOLVED.test(text) || text.includes(NO_NAME_ID);
    if (open !== undefined && isAnswer) open.isAnswered = true;
  }
  return found
    .filter(({ isAnswered, hasFailed }) => isAnswered || hasFailed)
    .map(({ server, isAnswered, place }) => ({ server, isAnswered, place }));
}

const FIELD = /^(RemoteAddress|RemotePort|TcpTestSucceeded)\s{0,24}:\s{0,4}(\S{1,60})\s*$/u;

/** The blocks of Test-NetConnection. */
export function readAttempts(lines: readonly Line[]): readonly Attempt[] {
  const found: Attempt[] = [];
  let address: Ip | undefined;
  let port: number | undefined;
  for (const { text, file, line } of lines) {
    const [, name, value = ""] = FIELD.exec(text) ?? [];
    if (name === "RemoteAddress") address = parseIp(value);
    if (name === "RemotePort") port = Number(value);
    if (name !== "TcpTestSucceeded" || address === undefined || port === undefined) continue;
    found.push({ address, port, isConnected: value === "True", place: { file, line } });
    address = undefined;
    port = undefined;
  }
  return found;
}
