/** What one proxier (one node, one family) gets at its start, and what it keeps from sync to sync. Plain data. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { ServiceEntry } from "../load-balancers/service-entry.ts";
import type { Behaviour } from "../behaviour.ts";
import type { BoundEndpoints, ReferenceCounts } from "../load-balancers/bound-endpoints.ts";
import type { FamilyTracker, TrackerPosition } from "../tracking/family-tracker.ts";
import type { HnsRecords } from "../load-balancers/hns-records.ts";
import type { LoadBalancers } from "../load-balancers/load-balancers.ts";
import type { ReadMode } from "../options.ts";
import type { ProxyNetwork } from "../load-balancers/proxy-network.ts";
import type { TrackedEndpoints } from "../tracking/tracked-endpoints.ts";
import type { TrackedService } from "../tracking/tracked-service.ts";

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
}
