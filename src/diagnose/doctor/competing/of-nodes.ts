/** What else would break packets between this node and another, or all that the node's network does. */
import { textOf } from "#core/base/json.ts";
import { plural } from "#core/base/text-layout.ts";
import { formatIp } from "#core/net/ip.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import { ownInterfaces, overAdapters } from "../checks/host.ts";
import { EXTERNAL, NEEDS_VFP, VFP_EXTENSION, extensionsOf } from "../checks/networks.ts";
import { THREADS_MAX } from "../checks/system.ts";
import { differences, isReady, leaseOf, routesOf } from "../checks/tunnels.ts";
import { type EvidenceLine, shows } from "../check.ts";
import {
  type HnsRecord,
  type KubeRecord,
  type NodeEvidence,
  addressesOfNode,
  managementAddressOf,
  networksOfType,
  typeOfNetwork,
} from "../evidence.ts";
import { type CompetingCause, showsIf } from "./competing-cause.ts";

/** Networks of pods that are tunnelled. */
function overlaysOf(node: NodeEvidence): readonly HnsRecord[] {
  return networksOfType(node, "overlay").filter(({ name }) => !EXTERNAL.test(name));
}

function readyOf(node: KubeRecord<"Node"> | undefined): readonly EvidenceLine[] {
  const isTold = node?.object.status?.conditions?.some(({ type }) => type === "Ready") === true;
  if (node === undefined || !isTold || !isReady(node)) return [];
  return [shows(node.place, `Node ${node.object.metadata.name} is Ready`)];
}

const ROUTE_MISSING: CompetingCause<string> = {
  code: "remote-subnet-route-missing",
  excludes: ({ node }, range) =>
    showsIf(
      overlaysOf(node).find((network) => routesOf(network).has(range)),
      ({ name }) => `network ${name} has a RemoteSubnetRoute to ${range}`,
    ),
};

const ROUTE_DIFFERS: CompetingCause<string> = {
  code: "remote-subnet-route-differs",
  comparesBoth: true,
  excludes(books, range) {
    const peer = books.nodeBehind(range);
    const lease = peer === undefined ? undefined : leaseOf(peer);
    const network = overlaysOf(books.node).find((each) => routesOf(each).has(range));
    const route = network === undefined ? undefined : routesOf(network).get(range);
    if (lease === undefined || network === undefined || route === undefined) return [];
    const isShown = [route["ProviderAddress"], route["DistributedRouterMacAddress"]].every(textOf);
    if (!isShown || differences(route, lease).length > 0 || lease.mac === "") return [];
    return [
      shows(network.place, `network ${network.name}: ${JSON.stringify(route)}`),
      shows(lease.node.place, `Node ${lease.node.object.metadata.name}: ${lease.address}, ${lease.mac}`),
    ];
  },
};

const IDENTIFIERS: CompetingCause<string> = {
  code: "vxlan-identifiers-differ",
  excludes(books, range) {
    const [own, peer] = [books.node.node, books.nodeBehind(range)].map((each) =>
      each === undefined ? undefined : leaseOf(each),
    );
    if (own?.vni === undefined || own.vni !== peer?.vni) return [];
    return [own, peer].map(({ node, vni }) =>
      shows(node.place, `Node ${node.object.metadata.name} publishes VNI ${vni ?? ""}`),
    );
  },
};

/** The process of the kernel. */
const SYSTEM = 4;

const PORT_TAKEN: CompetingCause<string> = {
  code: "vxlan-port-in-use",
  excludes({ node: { host } }) {
    const found = host.listeners.filter(({ protocol, port }) => protocol === "udp" && port === VXLAN_PORT);
    if (found.some(({ process }) => process !== SYSTEM)) return [];
    return showsIf(found[0], () => `UDP port ${VXLAN_PORT} is held by Windows itself`);
  },
};

const PEER_READY: CompetingCause<string> = {
  code: "node-not-ready",
  excludes(books, range) {
    const both = [books.node.node, books.nodeBehind(range)].map(readyOf);
    return both.some((lines) => lines.length === 0) ? [] : both.flat();
  },
};

/** Of packets to and from pods of another node, by its range. */
export const OF_RANGES: readonly CompetingCause<string>[] = [
  ROUTE_MISSING,
  ROUTE_DIFFERS,
  IDENTIFIERS,
  PORT_TAKEN,
  PEER_READY,
];

const HNS_STOPPED: CompetingCause = {
  code: "hns-service-not-running",
  excludes: ({ node: { host } }) =>
    showsIf(
      host["windows services"].find(({ name, isRunning }) => isRunning && name.toLowerCase() === "hns"),
      () => "the service hns runs",
    ),
};

const NOT_READY: CompetingCause = {
  code: "node-not-ready",
  excludes: ({ node }) => readyOf(node.node),
};

const EXTENSION: CompetingCause = {
  code: "vfp-extension-disabled",
  excludes({ node: { networks } }) {
    const wanted = networks.filter((each) => NEEDS_VFP.has(typeOfNetwork(each).toLowerCase()));
    const isOn = (each: HnsRecord): boolean =>
      extensionsOf(each).some(({ name, isEnabled }) => VFP_EXTENSION.test(name) && isEnabled === true);
    if (!wanted.every(isOn)) return [];
    return showsIf(wanted[0], ({ name }) => `the VFP extension of network ${name} is enabled`);
  },
};

const MANAGEMENT: CompetingCause = {
  code: "management-address-differs",
  comparesBoth: true,
  excludes({ node: { node, networks } }) {
    const own = node === undefined ? [] : addressesOfNode(node);
    const network = networks.find((each) => own.some((address) => address === managementAddressOf(each)));
    const address = network === undefined ? undefined : managementAddressOf(network);
    if (node === undefined || network === undefined || address === undefined) return [];
    return [
      shows(network.place, `network ${network.name} has the ManagementIP ${formatIp(address)}`),
      shows(node.place, `Node ${node.object.metadata.name} has the InternalIP ${formatIp(address)}`),
    ];
  },
};

const ADDRESS: CompetingCause = {
  code: "node-address-missing",
  excludes({ node }) {
    const own = node.node === undefined ? [] : addressesOfNode(node.node);
    return showsIf(
      ownInterfaces(node).find(({ addresses }) => addresses.some((each) => own.includes(each))),
      ({ heading }) => `${heading} has ${own.map(formatIp).join(", ")}`,
    );
  },
};

const DOWN: CompetingCause = {
  code: "interface-down",
  excludes({ node }) {
    const names = new Set(overAdapters(node).map(({ name }) => name.toLowerCase()));
    const found = node.host.adapters.filter(({ name }) => names.has(name.toLowerCase()));
    if (found.length < names.size || found.some(({ status }) => status !== "Up")) return [];
    return showsIf(found[0], ({ name }) => `${name}, which the network was made on, is Up`);
  },
};

const HANGS: CompetingCause = {
  code: "hns-service-hangs",
  excludes: ({ node: { host } }) =>
    showsIf(
      host["node health"].find(({ hnsThreads }) => hnsThreads > 0 && hnsThreads <= THREADS_MAX),
      ({ hnsThreads }) => `HNS has ${plural(hnsThreads, "thread")}, ${THREADS_MAX} are many`,
    ),
};

/** Of everything that the network of a node does. */
export const OF_THE_NODE: readonly CompetingCause[] = [
  HNS_STOPPED,
  EXTENSION,
  MANAGEMENT,
  ADDRESS,
  DOWN,
  HANGS,
  NOT_READY,
];
