/** What a comparison with HNS has found and what it still has to look at, for `hardened` mode. Plain data. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { LoadBalancerIdentity } from "../load-balancers/load-balancer-identity.ts";
import type { LoadBalancerSlot, ServiceEntry } from "../load-balancers/service-entry.ts";

/** A load balancer that is not what was programmed. */
export interface DamagedSlot {
  readonly entry: ServiceEntry;
  readonly kind: "load-balancer-lost" | "load-balancer-changed";
  /** Of the load balancer that was there. */
  readonly id: Guid;
}

export interface LostEndpoint {
  readonly kind: "endpoint-lost" | "endpoint-changed";
  readonly id: Guid;
}

export class Damage {
  /** Told as repairs when the slot stands again. */
  readonly slots: Map<LoadBalancerSlot, DamagedSlot> = new Map();
  /** By address: told when HNS has an endpoint with it again. */
  readonly endpoints: Map<string, LostEndpoint> = new Map();
  /** Objects that were never made here, and that are left alone. */
  readonly foreign: Set<Guid> = new Set();
  /** What HNS makes of load balancers after a repair, by what was asked for: so be it. */
  readonly accepted: Map<LoadBalancerIdentity, LoadBalancerIdentity> = new Map();
  /** What is to be read again, the next one last; refilled when it is empty. */
  queue: Guid[] = [];
  /** Everything has been looked at since somebody else last changed HNS. */
  isThrough = false;
}
