/** What load balancers take of the node's own ports: blocks for source NAT, and the node ports that they serve. */
import { LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { familyOf, formatIp, type Ip } from "#core/net/ip.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { HostPoolDefinition, PortClaimDefinition } from "../ports/datapath.ts";
import type {
  LoadBalancerPortMappingRecord,
  LoadBalancerRecord,
} from "../service/load-balancer/load-balancer-record.ts";
import {
  type FrontEnd,
  type LoadBalancerFacts,
  familyOfBalancer,
  hasFlag,
  isBalanced,
} from "./load-balancer/load-balancer-plan.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { LocalPorts } from "#dataplane/host/local-ports.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { PortBlockSource } from "#dataplane/vfp/actions/nat-pool.ts";

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
 * host's stack. Documented and seen is that nobody answers, not even with a reset (dataplane.md DT-115, DT-116).
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

/** What the host's stack does with the node ports of its own addresses (dataplane.md DT-115 to DT-117). */
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

// Port blocks for NAT, kept from the node's own sockets: HNS reserves them from the host's dynamic range, where they
// show as excluded ports (dataplane.md §1.8; hcn.md §4.8).

export class NodePortBlocks implements PortBlockSource {
  private readonly blocks: PortBlockSource;
  private readonly host: Compartment;

  /** `blocks` is the budget as one switch port sees it; `host` the compartment whose sockets keep off. */
  constructor(blocks: PortBlockSource, host: Compartment) {
    this.blocks = blocks;
    this.host = host;
  }

  acquire(ip: Ip, protocol: number): PortRange | undefined {
    const block = this.blocks.acquire(ip, protocol);
    if (block !== undefined) this.portsOf(protocol)?.exclude(block);
    return block;
  }

  release(ip: Ip, protocol: number, block: PortRange): void {
    this.blocks.release(ip, protocol, block);
    this.portsOf(protocol)?.include(block);
  }

  private portsOf(protocol: number): LocalPorts | undefined {
    if (protocol === IpProtocol.tcp) return this.host.tcp.ports;
    return protocol === IpProtocol.udp ? this.host.udp.ports : undefined;
  }
}
