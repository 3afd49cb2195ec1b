/**
 * What a user means by the receiver of a trace: a party, an address, a URL or a name. A Service that is asked from outside
 * is asked where the outside would: at the address of its load balancer, or at a port of a node.
 */
import type { Service } from "#contracts/kubernetes/objects.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { isPort } from "#core/net/port-range.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import type { Cluster } from "../cluster.ts";
import { slicesByService } from "../cluster-objects.ts";
import { RequestError } from "../request-error.ts";
import { type TraceEnd, findService, findTraceEnd, isKnownEnd, serviceReference } from "./find-trace-end.ts";
import type { AddressFamily, ProbeProtocol, TraceProtocol } from "./trace-report.ts";

/** `end`: who is named in the cluster, or an address. `name`: resolved by the sender first. `lookup`: resolved, and no more. */
export type TraceTarget =
  | { readonly kind: "end"; readonly reference: string; readonly port: number | undefined }
  | { readonly kind: "name"; readonly name: string; readonly port: number | undefined }
  | { readonly kind: "lookup"; readonly name: string };

/** The schemes of URLs, and the ports that they mean. */
const SCHEME_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };
const LOOKUP_PREFIX = "name/";

function readPort(text: string, whole: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port >= 1 && isPort(port)) return port;
  throw new RequestError(
    "bad-usage",
    `${JSON.stringify(whole)} has ${JSON.stringify(text)} as its port`,
    "Write a number from 1 to 65535 behind the colon.",
  );
}

/** Host and port of `host:port`, `[fd00::1]:port`, `host`. */
function splitHost(
  text: string,
  whole: string,
): { readonly host: string; readonly port: number | undefined } {
  const [, bracketed, behind = ""] = /^\[([^\]]*)\](?::(.*))?$/.exec(text) ?? [];
  if (bracketed !== undefined)
    return { host: bracketed, port: behind === "" ? undefined : readPort(behind, whole) };
  const [, host = text, port] = /^([^:]*):([^:]*)$/.exec(text) ?? [];
  return { host, port: port === undefined ? undefined : readPort(port, whole) };
}

/** @throws RequestError with `advice` for what is no name. */
export function checkDnsName(name: string, advice: string): void {
  if (!isDnsName(name))
    throw new RequestError("bad-usage", `${JSON.stringify(name)} is not a DNS name`, advice);
}

function hostTarget(host: string, port: number | undefined, whole: string): TraceTarget {
  if (parseIp(host) !== undefined) return { kind: "end", reference: host, port };
  if (isDnsName(host)) return { kind: "name", name: host, port };
  throw new RequestError(
    "bad-usage",
    `${JSON.stringify(whole)} names no host`,
    "Write a name or an address behind the scheme: http://api:8080.",
  );
}

function urlTarget(scheme: string, rest: string, whole: string): TraceTarget {
  const own = SCHEME_PORTS[scheme.toLowerCase()];
  if (own === undefined)
    throw new RequestError(
      "bad-usage",
      `a trace follows no URL of ${JSON.stringify(`${scheme}:`)}`,
      `Write one of ${Object.keys(SCHEME_PORTS).join(", ")}, or the host alone with --port.`,
    );
  // User, path, query and fragment do not matter to the first packet.
  const [authority = ""] = rest.split(/[/?#]/);
  const { host, port } = splitHost(authority.slice(authority.lastIndexOf("@") + 1), whole);
  return hostTarget(host, port ?? own, whole);
}

/** True for a text that only makes sense as a name: it has a dot, or a Service of the sender's namespace is called so. */
function isMeantAsName(cluster: Cluster, host: string, namespace: string): boolean {
  // An address with a mistake in it is no name: no top-level domain is a number.
  if (!isDnsName(host) || /(?:^|\.)\d+\.?$/.test(host)) return false;
  if (host.includes(".")) return true;
  return findService(`service/${namespace}/${host}`, cluster) !== undefined;
}

/**
 * Reads what the user wrote. `namespace`: that of the sender, in which short names are names of Services.
 * @throws RequestError for a URL or port that is none, and for who is not known.
 */
export function readTraceTarget(
  cluster: Cluster,
  text: string,
  { protocol, namespace }: { readonly protocol: TraceProtocol; readonly namespace: string },
): TraceTarget {
  if (text.startsWith(LOOKUP_PREFIX) || protocol === "dns") {
    const name = text.startsWith(LOOKUP_PREFIX) ? text.slice(LOOKUP_PREFIX.length) : text;
    checkDnsName(name, "Write name/kubernetes.default.");
    return { kind: "lookup", name };
  }
  const [, scheme, rest] = /^([a-z][a-z\d+.-]*):\/\/(.*)$/i.exec(text) ?? [];
  if (scheme !== undefined) return urlTarget(scheme, rest ?? "", text);
  if (isKnownEnd(cluster, text)) return { kind: "end", reference: text, port: undefined };
  const { host, port } = text.includes("/") ? { host: text, port: undefined } : splitHost(text, text);
  if (port !== undefined && parseIp(host) !== undefined) return { kind: "end", reference: host, port };
  if (isMeantAsName(cluster, host, namespace)) return { kind: "name", name: host, port };
  return { kind: "end", reference: text, port: undefined };
}

/** A party with the port to ask there, where the way decides it. */
export interface AskedEnd {
  readonly end: TraceEnd;
  readonly port: number | undefined;
}

function ofFamily(texts: readonly (string | undefined)[], family: AddressFamily | undefined): Ip | undefined {
  const ips = texts.flatMap((text) => parseIp(text ?? "") ?? []);
  if (family === undefined) return ips[0];
  return ips.find((ip) => (typeof ip === "bigint") === (family === "ipv6"));
}

/** The node that a client outside would be sent to: one with a ready back end, else the first. */
function nodeFor(cluster: Cluster, service: Service): Cluster["nodes"][number] | undefined {
  const { namespace, name } = service.metadata;
  const slices = slicesByService(cluster.objects.EndpointSlice).get(`${namespace}/${name}`) ?? [];
  const serving = new Set(
    slices.flatMap(({ endpoints = [] }) =>
      endpoints.flatMap(({ nodeName, conditions }) => (conditions?.ready === false ? [] : (nodeName ?? []))),
    ),
  );
  return cluster.nodes.find(({ spec }) => serving.has(spec.name)) ?? cluster.nodes[0];
}

function withNode(reference: string, ip: Ip, node?: string): TraceEnd {
  const description = { reference, ...(node === undefined ? {} : { node }), address: formatIp(ip) };
  return { description, compartment: undefined, ip };
}

/**
 * Where a client outside reaches a Service; undefined when it does not: the Service has an address of the cluster alone.
 * `port` is the one that the user named, of the Service.
 */
export function serviceFromOutside(
  cluster: Cluster,
  service: Service,
  asked: {
    readonly protocol: ProbeProtocol;
    readonly port: number | undefined;
    readonly family: AddressFamily | undefined;
  },
): AskedEnd | undefined {
  const { spec = {}, status } = service;
  const { protocol, port, family } = asked;
  const reference = serviceReference(service);
  const ingress = ofFamily(
    [...(status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip), ...(spec.externalIPs ?? [])],
    family,
  );
  const ports = spec.ports ?? [];
  const transport = protocol.toUpperCase();
  const chosen =
    ports.find((each) => each.port === port && (each.protocol ?? "TCP") === transport) ??
    (port === undefined ? ports.find((each) => (each.protocol ?? "TCP") === transport) : undefined);
  if (ingress !== undefined) return { end: withNode(reference, ingress), port: port ?? chosen?.port };
  const node = nodeFor(cluster, service);
  const nodePort = protocol === "icmp" ? undefined : chosen?.nodePort;
  if (node === undefined || nodePort === undefined) return undefined;
  const second = cluster.file.ipv6?.nodes[node.spec.name]?.address;
  const address = family === "ipv6" ? second : node.spec.address;
  return address === undefined
    ? undefined
    : { end: withNode(reference, address, node.spec.name), port: nodePort };
}

/** Who has the address that a name led to, called as the user did. */
export function endAt(cluster: Cluster, ip: Ip, reference: string): AskedEnd & { readonly owner: string } {
  const found = findTraceEnd(cluster, formatIp(ip));
  const service = cluster.objects.Service.find(({ spec }) =>
    [spec?.clusterIP, ...(spec?.clusterIPs ?? [])].includes(formatIp(ip)),
  );
  const owner = service === undefined ? found.description.reference : serviceReference(service);
  const end = { ...found, description: { ...found.description, reference } };
  return { end, port: undefined, owner };
}
