/** When two load balancers are the same for kube-proxy (kube-proxy.md §3.6). */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type HostComputeLoadBalancer, LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { IdentityRule } from "../behaviour.ts";

/** Flags, distribution and source VIP are not part of it, unless a rule says so. */
export interface FrontEndAndBackEnds {
  readonly protocol: number;
  readonly internalPort: number;
  readonly externalPort: number;
  /** Empty for node ports. */
  readonly vip: string;
  readonly isIpv6: boolean;
  readonly backEnds: readonly Guid[];
  readonly flags: number;
  readonly portFlags: number;
  readonly distribution: number;
  readonly sourceVip: string;
}

/** Equal texts, equal load balancers. */
export type LoadBalancerIdentity = string;

/** Two hashes of 32 bits that differ in how they begin: FNV-1a, stirred at the end. */
const SEEDS = [0x811c_9dc5, 0x2545_f491] as const;
const FACTOR = 0x0100_0193;

function stir(sum: number): number {
  let hash = Math.imul(sum ^ (sum >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return hash ^ (hash >>> 16);
}

/**
 * A text for the back ends. As upstream, hashes of the identifiers joined by exclusive or: the order does not matter, and
 * an identifier that is there twice cancels itself out. The identifiers themselves would be most of what a proxier holds.
 * Inferred: letter case does not matter on either side; sources disagree on when HNS's side began to be folded.
 */
function backEndsText(backEnds: readonly Guid[]): string {
  let [first, second] = [0, 0];
  for (const id of backEnds) {
    const folded = id.toUpperCase();
    let a: number = SEEDS[0];
    let b: number = SEEDS[1];
    for (let index = 0; index < folded.length; index++) {
      const code = folded.charCodeAt(index);
      a = Math.imul(a ^ code, FACTOR);
      b = Math.imul(b ^ code, FACTOR);
    }
    first ^= stir(a);
    second ^= stir(b);
  }
  return `${first} ${second}`;
}

export function identityOf(loadBalancer: FrontEndAndBackEnds, rule: IdentityRule): LoadBalancerIdentity {
  const { protocol, internalPort, externalPort, vip, isIpv6, backEnds } = loadBalancer;
  const family = rule.hasFamily && isIpv6 ? 6 : 4;
  const text = rule.backEnds === "set" ? backEndsText(backEnds) : String(backEnds.length);
  const identity = [protocol, internalPort, externalPort, vip, family, text];
  if (!rule.hasSettings) return identity.join("|");
  const { flags, portFlags, distribution, sourceVip } = loadBalancer;
  return [...identity, flags, portFlags, distribution, sourceVip].join("|");
}

/** The fields of an identity that clients see: protocol, port, address and family. */
export function frontEndOf(identity: LoadBalancerIdentity): string {
  const [protocol, , externalPort, vip, family] = identity.split("|");
  return [protocol, externalPort, vip, family].join("|");
}

/** What clients see, and the port of the back ends. */
export function mappingOf(identity: LoadBalancerIdentity): string {
  return identity.split("|", 5).join("|");
}

/** The family that a load balancer is of: its bit, which the forwarded health check lacks, or its address. */
export function familyOfIdentity(identity: LoadBalancerIdentity): IpFamily {
  const [, , , vip = "", family] = identity.split("|");
  return family === "6" || vip.includes(":") ? 6 : 4;
}

/** Reads a document of HNS; undefined without a port mapping: nothing of kube-proxy looks so (upstream panics). */
export function readFrontEnd(document: HostComputeLoadBalancer): FrontEndAndBackEnds | undefined {
  const [mapping] = document.PortMappings ?? [];
  if (mapping === undefined) return undefined;
  return {
    protocol: mapping.Protocol ?? 0,
    internalPort: mapping.InternalPort ?? 0,
    externalPort: mapping.ExternalPort ?? 0,
    vip: document.FrontendVIPs?.[0] ?? "",
    isIpv6: ((document.Flags ?? 0) & LOAD_BALANCER_FLAGS.IPv6) !== 0,
    backEnds: document.HostComputeEndpoints ?? [],
    flags: document.Flags ?? 0,
    portFlags: mapping.Flags ?? 0,
    distribution: mapping.DistributionType ?? 0,
    sourceVip: document.SourceVIP ?? "",
  };
}
