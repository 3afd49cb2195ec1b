/**
 * `nslookup`. Its form is that of Azure/acs-engine#558 and #2027 (an answer; no server), microsoft/Windows-Containers#216 and of
 * dataplane.md §5.3: a resolver of its own, two seconds for each question. It asks the server for the server's own name first: a
 * CoreDNS of the cluster knows its Service, and `UnKnown` stands for one that does not answer or does not know. Records of other
 * types, addresses as names, and a server whose name has no address, are as in public transcripts of Windows 10 and Server.
 */
import { decodeUtf8 } from "#core/base/encodings.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { type DnsMessage, DnsRcode, type DnsRecord } from "#core/wire/dns/dns.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { planNames } from "#dataplane/host/resolver/candidate-names.ts";
import type { NameResult } from "#dataplane/host/resolver/name-result.ts";
import { reverseName } from "#control-plane/dns/cluster-answer.ts";
import { resolveName } from "../../trace/trace-name.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import { askServers } from "../dns-exchange.ts";
import type { Machine } from "../machine.ts";
import { findTarget, isTarget } from "../target.ts";

/** Inferred: the answer is authoritative, as that of CoreDNS for its own zone. The program ends with 0 whatever it found. */
const UNKNOWN = "UnKnown";
const TIMED_OUT = ["DNS request timed out.", "    timeout was 2 seconds."];

/** What is asked for without `-type`. */
const BOTH = "A+AAAA";
const ADDRESS_TYPES: readonly string[] = ["A", "AAAA", BOTH];
/** Of what the program knows, those whose lines are known (microsoft/Windows-Containers#216; Windows' page of nslookup). */
const RECORD_TYPES: readonly string[] = ["SRV", "CNAME", "NS", "PTR", "TXT", "SOA", "MX"];
const WAIT_MS = 2_000;
const TRIES = 2;

interface Lookup {
  readonly name: string;
  readonly type: string;
  readonly server: Ip;
  /** What it is called in the first line, and in what goes wrong. */
  readonly serverName: string;
  /** The question for that name got no answer. */
  readonly isSilent: boolean;
}

function ask(
  { cluster, compartment }: Machine,
  { server }: Lookup,
  name: string,
  family: "ipv4" | "ipv6",
): NameResult {
  const senderIn = (): Compartment => compartment;
  return resolveName(cluster, { name, family, manner: "nslookup", servers: [server], senderIn });
}

/** IPv6 addresses stand before the others; from the second on below the first. */
function addressLines(addresses: readonly Ip[]): readonly string[] {
  const [first = "", ...others] = addresses.map(formatIp);
  if (others.length === 0) return [`Address:  ${first}`];
  return [`Addresses:  ${first}`, ...others.map((each) => `          ${each}`)];
}

function timedOutLines(serverName: string, sentCount: number): readonly string[] {
  return [
    ...Array.from({ length: sentCount }, () => TIMED_OUT).flat(),
    `*** Request to ${serverName} timed-out`,
  ];
}

/** Inferred: the words for the types behind which none are known. */
const TYPE_WORDS: Readonly<Record<string, string>> = Object.freeze({
  [BOTH]: "internal type for both IPv4 and IPv6 Addresses (A+AAAA)",
  AAAA: "IPv6 address (AAAA)",
  MX: "mail exchange (MX)",
});

function noDataLine(type: string, name: string): string {
  return `*** No ${TYPE_WORDS[type] ?? type} records available for ${name}`;
}

const FAILURE_WORDS: Readonly<Record<string, string>> = Object.freeze({
  "name-error": "Non-existent domain",
  unreachable: "No response from server",
});

/**
 * What it says of a name that it found nothing for; what it waited for stands before that. Inferred: the line of a name without
 * addresses, that these lines stand on stderr, and that one suffix without such records counts more than others without the name, as
 * in BIND 4, from which the program comes.
 */
function failureLines(result: NameResult, { name, type, serverName }: Lookup): readonly string[] {
  const silent = result.questions.find(({ outcome }) => outcome === "timed-out");
  if (silent !== undefined) return timedOutLines(serverName, silent.sentCount);
  const outcomes = result.questions.map(({ outcome }) => outcome);
  if (outcomes.includes("no-data")) return [noDataLine(type, name)];
  const said = outcomes.at(-1) ?? "name-error";
  return [`*** ${serverName} can't find ${name}: ${FAILURE_WORDS[said] ?? "Server failed"}`];
}

/** Inferred: the wait for the server's name stands on stdout, where its name would. */
function headOf({ server, serverName, isSilent }: Lookup): readonly string[] {
  return [...(isSilent ? TIMED_OUT : []), `Server:  ${serverName}`, `Address:  ${formatIp(server)}`, ""];
}

function lookUpAddresses(machine: Machine, lookup: Lookup): CommandOutput {
  const { name, type } = lookup;
  const head = headOf(lookup);
  const found = ask(machine, lookup, name, type === "AAAA" ? "ipv6" : "ipv4");
  if (found.outcome === "failed") return { stdout: head, stderr: failureLines(found, lookup), exitCode: 0 };
  const canonical = found.canonicalName.replace(/\.$/, "");
  const asked = found.questions.at(-1)?.name.replace(/\.$/, "") ?? canonical;
  const second = type === BOTH ? ask(machine, lookup, `${asked}.`, "ipv6") : undefined;
  const ipv6 = second?.outcome === "resolved" ? second.addresses : [];
  const isAlias = asked.toLowerCase() !== canonical.toLowerCase();
  return {
    stdout: [
      ...head,
      `Name:    ${canonical}`,
      ...addressLines([...ipv6, ...found.addresses]),
      ...(isAlias ? [`Aliases:  ${asked}`] : []),
      "",
    ],
    exitCode: 0,
  };
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["min", 60],
  ["sec", 1],
] as const;

/** `7200 (2 hours)`. */
function formatSeconds(seconds: number): string {
  let rest = seconds;
  const parts: string[] = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? "" : "s"}`);
  }
  return parts.length === 0 ? `${seconds}` : `${seconds} (${parts.join(" ")})`;
}

/** A record as a line, or several. */
function recordLines(record: DnsRecord): readonly string[] {
  switch (record.type) {
    case "A":
      return [`${record.name}\tinternet address = ${formatIp(record.ip)}`];
    case "AAAA":
      return [`${record.name}\tAAAA IPv6 address = ${formatIp(record.ip)}`];
    case "CNAME":
      return [`${record.name}\tcanonical name = ${record.target}`];
    case "NS":
      return [`${record.name}\tnameserver = ${record.target}`];
    case "PTR":
      return [`${record.name}\tname = ${record.target}`];
    case "SRV":
      return [
        `${record.name}\tSRV service location:`,
        `\t  priority       = ${record.priority}`,
        `\t  weight         = ${record.weight}`,
        `\t  port           = ${record.port}`,
        `\t  svr hostname   = ${record.target}`,
      ];
    case "TXT":
      return [`${record.name}\ttext =`, "", ...record.strings.map((each) => `\t"${decodeUtf8(each)}"`)];
    case "SOA":
      return [
        record.name,
        `\tprimary name server = ${record.server}`,
        `\tresponsible mail addr = ${record.mailbox}`,
        `\tserial  = ${record.serial}`,
        `\trefresh = ${formatSeconds(record.refreshSeconds)}`,
        `\tretry   = ${formatSeconds(record.retrySeconds)}`,
        `\texpire  = ${formatSeconds(record.expireSeconds)}`,
        `\tdefault TTL = ${formatSeconds(record.minimumSeconds)}`,
      ];
    case "MX":
      return [`${record.name}\tMX preference = ${record.preference}, mail exchanger = ${record.target}`];
    case "OPT":
    case "OTHER":
      return [];
  }
}

/** What a server answers; `silent` where it does not, `unreachable` where somebody says that there is none. */
function reply(
  { cluster, compartment }: Machine,
  {
    server,
    name,
    type,
    tries = TRIES,
  }: Pick<Lookup, "server" | "name" | "type"> & { readonly tries?: number },
): DnsMessage | "silent" | "unreachable" {
  let isReached = true;
  const answer = askServers(cluster, {
    compartment,
    servers: [server],
    name,
    type,
    waitMs: WAIT_MS,
    tries,
    isPlain: true,
    unreachable: () => (isReached = false),
  });
  return answer?.message ?? (isReached ? "silent" : "unreachable");
}

function nameIn({ answers }: DnsMessage): string | undefined {
  return answers.flatMap((record) => (record.type === "PTR" ? record.target.replace(/\.$/, "") : []))[0];
}

/** What a server calls itself; undefined where it does not answer in time. */
function nameOfServer(machine: Machine, server: Ip): string | undefined {
  const message = reply(machine, { server, name: reverseName(server), type: "PTR", tries: 1 });
  if (message === "unreachable") return UNKNOWN;
  return message === "silent" ? undefined : (nameIn(message) ?? UNKNOWN);
}

/** `nslookup 10.96.0.1`: whose address it is. */
function lookUpName(machine: Machine, lookup: Lookup, ip: Ip): CommandOutput {
  const head = headOf(lookup);
  const message = reply(machine, { ...lookup, name: reverseName(ip), type: "PTR" });
  if (message === "silent")
    return { stdout: head, stderr: timedOutLines(lookup.serverName, TRIES), exitCode: 0 };
  const name = message === "unreachable" ? undefined : nameIn(message);
  if (name !== undefined)
    return { stdout: [...head, `Name:    ${name}`, `Address:  ${formatIp(ip)}`, ""], exitCode: 0 };
  const said = FAILURE_WORDS[message === "unreachable" ? "unreachable" : "name-error"] ?? "";
  return {
    stdout: head,
    stderr: [`*** ${lookup.serverName} can't find ${formatIp(ip)}: ${said}`],
    exitCode: 0,
  };
}

function lookUpRecords(machine: Machine, lookup: Lookup): CommandOutput {
  const { name, type, serverName } = lookup;
  const { compartment } = machine;
  const head = headOf(lookup);
  const ip = parseIp(name);
  const { candidates } =
    ip === undefined
      ? planNames("windows", name, compartment.dns, "nslookup")
      : { candidates: [{ name: reverseName(ip) }] };
  let said = FAILURE_WORDS["name-error"];
  let isEmpty = false;
  for (const candidate of candidates) {
    const message = reply(machine, { ...lookup, name: candidate.name });
    if (message === "silent") return { stdout: head, stderr: timedOutLines(serverName, TRIES), exitCode: 0 };
    if (message === "unreachable") {
      said = FAILURE_WORDS["unreachable"];
      break;
    }
    const { rcode, answers, additionals } = message;
    const lines = answers.flatMap(recordLines);
    if (lines.length > 0)
      return { stdout: [...head, ...lines, ...additionals.flatMap(recordLines)], exitCode: 0 };
    if (rcode === DnsRcode.noError) isEmpty = true;
    else if (rcode !== DnsRcode.nameError) said = "Server failed";
  }
  const failed = isEmpty ? noDataLine(type, name) : `*** ${serverName} can't find ${name}: ${said ?? ""}`;
  return { stdout: head, stderr: [failed], exitCode: 0 };
}

/** `-type=SRV`, `-q=srv`, `-querytype=srv`: one option. @throws RequestError for others. */
function typeOf(options: readonly string[], line: string): string {
  let type = BOTH;
  for (const option of options) {
    const [, value = ""] = /^(?:ty|typ|type|q|query|querytype)=([a-z+]+)$/.exec(option) ?? [];
    type = value.toUpperCase();
    if (!ADDRESS_TYPES.includes(type) && !RECORD_TYPES.includes(type)) return notBuilt(NSLOOKUP, line);
  }
  return type;
}

function answerTo(machine: Machine, lookup: Lookup, address: Ip | undefined): CommandOutput {
  if (address !== undefined) return lookUpName(machine, lookup, address);
  return ADDRESS_TYPES.includes(lookup.type)
    ? lookUpAddresses(machine, lookup)
    : lookUpRecords(machine, lookup);
}

function run(machine: Machine, args: readonly string[]): CommandOutput {
  const line = args.join(" ");
  const options = args.flatMap((arg) => optionOf(arg) ?? []);
  const [name, server, ...others] = args.filter((arg) => optionOf(arg) === undefined);
  const type = typeOf(options, line);
  if (name === undefined || others.length > 0) return notBuilt(NSLOOKUP, line || "without a name");
  const address = parseIp(name);
  const isOfAddress = address !== undefined && type === BOTH;
  if (address !== undefined && !isOfAddress && type !== "PTR") return notBuilt(NSLOOKUP, line);
  const given = server === undefined ? undefined : findTarget(machine, server, false);
  const isFound = given !== undefined && isTarget(given);
  const [own] = machine.compartment.dns.servers;
  const asked = isFound ? given.ip : own;
  if (asked === undefined) return notBuilt(NSLOOKUP, "on a machine without a DNS server");
  const givenName = isFound ? given.canonicalName : undefined;
  const said = givenName ?? nameOfServer(machine, asked);
  const lookup: Lookup = {
    name,
    type,
    server: asked,
    serverName: said ?? UNKNOWN,
    isSilent: said === undefined,
  };
  const output = answerTo(machine, lookup, isOfAddress ? address : undefined);
  if (given === undefined || isFound) return output;
  const { stdout, stderr = [] } = output;
  return { ...output, stdout, stderr: [`*** Can't find server address for '${server ?? ""}':`, ...stderr] };
}

export const NSLOOKUP: ListedCommand = {
  name: "nslookup",
  os: "windows",
  usages: [
    "nslookup NAME|ADDRESS [SERVER]",
    `nslookup -type=${["A", "AAAA", ...RECORD_TYPES].join("|")} NAME [SERVER]`,
  ],
  run,
};
