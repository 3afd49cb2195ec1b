/** What a kube-proxy says about its work: values that `verify` and `trace` read, never log lines. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { Repair } from "./sync/repair.ts";

/** Which front end of a Service a load balancer is. */
export type LoadBalancerKind = "ClusterIP" | "NodePort" | "ExternalIP" | "Ingress" | "HealthCheck";

/** Something that keeps a Service, or a part of it, from working on this node. */
export interface ServiceFinding {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
  /** The endpoint that it concerns. */
  readonly address?: string;
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
export interface FrontEndPlace extends ProgrammedFrontEnd {
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
  /** All that it asks for; `id` is empty where kube-proxy knows of no load balancer. */
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
  /** `hardened`: what was put right in HNS, each told once. */
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
