/**
 * `Resolve-DnsName`: what is said of a name that does not exist, of a server that fails and of one that is silent is that of
 * containernetworking/plugins#229 (in a pod) and of outputs that Microsoft's pages print; an address is asked for as a name.
 *
 * It is the system's resolver (dataplane.md §5.3), with hosts file, cache and suffixes; other types than addresses, and a named
 * server, are asked for on the wire each time. Inferred: without `-Type` it asks for IPv4 first and shows IPv6 first; of a name that has no
 * address the zone's SOA record is shown, as of other types that it has not, and not when the cache knew it; one suffix without
 * such records counts more than others without the name; names of the hosts file live 24 hours; `-DnsOnly` changes nothing,
 * since no pod asks by LLMNR or NetBIOS; ALL is ANY.
 */
import { reverseName } from "#control-plane/dns/cluster-answer.ts";
import { type Ip, parseIp } from "#core/net/ip.ts";
import { type DnsMessage, DnsRcode, type DnsRecord } from "#core/wire/dns/dns.ts";
import { planNames } from "#dataplane/host/resolver/candidate-names.ts";
import type { AddressType, NameResult, QuestionOutcome } from "#dataplane/host/resolver/name-result.ts";
import { resolveName } from "../../../trace/trace-name.ts";
import { notBuilt } from "../../command.ts";
import { askServers } from "../../dns-exchange.ts";
import type { Machine } from "../../machine.ts";
import { findTarget, isTarget } from "../../target.ts";
import type { Cmdlet, CmdletOutput, Fault, Given } from "../powershell/cmdlet.ts";
import type { PsObject } from "../powershell/objects.ts";
import { type Section, addressObject, nameObject, recordObject } from "./dns-objects.ts";

const HOSTS_TTL_SECONDS = 86_400;

const TYPES: Readonly<Record<string, readonly AddressType[]>> = {
  a: ["A"],
  aaaa: ["AAAA"],
  a_aaaa: ["A", "AAAA"],
};
/** Types that the resolver keeps no memory of here. */
const RECORD_TYPES: readonly string[] = ["CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT", "ANY"];
/** Windows' other word for every type. */
const ALL = "ALL";
/** As long in all as the client of Windows waits (dataplane.md §5.3). Inferred: in equal parts. */
const RECORD_WAIT_MS = 2_000;
const RECORD_TRIES = 5;

function bare(name: string): string {
  return name.replace(/\.$/, "");
}

/** The name that was answered: the one with the suffix that the resolver added. */
function askedName(result: NameResult): string {
  return bare(result.questions.at(-1)?.name ?? result.name);
}

function ttlOf({ compartment }: Machine, name: string, type: AddressType): number {
  const known = compartment.nameCache.get(`${name}.`, type, compartment.nowMs);
  return known === undefined ? HOSTS_TTL_SECONDS : Math.ceil((known.expiresAtMs - compartment.nowMs) / 1_000);
}

/** Aliases, and addresses behind them. */
interface Found {
  readonly aliases: readonly PsObject[];
  readonly addresses: readonly PsObject[];
}

function recordsOf(machine: Machine, result: NameResult): Found {
  if (result.outcome === "failed") return { aliases: [], addresses: [] };
  const name = askedName(result);
  const target = bare(result.canonicalName);
  const ttl = ttlOf(machine, name, result.type);
  const isAlias = name.toLowerCase() !== target.toLowerCase();
  return {
    aliases: isAlias ? [nameObject("CNAME", { name, target, ttl })] : [],
    addresses: result.addresses.map((ip) => addressObject(isAlias ? target : name, ip, ttl)),
  };
}

/** What is said of a name by how its last question ended. Inferred: identifiers of the errors but the first. */
function faultOf(outcome: QuestionOutcome | undefined, name: string): Fault | undefined {
  if (outcome === "no-data" || outcome === "answered") return undefined;
  const fault = (message: string, category: string, id: string): Fault => ({
    message: `${name} : ${message}`,
    category: `${category}: (${name}:String)`,
    exception: "Win32Exception",
    id: `${id},Microsoft.DnsClient.Commands.ResolveDnsName`,
  });
  if (outcome === "name-error")
    return fault("DNS name does not exist", "ResourceUnavailable", "DNS_ERROR_RCODE_NAME_ERROR");
  if (outcome === "server-failure")
    return fault("DNS server failure", "ResourceUnavailable", "DNS_ERROR_RCODE_SERVER_FAILURE");
  return fault(
    "This operation returned because the timeout period expired",
    "OperationTimeout",
    "ERROR_TIMEOUT",
  );
}

function resolveAddresses(machine: Machine, name: string, types: readonly AddressType[]): CmdletOutput {
  const { cluster, compartment } = machine;
  const results = types.map((type) =>
    resolveName(cluster, {
      name,
      family: type === "A" ? "ipv4" : "ipv6",
      manner: "system",
      senderIn: () => compartment,
    }),
  );
  const found = results.map((each) => recordsOf(machine, each));
  const aliases = found.find((each) => each.aliases.length > 0)?.aliases ?? [];
  const objects = [...aliases, ...found.toReversed().flatMap(({ addresses }) => addresses)];
  if (objects.length > 0) return { objects };
  const asked = results.flatMap((each) => each.questions);
  const isKnown = asked.some(({ outcome }) => outcome === "no-data");
  if (isKnown) {
    const zone = asked.flatMap(({ authorities }) => authorities ?? []);
    return { objects: withoutRepeats(shownOf(zone, "authority")) };
  }
  const fault = results
    .filter(({ outcome }) => outcome === "failed")
    .map(({ questions }) => faultOf(questions.at(-1)?.outcome, name))
    .find((each) => each !== undefined);
  return fault === undefined ? { objects } : { objects, fault };
}

function outcomeOf({ rcode, answers }: DnsMessage): QuestionOutcome {
  if (rcode === DnsRcode.nameError) return "name-error";
  if (rcode !== DnsRcode.noError) return "server-failure";
  return answers.length === 0 ? "no-data" : "answered";
}

function shownOf(records: readonly DnsRecord[], section: Section): readonly PsObject[] {
  return records.flatMap((record) => recordObject(record, section) ?? []);
}

/** Where nothing answers the question, the zone's SOA record from the authority section is all that is shown. */
function messageObjects({ answers, authorities, additionals }: DnsMessage): readonly PsObject[] {
  return [
    ...shownOf(answers, "answer"),
    ...shownOf(authorities, "authority"),
    ...shownOf(additionals, "additional"),
  ];
}

/** Whole names in the order in which they are asked for. */
function candidatesOf(machine: Machine, name: string, type: string): readonly string[] {
  const ip = type === "PTR" ? parseIp(name) : undefined;
  if (ip !== undefined) return [reverseName(ip)];
  return planNames("windows", name, machine.compartment.dns).candidates.map((each) => each.name);
}

/** What servers say themselves: of types other than addresses, or of a server that the command names. */
function askRecords(
  machine: Machine,
  { name, types, servers }: { name: string; types: readonly string[]; servers: readonly Ip[] },
): CmdletOutput {
  const { cluster, compartment } = machine;
  let outcome: QuestionOutcome = servers.length === 0 ? "timed-out" : "name-error";
  const objects: PsObject[] = [];
  for (const type of types) {
    for (const candidate of candidatesOf(machine, name, type)) {
      const asked = { compartment, servers, name: candidate, type, isPlain: true } as const;
      const answer = askServers(cluster, { ...asked, waitMs: RECORD_WAIT_MS, tries: RECORD_TRIES });
      outcome = answer === undefined ? "timed-out" : outcomeOf(answer.message);
      if (answer !== undefined && (outcome === "answered" || outcome === "no-data"))
        objects.push(...messageObjects(answer.message));
      if (outcome !== "name-error") break;
    }
  }
  if (objects.length > 0) return { objects: withoutRepeats(objects) };
  const fault = faultOf(outcome, name);
  return fault === undefined ? { objects } : { objects, fault };
}

/** Two questions about one name bring its alias, or its zone, twice. */
function withoutRepeats(objects: readonly PsObject[]): readonly PsObject[] {
  const seen = new Set<string>();
  return objects.filter(({ values }) => {
    const key = JSON.stringify(values);
    return !seen.has(key) && seen.add(key) !== undefined;
  });
}

function resolve(machine: Machine, given: Given): CmdletOutput {
  const name = given.get("Name");
  if (name === undefined) return notBuilt(RESOLVE_DNS_NAME, "without a name");
  const type = given.get("Type") ?? (parseIp(name) === undefined ? "A_AAAA" : "PTR");
  const wanted = type.toUpperCase() === ALL ? "ANY" : type;
  const types = TYPES[wanted.toLowerCase()];
  const isRecordType = RECORD_TYPES.includes(wanted.toUpperCase());
  if (types === undefined && !isRecordType) return notBuilt(RESOLVE_DNS_NAME, `-Type ${wanted}`);
  const server = given.get("Server");
  if (types !== undefined && server === undefined) return resolveAddresses(machine, name, types);
  const found = server === undefined ? undefined : findTarget(machine, server, false);
  if (found !== undefined && !isTarget(found)) return { objects: [], fault: noServer(server ?? "") };
  const servers = found === undefined ? machine.compartment.dns.servers : [found.ip];
  return askRecords(machine, { name, types: types ?? [wanted.toUpperCase()], servers });
}

/** Inferred: the words about a server whose own name has no address. */
function noServer(server: string): Fault {
  return {
    message: `${server} : DNS name does not exist`,
    category: `ResourceUnavailable: (${server}:String)`,
    exception: "Win32Exception",
    id: "DNS_ERROR_RCODE_NAME_ERROR,Microsoft.DnsClient.Commands.ResolveDnsName",
  };
}

export const RESOLVE_DNS_NAME: Cmdlet = {
  name: "Resolve-DnsName",
  usages: [
    `Resolve-DnsName [-Name] NAME|ADDRESS [-Type A|AAAA|A_AAAA|${RECORD_TYPES.join("|")}|${ALL}] [-Server SERVER] [-DnsOnly]`,
  ],
  parameters: ["Name", "Type", "Server"],
  positions: 2,
  switches: ["DnsOnly"],
  others: [
    "CacheOnly",
    "DnssecOk",
    "DnssecCd",
    "NoHostsFile",
    "LlmnrNetbiosOnly",
    "LlmnrFallback",
    "LlmnrOnly",
    "NetbiosFallback",
    "NoIdn",
    "NoRecursion",
    "QuickTimeout",
    "TcpOnly",
  ],
  run: resolve,
};
