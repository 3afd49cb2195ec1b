/**
 * What one proxier (one node, one family) gets at its start, and what it keeps from sync to sync; for `hardened` mode also
 * what a comparison with HNS has found and what it still has to look at. Plain data.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { LoadBalancerIdentity } from "../load-balancers/load-balancer-identity.ts";
import type { LoadBalancerSlot, ServiceEntry } from "../load-balancers/service-entry.ts";
import type { Behaviour } from "../behaviour.ts";
import type { BoundEndpoints, ReferenceCounts } from "../load-balancers/bound-endpoints.ts";
import type { FamilyTracker, TrackerPosition } from "../tracking/family-tracker.ts";
import type { HnsRecords } from "../load-balancers/hns-records.ts";
import type { LoadBalancers } from "../load-balancers/load-balancers.ts";
import type { ReadMode } from "../options.ts";
import type { ProxyNetwork } from "../load-balancers/proxy-network.ts";
import type { TrackedEndpoints } from "../tracking/tracked-endpoints.ts";
import type { TrackedService } from "../tracking/tracked-service.ts";
import type { BackOff } from "./back-off.ts";

/** A load balancer that is not what was programmed. */
interface DamagedSlot {
  readonly entry: ServiceEntry;
  readonly kind: "load-balancer-lost" | "load-balancer-changed";
  /** Of the load balancer that was there. */
  readonly id: Guid;
}

interface LostEndpoint {
  readonly kind: "endpoint-lost" | "endpoint-changed";
  readonly id: Guid;
}

export class Damage {
  /** Reported as repairs when the slot stands again. */
  readonly slots: Map<LoadBalancerSlot, DamagedSlot> = new Map();
  /** By address: reported when HNS has an endpoint with it again. */
  readonly endpoints: Map<string, LostEndpoint> = new Map();
  /** Objects that were never made here, and that are left alone. */
  readonly foreign: Set<Guid> = new Set();
  /** What HNS makes of load balancers after a repair, by what was asked for: so be it. */
  readonly accepted: Map<LoadBalancerIdentity, LoadBalancerIdentity> = new Map();
  /** What is to be read again, the next one last; refilled when it is empty. */
  queue: Guid[] = [];
  /** Everything has been looked at since another program last changed HNS. */
  isThrough = false;
}

export interface ProxierConfiguration {
  readonly client: HcnClient;
  readonly behaviour: Behaviour;
  readonly family: IpFamily;
  readonly tracker: FamilyTracker;
  readonly hostname: string;
  readonly nodeIp: string;
  /** Empty on networks that are no overlay. */
  readonly hostMac: string;
  readonly sourceVip: string;
  readonly enableDSR: boolean;
  /** HNS has DSR; without, local traffic policies and preserved destinations are dropped silently. */
  readonly hasDsr: boolean;
  readonly hasSessionAffinity: boolean;
  readonly rootEndpointName: string;
  readonly forwardsHealthCheck: boolean;
  readonly healthzPort: number;
  readonly reads: ReadMode;
}

export interface ProxierState {
  network: ProxyNetwork;
  readonly position: TrackerPosition;
  /** The Services and endpoints that are taken over, by `namespace/name`. */
  readonly services: Map<string, TrackedService>;
  readonly endpoints: Map<string, TrackedEndpoints>;
  /** By key of the port. */
  readonly entries: Map<string, ServiceEntry>;
  readonly bound: Map<string, BoundEndpoints>;
  /** Entries that are not applied. */
  readonly pending: Set<ServiceEntry>;
  readonly counts: ReferenceCounts;
  readonly loadBalancers: LoadBalancers;
  readonly records: HnsRecords;
  /** Addresses of other nodes' endpoints that vanished from their slices. */
  readonly terminated: Set<string>;
  readonly damage: Damage;
  /** `hardened`: deletions that failed, and syncs that ended early. */
  readonly cleanUpBackOff: BackOff;
  readonly endBackOff: BackOff;
}
