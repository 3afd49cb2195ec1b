/**
 * What a kube-proxy says about its work: values that `verify` and `trace` read, never log lines. In `hardened` mode also what
 * it puts right in HNS: objects that another program took away or changed, and objects that no Service needs. Upstream never
 * looks again (kube-proxy.md §3.14, §8 row H20).
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { IpFamily } from "#core/net/ip.ts";

/** What was wrong. Stable words: a metric carries them as a label. */
export const REPAIR_KINDS = [
  /** HNS no longer had it; it was made again. */
  "load-balancer-lost",
  /** It was not what had been programmed; it was brought back to that. */
  "load-balancer-changed",
  /** It stood for no Service; it was deleted. */
  "load-balancer-left",
  "endpoint-lost",
  /** It was not what had been made; it was made again. */
  "endpoint-changed",
  /** A remote endpoint that no Service used; it was deleted. */
  "endpoint-left",
] as const;
export type RepairKind = (typeof REPAIR_KINDS)[number];

/** One repair that is done: a counter goes up by one, and an event reports it. */
export interface Repair {
  readonly kind: RepairKind;
  readonly family: IpFamily;
  /** Of the object that was lost, changed or left. */
  readonly id: Guid;
  /** The Service that it stood for; absent when it was that of none, or of several. */
  readonly service?: { readonly namespace: string; readonly name: string; readonly portName: string };
  /** Load balancers: the front end. */
  readonly frontEnd?: { readonly kind: LoadBalancerKind; readonly vip: string };
  /** Endpoints: the address. */
  readonly address?: string;
  /** The entry of the catalogue that says why such a thing happens. */
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
}

const CODES: Readonly<Record<RepairKind, KnowledgeCode>> = {
  "load-balancer-lost": "hns-load-balancers-lost",
  "load-balancer-changed": "hns-load-balancers-lost",
  "load-balancer-left": "hns-load-balancers-lost",
  "endpoint-lost": "hns-endpoints-lost",
  "endpoint-changed": "hns-endpoints-lost",
  "endpoint-left": "hns-remote-endpoint-left",
};

/** The entry of the catalogue that explains a kind of repair. */
export function explanationOfRepair(kind: RepairKind): KnowledgeCode {
  return CODES[kind];
}

/** Which front end of a Service a load balancer is. */
export const LOAD_BALANCER_KINDS = ["ClusterIP", "NodePort", "ExternalIP", "Ingress", "HealthCheck"] as const;
export type LoadBalancerKind = (typeof LOAD_BALANCER_KINDS)[number];

/** Something that keeps a Service, or a part of it, from working on this node. */
export interface ServiceFinding {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
  /** The endpoint that it concerns. */
  readonly address?: string;
  /** Several of them, which the message names. */
  readonly addresses?: readonly string[];
  /** The front end that it concerns; absent: all of them. */
  readonly frontEnd?: { readonly kind: LoadBalancerKind; readonly vip: string };
}

/** A load balancer of HNS that stands for a front end. */
export interface ProgrammedFrontEnd {
  readonly kind: LoadBalancerKind;
  /** Empty for node ports. */
  readonly vip: string;
  readonly id: Guid;
}

/** A front end that a Service asks for, whether HNS has it or not. */
export interface FrontEndPlace extends Pick<ProgrammedFrontEnd, "kind" | "vip"> {
  /** Undefined where kube-proxy knows of no load balancer. */
  readonly id: Guid | undefined;
  /** Where clients connect to; that of a health check is known when it is made. */
  readonly port: number;
}

/** One port of a Service on this node, in one family. */
export interface ServicePortStatus {
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  readonly protocol: string;
  readonly port: number;
  readonly family: IpFamily;
  /** False: the next sync tries again. True does not mean that every front end is there. */
  readonly isApplied: boolean;
  readonly frontEnds: readonly ProgrammedFrontEnd[];
  /** All that it asks for. */
  readonly places: readonly FrontEndPlace[];
  readonly findings: readonly ServiceFinding[];
}

export type SyncOutcome =
  | "done"
  /** Services or EndpointSlices have not been listed yet, or the proxy has not started. */
  | "not-ready"
  /** The network is gone or another one: everything was taken away, the next sync programs again. */
  | "network-gone"
  /** HNS did not answer a reading call. */
  | "hns-unreadable"
  /** Overlay: the source VIP could not be made. */
  | "source-vip-failed";

/** An event that upstream writes to the API server. */
export interface ProxyEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly namespace: string;
  /** Of the Service. */
  readonly name: string;
  readonly message: string;
}

/** One sync of one family. */
export interface FamilySyncReport {
  readonly family: IpFamily;
  readonly outcome: SyncOutcome;
  /** Why the sync ended early. */
  readonly finding?: ServiceFinding;
  /** What this sync worked on: in order of namespace, name and port. */
  readonly programmed: readonly ServicePortStatus[];
  /** What it could not apply, and will try again. */
  readonly notApplied: readonly ServicePortStatus[];
  readonly events: readonly ProxyEvent[];
  /** Load balancers that should be gone and are not, for later syncs. */
  readonly staleLoadBalancers: number;
  /** `hardened`: what was put right in HNS, each reported once. */
  readonly repairs: readonly Repair[];
  /** `hardened`: something failed; the time after which the next sync has something to try. */
  readonly retryAfterMs?: number;
}

/** What a caller may say to a sync. `upstream` knows neither. */
export interface SyncRequest {
  /**
   * Any clock in milliseconds: what fails is tried again with growing distance. Absent: in each sync.
   */
  readonly nowMs?: number | undefined;
  /** Compares HNS with what was programmed, also when there is nothing to do: for the periodic sync. */
  readonly comparesHns?: boolean | undefined;
}

/** One sync of a kube-proxy: one entry for each family that it proxies. */
export interface SyncReport {
  readonly families: readonly FamilySyncReport[];
}
