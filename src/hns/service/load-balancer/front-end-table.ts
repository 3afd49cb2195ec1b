/** Which front ends the node's load balancers have: the same address, protocol and port twice is refused (hcn.md §4.7). */
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { LoadBalancerPortMappingRecord, LoadBalancerRecord } from "./load-balancer-record.ts";

/** What of a load balancer its front ends are. */
export type FrontEndFields = Pick<LoadBalancerRecord, "frontendVips" | "portMappings" | "flags">;

interface FrontEnd {
  readonly key: string;
  readonly vip: Ip | undefined;
  readonly mapping: LoadBalancerPortMappingRecord;
}

/** A node port listens on all addresses of one family: two load balancers, one per family, can share it. */
function listenerOf(vip: Ip | undefined, flags: number): string {
  if (vip !== undefined) return formatIp(vip);
  return (flags & LOAD_BALANCER_FLAGS.IPv6) === 0 ? "*4" : "*6";
}

function frontEndsOf(fields: FrontEndFields): readonly FrontEnd[] {
  const vips: readonly (Ip | undefined)[] =
    fields.frontendVips.length === 0 ? [undefined] : fields.frontendVips;
  return fields.portMappings.flatMap((mapping) =>
    vips.map((vip) => ({
      key: [listenerOf(vip, fields.flags), mapping.protocol, mapping.externalPort].join("|"),
      vip,
      mapping,
    })),
  );
}

function clash({ vip, mapping }: FrontEnd, owner: string): HcnError {
  const listener = vip === undefined ? "the node's addresses" : formatIp(vip);
  return new HcnError("HCN_E_PORT_ALREADY_EXISTS", {
    detail: `Protocol ${mapping.protocol}, port ${mapping.externalPort} of ${listener} belongs to ${owner} already`,
    explanation: "load-balancer-port-already-exists",
  });
}

export class FrontEndTable {
  private readonly owners = new Map<string, Guid>();

  /**
   * Checks that all front ends are free for `owner`, whose own count as free: it may be about to replace them.
   * Inferred: that the networks of a node share their front ends.
   * @throws HcnError HCN_E_PORT_ALREADY_EXISTS.
   */
  checkFree(fields: FrontEndFields, owner: Guid): void {
    const seen = new Set<string>();
    for (const frontEnd of frontEndsOf(fields)) {
      const holder = this.owners.get(frontEnd.key);
      if (holder !== undefined && holder !== owner) throw clash(frontEnd, `load balancer ${holder}`);
      if (seen.has(frontEnd.key)) throw clash(frontEnd, "the same load balancer");
      seen.add(frontEnd.key);
    }
  }

  /** Whoever is first has it: restored load balancers may claim one front end twice. */
  add(fields: FrontEndFields, owner: Guid): void {
    for (const { key } of frontEndsOf(fields)) if (!this.owners.has(key)) this.owners.set(key, owner);
  }

  /** Frees what load balancers have left that are gone. */
  releaseLeft(isThere: (owner: Guid) => boolean): void {
    for (const [key, owner] of this.owners) if (!isThere(owner)) this.owners.delete(key);
  }

  remove(fields: FrontEndFields, owner: Guid): void {
    for (const { key } of frontEndsOf(fields)) if (this.owners.get(key) === owner) this.owners.delete(key);
  }
}
