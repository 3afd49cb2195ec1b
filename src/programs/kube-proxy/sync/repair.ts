/**
 * What kube-proxy in `hardened` mode puts right in HNS: objects that somebody else took away or changed, and objects
 * that nobody wants. Upstream never looks again (kube-proxy.md §3.14, §8 row H20).
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { IpFamily } from "#core/net/ip.ts";

/** Which front end of a Service a load balancer is. */
export type LoadBalancerKind = "ClusterIP" | "NodePort" | "ExternalIP" | "Ingress" | "HealthCheck";

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

/** One repair that is done: a counter goes up by one, and an event tells it. */
export interface Repair {
  readonly kind: RepairKind;
  readonly family: IpFamily;
  /** Of the object that was lost, changed or left. */
  readonly id: Guid;
  /** The Service that it stood for; absent when it was nobody's, or that of several. */
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
