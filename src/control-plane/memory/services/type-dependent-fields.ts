/**
 * A Service that changes its type keeps no field that only the old type has, as long as nobody has touched the field
 * (k8s.io/kubernetes, `dropTypeDependentFields` of `pkg/registry/core/service/strategy.go`).
 */
import { type Fields, equalJson, isFields } from "#core/base/json.ts";
import type { KubeObject, Service } from "#contracts/kubernetes/objects.ts";

type Spec = Readonly<Record<string, unknown>>;

function typeOf(spec: Spec): unknown {
  return spec["type"] ?? "ClusterIP";
}

function needsClusterIp(spec: Spec): boolean {
  return typeOf(spec) !== "ExternalName";
}

function needsNodePort(spec: Spec): boolean {
  return typeOf(spec) === "NodePort" || typeOf(spec) === "LoadBalancer";
}

function isLoadBalancer(spec: Spec): boolean {
  return typeOf(spec) === "LoadBalancer";
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
  return Array.isArray(ports)
    ? ports.map((port: unknown) => (isFields(port) ? port["nodePort"] : undefined))
    : [];
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
