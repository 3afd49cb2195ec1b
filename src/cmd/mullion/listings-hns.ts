/** Lists of what HNS holds, as tables. */
import type { HnsItem, HnsKind } from "../../api/documents.ts";
import type { HostComputeEndpoint } from "../../hcn/endpoint.ts";
import type { HostComputeLoadBalancer } from "../../hcn/load-balancer.ts";
import type { HostComputeNamespace } from "../../hcn/namespace.ts";
import type { HostComputeNetwork } from "../../hcn/network.ts";
import type { Column, Listing } from "./table.ts";

type Row<T> = HnsItem & T;

const NODE: Column<HnsItem> = { title: "NODE", text: ({ node }) => node };

const PROTOCOLS: Readonly<Record<number, string>> = { 6: "TCP", 17: "UDP", 132: "SCTP" };

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
    name: ({ Name, ID }) => Name ?? ID ?? "",
    data: (row) => row,
    columns: [
      NODE,
      { title: "NAME", text: ({ Name }) => Name ?? "" },
      { title: "TYPE", text: ({ Type }) => Type ?? "NAT" },
      { title: "SUBNETS", text: subnets },
      { title: "ID", text: ({ ID }) => ID ?? "" },
      {
        title: "POLICIES",
        isWide: true,
        text: ({ Policies = [] }) => join(Policies.map(({ Type }) => Type)),
      },
    ],
  };
}

function endpoints(rows: readonly Row<HostComputeEndpoint>[]): Listing<Row<HostComputeEndpoint>> {
  return {
    singular: "hnsendpoint",
    plural: "HNS endpoints",
    rows,
    name: ({ Name, ID }) => Name ?? ID ?? "",
    data: (row) => row,
    columns: [
      NODE,
      { title: "NAME", text: ({ Name }) => Name ?? "" },
      {
        title: "IP",
        text: ({ IpConfigurations = [] }) => join(IpConfigurations.map(({ IpAddress }) => IpAddress)),
      },
      { title: "MAC", text: ({ MacAddress }) => MacAddress ?? "" },
      { title: "POLICIES", text: ({ Policies = [] }) => join(Policies.map(({ Type }) => Type)) },
      { title: "ID", isWide: true, text: ({ ID }) => ID ?? "" },
      {
        title: "HNS NAMESPACE",
        isWide: true,
        text: ({ HostComputeNamespace: namespace }) => namespace ?? "",
      },
      {
        title: "GATEWAY",
        isWide: true,
        text: ({ Routes = [] }) => join(Routes.map(({ NextHop }) => NextHop)),
      },
    ],
  };
}

function namespaces(rows: readonly Row<HostComputeNamespace>[]): Listing<Row<HostComputeNamespace>> {
  return {
    singular: "hnsnamespace",
    plural: "HNS namespaces",
    rows,
    name: ({ ID }) => ID ?? "",
    data: (row) => row,
    columns: [
      NODE,
      { title: "ID", text: ({ ID }) => ID ?? "" },
      { title: "TYPE", text: ({ Type }) => Type ?? "" },
      { title: "COMPARTMENT", isRightAligned: true, text: ({ NamespaceId }) => String(NamespaceId ?? "") },
      { title: "POD", text: ({ pods = [] }) => join(pods) },
      {
        title: "HNS ENDPOINTS",
        isWide: true,
        text: ({ Resources = [] }) => join(Resources.map(({ Data }) => Data.Id)),
      },
    ],
  };
}

function loadBalancers(rows: readonly Row<HostComputeLoadBalancer>[]): Listing<Row<HostComputeLoadBalancer>> {
  return {
    singular: "hnsloadbalancer",
    plural: "HNS load balancers",
    rows,
    name: ({ ID }) => ID ?? "",
    data: (row) => row,
    columns: [
      NODE,
      { title: "ID", text: ({ ID }) => ID ?? "" },
      { title: "VIPS", text: ({ FrontendVIPs = [] }) => join(FrontendVIPs) },
      {
        title: "PORTS",
        text: ({ PortMappings = [] }) =>
          join(
            PortMappings.map(
              ({ ExternalPort, InternalPort, Protocol = 0 }) =>
                `${ExternalPort ?? 0}:${InternalPort ?? 0}/${PROTOCOLS[Protocol] ?? Protocol}`,
            ),
          ),
      },
      {
        title: "ENDPOINTS",
        isRightAligned: true,
        text: ({ HostComputeEndpoints = [] }) => String(HostComputeEndpoints.length),
      },
      { title: "FLAGS", text: ({ Flags }) => String(Flags ?? 0) },
      { title: "SOURCE VIP", isWide: true, text: ({ SourceVIP }) => SourceVIP ?? "" },
      {
        title: "HNS ENDPOINTS",
        isWide: true,
        text: ({ HostComputeEndpoints = [] }) => join(HostComputeEndpoints),
      },
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
