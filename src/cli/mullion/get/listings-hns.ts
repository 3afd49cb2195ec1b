/** Lists of what HNS holds, as tables: its objects, and the Services on Windows nodes with their load balancers. */
import type { HnsKind } from "#cluster/api/client.ts";
import type { HnsItem } from "#cluster/api/documents.ts";
import type { LoadBalancerSummary } from "#cluster/views/inventory.ts";
import type { Stored } from "#contracts/hcn/description/object-json.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  LOAD_BALANCER_DISTRIBUTIONS,
  LOAD_BALANCER_FLAGS,
  LOAD_BALANCER_PORT_FLAGS,
} from "#contracts/hcn/documents/load-balancer.ts";
import type { HostComputeNamespace } from "#contracts/hcn/documents/namespace.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { ipProtocolName } from "#core/wire/ip-protocol.ts";
import type { Column, Listing } from "../table.ts";
import type { ServiceFrontEnd } from "#cluster/views/service-view.ts";

type Row<T extends { readonly ID?: string }> = HnsItem & Stored<T>;

const NODE: Column<HnsItem> = { title: "NODE", text: ({ node }) => node };

/** A column of `-o wide`. */
function wide<T>(title: string, text: (row: T) => string): Column<T> {
  return { title, isWide: true, text };
}

function join(texts: readonly (string | undefined)[]): string {
  return texts.map((text) => text ?? "").join(",");
}

function networks(rows: readonly Row<HostComputeNetwork>[]): Listing<Row<HostComputeNetwork>> {
  const subnets = ({ Ipams = [] }: HostComputeNetwork): string =>
    join(Ipams.flatMap(({ Subnets = [] }) => Subnets).map(({ IpAddressPrefix }) => IpAddressPrefix));
  return {
    singular: "hnsnetwork",
    plural: "HNS networks",
    rows,
    name: ({ Name, ID }) => Name ?? ID,
    columns: [
      NODE,
      { title: "NAME", text: ({ Name }) => Name ?? "" },
      { title: "TYPE", text: ({ Type }) => Type ?? "NAT" },
      { title: "SUBNETS", text: subnets },
      { title: "ID", text: ({ ID }) => ID },
      wide("POLICIES", ({ Policies = [] }) => join(Policies.map(({ Type }) => Type))),
    ],
  };
}

function endpoints(rows: readonly Row<HostComputeEndpoint>[]): Listing<Row<HostComputeEndpoint>> {
  return {
    singular: "hnsendpoint",
    plural: "HNS endpoints",
    rows,
    name: ({ Name, ID }) => Name ?? ID,
    columns: [
      NODE,
      { title: "NAME", text: ({ Name }) => Name ?? "" },
      {
        title: "IP",
        text: ({ IpConfigurations = [] }) => join(IpConfigurations.map(({ IpAddress }) => IpAddress)),
      },
      { title: "MAC", text: ({ MacAddress }) => MacAddress ?? "" },
      { title: "POLICIES", text: ({ Policies = [] }) => join(Policies.map(({ Type }) => Type)) },
      wide("ID", ({ ID }) => ID),
      wide("HNS NAMESPACE", ({ HostComputeNamespace: namespace }) => namespace ?? ""),
      wide("GATEWAY", ({ Routes = [] }) => join(Routes.map(({ NextHop }) => NextHop))),
    ],
  };
}

function namespaces(rows: readonly Row<HostComputeNamespace>[]): Listing<Row<HostComputeNamespace>> {
  return {
    singular: "hnsnamespace",
    plural: "HNS namespaces",
    rows,
    name: ({ ID }) => ID,
    columns: [
      NODE,
      { title: "ID", text: ({ ID }) => ID },
      { title: "TYPE", text: ({ Type }) => Type ?? "" },
      { title: "COMPARTMENT", isRightAligned: true, text: ({ NamespaceId }) => String(NamespaceId ?? "") },
      { title: "POD", text: ({ pods = [] }) => join(pods) },
      wide("HNS ENDPOINTS", ({ Resources = [] }) => join(Resources.map(({ Data }) => Data.Id))),
    ],
  };
}

/** Names of the bits that are set, joined; what has no name keeps its number. */
function flagNames(flags: number, names: Readonly<Record<string, number>>): readonly string[] {
  const found = Object.entries(names).filter(([, bit]) => (flags & bit) !== 0);
  const unknown = found.reduce((rest, [, bit]) => rest & ~bit, flags);
  return [...found.map(([name]) => name), ...(unknown === 0 ? [] : [String(unknown)])];
}

/** A Service may have hundreds of back ends; all of them stand in the JSON. */
const BACK_ENDS_SHOWN = 3;

function shortList(items: readonly string[]): string {
  const more = items.length - BACK_ENDS_SHOWN;
  return items.slice(0, BACK_ENDS_SHOWN).join(",") + (more > 0 ? ` + ${more} more` : "");
}

function loadBalancerPorts({ PortMappings = [] }: Partial<LoadBalancerSummary>): string {
  return PortMappings.map(({ Protocol = 0, InternalPort = 0, ExternalPort = 0 }) => {
    return `${ExternalPort}:${InternalPort}/${ipProtocolName(Protocol)}`;
  }).join(",");
}

function loadBalancerFlags({ Flags = 0, PortMappings = [] }: Partial<LoadBalancerSummary>): string {
  const ofPorts = PortMappings.flatMap((mapping) =>
    flagNames(mapping.Flags ?? 0, LOAD_BALANCER_PORT_FLAGS).concat(
      LOAD_BALANCER_DISTRIBUTIONS[mapping.DistributionType ?? 0]?.replace("None", "") ?? "",
    ),
  );
  const names = [...flagNames(Flags, LOAD_BALANCER_FLAGS), ...ofPorts].filter((name) => name !== "");
  return [...new Set(names)].join(",");
}

function loadBalancers(
  rows: readonly Row<Partial<LoadBalancerSummary>>[],
): Listing<Row<Partial<LoadBalancerSummary>>> {
  return {
    singular: "hnsloadbalancer",
    plural: "HNS load balancers",
    rows,
    name: ({ ID }) => ID,
    columns: [
      NODE,
      // Without any it is a node port.
      { title: "VIPS", text: ({ FrontendVIPs }) => (FrontendVIPs ?? ["node"]).join(",") },
      { title: "PORTS", text: loadBalancerPorts },
      { title: "BACK ENDS", text: ({ BackEnds = [] }) => shortList(BackEnds) },
      { title: "FLAGS", text: loadBalancerFlags },
      wide("ID", ({ ID }) => ID),
      wide("SOURCE VIP", ({ SourceVIP }) => SourceVIP ?? ""),
      { title: "STATE", isWide: true, isRightAligned: true, text: ({ State }) => String(State ?? "") },
    ],
  };
}

/** How objects of HNS are shown. The items are what the API lists for the kind, so their types are known. */
export function hnsListing(kind: HnsKind, items: readonly HnsItem[]): Listing<HnsItem> {
  switch (kind) {
    case "networks":
      return networks(items);
    case "endpoints":
      return endpoints(items);
    case "namespaces":
      return namespaces(items);
    case "loadbalancers":
      return loadBalancers(items);
  }
}

export const FRONT_END_WORDS = {
  ClusterIP: "ClusterIP",
  NodePort: "NodePort",
  ExternalIP: "ExternalIP",
  Ingress: "LoadBalancer",
  HealthCheck: "health check",
} as const;

/** `10.96.0.1:80/TCP`, `node:30080/TCP`. */
export function frontEndAddress({ vip, port, protocol }: ServiceFrontEnd): string {
  const host = vip === "" ? "node" : vip.includes(":") ? `[${vip}]` : vip;
  return `${host}:${port}/${protocol}`;
}

/** Services on Windows nodes: Service, front end, load balancer of HNS, rules. */
export function servicesListing(
  items: readonly ServiceFrontEnd[],
  hasNamespace: boolean,
): Listing<ServiceFrontEnd> {
  return {
    singular: "service",
    plural: "front ends of Services",
    rows: items,
    name: ({ name }) => name,
    columns: [
      { title: "NODE", text: ({ node }) => node },
      ...(hasNamespace
        ? [{ title: "NAMESPACE", text: ({ namespace }: ServiceFrontEnd): string => namespace }]
        : []),
      { title: "NAME", text: ({ name }) => name },
      {
        title: "FRONT END",
        text: ({ frontEnd }) => (frontEnd === undefined ? "" : FRONT_END_WORDS[frontEnd]),
      },
      { title: "ADDRESS", text: frontEndAddress },
      { title: "BACK ENDS", text: ({ backEnds }) => shortList(backEnds) },
      { title: "STATE", text: ({ state }) => state },
      { title: "RULES", isRightAligned: true, text: ({ rules }) => String(rules) },
      wide("LOAD BALANCER", ({ loadBalancer }) => loadBalancer ?? ""),
      wide("WHY", ({ findings }) => findings.map(({ code }) => code).join(",")),
    ],
  };
}
