/**
 * Whether everybody in a cluster with flannel means the same: the leases of the Nodes, the policies and routes of Windows
 * nodes, and neighbours, forwarding entries and routes of Linux nodes. For tests.
 */
import type { ClusterNode } from "#cluster/cluster.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { LinuxVxlan } from "#dataplane/fabric/linux-vxlan.ts";
import { listNetworks } from "#contracts/hcn/operations.ts";
import { formatRoute } from "#dataplane/host/ip/route-table.ts";
import { formatIp, formatPrefix, prefixCovers } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { SessionWorld } from "../cluster/session-world.ts";

const PREFIX = "flannel.alpha.coreos.com/";
const VXLAN_PORT = 4_789;

/** What a Node says of its pods. */
interface Published {
  readonly node: string;
  readonly range: string;
  readonly publicIp: string;
  /** Of its end of the tunnels; empty with host-gw. */
  readonly mac: string;
}

function withColons(mac: string): string {
  return mac.toLowerCase().replaceAll("-", ":");
}

/** The leases that Kubernetes has. */
export function publishedLeases({ session }: SessionWorld): readonly Published[] {
  return session.cluster.objects.Node.map(({ metadata, spec }) => {
    const { annotations = {} } = metadata as { readonly annotations?: Readonly<Record<string, string>> };
    const data = JSON.parse(annotations[`${PREFIX}backend-data`] ?? "null") as { VtepMAC?: string } | null;
    return {
      node: metadata.name,
      range: spec?.podCIDR ?? "",
      publicIp: annotations[`${PREFIX}public-ip`] ?? "",
      mac: data?.VtepMAC ?? "",
    };
  });
}

function podRoutes({ session }: SessionWorld, { host }: ClusterNode): readonly string[] {
  const { clusterCIDR } = session.cluster.file.network;
  return host.root
    .listRoutes()
    .filter(({ nextHop, prefix }) => nextHop !== undefined && prefixCovers(clusterCIDR, prefix))
    .map(formatRoute)
    .toSorted();
}

/** What leads a node to the pods of others, a line each. */
export async function waysOf(world: SessionWorld, name: string): Promise<readonly string[]> {
  const { cluster } = world.session;
  const node = cluster.nodes.find(({ spec }) => spec.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  const routes = podRoutes(world, node);
  if (cluster.file.network.backend !== "vxlan") return routes;
  if (node.hns !== undefined) {
    const networks = await listNetworks(hcnClientOf(node));
    const own = networks.filter(({ Name }) => Name === cluster.file.network.name);
    const policies = own.flatMap(({ Policies = [] }) => Policies);
    const remotes = policies.filter(({ Type }) => Type === "RemoteSubnetRoute");
    return remotes
      .map(({ Settings }) => {
        const settings = (Settings ?? {}) as Readonly<Record<string, unknown>>;
        const { DestinationPrefix, ProviderAddress, DistributedRouterMacAddress } = settings;
        return `${String(DestinationPrefix)} to ${String(ProviderAddress)} ${withColons(String(DistributedRouterMacAddress))}`;
      })
      .toSorted();
  }
  const device = node.host.root.udp.tunnels.get(VXLAN_PORT);
  if (!(device instanceof LinuxVxlan)) return [...routes, "no device"];
  const forwarding = device
    .listForwarding()
    .map(({ mac, destination }) => `fdb ${withColons(formatMac(mac))} dst ${formatIp(destination)}`);
  const neighbors = device.interface.neighbors
    .list()
    .map(({ ip, mac }) => `neigh ${formatIp(ip)} ${mac === undefined ? "" : withColons(formatMac(mac))}`);
  return [...routes, ...forwarding, ...neighbors].toSorted();
}

/** What should lead a node to the pods of others, in the words of `waysOf`. */
function wantedWays(world: SessionWorld, node: ClusterNode, others: readonly Published[]): readonly string[] {
  const { cluster } = world.session;
  const { backend, vni } = cluster.file.network;
  const lines = others.flatMap(({ range, publicIp, mac }): readonly string[] => {
    if (backend !== "vxlan") {
      const device = node.hns === undefined ? "eth0" : "vEthernet (Ethernet)";
      return [`${range} via ${publicIp} on ${device}`];
    }
    if (node.hns !== undefined) return [`${range} to ${publicIp} ${mac}`];
    const [first = ""] = range.split("/");
    return [`${range} via ${first} on flannel.${vni}`, `fdb ${mac} dst ${publicIp}`, `neigh ${first} ${mac}`];
  });
  return lines.toSorted();
}

async function ownMac(world: SessionWorld, node: ClusterNode): Promise<string> {
  const { name } = world.session.cluster.file.network;
  if (node.hns === undefined) {
    const device = node.host.root.udp.tunnels.get(VXLAN_PORT);
    return device instanceof LinuxVxlan ? withColons(formatMac(device.interface.mac)) : "";
  }
  const networks = await listNetworks(hcnClientOf(node));
  const policies = networks.filter(({ Name }) => Name === name).flatMap(({ Policies = [] }) => Policies);
  const address = policies.find(({ Type }) => Type === "DrMacAddress")?.Settings?.["Address"];
  return typeof address === "string" ? withColons(address) : "";
}

/** Where nodes that take part do not do what the leases say; empty: all agree. */
export async function disagreements(world: SessionWorld): Promise<readonly string[]> {
  const { cluster } = world.session;
  const leases = publishedLeases(world);
  const found: string[] = [];
  for (const node of cluster.nodes) {
    const { name, address, podCIDR } = node.spec;
    const own = leases.find((lease) => lease.node === name);
    if (own === undefined || !node.uplink.isUp) continue;
    if (own.publicIp !== formatIp(address))
      found.push(`${name}: its lease tells ${own.publicIp || "no address"}`);
    if (own.range !== formatPrefix(podCIDR)) found.push(`${name}: its range is ${own.range}`);
    const mac = cluster.file.network.backend === "vxlan" ? await ownMac(world, node) : "";
    if (own.mac !== mac) found.push(`${name}: its lease tells ${own.mac}, and it has ${mac}`);
    const others = leases.filter((lease) => lease.node !== name);
    const wanted = wantedWays(world, node, others);
    const present = await waysOf(world, name);
    for (const line of wanted) if (!present.includes(line)) found.push(`${name} lacks: ${line}`);
    for (const line of present) if (!wanted.includes(line)) found.push(`${name} has too much: ${line}`);
  }
  return found;
}
