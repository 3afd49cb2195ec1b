/**
 * What the rules of a load balancer depend on besides its document, worked out once for all of them: its front ends, and
 * what it takes of the node's own ports.
 */
import type { Provenance } from "#core/base/recorder.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import {
  LOAD_BALANCER_FLAGS,
  LOAD_BALANCER_PORT_FLAGS,
  type LoadBalancerDistribution,
} from "#contracts/hcn/documents/load-balancer.ts";
import { type Ip, type IpFamily, type Ipv4, type Ipv6, familyOf, formatIp } from "#core/net/ip.ts";
import type { Condition } from "#dataplane/vfp/matching/condition.ts";
import type { LbnatBackEnd, Distribution } from "#dataplane/vfp/rule.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import {
  type LoadBalancerPortMappingRecord,
  type LoadBalancerRecord,
  type EndpointRecord,
  isRemoteEndpoint,
} from "../../service/records.ts";
import type { SharedValues } from "../compile-cache.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { HostPoolDefinition, PortClaimDefinition } from "../../ports/datapath.ts";

/** What the build of Windows does with load balancers. */
export interface ServiceTraits {
  /** Load balancers that agree on their source share its blocks of ports (KB4551853). */
  readonly sharesPortBlocks: boolean;
  /** Packets of the node itself to a front end are balanced. */
  readonly reachesServices: boolean;
  /** The node reaches its own node ports (KB4571748). */
  readonly reachesOwnNodePorts: boolean;
  /** Connections of one client go to one back end where the load balancer asks for it. */
  readonly keepsAffinity: boolean;
  /** A node port of an overlay network is lost unless all its back ends are here and DSR is on. */
  readonly losesOverlayNodePorts: boolean;
}

/** The node as load balancers see it. */
export interface LoadBalancerFacts {
  /** Undefined while the node has no IPv4 address: then nothing is balanced. */
  readonly managementIp: Ipv4 | undefined;
  /** Of the second family; undefined while it has none. */
  readonly managementIp6: Ipv6 | undefined;
  /** All addresses of the host in the network, its legs' too: where node ports are open. */
  readonly nodeIps: readonly Ip[];
  /** A pod is attached to the network. */
  readonly hasPods: boolean;
  readonly traits: ServiceTraits;
  /** Bytes that tunnels of the network add to a packet; 0: it has none. */
  readonly overhead: number;
  readonly shared: SharedValues;
}

/** Endpoints by their identifiers. */
export interface EndpointTable {
  get(id: Guid): EndpointRecord | undefined;
}

/** An endpoint that takes connections. */
export interface ServingEndpoint {
  readonly id: Guid;
  readonly backEnd: LbnatBackEnd;
  /** Its port is on this switch. */
  readonly isLocal: boolean;
  /** It is a leg of the node itself, in the host's compartment. */
  readonly isOnHost: boolean;
}

/** One front end with its back ends. */
export interface FrontEnd {
  readonly loadBalancer: LoadBalancerRecord;
  readonly mapping: LoadBalancerPortMappingRecord;
  readonly vip: Ip;
  readonly family: IpFamily;
  /** The front end is each address of the node. */
  readonly isNodePort: boolean;
  readonly isDsr: boolean;
  /** The back end gets packets with the front end's address (hcn.md §8.2, flag 8). */
  readonly keepsVip: boolean;
  readonly serving: readonly ServingEndpoint[];
  readonly shared: SharedValues;
  /** What asks for it. */
  readonly condition: Condition;
  readonly hasRemote: boolean;
  /** The node itself serves, and no other: a forwarded health check (kube-proxy.md §5.4). */
  readonly isOwn: boolean;
  readonly distribution: Distribution;
  /** The field `<h>` of rule names: what the scripts of AKS take from the id (dataplane.md §2.2.3). */
  readonly tag: string;
  /** Of all its rules. */
  readonly provenance: Provenance;
}

const DISTRIBUTIONS: Readonly<Record<LoadBalancerDistribution, Distribution>> = {
  None: "5-tuple",
  SourceIPProtocol: "3-tuple",
  SourceIP: "2-tuple",
};
const TAG_LENGTH = 5;

export function hasFlag(of: { readonly flags: number }, flag: number): boolean {
  return (of.flags & flag) !== 0;
}

/** Inferred: only protocols whose ports VFP knows are balanced; SCTP is stored (hcn.md §8.5). */
export function isBalanced(mapping: LoadBalancerPortMappingRecord): boolean {
  return mapping.protocol === IpProtocol.tcp || mapping.protocol === IpProtocol.udp;
}

/**
 * The endpoints of the list that can take connections: remote ones, and local ones that are on the switch. Local back
 * ends get a MAC fix-up (dataplane.md §2.13).
 */
function servingEndpoints(
  loadBalancer: LoadBalancerRecord,
  endpoints: EndpointTable,
  family: IpFamily,
  port: number,
  shared: SharedValues,
): readonly ServingEndpoint[] {
  const serving: ServingEndpoint[] = [];
  for (const id of loadBalancer.endpointIds) {
    const endpoint = endpoints.get(id);
    const ip = endpoint?.ipConfigs.find((config) => familyOf(config.ip) === family)?.ip;
    if (endpoint === undefined || ip === undefined) continue;
    const isLocal = endpoint.attachment?.portId !== undefined;
    if (!isLocal && !isRemoteEndpoint(endpoint)) continue;
    const backEnd = isLocal
      ? Object.freeze<LbnatBackEnd>({ ip, port, mac: endpoint.mac })
      : shared.remoteBackEnd(endpoint.ipConfigs, ip, port);
    serving.push({ id, backEnd, isLocal, isOnHost: endpoint.attachment?.kind === "host" });
  }
  return serving;
}

/** The family that a load balancer serves: one each (hcn.md §8.2, flag 2). */
export function familyOfBalancer(loadBalancer: LoadBalancerRecord): IpFamily {
  return hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.IPv6) ? 6 : 4;
}

/** Names the front end, since a load balancer seldom has a name of its own. */
function loadBalancerProvenance(loadBalancer: LoadBalancerRecord, frontEnd: string): Provenance {
  const { id, name } = loadBalancer;
  return { object: "HostComputeLoadBalancer", id, name: name === "" ? frontEnd : `${name} ${frontEnd}` };
}

/** All front ends of a load balancer that are served, in the order of the document. */
export function frontEndsOf(
  loadBalancer: LoadBalancerRecord,
  endpoints: EndpointTable,
  facts: LoadBalancerFacts,
): readonly FrontEnd[] {
  const family = familyOfBalancer(loadBalancer);
  const isNodePort = loadBalancer.frontendVips.length === 0;
  const vips = (isNodePort ? facts.nodeIps : loadBalancer.frontendVips).filter(
    (vip) => familyOf(vip) === family,
  );
  const isDsr = hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR);
  return loadBalancer.portMappings.filter(isBalanced).flatMap((mapping) => {
    const serving = servingEndpoints(loadBalancer, endpoints, family, mapping.internalPort, facts.shared);
    if (serving.length === 0) return [];
    const common = {
      loadBalancer,
      mapping,
      family,
      isDsr,
      keepsVip: isDsr && hasFlag(mapping, LOAD_BALANCER_PORT_FLAGS.PreserveDip),
      serving,
      shared: facts.shared,
      hasRemote: serving.some((each) => !each.isLocal),
      isOwn: serving.every((each) => each.isOnHost),
      distribution: facts.traits.keepsAffinity ? DISTRIBUTIONS[mapping.distribution] : "5-tuple",
      tag: loadBalancer.id.replaceAll("-", "").slice(0, TAG_LENGTH).toUpperCase(),
    };
    return vips.map((vip) => ({
      ...common,
      vip,
      condition: facts.shared.toFrontEnd(mapping.protocol, vip, mapping.externalPort),
      isNodePort: isNodePort || facts.nodeIps.includes(vip),
      provenance: Object.freeze(
        loadBalancerProvenance(loadBalancer, formatFrontEnd(vip, mapping.externalPort)),
      ),
    }));
  });
}

/** `10.96.0.50:80`. */
function formatFrontEnd(vip: Ip, port: number): string {
  const address = familyOf(vip) === 4 ? formatIp(vip) : `[${formatIp(vip)}]`;
  return `${address}:${port}`;
}

// What load balancers take of the node's own ports: blocks for source NAT, and the node ports that they serve.

/**
 * The source of translated connections: the load balancer's SourceVIP, else the node's address, as B-4 has it.
 * Inferred: a pool is known by protocol and address alone once blocks are shared; before, each load balancer has one
 * block and no more (dataplane.md §3.5, hcn.md §8.5). With DSR no ports are set aside (§3.3): what needs some takes
 * them from the shared pool.
 */
export function poolOf(
  loadBalancer: LoadBalancerRecord,
  mapping: LoadBalancerPortMappingRecord,
  facts: LoadBalancerFacts,
): HostPoolDefinition | undefined {
  const { sourceVip } = loadBalancer;
  const family = familyOfBalancer(loadBalancer);
  const nodeIp = family === 4 ? facts.managementIp : facts.managementIp6;
  const ip = sourceVip !== undefined && familyOf(sourceVip) === family ? sourceVip : nodeIp;
  if (ip === undefined) return undefined;
  const protocol = mapping.protocol === IpProtocol.tcp ? "TCP" : "UDP";
  const shared = [`SLB_NATPOOL_IPV${family}`, protocol, formatIp(ip)].join("_");
  // Observed: address, front end and port run together (kubernetes/kubernetes#79359).
  const [vip] = loadBalancer.frontendVips;
  const own = `${shared}${vip === undefined ? "" : formatIp(vip)}${mapping.externalPort}`;
  const isDsr = hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR);
  const isShared = facts.traits.sharesPortBlocks || isDsr;
  return Object.freeze({
    name: isShared ? shared : own,
    ip,
    protocol: mapping.protocol,
    portsMax: isShared ? SHARED_PORTS_MAX : BLOCK_PORTS,
    isReserved: !isDsr,
  });
}

/** The pools that a load balancer has to have a block of before it is made: none with DSR (dataplane.md §3.5). */
export function reservedPoolsOf(
  loadBalancer: LoadBalancerRecord,
  facts: LoadBalancerFacts,
): readonly HostPoolDefinition[] {
  if (hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR)) return [];
  const pools = loadBalancer.portMappings
    .filter(isBalanced)
    .map((mapping) => poolOf(loadBalancer, mapping, facts));
  return pools.filter((pool) => pool !== undefined);
}

const BLOCK_PORTS = 64;
/** All of the node's dynamic range, block by block as it is needed. */
const SHARED_PORTS_MAX = 16_384;

/**
 * Why a node port is not served on this node; undefined when it is. Inferred: that its packets end unanswered in the
 * host's stack. Documented and seen is that there is no answer, not even a reset (dataplane.md §10).
 */
function unservedCode(
  loadBalancer: LoadBalancerRecord,
  isServed: boolean,
  facts: LoadBalancerFacts,
): KnowledgeCode | undefined {
  if (!facts.hasPods) return "node-port-without-pods-on-node";
  if (isServed) return undefined;
  return hasFlag(loadBalancer, LOAD_BALANCER_FLAGS.DSR)
    ? "external-traffic-policy-local-without-local-endpoint"
    : "service-without-back-ends";
}

/** What the host's stack does with the node ports of its own addresses (dataplane.md §10). */
export function claimsOf(
  loadBalancer: LoadBalancerRecord,
  frontEnds: readonly FrontEnd[],
  facts: LoadBalancerFacts,
): readonly PortClaimDefinition[] {
  const family = familyOfBalancer(loadBalancer);
  // A node without an address of the family has no such ports.
  const hasFamily = facts.nodeIps.some((ip) => familyOf(ip) === family);
  if (loadBalancer.frontendVips.length > 0 || !hasFamily) return [];
  const reached = facts.traits.reachesOwnNodePorts ? undefined : "node-port-from-node-unsupported";
  return loadBalancer.portMappings.filter(isBalanced).map((mapping) => {
    const isServed = frontEnds.some((frontEnd) => frontEnd.mapping === mapping);
    const code = unservedCode(loadBalancer, isServed, facts) ?? reached;
    return { family, protocol: mapping.protocol, port: mapping.externalPort, code };
  });
}
