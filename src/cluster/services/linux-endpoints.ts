/**
 * Which endpoints a node uses for a port of a Service (pkg/proxy/topology.go, CategorizeEndpoints): those that are
 * ready, or else those that serve although they are going; near ones where the slices' hints say so; those of the node
 * itself for policy Local.
 */
import type { PlannedEndpoint, PlannedPort } from "./linux-service-plan.ts";

/** The node that looks. */
export interface ViewingNode {
  readonly name: string;
  /** Label `topology.kubernetes.io/zone`. */
  readonly zone: string | undefined;
}

export interface UsedEndpoints {
  /** For policy Cluster. */
  readonly cluster: readonly PlannedEndpoint[];
  /** For policy Local. */
  readonly local: readonly PlannedEndpoint[];
  /** Somebody serves, on whatever node. */
  readonly isServed: boolean;
}

/** True when something leads to the port from outside the cluster. */
export function isExternallyAccessible(port: PlannedPort): boolean {
  return port.nodePort !== 0 || port.externalIps.length > 0 || port.ingressIps.length > 0;
}

function usesLocal(port: PlannedPort): boolean {
  return port.isInternalLocal || (port.isExternalLocal && isExternallyAccessible(port));
}

/** Policy Local outside still needs the others: what comes from the cluster itself is not bound by it. */
function usesCluster(port: PlannedPort): boolean {
  return !port.isInternalLocal || isExternallyAccessible(port);
}

/** True when nodes see different endpoints of the port. */
export function isNodeDependent(port: PlannedPort): boolean {
  return (
    usesLocal(port) ||
    port.endpoints.some(({ nodeHints, zoneHints }) => nodeHints.length + zoneHints.length > 0)
  );
}

function readyOrServing(endpoints: readonly PlannedEndpoint[]): readonly PlannedEndpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  return ready.length > 0 ? ready : endpoints.filter(({ isServingTerminating }) => isServingTerminating);
}

/** Ready endpoints that the hints keep for this node or its zone; all of them when the hints are not complete. */
function nearest(endpoints: readonly PlannedEndpoint[], node: ViewingNode): readonly PlannedEndpoint[] {
  const ready = endpoints.filter(({ isReady }) => isReady);
  if (ready.length === 0) return endpoints;
  const forNode = ready.filter(({ nodeHints }) => nodeHints.includes(node.name));
  if (forNode.length > 0 && ready.every(({ nodeHints }) => nodeHints.length > 0)) return forNode;
  const { zone } = node;
  const forZone = ready.filter(({ zoneHints }) => zone !== undefined && zoneHints.includes(zone));
  return forZone.length > 0 && ready.every(({ zoneHints }) => zoneHints.length > 0) ? forZone : ready;
}

export function usedEndpoints(port: PlannedPort, node: ViewingNode | undefined): UsedEndpoints {
  const { endpoints } = port;
  const near = node === undefined ? endpoints : nearest(endpoints, node);
  const cluster = usesCluster(port) ? readyOrServing(near) : [];
  if (!usesLocal(port)) return { cluster, local: [], isServed: cluster.length > 0 };
  const local = readyOrServing(endpoints.filter(({ nodeName }) => nodeName === node?.name));
  return { cluster, local, isServed: cluster.length > 0 || readyOrServing(endpoints).length > 0 };
}
