/**
 * What the API server fills in for a Service before it is stored (k8s.io/kubernetes, `pkg/apis/core/v1/defaults.go`
 * and `pkg/registry/core/service/storage`): everything but addresses and node ports.
 */
import type { Service, ServicePort } from "#contracts/kubernetes/objects.ts";

export type ServiceSpec = NonNullable<Service["spec"]>;

/** Kubernetes API: the default of `sessionAffinityConfig.clientIP.timeoutSeconds`, three hours. */
const AFFINITY_TIMEOUT_SECONDS = 10_800;

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.clusterIP === "None";
}

function typeOf(spec: ServiceSpec): string {
  return spec.type === undefined || spec.type === "" ? "ClusterIP" : spec.type;
}

function completePort(port: ServicePort, isExternalName: boolean): ServicePort {
  const protocol = port.protocol ?? "TCP";
  const hasTarget = port.targetPort !== undefined && port.targetPort !== "" && port.targetPort !== 0;
  const targetPort = hasTarget ? port.targetPort : port.port;
  return isExternalName && !hasTarget ? { ...port, protocol } : { ...port, protocol, targetPort };
}

/** Whether connections from outside the cluster can reach a Service of this kind. */
export function isExternallyReachable(spec: ServiceSpec): boolean {
  const type = typeOf(spec);
  if (type === "NodePort" || type === "LoadBalancer") return true;
  return type === "ClusterIP" && (spec.externalIPs ?? []).length > 0;
}

/** The spec with the API server's defaults. */
export function completeServiceSpec(spec: ServiceSpec): ServiceSpec {
  const type = typeOf(spec);
  const isExternalName = type === "ExternalName";
  const sessionAffinity =
    spec.sessionAffinity === undefined || spec.sessionAffinity === "" ? "None" : spec.sessionAffinity;
  const timeoutSeconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_TIMEOUT_SECONDS;
  return {
    ...spec,
    type,
    ...(spec.ports === undefined
      ? {}
      : { ports: spec.ports.map((port) => completePort(port, isExternalName)) }),
    sessionAffinity,
    ...(sessionAffinity === "ClientIP" ? { sessionAffinityConfig: { clientIP: { timeoutSeconds } } } : {}),
    ...(isExternallyReachable(spec)
      ? { externalTrafficPolicy: given(spec.externalTrafficPolicy) ?? "Cluster" }
      : {}),
    ...(isExternalName ? {} : { internalTrafficPolicy: given(spec.internalTrafficPolicy) ?? "Cluster" }),
    ...(type === "LoadBalancer"
      ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true }
      : {}),
  };
}

function given(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
