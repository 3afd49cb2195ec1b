/**
 * `dig`. Its form is that of kelseyhightower/kubernetes-the-hard-way#621 and coredns/coredns#1228 (BIND 9.11), with the columns of
 * lib/dns/masterdump.c. Without `+search` a name is asked for as it is; no answer is exit code 9.
 *
 * Inferred: the line `WHEN` is left out, since no machine here knows the date.
 */
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import { type DnsMessage, type DnsRecord, DnsRcode, dnsRcodeName } from "#core/wire/dns/dns.ts";
import { planNames } from "#dataplane/host/resolver/candidate-names.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import { numberOf } from "../getopt.ts";
import type { Machine } from "../machine.ts";
import { findTarget, isTarget } from "../target.ts";
import { type DnsReply, askServers } from "../dns-exchange.ts";

const VERSION = "9.11.6-P1";
const TYPES: ReadonlySet<string> = new Set(["A", "AAAA", "CNAME", "SRV", "PTR", "NS", "MX", "TXT", "SOA"]);
const FLAGS: ReadonlySet<string> = new Set(["short", "search", "nosearch", "noall", "answer"]);
/** Columns of time to live, class, type and data. */
const TABS = { ttl: 24, class: 32, type: 40, data: 48 } as const;
const TAB = 8;

interface Given {
  readonly name: string;
  readonly type: string;
  readonly server: string | undefined;
  readonly flags: ReadonlySet<string>;
  readonly waitMs: number;
  readonly tries: number;
}

function readPlus(word: string): Partial<Given> | { readonly flag: string } | undefined {
  const [name = "", value] = word.slice(1).split("=");
  if (FLAGS.has(name) && value === undefined) return { flag: name };
  const number = numberOf(value, { least: 1, most: 60 });
  if (number === undefined) return undefined;
  if (name === "time" || name === "timeout") return { waitMs: number * 1_000 };
  return name === "tries" ? { tries: number } : undefined;
}

function readArguments(args: readonly string[]): Given {
  const refuse = (): never => notBuilt(DIG, args.join(" ") || "without a name");
  const flags = new Set<string>();
  const names: string[] = [];
  let given: Partial<Given> = {};
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word.startsWith("@")) given = { ...given, server: word.slice(1) };
    else if (word.startsWith("+")) {
      const option = readPlus(word) ?? refuse();
      if ("flag" in option) flags.add(option.flag);
      else given = { ...given, ...option };
    } else if (word === "-t") {
      const type = (args[++at] ?? "").toUpperCase();
      given = { ...given, type: TYPES.has(type) ? type : refuse() };
    } else if (word.startsWith("-")) refuse();
    else if (TYPES.has(word.toUpperCase()) && names.length > 0)
      given = { ...given, type: word.toUpperCase() };
    else if (word.toUpperCase() !== "IN") names.push(word);
  }
  const [name = "", ...others] = names;
  if (others.length > 0 || !isDnsName(name)) return refuse();
  return { name, type: "A", server: undefined, waitMs: 5_000, tries: 3, ...given, flags };
}

/** Goes on to a column with tabs; behind it stands one blank. */
function to(column: number, text: string): string {
  const tabs: string[] = [];
  let at = 0;
  for (const character of text) at = character === "\t" ? (Math.floor(at / TAB) + 1) * TAB : at + 1;
  if (at >= column) return `${text} `;
  for (; at < column; at = (Math.floor(at / TAB) + 1) * TAB) tabs.push("\t");
  return text + tabs.join("");
}

/** With its final dot; the root is that dot. */
function absolute(name: string): string {
  return name === "." ? name : `${name}.`;
}

function dataOf(record: Exclude<DnsRecord, { readonly type: "OPT" }>): string {
  switch (record.type) {
    case "A":
    case "AAAA":
      return formatIp(record.ip);
    case "SRV":
      return `${record.priority} ${record.weight} ${record.port} ${absolute(record.target)}`;
    case "MX":
      return `${record.preference} ${absolute(record.target)}`;
    case "TXT":
      return record.strings.map((each) => JSON.stringify(String.fromCharCode(...each))).join(" ");
    case "SOA":
      return [
        `${absolute(record.server)} ${absolute(record.mailbox)}`,
        record.serial,
        record.refreshSeconds,
        record.retrySeconds,
        record.expireSeconds,
        record.minimumSeconds,
      ].join(" ");
    case "OTHER":
      return `\\# ${record.data.length}`;
    case "CNAME":
    case "NS":
    case "PTR":
      return absolute(record.target);
  }
}

function recordLine(record: Exclude<DnsRecord, { readonly type: "OPT" }>): string {
  const type = record.type === "OTHER" ? `TYPE${record.typeNumber}` : record.type;
  const ttl = `${to(TABS.ttl, absolute(record.name))}${record.ttlSeconds}`;
  return `${to(TABS.data, `${to(TABS.type, `${to(TABS.class, ttl)}IN`)}${type}`)}${dataOf(record)}`;
}

function section(title: string, records: readonly DnsRecord[]): readonly string[] {
  const lines = records.flatMap((each) => (each.type === "OPT" ? [] : [recordLine(each)]));
  return lines.length === 0 ? [] : [`;; ${title} SECTION:`, ...lines, ""];
}

function headerLines(message: DnsMessage): readonly string[] {
  const flags = [
    "qr",
    ...(message.isAuthoritative ? ["aa"] : []),
    ...(message.isTruncated ? ["tc"] : []),
    ...(message.isRecursionDesired ? ["rd"] : []),
    ...(message.isRecursionAvailable ? ["ra"] : []),
  ];
  const counts = [
    `QUERY: ${message.questions.length}`,
    `ANSWER: ${message.answers.length}`,
    `AUTHORITY: ${message.authorities.length}`,
    `ADDITIONAL: ${message.additionals.length}`,
  ];
  const isRefused = message.isRecursionDesired && !message.isRecursionAvailable;
  return [
    ";; Got answer:",
    `;; ->>HEADER<<- opcode: QUERY, status: ${dnsRcodeName(message.rcode)}, id: ${message.id}`,
    `;; flags: ${flags.join(" ")}; ${counts.join(", ")}`,
    ...(isRefused ? [";; WARNING: recursion requested but not available"] : []),
    "",
  ];
}

function optLines(message: DnsMessage): readonly string[] {
  const opt = message.additionals.find((each) => each.type === "OPT");
  if (opt === undefined) return [];
  return [";; OPT PSEUDOSECTION:", `; EDNS: version: 0, flags:; udp: ${opt.udpPayloadBytesMax}`];
}

function replyLines({ message, server, bytes, tookMs, isOverTcp }: DnsReply): readonly string[] {
  const [question] = message.questions;
  const asked =
    question === undefined
      ? ""
      : `${to(TABS.class, `;${absolute(question.name)}`)}${question.class}\t${question.type}`;
  const additionals = message.additionals.filter((each) => each.type !== "OPT");
  return [
    ...(isOverTcp ? [";; Truncated, retrying in TCP mode."] : []),
    ...headerLines(message),
    ...optLines(message),
    ";; QUESTION SECTION:",
    asked,
    "",
    ...section("ANSWER", message.answers),
    ...section("AUTHORITY", message.authorities),
    ...section("ADDITIONAL", additionals),
    `;; Query time: ${tookMs} msec`,
    `;; SERVER: ${formatIp(server)}#53(${formatIp(server)})`,
    `;; MSG SIZE  rcvd: ${bytes}`,
    "",
  ];
}

/** The last reply: names of the search list that do not exist lead to the next one. */
function lookUp(
  { cluster, compartment }: Machine,
  given: Given,
  servers: readonly Ip[],
): DnsReply | undefined {
  const { name, type, waitMs, tries, flags } = given;
  const plan = planNames("linux", name, compartment.dns);
  const names = flags.has("search")
    ? plan.candidates.map((each) => each.name)
    : [name.replace(/(?<=.)\.$/, "")];
  let reply: DnsReply | undefined;
  for (const each of names) {
    reply = askServers(cluster, { compartment, servers, name: each, type, waitMs, tries });
    if (reply === undefined || reply.message.rcode !== DnsRcode.nameError) return reply;
  }
  return reply;
}

function dig(machine: Machine, args: readonly string[]): CommandOutput {
  const given = readArguments(args);
  const { server, flags } = given;
  const target = server === undefined ? undefined : findTarget(machine, server, false);
  if (target !== undefined && !isTarget(target))
    return {
      stdout: [],
      stderr: [`dig: couldn't get address for '${server ?? ""}': not found`],
      exitCode: 10,
    };
  const local = parseIp("127.0.0.1");
  const own = machine.compartment.dns.servers;
  const servers =
    target === undefined ? (own.length > 0 ? own : local === undefined ? [] : [local]) : [target.ip];
  const reply = lookUp(machine, given, servers);
  const head = ["", `; <<>> DiG ${VERSION} <<>> ${args.join(" ")}`, ";; global options: +cmd"];
  const isBare = flags.has("short") || flags.has("noall");
  if (reply === undefined)
    return {
      stdout: [...(isBare ? [] : head), ";; connection timed out; no servers could be reached"],
      exitCode: 9,
    };
  const records = reply.message.answers.flatMap((each) => (each.type === "OPT" ? [] : [each]));
  if (flags.has("short")) return { stdout: records.map(dataOf), exitCode: 0 };
  if (flags.has("noall")) return { stdout: flags.has("answer") ? records.map(recordLine) : [], exitCode: 0 };
  return { stdout: [...head, ...replyLines(reply)], exitCode: 0 };
}

export const DIG: ListedCommand = {
  name: "dig",
  os: "linux",
  usages: [
    "dig [@SERVER] [-t] [TYPE] NAME [+search] [+short] [+noall +answer] [+time=SECONDS] [+tries=NUMBER]",
  ],
  run: dig,
};
