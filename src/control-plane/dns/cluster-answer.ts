/**
 * What the cluster's DNS server says about a name of the cluster.
 *
 * Sources: Kubernetes DNS-Based Service Discovery 1.1.0 (github.com/kubernetes/dns, docs/specification.md); where it
 * leaves a choice, CoreDNS with the Corefile that kubeadm installs (`pods insecure`, `fallthrough in-addr.arpa ip6.arpa`,
 * `ttl 30`), github.com/coredns/coredns, plugin/kubernetes and plugin/backend_lookup.go.
 */
import { encodeUtf8 } from "#core/base/encodings.ts";
import { type Ip, type Ipv6, formatIp, parseIpv4, parseIpv6 } from "#core/net/ip.ts";
import { type DnsQuestion, DnsRcode, type DnsRecord } from "#core/wire/dns/dns.ts";
import { type NameAnswer, comparableName, isInZone, makeAnswer } from "./answer.ts";
import type { PortRecord, ServiceRecord, SliceRecord } from "./service-record.ts";

/** The names of a cluster as answers are made of them. */
export interface ZoneIndex {
  readonly zone: string;
  readonly ttlSeconds: number;
  readonly serial: number;
  hasNamespace(namespace: string): boolean;
  getService(namespace: string, name: string): ServiceRecord | undefined;
  listSlices(service: ServiceRecord): readonly SliceRecord[];
  getServiceByIp(ip: Ip): ServiceRecord | undefined;
  listSlicesByIp(ip: Ip): readonly SliceRecord[];
  /** All slices with a ready endpoint of that address, named or not. */
  findSlicesWith(ip: Ip): readonly SliceRecord[];
}

/** Names of the reverse zones: RFC 1035 §3.5, RFC 3596 §2.5. */
const V4_ZONE = "in-addr.arpa";
const V6_ZONE = "ip6.arpa";
const V6_DIGITS = 32;

/** The name that an address has in its reverse zone. */
export function reverseName(ip: Ip): string {
  if (typeof ip === "number") return `${formatIp(ip).split(".").toReversed().join(".")}.${V4_ZONE}`;
  const digits = ip.toString(16).padStart(V6_DIGITS, "0").split("");
  return `${digits.toReversed().join(".")}.${V6_ZONE}`;
}

/** True for names of the reverse zones; `name` is comparable. */
function isReverseName(name: string): boolean {
  return isInZone(name, V4_ZONE) || isInZone(name, V6_ZONE);
}

/** The address that a comparable reverse name stands for; undefined when it is not one whole address. */
function addressOfReverseName(name: string): Ip | undefined {
  if (name.endsWith(`.${V4_ZONE}`)) {
    const labels = name.slice(0, -V4_ZONE.length - 1).split(".");
    return labels.length === 4 ? parseIpv4(labels.toReversed().join(".")) : undefined;
  }
  if (!name.endsWith(`.${V6_ZONE}`)) return undefined;
  const digits = name.slice(0, -V6_ZONE.length - 1).split(".");
  if (digits.length !== V6_DIGITS || !digits.every((digit) => /^[0-9a-f]$/.test(digit))) return undefined;
  return BigInt(`0x${digits.toReversed().join("")}`) as Ipv6;
}

/** The address in the first label of a pod's name, `10-244-1-5` or `fd00--5`; undefined when it is none. */
function addressOfPodLabel(label: string): Ip | undefined {
  const isDotted = label.split("-").length === 4 && !label.includes("--");
  return isDotted ? parseIpv4(label.replaceAll("-", ".")) : parseIpv6(label.replaceAll("-", ":"));
}

/**
 * What a name under the cluster's domain asks for: `service.namespace.svc`, `endpoint.service.namespace.svc`,
 * `_port._protocol.service.namespace.svc`, `a-b-c-d.namespace.pod`, and the shorter ones above them. Parts that the name does
 * not have are empty. All in lower case.
 */
interface RequestName {
  readonly subject: "apex" | "svc" | "pod";
  readonly namespace: string;
  /** The Service, or the first label of a pod's name. */
  readonly service: string;
  readonly endpoint: string;
  readonly port: string;
  readonly protocol: string;
}

function withoutUnderscore(label: string): string {
  return label.startsWith("_") ? label.slice(1) : label;
}

/** Reads a comparable name of the zone; undefined when the schema has no such name. */
function parseRequestName(name: string, zone: string): RequestName | undefined {
  const empty = { namespace: "", service: "", endpoint: "", port: "", protocol: "" };
  if (name === zone) return { subject: "apex", ...empty };
  const labels = name
    .slice(0, -zone.length - 1)
    .split(".")
    .toReversed();
  const [subject, namespace = "", service = "", ...rest] = labels;
  if (subject !== "svc" && subject !== "pod") return undefined;
  const common = { ...empty, subject, namespace, service } as const;
  if (rest.length === 0) return common;
  if (rest.length === 1) return { ...common, endpoint: rest[0] ?? "" };
  if (rest.length > 2) return undefined;
  return {
    ...common,
    protocol: withoutUnderscore(rest[0] ?? ""),
    port: withoutUnderscore(rest[1] ?? ""),
  };
}

/** Version of the schema, and how long it may be remembered (specification §2.2). */
const SCHEMA_VERSION = "1.1.0";
const SCHEMA_TTL_SECONDS = 28_800;
/** CoreDNS' name for itself. */
const SERVER = "ns.dns";
/** CoreDNS, plugin/backend_lookup.go: a chain of more CNAMEs is cut. */
const CNAMES_MAX = 8;
const SOA_TTL_SECONDS_MAX = 300;
const WEIGHT_SUM = 100;

/** An address that a name leads to. */
interface Target {
  readonly ip: Ip;
  /** The name that has this address, and no other of the Service: the target of SRV records. */
  readonly name: string;
  /** Undefined: there is no port, and no SRV record. */
  readonly port: number | undefined;
}

/** What a name stands for. `unknown`: no such name. */
type Found =
  | { readonly kind: "unknown" }
  | { readonly kind: "addresses"; readonly targets: readonly Target[] }
  | { readonly kind: "alias"; readonly target: string };

const UNKNOWN: Found = Object.freeze({ kind: "unknown" });
const NO_ADDRESS: Found = Object.freeze({ kind: "addresses", targets: Object.freeze([]) });

function soaOf({ zone, ttlSeconds, serial }: ZoneIndex): DnsRecord {
  return {
    name: zone,
    ttlSeconds: Math.min(ttlSeconds, SOA_TTL_SECONDS_MAX),
    type: "SOA",
    server: `${SERVER}.${zone}`,
    mailbox: `hostmaster.${zone}`,
    serial,
    refreshSeconds: 7_200,
    retrySeconds: 1_800,
    expireSeconds: 86_400,
    minimumSeconds: ttlSeconds,
  };
}

/** "No such name", or "no record of that type": with the SOA that says how long to remember it (RFC 2308). */
function negative(zone: ZoneIndex, rcode: number): NameAnswer {
  return makeAnswer({ rcode, authorities: [soaOf(zone)] });
}

function addressRecord(name: string, ip: Ip, ttlSeconds: number): DnsRecord {
  return typeof ip === "number"
    ? { name, ttlSeconds, type: "A", ip }
    : { name, ttlSeconds, type: "AAAA", ip };
}

/** An empty port or protocol of the request takes all. */
function matchesPort({ port, protocol }: RequestName, candidate: PortRecord): boolean {
  return (port === "" || port === candidate.name) && (protocol === "" || protocol === candidate.protocol);
}

/** The ports that the request takes; one without a number for a Service that has none. */
function portsFor(
  request: RequestName,
  ports: readonly PortRecord[] | undefined,
): readonly (number | undefined)[] {
  if (ports === undefined) return request.port === "" && request.protocol === "" ? [undefined] : [];
  return ports.filter((candidate) => matchesPort(request, candidate)).map(({ port }) => port);
}

function nameOfService(zone: ZoneIndex, { namespace, name }: ServiceRecord): string {
  return `${name}.${namespace}.svc.${zone.zone}`;
}

/** Endpoints of a headless Service; of any Service when the request names one of them. */
function findEndpoints(zone: ZoneIndex, service: ServiceRecord, request: RequestName): Found {
  const serviceName = nameOfService(zone, service);
  const targets: Target[] = [];
  for (const slice of zone.listSlices(service)) {
    const ports = portsFor(request, slice.ports);
    if (ports.length === 0) continue;
    const endpoints = request.endpoint === "" ? slice.endpoints : (slice.byLabel.get(request.endpoint) ?? []);
    for (const { ip, label } of endpoints)
      for (const port of ports) targets.push({ ip, name: `${label}.${serviceName}`, port });
  }
  // Specification §2.4.1: without a ready endpoint there is no such name.
  return targets.length === 0 ? UNKNOWN : { kind: "addresses", targets };
}

function findService(zone: ZoneIndex, request: RequestName): Found {
  if (!zone.hasNamespace(request.namespace)) return UNKNOWN;
  if (request.service === "") return NO_ADDRESS;
  const service = zone.getService(request.namespace, request.service);
  if (service === undefined) return UNKNOWN;
  if (service.kind === "external-name") {
    const hasTarget = request.endpoint === "" && service.externalName !== "";
    return hasTarget ? { kind: "alias", target: service.externalName } : UNKNOWN;
  }
  if (service.kind === "headless" || request.endpoint !== "") return findEndpoints(zone, service, request);
  const ports = portsFor(request, service.ports);
  if (ports.length === 0) return UNKNOWN;
  const name = nameOfService(zone, service);
  return {
    kind: "addresses",
    targets: ports.flatMap((port) => service.ips.map((ip) => ({ ip, name, port }))),
  };
}

/**
 * `a-b-c-d.namespace.pod`: any address, whether a pod has it or not (`pods insecure`, specification §2.6); only the
 * namespace must exist.
 */
function findPod(zone: ZoneIndex, { namespace, service: label, endpoint, port }: RequestName): Found {
  if (!zone.hasNamespace(namespace)) return UNKNOWN;
  if (label === "") return NO_ADDRESS;
  const ip = endpoint === "" && port === "" ? addressOfPodLabel(label) : undefined;
  if (ip === undefined) return UNKNOWN;
  const name = `${label}.${namespace}.pod.${zone.zone}`;
  return { kind: "addresses", targets: [{ ip, name, port: undefined }] };
}

/**
 * The servers of the zone, as the one that is asked at `ips` knows them: all Services that have it among their endpoints, by
 * their cluster addresses, a headless one by its endpoints. In no slice it names itself (plugin/kubernetes/ns.go). A server
 * with several addresses counts its Services once for each, as CoreDNS does.
 */
function listServers(zone: ZoneIndex, ips: readonly Ip[]): readonly Target[] {
  const slices = ips.flatMap((ip) => zone.findSlicesWith(ip));
  if (slices.length === 0) return ips.map((ip) => ({ ip, name: `${SERVER}.${zone.zone}`, port: undefined }));
  return slices.flatMap((slice) => {
    const service = zone.getService(slice.namespace, slice.service);
    if (service === undefined) return [];
    const name = nameOfService(zone, service);
    if (service.kind !== "headless") return service.ips.map((ip) => ({ ip, name, port: undefined }));
    return slice.endpoints.map(({ ip, label }) => ({ ip, name: `${label}.${name}`, port: undefined }));
  });
}

/** What a name stands for. `servers`: the addresses of the server that is asked. */
function find(zone: ZoneIndex, name: string, servers: readonly Ip[]): Found {
  if (name === `${SERVER}.${zone.zone}`) return { kind: "addresses", targets: listServers(zone, servers) };
  const request = parseRequestName(name, zone.zone);
  if (request === undefined) return UNKNOWN;
  // The zone itself, `svc` and `pod` are names without records.
  if (request.namespace === "") return NO_ADDRESS;
  return request.subject === "pod" ? findPod(zone, request) : findService(zone, request);
}

/** A or AAAA records, each address once; an alias is followed as long as it leads through the zone. */
function answerAddresses(
  zone: ZoneIndex,
  question: DnsQuestion,
  found: Found,
  servers: readonly Ip[],
): NameAnswer {
  const answers: DnsRecord[] = [];
  const { ttlSeconds } = zone;
  let owner = question.name;
  let current = found;
  const seen = new Set([comparableName(owner)]);
  while (current.kind === "alias") {
    const { target } = current;
    const comparable = comparableName(target);
    // A chain that leads to itself, or goes on for ever, has no addresses.
    if (seen.has(comparable) || seen.size > CNAMES_MAX) return negative(zone, DnsRcode.noError);
    seen.add(comparable);
    answers.push({ name: owner, ttlSeconds, type: "CNAME", target });
    if (!isInZone(comparable, zone.zone)) return makeAnswer({ answers, continuesAt: target });
    owner = target;
    current = find(zone, comparable, servers);
  }
  if (current.kind === "unknown")
    return negative(zone, answers.length > 0 ? DnsRcode.noError : DnsRcode.nameError);
  const isWanted = (ip: Ip): boolean => (typeof ip === "number") === (question.type === "A");
  const ips = new Set(current.targets.map(({ ip }) => ip).filter(isWanted));
  if (ips.size === 0) return negative(zone, DnsRcode.noError);
  for (const ip of ips) answers.push(addressRecord(owner, ip, ttlSeconds));
  return makeAnswer({ answers });
}

/**
 * SRV records of all ports that the name takes, and the addresses of their targets. An alias has none. The weights share
 * 100 among the entries, doubles included, as CoreDNS counts them.
 */
function answerServices(zone: ZoneIndex, question: DnsQuestion, found: Found): NameAnswer {
  if (found.kind === "unknown") return negative(zone, DnsRcode.nameError);
  const targets = found.kind === "addresses" ? found.targets : [];
  const weight = Math.max(1, Math.floor(WEIGHT_SUM / Math.max(1, targets.length)));
  const services = new Map<string, DnsRecord>();
  const addresses = new Map<string, DnsRecord>();
  const { ttlSeconds } = zone;
  for (const { ip, name: target, port } of targets) {
    if (port === undefined) continue;
    const base = { name: question.name, ttlSeconds, type: "SRV", priority: 0, weight } as const;
    services.set(`${target}:${port}`, { ...base, port, target });
    addresses.set(`${target} ${ip}`, addressRecord(target, ip, ttlSeconds));
  }
  if (services.size === 0) return negative(zone, DnsRcode.noError);
  return makeAnswer({ answers: [...services.values()], additionals: [...addresses.values()] });
}

/** `dns-version.ZONE` alone has a text. */
function answerText(zone: ZoneIndex, question: DnsQuestion, found: Found): NameAnswer {
  if (comparableName(question.name) === `dns-version.${zone.zone}`) {
    const strings = [encodeUtf8(SCHEMA_VERSION)];
    const record: DnsRecord = {
      name: question.name,
      ttlSeconds: SCHEMA_TTL_SECONDS,
      type: "TXT",
      strings,
    };
    return makeAnswer({ answers: [record] });
  }
  return answerNothing(zone, found);
}

/** A name with records of other types only, or none at all. */
function answerNothing(zone: ZoneIndex, found: Found): NameAnswer {
  return negative(zone, found.kind === "unknown" ? DnsRcode.nameError : DnsRcode.noError);
}

function answerAlias(zone: ZoneIndex, question: DnsQuestion, found: Found): NameAnswer {
  if (found.kind !== "alias") return answerNothing(zone, found);
  const { ttlSeconds } = zone;
  return makeAnswer({
    answers: [{ name: question.name, ttlSeconds, type: "CNAME", target: found.target }],
  });
}

/** Each server once, with all their addresses. */
function answerServers(zone: ZoneIndex, question: DnsQuestion, servers: readonly Ip[]): NameAnswer {
  const targets = listServers(zone, servers);
  if (targets.length === 0) return negative(zone, DnsRcode.noError);
  const { ttlSeconds } = zone;
  const names = new Set(targets.map(({ name }) => name));
  return makeAnswer({
    answers: [...names].map((target) => ({ name: question.name, ttlSeconds, type: "NS", target })),
    additionals: targets.map(({ ip, name }) => addressRecord(name, ip, ttlSeconds)),
  });
}

/**
 * PTR of a Service's cluster address, else of the endpoints with a host name that have the address; what neither knows
 * belongs to somebody else (`fallthrough`).
 */
function answerReverse(zone: ZoneIndex, { name, type }: DnsQuestion): NameAnswer | undefined {
  const ip = addressOfReverseName(comparableName(name));
  if (type !== "PTR" || ip === undefined) return undefined;
  const service = zone.getServiceByIp(ip);
  const targets =
    service === undefined
      ? zone.listSlicesByIp(ip).flatMap((slice) => {
          const suffix = `${slice.service}.${slice.namespace}.svc.${zone.zone}`;
          const endpoints = slice.endpoints.filter((endpoint) => endpoint.isNamed && endpoint.ip === ip);
          return endpoints.map(({ label }) => `${label}.${suffix}`);
        })
      : [nameOfService(zone, service)];
  if (targets.length === 0) return undefined;
  const { ttlSeconds } = zone;
  return makeAnswer({
    answers: [...new Set(targets)].map((target) => ({ name, ttlSeconds, type: "PTR", target })),
  });
}

/**
 * The answer to a question of class IN; undefined when the name is none of the cluster's. `servers`: the addresses of the
 * server that is asked.
 */
export function answerInCluster(
  zone: ZoneIndex,
  question: DnsQuestion,
  servers: readonly Ip[],
): NameAnswer | undefined {
  const name = comparableName(question.name);
  if (isReverseName(name)) return answerReverse(zone, question);
  if (!isInZone(name, zone.zone)) return undefined;
  const found = find(zone, name, servers);
  const isApex = name === zone.zone;
  switch (question.type) {
    case "A":
    case "AAAA":
      return answerAddresses(zone, question, found, servers);
    case "SRV":
      return answerServices(zone, question, found);
    case "TXT":
      return answerText(zone, question, found);
    case "CNAME":
      return answerAlias(zone, question, found);
    case "SOA":
      return isApex ? makeAnswer({ answers: [soaOf(zone)] }) : answerNothing(zone, found);
    case "NS":
      return isApex ? answerServers(zone, question, servers) : answerNothing(zone, found);
    default:
      return answerNothing(zone, found);
  }
}
