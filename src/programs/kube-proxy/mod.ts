/**
 * kube-proxy for Windows nodes: programs Services as load balancers of HNS. One `ProxyObjects` for a cluster, one
 * `KubeProxy` for each node.
 */
import { KubeProxy, type KubeProxyParts } from "./kube-proxy.ts";

export type { Compat } from "#core/base/compat.ts";
export { type KubernetesVersion, behaviourOf } from "./behaviour.ts";
export { LIVEZ_SINCE, proxyHealthAnswer } from "./daemon/health/proxy-health.ts";
export { type CheckedService, checkedServices, serviceHealthAnswer } from "./daemon/health/service-health.ts";
export { followSource } from "./tracking/proxy-objects.ts";
export { KubeProxy, type KubeProxyParts, type StartResult } from "./kube-proxy.ts";
export { DEFAULT_HEALTHZ_PORT, type ProxyInterface, type KubeProxyOptions } from "./options.ts";
export { ProxyObjects } from "./tracking/proxy-objects.ts";
export {
  REPAIR_KINDS,
  type Repair,
  type RepairKind,
  type LoadBalancerKind,
  type FamilySyncReport,
  type ServiceFinding,
  type FrontEndPlace,
  type ProgrammedFrontEnd,
  type ProxyEvent,
  type ServicePortStatus,
  type SyncOutcome,
  type SyncReport,
  type SyncRequest,
} from "./report.ts";
export { type DisregardReason, disregardReason } from "./tracking/tracked-service.ts";

/**
 * A kube-proxy for one node. Call `start` until it runs, then `sync` after each change of objects and every 30 s, as
 * upstream does: what is not applied is tried again.
 */
export function createKubeProxy(parts: KubeProxyParts): KubeProxy {
  return new KubeProxy(parts);
}
