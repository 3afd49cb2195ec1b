/** The programs of an overlay network's ports: those of its endpoints, of its distributed router, and of the host. */
import { type Ip, type Ipv4, maskOf, parseIpv4, prefixContains } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { PortAddressInfo } from "#dataplane/vfp/port-settings.ts";
import type { DhcpLease } from "#dataplane/switch/switch-port.ts";
import type { PortProgram, RouterProgram, TunnelSettings } from "../../ports/datapath.ts";
import type { EndpointRecord } from "../../service/records.ts";
import type { CompileCache } from "../compile-cache.ts";
import {
  NO_GROUPS,
  aclGroupsOf,
  compileTranslations,
  optionalGroupsOf,
  proxiesOf,
} from "../endpoint-parts.ts";
import { OVERLAY_STACK, ROUTER_STACK } from "../layers.ts";
import { type NetworkView, type OverlayView, attachedKey, managementIpOf } from "../network-view.ts";
import { type OverlayPlan, providerAddressOf, virtualSubnetOf } from "./overlay-plan.ts";
import {
  compileHostAnswers,
  compileHostDecap,
  compileHostEncap,
  compileHostPaRoute,
  compileEncapIn,
  compileEncapOut,
  compileEncapRoutes,
  compilePodPaRoute,
  compileRouterEncap,
  compileRouterHairpin,
} from "./overlay-rules.ts";
import type { CompiledRoutes } from "./remote-subnets.ts";
import type { RoutedEndpoint } from "../provenance.ts";
import type { HostTunnel } from "../load-balancer/load-balancer-table.ts";

/** The address info of a port (dataplane.md §1.2): the fake MAC of all three kinds is the NIC's (observed). */
function addressInfo(
  plan: OverlayPlan,
  fields: {
    readonly providerIpv4: Ipv4 | undefined;
    readonly ips: readonly Ip[];
    readonly mac: Mac;
    readonly flags: number;
  },
): PortAddressInfo {
  const { providerIpv4, ips, mac, flags } = fields;
  return Object.freeze({
    ...(providerIpv4 !== undefined && { providerIpv4 }),
    customerAddresses: Object.freeze([...ips]),
    mac,
    fakeMac: plan.hostMac,
    flags,
  });
}

/** The next hop, the same on all ports of a network. */
function paRouteOf(cache: CompileCache, { plan }: OverlayView): readonly Group[] {
  return cache.get(plan.network.id, "pod-pa-route", [plan.network], () => compilePodPaRoute(plan));
}

/** The ways to other nodes, the same on all endpoints' ports of a network. */
function encapOutOf(cache: CompileCache, { plan, remoteSubnets }: OverlayView): readonly Group[] {
  const inputs = [plan, remoteSubnets.revision.token];
  return cache.get(plan.network.id, "encap-out", inputs, (before?: CompiledRoutes) =>
    compileEncapOut(plan, remoteSubnets, before),
  ).groups;
}

/** The endpoint's address and what goes with it, for a DHCP client behind its port (dataplane.md §2.12). */
function leaseOf({ plan }: OverlayView, endpoint: EndpointRecord): DhcpLease | undefined {
  const config = endpoint.ipConfigs.find(({ ip }) => typeof ip === "number");
  const ip = config?.ip;
  if (config === undefined || typeof ip !== "number") return undefined;
  const subnet = plan.subnets.find(({ prefix }) => prefixContains(prefix, ip));
  const router = subnet?.gateway;
  if (subnet === undefined || router === undefined) return undefined;
  const { ServerList = [] } = endpoint.dns ?? plan.network.dns ?? {};
  return Object.freeze({
    ip,
    subnetMask: maskOf(subnet.prefix.length),
    router,
    routerMac: plan.routerMac,
    dnsServers: Object.freeze(ServerList.map(parseIpv4).filter((server) => server !== undefined)),
  });
}

function tunnelOf(view: OverlayView, endpoint: EndpointRecord): TunnelSettings {
  const { plan, addressFlags } = view;
  const ips = endpoint.ipConfigs.map(({ ip }) => ip);
  const lease = leaseOf(view, endpoint);
  return Object.freeze({
    ...(lease !== undefined && { lease }),
    virtualSubnets: Object.freeze([...new Set(ips.map((ip) => virtualSubnetOf(plan, ip)))]),
    address: addressInfo(plan, {
      providerIpv4: providerAddressOf(endpoint) ?? plan.providerAddress,
      ips,
      mac: endpoint.mac,
      flags: addressFlags,
    }),
    vxlanPort: plan.vxlanPort,
  });
}

/** What of a program depends neither on routes to other nodes nor on the load balancers that the endpoint serves. */
interface OwnParts {
  readonly program: PortProgram;
  readonly translations: readonly Group[];
  /** In VNET_ENCAP_LAYER, behind what all ports of the network share. */
  readonly encap: readonly Group[];
}

function compileOwnParts(
  cache: CompileCache,
  view: NetworkView,
  overlay: OverlayView,
  endpoint: RoutedEndpoint,
): OwnParts {
  const { plan } = overlay;
  const { policies, ipConfigs, mac, name, sdnRoutes } = endpoint;
  const inputs = [
    policies,
    ipConfigs,
    mac,
    name,
    sdnRoutes,
    plan.network,
    plan.providerAddress,
    plan.hostMac,
  ];
  const proxies = proxiesOf(view.network, endpoint);
  const natInputs = [...inputs, proxies.key, ...view.node.addresses];
  const translations = cache.get(endpoint.id, "nat", natInputs, () =>
    compileTranslations(endpoint, managementIpOf(view.node), proxies.sources),
  );
  const encap = cache.get(endpoint.id, "own-encap", inputs, () =>
    Object.freeze([...compileEncapRoutes(plan, endpoint), ...compileEncapIn(plan, endpoint)]),
  );
  const groups = {
    ...optionalGroupsOf(cache, view, endpoint, proxies),
    // On every pod's port, whether it serves or not (dataplane.md §0.5).
    LB_DSR: endpoint.attachment?.kind === "host" ? NO_GROUPS : view.services.podGroups,
    ACL_ENDPOINT_LAYER: aclGroupsOf(cache, view.network, endpoint),
    VNET_PA_ROUTE_LAYER: paRouteOf(cache, overlay),
  };
  const program = {
    stack: OVERLAY_STACK,
    groups,
    tunnel: cache.get(endpoint.id, "tunnel", [...inputs, endpoint.dns, overlay.addressFlags], () =>
      tunnelOf(overlay, endpoint),
    ),
    natPools: translations.nat.pools,
    staticBindings: translations.mappings.bindings,
    claims: translations.mappings.claims,
    deliversByAddress: false,
  };
  return Object.freeze({ program: Object.freeze(program), translations: translations.groups, encap });
}

/** The program of one endpoint's port. */
export function compileOverlayProgram(
  cache: CompileCache,
  view: NetworkView,
  overlay: OverlayView,
  endpoint: RoutedEndpoint,
): PortProgram {
  const { id } = endpoint;
  const { services } = view;
  const own = cache.get(id, "own", [view.base, services.podGroups], () =>
    compileOwnParts(cache, view, overlay, endpoint),
  );
  const encapOut = encapOutOf(cache, overlay);
  const answers = services.encapGroupsOf(id);
  const encap = cache.get(id, "encap", [answers, encapOut, own.encap], () =>
    Object.freeze([...answers, ...encapOut, ...own.encap]),
  );
  const groups = {
    ...own.program.groups,
    VNET_ENCAP_LAYER: encap,
    SLB_NAT_LAYER: services.natGroupsOf(id, own.translations),
  };
  return { ...own.program, groups };
}

/**
 * Who has which address, as the switch tells those who ask: gateways, endpoints here, endpoints elsewhere. Inferred: the
 * address that load balancers send from is behind the router, which turns what comes for it to the host's port.
 */
function neighborsOf(
  plan: OverlayPlan,
  local: readonly EndpointRecord[],
  sourceVips: readonly EndpointRecord[],
): ReadonlyMap<Ip, Mac> {
  const neighbors = new Map<Ip, Mac>();
  for (const { gateway } of plan.subnets) if (gateway !== undefined) neighbors.set(gateway, plan.routerMac);
  for (const { ip, mac } of plan.remoteAddresses) neighbors.set(ip, mac);
  for (const { ipConfigs } of sourceVips) for (const { ip } of ipConfigs) neighbors.set(ip, plan.routerMac);
  for (const { ipConfigs, mac } of local) for (const { ip } of ipConfigs) neighbors.set(ip, mac);
  return neighbors;
}

/** The distributed router of the network; its port is named as on WS2025 (dataplane.md §2.8). */
export function compileRouter(cache: CompileCache, view: NetworkView, overlay: OverlayView): RouterProgram {
  const { plan, sourceVips, addressFlags } = overlay;
  const key = [plan, ...sourceVips, addressFlags, ...attachedKey(view)];
  return cache.get(view.network.id, "router", key, () => {
    const reached = [...sourceVips, ...view.attached];
    const program: PortProgram = {
      stack: ROUTER_STACK,
      groups: {
        REMOTESUBNETROUTE_HAIRPIN_LAYER: compileRouterHairpin(plan, reached),
        VNET_ENCAP_LAYER: compileRouterEncap(plan),
        VNET_PA_ROUTE_LAYER: paRouteOf(cache, overlay),
      },
      tunnel: Object.freeze({
        virtualSubnets: plan.virtualSubnets,
        address: addressInfo(plan, {
          providerIpv4: plan.providerAddress,
          ips: [],
          mac: plan.routerMac,
          flags: addressFlags,
        }),
        vxlanPort: plan.vxlanPort,
      }),
      natPools: [],
      staticBindings: [],
      claims: [],
      deliversByAddress: false,
    };
    return Object.freeze({
      mac: plan.routerMac,
      portName: `DrPort ${view.network.id}`,
      program: Object.freeze(program),
      neighbors: neighborsOf(plan, view.attached, sourceVips),
    });
  });
}

export function compileHostTunnel(cache: CompileCache, view: NetworkView, overlay: OverlayView): HostTunnel {
  const { plan, remoteSubnets } = overlay;
  const { id } = view.network;
  const encap = cache.get(id, "host-encap", [plan, remoteSubnets.revision.token], (before?: CompiledRoutes) =>
    compileHostEncap(plan, remoteSubnets, before),
  ).groups;
  const own = cache.get(id, "host-tunnel", [plan, ...view.node.addresses], () =>
    Object.freeze({
      decap: compileHostDecap(plan),
      paRoute: compileHostPaRoute(plan),
      settings: Object.freeze({
        virtualSubnets: [],
        // Observed: flags 0, and the node's address as provider and as customer (dataplane.md §1.2).
        address: addressInfo(plan, {
          providerIpv4: plan.providerAddress,
          ips: view.node.addresses,
          mac: plan.hostMac,
          flags: 0,
        }),
        vxlanPort: plan.vxlanPort,
        answers: compileHostAnswers(plan),
      }),
    }),
  );
  return { encap, ...own };
}
