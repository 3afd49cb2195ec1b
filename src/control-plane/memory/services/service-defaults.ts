/**
 * What the API server fills in for a Service before it is stored (k8s.io/kubernetes, `pkg/apis/core/v1/defaults.go`
 * and `pkg/registry/core/service/storage`): everything but addresses and node ports.
 */
import type { KubeObject, Service, ServicePort } from "#contracts/kubernetes/objects.ts";
import { type Fields, equalJson, isFields, mappingOf } from "#core/base/json.ts";

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
      ? { externalTrafficPolicy: unlessEmpty(spec.externalTrafficPolicy) ?? "Cluster" }
      : {}),
    ...(isExternalName
      ? {}
      : { internalTrafficPolicy: unlessEmpty(spec.internalTrafficPolicy) ?? "Cluster" }),
    ...(type === "LoadBalancer"
      ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true }
      : {}),
  };
}

function unlessEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

// A Service that changes its type keeps no field that only the old type has, as long as nobody has touched the field
// (k8s.io/kubernetes, `dropTypeDependentFields` of `pkg/registry/core/service/strategy.go`).

type Spec = Readonly<Record<string, unknown>>;

/** Of a spec that is not checked yet. */
function givenType(spec: Spec): unknown {
  return spec["type"] ?? "ClusterIP";
}

function needsClusterIp(spec: Spec): boolean {
  return givenType(spec) !== "ExternalName";
}

function needsNodePort(spec: Spec): boolean {
  return givenType(spec) === "NodePort" || givenType(spec) === "LoadBalancer";
}

function isLoadBalancer(spec: Spec): boolean {
  return givenType(spec) === "LoadBalancer";
}

function needsHealthPort(spec: Spec): boolean {
  return isLoadBalancer(spec) && spec["externalTrafficPolicy"] === "Local";
}

function isReachedFromOutside(spec: Spec): boolean {
  const externalIPs: unknown = spec["externalIPs"];
  return needsNodePort(spec) || (Array.isArray(externalIPs) && externalIPs.length > 0);
}

/** Fields that go when what needs them is gone. */
const DEPENDENT: readonly { readonly needs: (spec: Spec) => boolean; readonly fields: readonly string[] }[] =
  [
    { needs: needsClusterIp, fields: ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] },
    { needs: needsHealthPort, fields: ["healthCheckNodePort"] },
    { needs: isLoadBalancer, fields: ["allocateLoadBalancerNodePorts", "loadBalancerClass"] },
    { needs: isReachedFromOutside, fields: ["externalTrafficPolicy"] },
  ];

function nodePortsOf(spec: Spec): readonly unknown[] {
  const ports: unknown = spec["ports"];
  return Array.isArray(ports) ? ports.map((port: unknown) => mappingOf(port)["nodePort"]) : [];
}

function withoutNodePorts(spec: Spec): Spec {
  const ports = (spec["ports"] as readonly unknown[] | undefined) ?? [];
  const dropped = ports.map((port) => {
    if (!isFields(port)) return port;
    const { nodePort: _, ...rest } = port;
    return rest;
  });
  return { ...spec, ports: dropped };
}

function dropFields(before: NonNullable<Service["spec"]>, given: Spec): Spec {
  const old = before as unknown as Spec;
  const gone = DEPENDENT.filter(({ needs }) => needs(old) && !needs(given)).flatMap(({ fields }) => fields);
  const kept = Object.entries(given).filter(
    ([name, value]) => !gone.includes(name) || !equalJson(value, old[name]),
  );
  const spec = Object.fromEntries(kept);
  const dropsNodePorts =
    needsNodePort(old) && !needsNodePort(given) && equalJson(nodePortsOf(old), nodePortsOf(given));
  return dropsNodePorts ? withoutNodePorts(spec) : spec;
}

/** What is given in place of `before`, without the fields that went with its type; not yet checked. */
export function withoutTypeDependentFields(before: KubeObject, given: Fields): Fields {
  const spec = given["spec"];
  if (before.kind !== "Service" || before.spec === undefined || !isFields(spec)) return given;
  return { ...given, spec: dropFields(before.spec, spec) };
}
