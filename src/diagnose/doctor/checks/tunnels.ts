/** Networks of flannel beside what Nodes publish: a tunnel to each node, with its address, MAC, and identifier. */
import { plural } from "#core/base/text-layout.ts";
import { type JsonObject, listOf, mappingOf, textOf } from "#core/base/json.ts";
import { readJson } from "#contracts/kubernetes/text/yaml-value.ts";
import { formatIp, parseIp, parsePrefix, prefixesOverlap } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import {
  type HnsRecord,
  type KubeRecord,
  type ListedEndpoint,
  type NodeEvidence,
  addressesOfNode,
  isCut,
  managementAddressOf,
  networkOf,
  networksOfType,
  policiesOf,
  subnetsOf,
} from "../evidence.ts";
import { EXTERNAL } from "./networks.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** What flannel writes onto a Node. */
export interface Lease {
  readonly node: KubeRecord<"Node">;
  readonly vni: number | undefined;
  readonly mac: string;
  readonly address: string;
  readonly range: string;
}

export function leaseOf(node: KubeRecord<"Node">): Lease | undefined {
  const { metadata, spec } = node.object;
  const annotations = metadata.annotations ?? {};
  const data = annotations["flannel.alpha.coreos.com/backend-data"];
  if (data === undefined || spec?.podCIDR === undefined) return undefined;
  const read = readJson(data);
  const value = "values" in read ? mappingOf(read.values[0]) : {};
  return {
    node,
    vni: typeof value["VNI"] === "number" ? value["VNI"] : undefined,
    mac: textOf(value["VtepMAC"]),
    address:
      annotations["flannel.alpha.coreos.com/public-ip"] ??
      addressesOfNode(node).slice(0, 1).map(formatIp).join(""),
    range: spec.podCIDR,
  };
}

/** Routes to other nodes of an overlay network, by their ranges. */
export function routesOf(network: HnsRecord): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  return new Map(
    policiesOf(network, "RemoteSubnetRoute").map((each) => [textOf(each["DestinationPrefix"]), each]),
  );
}

export function isReady({ object }: KubeRecord<"Node">): boolean {
  return (
    object.status?.conditions?.some(({ type, status }) => type === "Ready" && status !== "True") !== true
  );
}

function peersOf(node: NodeEvidence, nodes: readonly KubeRecord<"Node">[]): readonly Lease[] {
  const own = node.node?.object.metadata.name;
  if (own === undefined) return [];
  return nodes
    .filter((each) => each.object.metadata.name !== own && isReady(each))
    .flatMap((each) => leaseOf(each) ?? []);
}

const ROUTES = check("each-node-has-a-tunnel", function* (node, { nodes }) {
  const networks = networksOfType(node, "overlay").filter(
    (each) => !EXTERNAL.test(each.name) && !isCut(each, "Policies"),
  );
  for (const network of networks) {
    const routes = routesOf(network);
    for (const peer of peersOf(node, nodes).filter(({ range }) => !routes.has(range))) {
      const name = peer.node.object.metadata.name;
      yield {
        name: `${name} ${peer.range}`,
        // With routes to others the network is in use, and this one was not made or was lost.
        certainty: routes.size > 0 ? "certain" : "likely",
        message: `network ${network.name} has no RemoteSubnetRoute to ${peer.range} of node ${name}`,
        evidence: [
          shows(
            network.place,
            WORDS.routesOf({
              network: network.name,
              routes: [...routes.keys()].join(", ") || "none",
            }),
          ),
          shows(peer.node.place, `Node ${name} has the pods ${peer.range} behind ${peer.address}`),
        ],
        breaks: `packets of pods of this node to pods of ${name}`,
        twin: { change: "remove-remote-subnet-route", range: peer.range },
      };
    }
  }
});

export function differences(route: Readonly<Record<string, unknown>>, peer: Lease): readonly string[] {
  const mac = parseMac(textOf(route["DistributedRouterMacAddress"]));
  const wanted = parseMac(peer.mac);
  const address = parseIp(textOf(route["ProviderAddress"]));
  const found: string[] = [];
  if (mac !== undefined && wanted !== undefined && mac !== wanted)
    found.push(`MAC ${textOf(route["DistributedRouterMacAddress"])} instead of ${peer.mac}`);
  if (address !== undefined && address !== parseIp(peer.address))
    found.push(`address ${formatIp(address)} instead of ${peer.address}`);
  if (typeof route["IsolationId"] === "number" && peer.vni !== undefined && route["IsolationId"] !== peer.vni)
    found.push(`VNI ${route["IsolationId"]} instead of ${peer.vni}`);
  return found;
}

/** What of a route says where the other node is. */
function settingsOf(route: Readonly<Record<string, unknown>> = {}): JsonObject {
  const { DistributedRouterMacAddress: mac, ProviderAddress: address, IsolationId: vni } = route;
  return {
    ...(typeof mac === "string" && { DistributedRouterMacAddress: mac }),
    ...(typeof address === "string" && { ProviderAddress: address }),
    ...(typeof vni === "number" && { IsolationId: vni }),
  };
}

const ROUTE_DIFFERS = check("tunnels-end-where-nodes-are", function* (node, { nodes }) {
  for (const network of networksOfType(node, "overlay")) {
    const routes = routesOf(network);
    for (const peer of peersOf(node, nodes)) {
      const route = routes.get(peer.range);
      const [first] = route === undefined ? [] : differences(route, peer);
      if (first === undefined) continue;
      const name = peer.node.object.metadata.name;
      yield {
        name: `${name} ${peer.range}`,
        certainty: "certain",
        message: `the RemoteSubnetRoute to ${peer.range} has the ${first} of node ${name}`,
        evidence: [
          shows(network.place, `network ${network.name}: ${JSON.stringify(route)}`),
          shows(peer.node.place, `Node ${name}: ${peer.address}, ${peer.mac}, VNI ${peer.vni ?? "?"}`),
        ],
        breaks: `packets between pods of this node and pods of ${name}`,
        twin: { change: "wrong-remote-subnet-route", range: peer.range, settings: settingsOf(route) },
      };
    }
  }
});

const IDENTIFIERS = check("nodes-have-one-vni", function* (node, { nodes }) {
  const leases = nodes.flatMap((each) => leaseOf(each) ?? []).filter(({ vni }) => vni !== undefined);
  const own = leases.find((lease) => lease.node.object.metadata.name === node.node?.object.metadata.name);
  const others = leases.filter(({ vni }) => own !== undefined && vni !== own.vni);
  if (own === undefined) return;
  for (const other of others)
    yield {
      name: other.node.object.metadata.name,
      certainty: "certain",
      message: `this node uses VNI ${own.vni ?? ""}, and ${other.node.object.metadata.name} VNI ${other.vni ?? ""}`,
      evidence: [own, other].map(({ node: of, vni }) =>
        shows(of.place, `Node ${of.object.metadata.name} publishes VNI ${vni ?? ""}`),
      ),
      breaks: `packets between pods of this node and pods of ${other.node.object.metadata.name}`,
      about: { of: "range", range: other.range },
    };
});

function ownLease({ node }: NodeEvidence): Lease | undefined {
  return node === undefined ? undefined : leaseOf(node);
}

/** VXLAN identifiers of the subnets of a network. */
function identifiersOf({ document }: HnsRecord): readonly number[] {
  return listOf(document["Ipams"])
    .flatMap((ipam) => listOf(mappingOf(ipam)["Subnets"]))
    .flatMap((subnet) => listOf(mappingOf(subnet)["Policies"]).map(mappingOf))
    .filter((policy) => textOf(policy["Type"]) === "VSID")
    .flatMap((policy) => mappingOf(policy["Settings"])["IsolationId"] ?? [])
    .filter((id) => typeof id === "number");
}

/** What the node's own network has otherwise than flannel publishes of it: other nodes go by what is published. */
function* publishedOtherwise(
  node: NodeEvidence,
  differs: (network: HnsRecord, lease: Lease) => readonly [has: string, published: string] | undefined,
): Iterable<CheckFinding> {
  const lease = ownLease(node);
  if (lease === undefined) return;
  for (const network of networksOfType(node, "overlay").filter(({ name }) => !EXTERNAL.test(name))) {
    const [has, published] = differs(network, lease) ?? [];
    if (has === undefined || published === undefined) continue;
    yield {
      name: network.name,
      certainty: "certain",
      message: `network ${network.name} has ${has}, and other nodes are told ${published}`,
      evidence: [
        shows(network.place, `network ${network.name}: ${has}`),
        shows(lease.node.place, `annotation of Node ${lease.node.object.metadata.name}: ${published}`),
      ],
      breaks: "packets of other nodes to pods of this one",
    };
  }
}

const OWN_IDENTIFIER = check("own-vni-is-published", (node) =>
  publishedOtherwise(node, (network, { vni }) => {
    const ids = identifiersOf(network);
    const [id] = ids;
    if (id === undefined || vni === undefined || ids.includes(vni)) return undefined;
    return [`VNI ${id}`, `VNI ${vni}`];
  }),
);

const OWN_MAC = check("own-router-mac-is-published", (node) =>
  publishedOtherwise(node, (network, { mac }) => {
    const text =
      textOf(network.v1["DrMacAddress"]) || textOf(policiesOf(network, "DrMacAddress")[0]?.["Address"]);
    const [own, wanted] = [parseMac(text), parseMac(mac)];
    return own === undefined || wanted === undefined || own === wanted
      ? undefined
      : [`MAC ${text}`, `MAC ${mac}`];
  }),
);

/** HNS has one network of a name: of two, the one that was made on another address is another machine's. */
function isOfOther(network: HnsRecord, { node, networks }: NodeEvidence): boolean {
  const own = node === undefined ? [] : addressesOfNode(node);
  const isOwn = (each: HnsRecord): boolean => own.some((address) => address === managementAddressOf(each));
  return !isOwn(network) && networks.some((each) => each.name === network.name && isOwn(each));
}

const RANGE = check("networks-have-the-nodes-range", function* (node) {
  const lease = ownLease(node);
  const range = parsePrefix(lease?.range ?? "");
  if (lease === undefined || range === undefined) return;
  for (const network of networksOfType(node, "overlay", "l2bridge").filter(
    (each) => /^(?:flannel|vxlan|cbr)/iu.test(each.name) && !isOfOther(each, node),
  )) {
    const texts = subnetsOf(network);
    const known = texts.flatMap((text) => parsePrefix(text) ?? []);
    if (known.length === 0 || known.some((prefix) => prefixesOverlap(prefix, range))) continue;
    yield {
      name: network.name,
      certainty: "certain",
      message: `network ${network.name} has ${texts.join(", ")}, and the node the range ${lease.range}`,
      evidence: [
        shows(network.place, `network ${network.name}: ${texts.join(", ")}`),
        shows(lease.node.place, `Node ${lease.node.object.metadata.name}: podCIDR ${lease.range}`),
      ],
      breaks: WORDS.breaksRange,
    };
  }
});

/** Where a port wraps packets to other nodes (dataplane.md §3.2). */
const ENCAP_LAYER = "VNET_ENCAP_LAYER";

/** The first addresses of what a port sends through tunnels; undefined where the listing has not that layer. */
function tunnelledFrom({ port }: ListedEndpoint["listing"]): ReadonlySet<string> | undefined {
  const layer = port.layers.find(({ name, id }) => name === ENCAP_LAYER || id === ENCAP_LAYER);
  if (layer === undefined) return undefined;
  const rules = layer.groups
    .filter(({ direction }) => direction === "OUT")
    .flatMap(({ rules: each }) => each)
    .filter(({ type }) => type === "routeencap");
  const ranges = rules.flatMap(({ conditions }) =>
    conditions.filter(({ label }) => label === "Destination IP").map(({ value }) => value),
  );
  return new Set(ranges.map((range) => range.split("-", 1)[0]?.trim() ?? ""));
}

const PROGRAMMED = check("tunnels-are-programmed", function* (node) {
  for (const { endpoint, listing } of node.listed) {
    const network = networkOf(node, endpoint);
    const has = tunnelledFrom(listing);
    if (network === undefined || has === undefined || endpoint.isRemote) continue;
    const address = endpoint.addresses.map(formatIp).join(", ");
    for (const range of routesOf(network).keys()) {
      const prefix = parsePrefix(range);
      if (prefix === undefined || has.has(formatIp(prefix.address))) continue;
      yield {
        name: `${address} ${range}`,
        certainty: "certain",
        message: WORDS.tunnelNotProgrammed({ address, range }),
        evidence: [
          shows(network.place, `network ${network.name}: RemoteSubnetRoute to ${range}`),
          shows(listing.place, `${plural(has.size, "rule")} of type routeencap in ${ENCAP_LAYER}`),
        ],
        breaks: WORDS.breaksTunnels({ address, range }),
        twin: { change: "remove-remote-subnet-route", range },
      };
    }
  }
});

export const TUNNEL_CHECKS: readonly NodeCheck[] = [
  ROUTES,
  ROUTE_DIFFERS,
  IDENTIFIERS,
  OWN_IDENTIFIER,
  OWN_MAC,
  RANGE,
  PROGRAMMED,
];
