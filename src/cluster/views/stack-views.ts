/** What machines consist of below their pods: compute systems, compartments, adapters, routes. Only looks. */
import { addToList } from "#core/base/keyed-lists.ts";
import type { ValueOf } from "#core/base/shape.ts";
import { requireComputeSystems } from "#contracts/hcn/compute-systems.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import type { Cluster, ClusterNode, ClusterPod } from "../cluster.ts";
import { interfaceGuid } from "../exec/windows/registry/registry-keys.ts";
import { observerOf } from "../machines/windows-node.ts";
import { selectNodes } from "./inventory.ts";

export const COMPUTE_SYSTEM_VIEW = {
  text: "A container or virtual machine, as HCS has it.",
  fields: {
    node: "text",
    id: { is: "text", text: "Of a pod's pause container: NAMESPACE_POD." },
    type: ["Container", "VirtualMachine"],
    owner: { is: "text", text: "The program that made it." },
    runtimeId: "text",
    state: "text",
    endpoints: { list: "text", text: "Ids of the HNS endpoints that it has." },
  },
  optional: {
    namespace: { is: "text", text: "The HCN namespace that it is in." },
    pod: { is: "text", text: "NAMESPACE/NAME" },
  },
} as const;
export type ComputeSystemView = ValueOf<typeof COMPUTE_SYSTEM_VIEW>;

const OF_COMPARTMENT = {
  text: "What is in a compartment.",
  fields: {
    node: "text",
    compartment: { is: "integer", text: "1 is the machine's own." },
    pods: { list: "text", text: "NAMESPACE/NAME of the pods that are in it." },
  },
} as const;

export const COMPARTMENT_VIEW = {
  text: "A network compartment of Windows, or a network namespace of Linux.",
  base: (): typeof OF_COMPARTMENT => OF_COMPARTMENT,
  fields: {
    name: { is: "text", text: "As traces call it." },
    adapters: { list: "text", text: "Their names." },
    dnsServers: { list: "text", text: "In the order in which the resolver asks them." },
    suffixes: { list: "text", text: "The search list of the resolver." },
  },
  optional: { namespace: { is: "text", text: "Windows: the HCN namespace of its pod." } },
} as const;
export type CompartmentView = ValueOf<typeof COMPARTMENT_VIEW>;

export const ADAPTER_VIEW = {
  text: "A network adapter in a compartment.",
  base: (): typeof OF_COMPARTMENT => OF_COMPARTMENT,
  fields: {
    name: "text",
    mac: "text",
    addresses: { list: "text", text: "With the lengths of their prefixes." },
    mtuBytes: "integer",
    metric: { is: "integer", text: "Added to that of each route over it." },
    isForwarding: "boolean",
    dnsServers: { list: "text", text: "That this adapter has of its own." },
  },
  optional: { guid: { is: "text", text: "Windows: the name of its key in the registry." } },
} as const;
export type AdapterView = ValueOf<typeof ADAPTER_VIEW>;

export const ROUTE_VIEW = {
  text: "A route of a compartment.",
  base: (): typeof OF_COMPARTMENT => OF_COMPARTMENT,
  fields: {
    destination: "text",
    adapter: "text",
    metric: { is: "integer", text: "Without that of the adapter." },
    origin: ["static", "address"],
    isPersistent: { is: "boolean", text: "Windows: it stands in the registry as well." },
  },
  optional: { nextHop: { is: "text", text: "Absent: the destinations are on the link." } },
} as const;
export type RouteView = ValueOf<typeof ROUTE_VIEW>;

interface Place {
  readonly node: ClusterNode;
  readonly compartment: Compartment;
  readonly pods: readonly ClusterPod[];
}

function nameOf({ spec }: ClusterPod): string {
  return `${spec.namespace}/${spec.name}`;
}

function placesOf(cluster: Cluster, name: string | undefined): readonly Place[] {
  const byCompartment = new Map<Compartment, ClusterPod[]>();
  for (const pod of cluster.pods) {
    if (pod.isAtRest === true) continue;
    addToList(byCompartment, pod.compartment, pod);
  }
  return selectNodes(cluster, name).flatMap((node) =>
    node.host
      .listCompartments()
      .map((compartment) => ({ node, compartment, pods: byCompartment.get(compartment) ?? [] })),
  );
}

function headOf({ node, compartment, pods }: Place): Pick<RouteView, "node" | "compartment" | "pods"> {
  return { node: node.spec.name, compartment: compartment.id, pods: pods.map(nameOf) };
}

function serversOf({ servers }: DnsSettings): readonly string[] {
  return servers.map(formatIp);
}

/** @throws RequestError for a node that does not exist; as all views here. */
export async function viewComputeSystems(
  cluster: Cluster,
  name?: string,
): Promise<readonly ComputeSystemView[]> {
  const rows: ComputeSystemView[] = [];
  for (const node of selectNodes(cluster, name)) {
    if (node.hns === undefined) continue;
    const pods = cluster.pods.filter((pod) => pod.node === node);
    for (const system of await requireComputeSystems(observerOf(node)).list()) {
      const { Namespace: namespace } = system;
      const pod = pods.find(
        ({ namespaceId }) =>
          namespace !== undefined && namespaceId !== undefined && equalGuids(namespaceId, namespace),
      );
      rows.push({
        node: node.spec.name,
        id: system.Id,
        type: system.SystemType,
        owner: system.Owner,
        runtimeId: system.RuntimeId,
        state: system.State,
        endpoints: system.NetworkAdapters.map(({ EndpointId }) => EndpointId),
        ...(namespace === undefined ? {} : { namespace }),
        ...(pod === undefined ? {} : { pod: nameOf(pod) }),
      });
    }
  }
  return rows;
}

export function viewCompartments(cluster: Cluster, name?: string): readonly CompartmentView[] {
  return placesOf(cluster, name).map((place) => {
    const { compartment, pods } = place;
    const namespace = pods.find(({ namespaceId }) => namespaceId !== undefined)?.namespaceId;
    return {
      ...headOf(place),
      name: compartment.name,
      adapters: compartment.listInterfaces().map((link) => link.name),
      dnsServers: serversOf(compartment.dns),
      suffixes: [...compartment.dns.search],
      ...(namespace === undefined ? {} : { namespace }),
    };
  });
}

function ownServers(compartment: Compartment, { names }: Interface): readonly string[] {
  if (names === undefined) return serversOf(compartment.namesOfMachine);
  const { configured, learned } = names;
  return [...(configured === undefined ? [] : serversOf(configured)), ...learned.map(formatIp)];
}

export function viewAdapters(cluster: Cluster, name?: string): readonly AdapterView[] {
  return placesOf(cluster, name).flatMap((place) => {
    const { compartment } = place;
    const isWindows = compartment.profile.os === "windows";
    return compartment.listInterfaces().map((link) => ({
      ...headOf(place),
      name: link.name,
      mac: formatMac(link.mac),
      addresses: link.addresses.map(({ ip, length }) => `${formatIp(ip)}/${length}`),
      mtuBytes: link.mtuBytes,
      metric: link.metric,
      isForwarding: link.isForwarding,
      dnsServers: ownServers(compartment, link),
      ...(isWindows ? { guid: interfaceGuid(compartment, link) } : {}),
    }));
  });
}

export function viewRoutes(cluster: Cluster, name?: string): readonly RouteView[] {
  return placesOf(cluster, name).flatMap((place) =>
    place.compartment.listRoutes().map((route) => ({
      ...headOf(place),
      destination: formatPrefix(route.prefix),
      ...(route.nextHop === undefined ? {} : { nextHop: formatIp(route.nextHop) }),
      adapter: route.interface.name,
      metric: route.metric,
      origin: route.origin,
      isPersistent: route.isPersistent === true,
    })),
  );
}
