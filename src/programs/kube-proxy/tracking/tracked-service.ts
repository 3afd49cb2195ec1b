/**
 * What kube-proxy reads of a Service: one frozen value per object version, shared by all nodes (kube-proxy.md §3.1).
 * Source ranges and the timeout of the affinity are not programmed, but show in the fingerprint where upstream compares
 * them. The class of the load balancer and traffic distribution are not read.
 */
import type { Service } from "#contracts/kubernetes/objects.ts";
import { type IpFamily, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import type { Behaviour } from "../behaviour.ts";

/** The numbers of the protocols that a Service may name. */
export const PROTOCOL_NUMBERS = { TCP: 6, UDP: 17, SCTP: 132 } as const;
export type ServiceProtocol = keyof typeof PROTOCOL_NUMBERS;

/** One port of a Service: what upstream calls a service entry. */
export interface TrackedPort {
  /** `namespace/name:port/PROTOCOL`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  /** Its place among the ports of the Service. */
  readonly index: number;
  readonly protocol: ServiceProtocol;
  readonly port: number;
  /** 0: none. */
  readonly nodePort: number;
  /** 0: a name, which the slices resolve. */
  readonly targetPort: number;
  readonly clusterIp: string;
  readonly externalIps: readonly string[];
  readonly ingressIps: readonly string[];
  readonly hasClientIpAffinity: boolean;
  /** 0: none. */
  readonly healthCheckNodePort: number;
  readonly isExternalPolicyLocal: boolean;
  readonly isInternalPolicyLocal: boolean;
  /** Annotation `preserve-destination`. */
  readonly preservesDestination: boolean;
  /** Annotation `winProxyOptimization`, on unless it says DISABLED. */
  readonly isOptimised: boolean;
}

export interface TrackedService {
  readonly namespace: string;
  readonly name: string;
  /** In the order of the Service; none when it is not proxied. */
  readonly ports: readonly TrackedPort[];
  /** Equal texts, equal values: what decides whether there is a change at all. */
  readonly fingerprint: string;
}

/** The port at which a Service is asked for its health; 0: it is not. */
export function healthCheckPortOf({ ports }: TrackedService): number {
  return ports[0]?.healthCheckNodePort ?? 0;
}

/** What of a version shows already when objects are read. */
export type ReadingRules = Pick<
  Behaviour,
  | "checksIngressAddresses"
  | "filtersFrontEnds"
  | "hasInternalPolicy"
  | "hasOptimisation"
  | "labelFilters"
  | "canonical"
  | "idleChanges"
  | "repeatedEntry"
>;

export function readingRulesOf(behaviour: Behaviour): ReadingRules {
  const { checksIngressAddresses, filtersFrontEnds, hasInternalPolicy, hasOptimisation } = behaviour;
  const { labelFilters, canonical, idleChanges, repeatedEntry } = behaviour;
  return {
    checksIngressAddresses,
    filtersFrontEnds,
    hasInternalPolicy,
    hasOptimisation,
    labelFilters,
    canonical,
    idleChanges,
    repeatedEntry,
  };
}

const PRESERVE_DESTINATION = "preserve-destination";
const OPTIMISATION = "winProxyOptimization";

/** `namespace/name:port/PROTOCOL`: the key of a Service's port, and of the endpoints that slices give for it. */
export function portKey(namespace: string, name: string, portName: string, protocol: string): string {
  return `${namespace}/${name}:${portName}/${protocol}`;
}

/** Why kube-proxy passes by a Service; undefined when it does not. */
export type DisregardReason = "external-name" | "headless" | "no-cluster-ip";

/** True for the types and addresses that no kube-proxy programs (kube-proxy.md §3.1). */
export function disregardReason(service: Service): DisregardReason | undefined {
  if (service.spec?.type === "ExternalName") return "external-name";
  const clusterIp = service.spec?.clusterIP ?? "";
  if (clusterIp === "None") return "headless";
  return clusterIp === "" ? "no-cluster-ip" : undefined;
}

function isOfFamily(address: string, family: IpFamily): boolean {
  const ip = parseIp(address);
  return ip !== undefined && familyOf(ip) === family;
}

/** As Go prints it; what is no address stays as it is. */
function canonicalText(address: string): string {
  const ip = parseIp(address);
  return ip === undefined ? address : formatIp(ip);
}

/** In every version a parsed address, as Go prints it. */
function clusterIpOf(service: Service, family: IpFamily): string | undefined {
  const all = service.spec?.clusterIPs ?? [];
  const candidates = all.length > 0 ? all : [service.spec?.clusterIP ?? ""];
  const found = candidates.find((address) => isOfFamily(address, family));
  return found === undefined ? undefined : canonicalText(found);
}

function spelt(addresses: readonly string[], { canonical }: ReadingRules): readonly string[] {
  return Object.freeze(canonical.frontEnds ? addresses.map(canonicalText) : [...addresses]);
}

function ingressIpsOf(service: Service, family: IpFamily, rules: ReadingRules): readonly string[] {
  const entries = service.status?.loadBalancer?.ingress ?? [];
  if (!rules.checksIngressAddresses) return entries.map(({ ip }) => ip ?? "");
  const virtual = rules.filtersFrontEnds ? entries.filter(({ ipMode }) => ipMode !== "Proxy") : entries;
  const addresses = virtual.map(({ ip }) => ip ?? "").filter((ip) => parseIp(ip) !== undefined);
  return rules.filtersFrontEnds ? addresses.filter((ip) => isOfFamily(ip, family)) : addresses;
}

function externalIpsOf(service: Service, family: IpFamily, rules: ReadingRules): readonly string[] {
  const addresses = service.spec?.externalIPs ?? [];
  return rules.filtersFrontEnds ? addresses.filter((ip) => isOfFamily(ip, family)) : addresses;
}

/** What the ports of one Service have in common. */
type SharedFields = Omit<
  TrackedPort,
  "key" | "portName" | "index" | "protocol" | "port" | "nodePort" | "targetPort"
>;

function sharedFields(
  service: Service,
  clusterIp: string,
  family: IpFamily,
  rules: ReadingRules,
): SharedFields {
  const spec = service.spec;
  const annotations = service.metadata.annotations ?? {};
  const isExternalPolicyLocal = spec?.externalTrafficPolicy === "Local";
  return {
    namespace: service.metadata.namespace,
    name: service.metadata.name,
    clusterIp,
    externalIps: spelt(externalIpsOf(service, family, rules), rules),
    ingressIps: spelt(ingressIpsOf(service, family, rules), rules),
    hasClientIpAffinity: spec?.sessionAffinity === "ClientIP",
    healthCheckNodePort:
      spec?.type === "LoadBalancer" && isExternalPolicyLocal ? (spec.healthCheckNodePort ?? 0) : 0,
    isExternalPolicyLocal,
    isInternalPolicyLocal: rules.hasInternalPolicy && spec?.internalTrafficPolicy === "Local",
    preservesDestination: annotations[PRESERVE_DESTINATION] === "true",
    isOptimised: rules.hasOptimisation && (annotations[OPTIMISATION] ?? "").toUpperCase() !== "DISABLED",
  };
}

const HINTS = ["service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"] as const;

/** The default of API servers, in seconds. */
const AFFINITY_TIMEOUT = 10_800;

/** The source ranges of a family as upstream keeps them. */
function sourceRangesOf(service: Service, family: IpFamily, zeroIsNone: boolean): readonly string[] {
  const ranges = (service.spec?.loadBalancerSourceRanges ?? [])
    .map((range) => range.trim())
    .filter((range) => range.includes(":") === (family === 6));
  return zeroIsNone && ranges.some((range) => /\/0+$/.test(range)) ? [] : ranges;
}

/** What upstream compares although nothing is programmed of it. */
function idleFields(service: Service, family: IpFamily, { idleChanges }: ReadingRules): readonly unknown[] {
  const rule = idleChanges.service;
  if (rule === "none") return [];
  const { sessionAffinity, sessionAffinityConfig } = service.spec ?? {};
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_TIMEOUT;
  const annotations = service.metadata.annotations ?? {};
  const hint = HINTS.map((name) => annotations[name]).find((value) => value !== undefined);
  return [
    sessionAffinity === "ClientIP" ? seconds : 0,
    sourceRangesOf(service, family, rule === "zero-ranges-are-none"),
    ...(rule === "with-hints" ? [hint ?? ""] : []),
  ];
}

function protocolOf(text: string | undefined): ServiceProtocol {
  return text === "UDP" || text === "SCTP" ? text : "TCP";
}

/** Reads a Service for one family. One that is not proxied has no ports. */
export function trackService(service: Service, family: IpFamily, rules: ReadingRules): TrackedService {
  const { namespace, name } = service.metadata;
  const clusterIp = disregardReason(service) === undefined ? clusterIpOf(service, family) : undefined;
  if (clusterIp === undefined)
    return Object.freeze({ namespace, name, ports: Object.freeze([]), fingerprint: "" });
  const shared = sharedFields(service, clusterIp, family, rules);
  const ports = (service.spec?.ports ?? []).map((port, index) => {
    const protocol = protocolOf(port.protocol);
    const portName = port.name ?? "";
    return Object.freeze<TrackedPort>({
      ...shared,
      key: portKey(namespace, name, portName, protocol),
      portName,
      index,
      protocol,
      port: port.port,
      nodePort: port.nodePort ?? 0,
      // An absent target is the port itself; a name, also one of digits, is for the slices to resolve.
      targetPort: typeof port.targetPort === "string" ? 0 : (port.targetPort ?? port.port),
    });
  });
  const fingerprint = JSON.stringify([ports, ...idleFields(service, family, rules)]);
  return Object.freeze({ namespace, name, ports: Object.freeze(ports), fingerprint });
}
