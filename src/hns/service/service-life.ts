/**
 * What a restart of the service and a reboot of the node do to the objects (hcn.md §4.6, §4.4, §4.2). Listeners do not hear of it
 * object by object: they were told that the service goes away.
 */
import type { RestartState } from "../failures/faults/fault.ts";
import { NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import { detachEndpoint, updateEndpoint } from "./endpoint/attachment.ts";
import { terminateComputeSystem } from "./compute-systems/compute-systems.ts";
import { removeEndpoint } from "./endpoint/endpoints.ts";
import { deleteGuestNetworkService } from "./guest/guest-network-services.ts";
import { removeLoadBalancer } from "./load-balancer/load-balancers.ts";
import { updateNamespace, createHostNamespace, removeNamespace } from "./namespace/namespaces.ts";
import type { NetworkRecord } from "./records.ts";
import { deleteNetwork } from "./network/networks.ts";
import { createOwnNetworks } from "./network/own-networks.ts";
import { removeSdnRoute } from "./sdn-routes.ts";
import type { ServiceContext } from "./service-context.ts";
import { clearObjects } from "../store/restore.ts";

// `load-balancers-restored-late`: after a restart of the service the load balancers are gone and come back from its own
// backup, while their owner makes new ones (kube-proxy.md §7 row 14).

/** Inferred: how long it takes. */
const RESTORATION_MS = 10_000;

/**
 * The service has restarted: its load balancers come later, and so do those that it had not yet restored. Their front ends
 * stay taken, and they stay stored: the backup that they come back from outlives the service.
 */
export function beginRestoration(context: ServiceContext): void {
  const { state } = context;
  const there = [...state.loadBalancers.values()];
  const loadBalancers = [...(state.restoration?.loadBalancers ?? []), ...there];
  if (loadBalancers.length === 0) return;
  for (const each of there) removeLoadBalancer(context, each, true);
  for (const id of state.networks.keys()) context.ports.reprogram(id);
  const atMs = context.nowMs + RESTORATION_MS;
  state.restoration = Object.freeze({ atMs, loadBalancers: Object.freeze(loadBalancers) });
  context.changesAt(atMs);
}

/** Brings them back when their time has come. */
export function endRestoration(context: ServiceContext): void {
  const { restoration } = context.state;
  if (restoration !== undefined && restoration.atMs <= context.nowMs) restoreNow(context);
}

/** Nothing comes back any more: what was to be restored is lost. */
export function forgetRestoration(context: ServiceContext): void {
  const lost = context.state.restoration?.loadBalancers ?? [];
  context.state.restoration = undefined;
  for (const { id } of lost) context.changed("LoadBalancer", id);
}

/** Brings back what was to come later. */
export function restoreNow(context: ServiceContext): void {
  const { state } = context;
  const { restoration } = state;
  if (restoration === undefined) return;
  state.restoration = undefined;
  for (const each of restoration.loadBalancers) {
    // Its network or all of its back ends may be gone by now.
    context.changed("LoadBalancer", each.id);
    if (!state.networks.has(each.networkId) || state.loadBalancers.has(each.id)) continue;
    state.addLoadBalancer(each);
    context.ports.reprogram(each.networkId);
  }
}

/** Load balancers and SDN routes are policy lists, which HNS keeps in memory (hcn.md §4.6). */
function forgetPolicyLists(context: ServiceContext): void {
  const { state } = context;
  for (const each of state.loadBalancers.values()) removeLoadBalancer(context, each);
  for (const each of state.sdnRoutes.values()) removeSdnRoute(context, each);
  for (const id of state.networks.keys()) context.ports.reprogram(id);
}

/** Endpoints that a container uses. */
function loseUsedEndpoints(context: ServiceContext): void {
  for (const endpoint of context.state.endpoints.values())
    if (endpoint.containers.length > 0) removeEndpoint(context, endpoint);
}

const LOOPBACK_NAME = /loopback/i;

/** A gateway that is an address of a loopback adapter of the node (hcn.md §4.2). */
function hasLoopbackGateway(context: ServiceContext, network: NetworkRecord): boolean {
  const loopback = context.adapters
    .filter((adapter) => LOOPBACK_NAME.test(adapter.name))
    .flatMap((adapter) => adapter.addresses.map((address) => address.ip));
  return network.subnets.some(({ gateway }) => gateway !== undefined && loopback.includes(gateway));
}

/** Inferred (hcn.md §4.2): what does not reload is gone, with its endpoints. */
function loseUnloadableNetworks(context: ServiceContext): void {
  for (const network of context.state.networks.values())
    if (hasLoopbackGateway(context, network)) deleteNetwork(context, network.id);
}

/** What deleted load balancers have left in memory (quirk `front-end-stale-after-delete`) ends with the service. */
function releaseLeftFrontEnds({ state }: ServiceContext): void {
  state.frontEnds.releaseLeft((id) => state.loadBalancers.has(id));
}

/**
 * The service goes down and comes back. Switch and ports live in the kernel, so attached endpoints stay attached.
 * Without a state the defects of the build decide what is lost. Inferred: a service that lost everything also takes away
 * the switches that it made.
 */
export function restartService(context: ServiceContext, state?: RestartState): void {
  if (state === "lose") {
    forgetRestoration(context);
    clearObjects(context);
    createHostNamespace(context);
  }
  const isForgetful =
    state === "forget-load-balancers" ||
    (state === undefined && context.hasQuirk("load-balancers-lost-at-restart"));
  if (isForgetful) {
    forgetRestoration(context);
    forgetPolicyLists(context);
  }
  if (context.hasQuirk("endpoints-lost-at-restart")) loseUsedEndpoints(context);
  if (context.hasQuirk("loopback-gateway-not-reloaded")) loseUnloadableNetworks(context);
  releaseLeftFrontEnds(context);
  if (state === undefined && context.hasQuirk("load-balancers-restored-late")) beginRestoration(context);
  else restoreNow(context);
  restartDefects(context);
  createOwnNetworks(context);
  context.takeNotifications();
}

/** What defects have left on ports ends with the service, and what a restart spoils begins. */
function restartDefects(context: ServiceContext): void {
  const { state, ports } = context;
  state.formerBackEnds.clear();
  ports.defects.restarted(
    [...state.networks.values()].filter(({ type }) => type === "Overlay").map(({ id }) => id),
  );
  for (const id of state.networks.keys()) {
    state.membersOf(id).dropLeftRules();
    ports.renew(id);
  }
}

/**
 * Networks that do not live through a reboot: NAT networks and those that say so. Inferred: EnablePersistent keeps a NAT
 * network, as its name says.
 */
function isLostAtReboot({ type, flags }: NetworkRecord): boolean {
  if ((flags & NETWORK_FLAGS.EnableNonPersistent) !== 0) return true;
  return type === "NAT" && (flags & NETWORK_FLAGS.EnablePersistent) === 0;
}

/**
 * The node goes down and comes back. Networks and their endpoints are stored; endpoints come back detached. Inferred
 * (hcn.md §4.6): load balancers and routes, which a restart of the service alone can lose, are gone, and so are
 * namespaces and guest network services: compartments are the kernel's, and containers and guests have ended.
 */
export function rebootNode(context: ServiceContext): void {
  const { state } = context;
  forgetPolicyLists(context);
  for (const { id } of context.computeSystems.list()) terminateComputeSystem(context, id);
  for (const endpoint of state.endpoints.values()) {
    const { attachment, isPortGone, virtualMachine, wasUsed } = endpoint;
    if (attachment === undefined && !isPortGone && virtualMachine === undefined && !wasUsed) continue;
    const afresh = { isPortGone: false, virtualMachine: undefined, wasUsed: false };
    updateEndpoint(context, detachEndpoint(context, endpoint), afresh);
  }
  for (const id of state.guestNetworkServices.keys()) deleteGuestNetworkService(context, id);
  const none = Object.freeze([]);
  for (const namespace of state.namespaces.values()) {
    if (namespace.isBuiltIn) updateNamespace(context, namespace, { containers: none, endpointIds: none });
    else removeNamespace(context, namespace);
  }
  const areAllLost = context.hasQuirk("networks-lost-at-reboot");
  for (const network of state.networks.values())
    if (areAllLost || isLostAtReboot(network)) deleteNetwork(context, network.id);
  forgetRestoration(context);
  releaseLeftFrontEnds(context);
  state.mirroring = undefined;
  createOwnNetworks(context);
  context.takeNotifications();
}
