/** The controllers of Services: slices of endpoints, and ingress addresses from a pool. */
import {
  MANAGED_BY_LABEL,
  SLICE_CONTROLLER,
  reconcileEndpointSlices,
} from "../../controllers/endpoint-slices.ts";
import { MIRRORING_CONTROLLER, reconcileMirror } from "../../controllers/mirror-endpoints.ts";
import { addToIp, formatIp, lastIp } from "#core/net/ip.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";
import { type ControlPlane, perform } from "../control-plane.ts";

function reconcileService(plane: ControlPlane, service: Service): void {
  const { store, prng } = plane;
  const { namespace, name } = service.metadata;
  const all = store.slicesOf(namespace, name);
  const managedBy = (controller: string): typeof all =>
    all.filter(({ metadata }) => metadata.labels?.[MANAGED_BY_LABEL] === controller);
  const selector = service.spec?.selector ?? {};
  const hasSelector = Object.keys(selector).length > 0;
  const endpoints = store.get("Endpoints", namespace, name);
  const pods = hasSelector ? store.podsMatching(namespace, { matchLabels: selector }) : [];
  const own = managedBy(SLICE_CONTROLLER);
  const mirrored = managedBy(MIRRORING_CONTROLLER);
  // Endpoints of an old dump stand for pods that were not dumped.
  const isMirrored = hasSelector ? pods.length === 0 && endpoints !== undefined : true;
  if (hasSelector && !isMirrored) {
    const nodeOf = (node: string): ReturnType<typeof store.get<"Node">> => store.get("Node", "", node);
    perform(plane, reconcileEndpointSlices(service, pods, own, all, nodeOf, prng));
    perform(plane, { create: [], update: [], remove: mirrored });
    return;
  }
  const isAlone = all.length === mirrored.length + (hasSelector ? own.length : 0);
  perform(plane, reconcileMirror(service, isAlone ? endpoints : undefined, mirrored, all, prng));
  if (hasSelector) perform(plane, { create: [], update: [], remove: own });
}

export function reconcileServices(plane: ControlPlane): void {
  for (const key of plane.dueServices) {
    plane.dueServices.delete(key);
    if (plane.settled.has(`Service ${key}`)) continue;
    const service = plane.store.getByKey("Service", key);
    if (service !== undefined && service.spec?.type !== "ExternalName") reconcileService(plane, service);
  }
}

function ingressOf({ status }: Service): readonly string[] {
  return (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip ?? "").filter((ip) => ip !== "");
}

/** The part of a cloud that gives Services of type LoadBalancer their address. */
export function giveIngressAddresses(plane: ControlPlane): void {
  const pool = plane.options.loadBalancerPool;
  if (pool === undefined) return;
  const waiting: Service[] = [];
  const taken = new Set<string>();
  for (const service of plane.store.all("Service")) {
    const own = ingressOf(service);
    for (const ip of own) taken.add(ip);
    const takesAddress =
      service.spec?.type === "LoadBalancer" && service.spec.loadBalancerClass === undefined;
    if (takesAddress && own.length === 0) waiting.push(service);
  }
  // The first address of a range names the range.
  let next = addToIp(pool.address, 1) ?? pool.address;
  for (const service of waiting) {
    while (taken.has(formatIp(next)) && next !== lastIp(pool)) next = addToIp(next, 1) ?? next;
    const ip = wantedAddress(service, taken) ?? formatIp(next);
    if (taken.has(ip)) return;
    taken.add(ip);
    plane.put({
      ...service,
      status: { ...service.status, loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } },
    });
  }
}

/** The address that a Service asks its cloud for. */
function wantedAddress({ spec }: Service, taken: ReadonlySet<string>): string | undefined {
  const wanted = spec?.loadBalancerIP ?? "";
  return wanted === "" || taken.has(wanted) ? undefined : wanted;
}
