/** What a runtime hands to plugins by capability (cni.md §1.9), from options of the command line. */
import { messageOf } from "#core/base/thrown.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { parseInterfaceAddress, parseIp, parsePrefix } from "#core/net/ip.ts";
import { formatMac, parseMac } from "#core/net/mac.ts";
import { isPort } from "#core/net/port-range.ts";
import type { Failure } from "../failure.ts";
import { usage } from "../options.ts";

/** As commander hands them over. */
export interface CapabilityOptions {
  readonly portMapping?: readonly string[];
  readonly bandwidth?: string;
  readonly ipRange?: readonly string[];
  readonly ip?: readonly string[];
  readonly mac?: string;
  readonly dnsServer?: readonly string[];
  readonly dnsSearch?: readonly string[];
  readonly dnsOption?: readonly string[];
  readonly alias?: readonly string[];
  readonly capabilityArgs?: string;
}

function refuse(option: string, text: string, write: string): Failure {
  return usage(`${option} cannot be ${JSON.stringify(text)}`, `Write ${write}.`);
}

const PORT_MAPPING = /^(?:(\[[^\]]+\]|[^:]+):)?(\d{1,5}):(\d{1,5})(?:\/([a-z]+))?$/i;
const PORT_PROTOCOLS: readonly string[] = ["tcp", "udp", "sctp"];

function readPortMapping(text: string): JsonObject {
  const write = "[HOSTIP:]HOSTPORT:CONTAINERPORT[/tcp|udp|sctp], such as 8080:80 or 127.0.0.1:5353:53/udp";
  const [, ip, host = "", container = "", named = "tcp"] = PORT_MAPPING.exec(text) ?? [];
  const protocol = named.toLowerCase();
  const hostIP = ip?.replace(/^\[(.*)\]$/, "$1");
  const ports = [Number(host), Number(container)];
  const isWell = ports.every((port) => port > 0 && isPort(port)) && PORT_PROTOCOLS.includes(protocol);
  if (!isWell || (hostIP !== undefined && parseIp(hostIP) === undefined))
    throw refuse("--port-mapping", text, write);
  const mapping = { hostPort: Number(host), containerPort: Number(container), protocol };
  return hostIP === undefined ? mapping : { ...mapping, hostIP };
}

/** `NAME=VALUE,NAME=VALUE`; undefined when a part is none, or is named twice. */
function readMembers(parts: readonly string[]): ReadonlyMap<string, string> | undefined {
  const members = new Map<string, string>();
  for (const part of parts) {
    const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(part) ?? [];
    if (name === "" || members.has(name)) return undefined;
    members.set(name, value);
  }
  return members;
}

const RATES: readonly string[] = ["ingressRate", "ingressBurst", "egressRate", "egressBurst"];

function readBandwidth(text: string): JsonObject {
  const members = readMembers(text.split(","));
  const entries = [...(members ?? [])];
  const isWell = entries.every(([name, value]) => RATES.includes(name) && /^\d{1,15}$/.test(value));
  if (members === undefined || !isWell)
    throw refuse("--bandwidth", text, `${RATES.join("=BITS,")}=BITS, or some of them`);
  return Object.fromEntries(entries.map(([name, value]) => [name, Number(value)]));
}

const RANGE_ADDRESSES: readonly string[] = ["rangeStart", "rangeEnd", "gateway"];

function readIpRange(text: string): JsonObject {
  const [subnet = "", ...rest] = text.split(",");
  const members = readMembers(rest);
  const isWell = [...(members ?? [])].every(
    ([name, value]) => RANGE_ADDRESSES.includes(name) && parseIp(value) !== undefined,
  );
  if (parsePrefix(subnet) === undefined || members === undefined || !isWell)
    throw refuse("--ip-range", text, "SUBNET[,rangeStart=IP][,rangeEnd=IP][,gateway=IP], without host bits");
  return { subnet, ...Object.fromEntries(members) };
}

function readIp(text: string): string {
  if (parseIp(text) === undefined && parseInterfaceAddress(text) === undefined)
    throw refuse("--ip", text, "an address, such as 10.244.1.9 or 10.244.1.9/24");
  return text;
}

function readMac(text: string): string {
  const mac = parseMac(text);
  if (mac === undefined) throw refuse("--mac", text, "six bytes, such as 00:15:5d:00:00:01");
  return formatMac(mac).replaceAll("-", ":").toLowerCase();
}

function readDns({ dnsServer, dnsSearch, dnsOption }: CapabilityOptions): JsonObject | undefined {
  for (const server of dnsServer ?? []) {
    if (parseIp(server) === undefined) throw refuse("--dns-server", server, "an address");
  }
  if (dnsServer === undefined && dnsSearch === undefined && dnsOption === undefined) return undefined;
  return { servers: dnsServer ?? [], searches: dnsSearch ?? [], options: dnsOption ?? [] };
}

/** Values by capability as JSON, from `option`. @throws Failure. */
export function parseCapabilityJson(option: string, text: string): JsonObject {
  let document: JsonValue;
  try {
    document = parseJson(text);
  } catch (error) {
    const reason = messageOf(error);
    throw usage(`${option} is not JSON: ${reason}`, 'Write an object, such as {"mac":"00:15:5d:00:00:01"}.');
  }
  if (isJsonObject(document)) return document;
  throw refuse(option, text, 'an object, such as {"mac":"00:15:5d:00:00:01"}');
}

/** Values by capability; undefined when no option gives one. The option of a capability wins over its JSON. @throws Failure. */
export function readCapabilityOptions(options: CapabilityOptions): JsonObject | undefined {
  const { portMapping, bandwidth, ipRange, ip, mac, alias, capabilityArgs } = options;
  const given: JsonObject = {
    ...(capabilityArgs === undefined ? {} : parseCapabilityJson("--capability-args", capabilityArgs)),
    ...(portMapping === undefined ? {} : { portMappings: portMapping.map(readPortMapping) }),
    ...(bandwidth === undefined ? {} : { bandwidth: readBandwidth(bandwidth) }),
    // A set for each: an address of every one.
    ...(ipRange === undefined ? {} : { ipRanges: ipRange.map((range) => [readIpRange(range)]) }),
    ...(ip === undefined ? {} : { ips: ip.map(readIp) }),
    ...(mac === undefined ? {} : { mac: readMac(mac) }),
    ...(alias === undefined ? {} : { aliases: alias }),
  };
  const dns = readDns(options);
  const all = dns === undefined ? given : { ...given, dns };
  return Object.keys(all).length === 0 && capabilityArgs === undefined ? undefined : all;
}
