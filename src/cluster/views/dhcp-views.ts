/** What DHCP servers of the underlay have given out, as a server of Windows lists it (Get-DhcpServerv4Lease). */
import type { ValueOf } from "#core/base/shape.ts";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import type { Cluster, ClusterPod } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import { CAPTURE_EPOCH_MS } from "../trace/capture.ts";
import { selectNodes } from "./inventory.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

export const DHCP_LEASE_VIEW = {
  text: "An address that a DHCP server has given out, or keeps.",
  fields: {
    node: { is: "text", text: "Of the pod that has it; empty: nobody's." },
    server: { is: "text", text: "The server's address." },
    scope: { is: "text", text: "The subnet." },
    address: "text",
    clientId: { is: "text", text: "The MAC, as Windows writes it." },
    pod: { is: "text", text: "NAMESPACE/NAME; empty: of no pod that runs." },
    state: ["Active", "ActiveReservation", "InactiveReservation"],
  },
  optional: { expires: { is: "text", text: "Of what is leased." } },
} as const;
export type DhcpLeaseView = ValueOf<typeof DHCP_LEASE_VIEW>;

function podsByMac({ pods }: Cluster): ReadonlyMap<Mac, ClusterPod> {
  return new Map(
    pods
      .filter(({ spec, isAtRest }) => spec.network !== "host" && isAtRest !== true)
      .flatMap((pod) => pod.compartment.listInterfaces().map(({ mac }) => [mac, pod] as const)),
  );
}

/** @throws RequestError for a cluster without a DHCP server, and for a node that does not exist. */
export function viewDhcpLeases(cluster: Cluster, name?: string): readonly DhcpLeaseView[] {
  const { dhcpServers, subnet } = cluster.underlay;
  if (dhcpServers.length === 0)
    throw new RequestError("unknown-object", WORDS.noDhcpServer, "Write underlay.dhcp in the cluster file.");
  const nodes = new Set(selectNodes(cluster, name).map(({ spec }) => spec.name));
  const pods = podsByMac(cluster);
  const rows = dhcpServers.flatMap((server) => {
    const row = (mac: Mac, address: string, state: DhcpLeaseView["state"]): DhcpLeaseView => {
      const pod = pods.get(mac);
      return {
        node: pod?.node.spec.name ?? "",
        server: formatIp(server.ip),
        scope: formatPrefix(subnet),
        address,
        clientId: formatMac(mac).toLowerCase(),
        pod: pod === undefined ? "" : `${pod.spec.namespace}/${pod.spec.name}`,
        state,
      };
    };
    return [
      ...server.listLeases().map(({ mac, ip, untilMs, isReserved }) => ({
        ...row(mac, formatIp(ip), isReserved ? "ActiveReservation" : "Active"),
        expires: new Date(CAPTURE_EPOCH_MS + untilMs).toISOString(),
      })),
      ...server.listFreeReservations().map(({ mac, ip }) => row(mac, formatIp(ip), "InactiveReservation")),
    ];
  });
  return name === undefined ? rows : rows.filter(({ node }) => nodes.has(node));
}
