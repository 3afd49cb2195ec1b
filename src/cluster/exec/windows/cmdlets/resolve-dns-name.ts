/**
 * `Resolve-DnsName`. Its form is that of containernetworking/plugins#229 (in a pod) and of outputs that Microsoft's pages print: a
 * table of addresses; behind an alias, which has a table of its own, addresses as lists; what is said of a name that does not
 * exist, of a server that fails and of one that is silent.
 *
 * It is the system's resolver (dataplane.md §5.3), with hosts file, cache and suffixes. Inferred: without `-Type` it asks for IPv4
 * first and shows IPv6 first; the SOA record of an answer without addresses is left out; names of the hosts file live 24 hours.
 */
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { AddressType, NameResult } from "#dataplane/host/resolver/name-result.ts";
import { resolveName } from "../../../trace/trace-name.ts";
import type { Machine } from "../../machine.ts";
import { notBuilt } from "../../command.ts";
import type { Cmdlet, CmdletOutput, Fault, Given } from "../powershell/cmdlet.ts";
import { type Column, type ObjectKind, type PsObject, makeObject } from "../powershell/objects.ts";

interface AddressRecord {
  readonly name: string;
  readonly ip: Ip;
  readonly ttl: number;
}

interface AliasRecord {
  readonly name: string;
  readonly target: string;
  readonly ttl: number;
}

const HOSTS_TTL_SECONDS = 86_400;
/** Numbers of RFC 1035 and RFC 3596. */
const A = { text: "A", number: 1 };
const AAAA = { text: "AAAA", number: 28 };
const CNAME = { text: "CNAME", number: 5 };
const ANSWER = { text: "Answer", number: 1 };

function tableOf(nameWidth: number, last: string): readonly Column[] {
  return [
    { name: "Name", width: nameWidth, fit: "wrap" },
    { name: "Type", width: 6 },
    { name: "TTL", width: 5 },
    { name: "Section", width: 10 },
    { name: last },
  ];
}

const ADDRESS: ObjectKind<AddressRecord> = {
  properties: [
    { name: "Name", read: ({ name }) => name },
    { name: "Type", read: ({ ip }) => (typeof ip === "number" ? A : AAAA) },
    { name: "CharacterSet", read: () => ({ text: "Unicode", number: 1 }) },
    { name: "Section", read: () => ANSWER },
    { name: "DataLength", read: ({ ip }) => (typeof ip === "number" ? 4 : 16) },
    { name: "TTL", read: ({ ttl }) => ttl },
    { name: "IPAddress", read: ({ ip }) => formatIp(ip) },
  ],
  table: tableOf(46, "IPAddress"),
  list: [
    { name: "Name", read: ({ name }) => name },
    { name: "QueryType", read: ({ ip }) => (typeof ip === "number" ? A : AAAA) },
    { name: "TTL", read: ({ ttl }) => ttl },
    { name: "Section", read: () => ANSWER },
    { name: "IP4Address", read: ({ ip }) => (typeof ip === "number" ? formatIp(ip) : undefined) },
    { name: "IP6Address", read: ({ ip }) => (typeof ip === "number" ? undefined : formatIp(ip)) },
  ],
};

const ALIAS: ObjectKind<AliasRecord> = {
  properties: [
    { name: "Name", read: ({ name }) => name },
    { name: "Type", read: () => CNAME },
    { name: "CharacterSet", read: () => ({ text: "Unicode", number: 1 }) },
    { name: "Section", read: () => ANSWER },
    { name: "DataLength", read: () => 8 },
    { name: "TTL", read: ({ ttl }) => ttl },
    { name: "NameHost", read: ({ target }) => target },
  ],
  table: tableOf(30, "NameHost"),
  list: [
    { name: "Name", read: ({ name }) => name },
    { name: "QueryType", read: () => CNAME },
    { name: "TTL", read: ({ ttl }) => ttl },
    { name: "Section", read: () => ANSWER },
    { name: "NameHost", read: ({ target }) => target },
  ],
};

const TYPES: Readonly<Record<string, readonly AddressType[]>> = {
  a: ["A"],
  aaaa: ["AAAA"],
  a_aaaa: ["A", "AAAA"],
};

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

interface Found {
  readonly aliases: readonly AliasRecord[];
  readonly addresses: readonly AddressRecord[];
}

function recordsOf(machine: Machine, result: NameResult): Found {
  if (result.outcome === "failed") return { aliases: [], addresses: [] };
  const asked = askedName(result);
  const target = bare(result.canonicalName);
  const ttl = ttlOf(machine, asked, result.type);
  const isAlias = asked.toLowerCase() !== target.toLowerCase();
  return {
    aliases: isAlias ? [{ name: asked, target, ttl }] : [],
    addresses: result.addresses.map((ip) => ({ name: isAlias ? target : asked, ip, ttl })),
  };
}

/** What is said of a name by how its last question ended. Inferred: identifiers of the errors but the first. */
function faultOf(result: NameResult, name: string): Fault | undefined {
  const outcome = result.questions.at(-1)?.outcome;
  if (result.outcome === "resolved" || outcome === "no-data") return undefined;
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

function resolve(machine: Machine, given: Given): CmdletOutput {
  const { cluster, compartment } = machine;
  const name = given.get("Name");
  const types = TYPES[(given.get("Type") ?? "A_AAAA").toLowerCase()];
  if (name === undefined) return notBuilt(RESOLVE_DNS_NAME, "without a name");
  if (types === undefined) return notBuilt(RESOLVE_DNS_NAME, `-Type ${given.get("Type")}`);
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
  const objects: readonly PsObject[] = [
    ...aliases.map((each) => makeObject(ALIAS, each)),
    ...found.toReversed().flatMap(({ addresses }) => addresses.map((each) => makeObject(ADDRESS, each))),
  ];
  if (objects.length > 0) return { objects };
  const fault = results.map((each) => faultOf(each, name)).find((each) => each !== undefined);
  return fault === undefined ? { objects } : { objects, fault };
}

export const RESOLVE_DNS_NAME: Cmdlet = {
  name: "Resolve-DnsName",
  usages: ["Resolve-DnsName [-Name] NAME [-Type A|AAAA|A_AAAA]"],
  parameters: ["Name", "Type"],
  positions: 2,
  switches: [],
  others: [
    "Server",
    "DnsOnly",
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
