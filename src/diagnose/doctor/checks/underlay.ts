/** What carries packets between nodes: MTUs, tunnels of Linux nodes beside those of this one, ports of its switch. */
import { formatIp } from "#core/net/ip.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import { WINDOWS_VNI_MIN } from "#programs/flannel/net-conf.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import { type ClusterEvidence, type NodeEvidence, networksOfType } from "../evidence.ts";
import type { Link } from "../host-addresses.ts";
import { overAdapters } from "./host.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const VXLAN_OVERHEAD = 50;

/** The device that a tunnel of the same machine is made on. */
function linkBelow({ vxlan, place }: Link, links: ClusterEvidence["links"]): Link | undefined {
  return links.find((each) => each.name === vxlan?.device && each.place.file === place.file);
}

const TUNNEL_MTU = check("tunnels-fit-their-links", function* (_, { links }) {
  for (const tunnel of links) {
    const below = linkBelow(tunnel, links);
    if (below === undefined || tunnel.mtu + VXLAN_OVERHEAD <= below.mtu) continue;
    yield {
      name: tunnel.name,
      certainty: "certain",
      message: `${tunnel.name} takes packets of ${tunnel.mtu} bytes, and ${below.name} below it ${below.mtu}`,
      evidence: [tunnel, below].map(({ name, mtu, place }) => shows(place, `${name}: mtu ${mtu}`)),
      breaks: "large packets between that node and others: small ones arrive",
    };
  }
});

const UPLINK_MTU = check("uplinks-have-one-mtu", function* (node, { links }) {
  const names = new Set(overAdapters(node).map(({ name }) => `vethernet (${name})`.toLowerCase()));
  const own = node.host.mtus.find(({ name }) => names.has(name.toLowerCase()));
  for (const tunnel of links) {
    const below = linkBelow(tunnel, links);
    if (own === undefined || below === undefined || own.mtu === below.mtu) continue;
    yield {
      name: below.place.file,
      certainty: "possible",
      message: WORDS.uplinksDiffer({
        own: own.name,
        ownMtu: own.mtu,
        below: below.name,
        belowMtu: below.mtu,
      }),
      evidence: [own, below].map(({ name, mtu, place }) => shows(place, `${name}: MTU ${mtu}`)),
      breaks: WORDS.breaksUplinks,
    };
  }
});

export function hasOverlay(node: NodeEvidence): boolean {
  return networksOfType(node, "overlay").length > 0;
}

/** What of a Linux node's VXLAN device Windows cannot use. */
function* ofTunnels(
  node: NodeEvidence,
  { links }: ClusterEvidence,
  wrong: (vxlan: { readonly id: number; readonly port: number }) => string | undefined,
): Generator<CheckFinding> {
  if (!hasOverlay(node)) return;
  for (const { name, vxlan, place } of links) {
    const message = vxlan === undefined || !/^(?:flannel|vxlan)/u.test(name) ? undefined : wrong(vxlan);
    if (vxlan === undefined || message === undefined) continue;
    yield {
      name,
      certainty: "certain",
      message: `${name} of a Linux node ${message}`,
      evidence: [shows(place, `${name}: vxlan id ${vxlan.id}, dstport ${vxlan.port}`)],
      breaks: "packets between pods of Linux nodes and pods of this one",
    };
  }
}

const TUNNEL_PORT = check("tunnels-use-the-port-of-windows", (node, cluster) =>
  ofTunnels(node, cluster, ({ port }) =>
    port === VXLAN_PORT ? undefined : `sends to port ${port}, and Windows takes ${VXLAN_PORT}`,
  ),
);

const TUNNEL_IDENTIFIER = check("tunnels-have-an-identifier-for-windows", (node, cluster) =>
  ofTunnels(node, cluster, ({ id }) =>
    id >= WINDOWS_VNI_MIN
      ? undefined
      : `has the identifier ${id}, and Windows uses none below ${WINDOWS_VNI_MIN}`,
  ),
);

/** The process of the kernel. */
const SYSTEM = 4;

const VXLAN_PORT_TAKEN = check("vxlan-port-is-free", function* (node) {
  // Where no process is shown, it may be Windows itself.
  const taken = node.host.listeners.find(
    ({ protocol, port, process }) =>
      protocol === "udp" && port === VXLAN_PORT && process !== undefined && process !== SYSTEM,
  );
  if (taken?.process === undefined || !hasOverlay(node)) return;
  yield {
    certainty: "likely",
    message: WORDS.vxlanPortTaken({ process: taken.process, port: VXLAN_PORT }),
    evidence: [shows(taken.place, `UDP ${formatIp(taken.address)}:${taken.port}, process ${taken.process}`)],
    breaks: "packets of other nodes to pods of this one",
  };
});

const PORTS_OPEN = check("switch-ports-are-open", ({ host, endpoints }) =>
  host["port states"]
    .filter(({ isBlocked }) => isBlocked)
    .map(({ port, place }) => {
      const endpoint = endpoints.find(({ v1 }) => JSON.stringify(v1).toLowerCase().includes(port));
      const whose = endpoint === undefined ? `port ${port}` : endpoint.addresses.map(formatIp).join(", ");
      return {
        name: port,
        certainty: "certain",
        message: `the switch port of ${whose} is blocked`,
        evidence: [
          shows(place, `port ${port}: Blocked`),
          ...(endpoint === undefined
            ? []
            : [shows(endpoint.place, `endpoint ${endpoint.name} has this port`)]),
        ],
        breaks: `all packets of ${whose}`,
      };
    }),
);

export const UNDERLAY_CHECKS: readonly NodeCheck[] = [
  TUNNEL_PORT,
  TUNNEL_IDENTIFIER,
  TUNNEL_MTU,
  UPLINK_MTU,
  VXLAN_PORT_TAKEN,
  PORTS_OPEN,
];
