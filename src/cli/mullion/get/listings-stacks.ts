/** Lists of what machines consist of below their pods, as tables. */
import type { StackKind } from "#cluster/api/client.ts";
import type { StackLists } from "#cluster/api/documents.ts";
import type {
  AdapterView,
  CompartmentView,
  ComputeSystemView,
  RouteView,
} from "#cluster/views/stack-views.ts";
import type { DhcpLeaseView } from "#cluster/views/dhcp-views.ts";
import type { DockerNetworkView } from "#cluster/views/docker-views.ts";
import type { EffectiveRouteView, EffectiveRuleView } from "#cluster/views/azure-views.ts";
import type { QuirkView } from "#cluster/views/quirk-views.ts";
import { QUIRK_TEXTS } from "#diagnose/catalogue/quirk-texts.ts";
import type { Column, Listing } from "../table.ts";

function join(texts: readonly string[]): string {
  return texts.join(",");
}

const NODE: Column<{ readonly node: string }> = { title: "NODE", text: ({ node }) => node };
const COMPARTMENT: Column<{ readonly compartment: number }> = {
  title: "COMPARTMENT",
  isRightAligned: true,
  text: ({ compartment }) => String(compartment),
};
const PODS: Column<{ readonly pods: readonly string[] }> = { title: "PODS", text: ({ pods }) => join(pods) };

function computeSystems(rows: readonly ComputeSystemView[]): Listing<ComputeSystemView> {
  return {
    singular: "computesystem",
    plural: "compute systems",
    rows,
    name: ({ id }) => id,
    columns: [
      NODE,
      { title: "ID", text: ({ id }) => id },
      { title: "TYPE", text: ({ type }) => type },
      { title: "STATE", text: ({ state }) => state },
      { title: "POD", text: ({ pod = "" }) => pod },
      { title: "HNS ENDPOINTS", text: ({ endpoints }) => join(endpoints) },
      { title: "HNS NAMESPACE", isWide: true, text: ({ namespace = "" }) => namespace },
      { title: "OWNER", isWide: true, text: ({ owner }) => owner },
    ],
  };
}

function compartments(rows: readonly CompartmentView[]): Listing<CompartmentView> {
  return {
    singular: "compartment",
    plural: "compartments",
    rows,
    name: ({ node, compartment }) => `${node}-${compartment}`,
    columns: [
      NODE,
      COMPARTMENT,
      PODS,
      { title: "ADAPTERS", text: ({ adapters: names }) => join(names) },
      { title: "DNS SERVERS", text: ({ dnsServers }) => join(dnsServers) },
      { title: "SUFFIXES", isWide: true, text: ({ suffixes }) => join(suffixes) },
      { title: "HNS NAMESPACE", isWide: true, text: ({ namespace = "" }) => namespace },
    ],
  };
}

function adapters(rows: readonly AdapterView[]): Listing<AdapterView> {
  return {
    singular: "adapter",
    plural: "adapters",
    rows,
    name: ({ name }) => name,
    columns: [
      NODE,
      COMPARTMENT,
      { title: "NAME", text: ({ name }) => name },
      { title: "MAC", text: ({ mac }) => mac },
      { title: "ADDRESSES", text: ({ addresses }) => join(addresses) },
      { title: "MTU", isRightAligned: true, text: ({ mtuBytes }) => String(mtuBytes) },
      { title: "METRIC", isRightAligned: true, text: ({ metric }) => String(metric) },
      { ...PODS, isWide: true },
      { title: "DNS SERVERS", isWide: true, text: ({ dnsServers }) => join(dnsServers) },
      { title: "GUID", isWide: true, text: ({ guid = "" }) => guid },
    ],
  };
}

function routes(rows: readonly RouteView[]): Listing<RouteView> {
  return {
    singular: "route",
    plural: "routes",
    rows,
    name: ({ destination }) => destination,
    columns: [
      NODE,
      COMPARTMENT,
      { title: "DESTINATION", text: ({ destination }) => destination },
      { title: "NEXT HOP", text: ({ nextHop }) => nextHop ?? "on-link" },
      { title: "ADAPTER", text: ({ adapter }) => adapter },
      { title: "METRIC", isRightAligned: true, text: ({ metric }) => String(metric) },
      { ...PODS, isWide: true },
      { title: "ORIGIN", isWide: true, text: ({ origin }) => origin },
    ],
  };
}

function effectiveRoutes(rows: readonly EffectiveRouteView[]): Listing<EffectiveRouteView> {
  return {
    singular: "effectiveroute",
    plural: "effective routes",
    rows,
    name: ({ prefix }) => prefix,
    columns: [
      NODE,
      { title: "SOURCE", text: ({ source }) => source },
      { title: "STATE", text: ({ state }) => state },
      { title: "PREFIX", text: ({ prefix }) => prefix },
      { title: "NEXT HOP TYPE", text: ({ nextHopType }) => nextHopType },
      { title: "NEXT HOP", text: ({ nextHop = "" }) => nextHop },
      { title: "NAME", text: ({ name = "" }) => name },
    ],
  };
}

function effectiveRules(rows: readonly EffectiveRuleView[]): Listing<EffectiveRuleView> {
  return {
    singular: "effectiverule",
    plural: "effective rules",
    rows,
    name: ({ name }) => name,
    columns: [
      NODE,
      { title: "DIRECTION", text: ({ direction }) => direction },
      { title: "LEVEL", text: ({ level }) => level },
      { title: "PRIORITY", isRightAligned: true, text: ({ priority }) => String(priority) },
      { title: "NAME", text: ({ name }) => name },
      { title: "ACCESS", text: ({ access }) => access },
      { title: "PROTOCOL", text: ({ protocol }) => protocol },
      { title: "SOURCE", text: ({ source }) => source },
      { title: "DESTINATION", text: ({ destination }) => destination },
      { title: "PORTS", text: ({ destinationPorts }) => destinationPorts },
      { title: "SOURCE PORTS", isWide: true, text: ({ sourcePorts }) => sourcePorts },
      { title: "GROUP", isWide: true, text: ({ group }) => group },
    ],
  };
}

/** Docker's ids are shown by their first digits. */
const SHORT_ID = 12;

/** The columns of `docker network ls`, and what `docker network inspect` has. */
function dockerNetworks(rows: readonly DockerNetworkView[]): Listing<DockerNetworkView> {
  return {
    singular: "dockernetwork",
    plural: "networks of Docker",
    rows,
    name: ({ Name }) => Name,
    columns: [
      NODE,
      { title: "NETWORK ID", text: ({ Id }) => Id.slice(0, SHORT_ID) },
      { title: "NAME", text: ({ Name }) => Name },
      { title: "DRIVER", text: ({ Driver }) => Driver },
      { title: "SCOPE", text: ({ Scope }) => Scope },
      { title: "SUBNET", text: ({ IPAM }) => join(IPAM.Config.map(({ Subnet }) => Subnet)) },
      { title: "GATEWAY", text: ({ IPAM }) => join(IPAM.Config.map(({ Gateway }) => Gateway)) },
      {
        title: "CONTAINERS",
        isRightAligned: true,
        text: ({ Containers }) => String(Object.keys(Containers).length),
      },
    ],
  };
}

function dhcpLeases(rows: readonly DhcpLeaseView[]): Listing<DhcpLeaseView> {
  return {
    singular: "dhcplease",
    plural: "DHCP leases",
    rows,
    name: ({ address }) => address,
    columns: [
      { title: "SERVER", text: ({ server }) => server },
      { title: "ADDRESS", text: ({ address }) => address },
      { title: "SCOPE", text: ({ scope }) => scope },
      { title: "CLIENT ID", text: ({ clientId }) => clientId },
      { title: "POD", text: ({ pod }) => pod },
      NODE,
      { title: "STATE", text: ({ state }) => state },
      { title: "EXPIRES", text: ({ expires = "" }) => expires },
    ],
  };
}

function quirks(rows: readonly QuirkView[]): Listing<QuirkView> {
  return {
    singular: "quirk",
    plural: "defects",
    rows,
    name: ({ name }) => name,
    columns: [
      NODE,
      { title: "NAME", text: ({ name }) => name },
      { title: "SETTING", text: ({ setting }) => setting },
      { title: "BUILD HAS IT", text: ({ concernsBuild }) => (concernsBuild ? "yes" : "no") },
      { title: "TITLE", isWide: true, text: ({ name }) => QUIRK_TEXTS[name].title },
      { title: "EXPLAINED BY", isWide: true, text: ({ explanation }) => explanation },
    ],
  };
}

type Items<Kind extends StackKind> = StackLists[Kind]["items"];

const STACK_LISTINGS: {
  readonly [Kind in StackKind]: (rows: Items<Kind>) => Listing<Items<Kind>[number]>;
} = {
  computesystems: computeSystems,
  compartments,
  adapters,
  routes,
  effectiveroutes: effectiveRoutes,
  effectiverules: effectiveRules,
  dockernetworks: dockerNetworks,
  dhcpleases: dhcpLeases,
  quirks,
};

/** How the items of a kind are shown. */
export function stackListing<Kind extends StackKind>(
  kind: Kind,
  items: Items<Kind>,
): Listing<Items<Kind>[number]> {
  return STACK_LISTINGS[kind](items);
}
