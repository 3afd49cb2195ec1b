/** Networks of HNS beside the Node objects: addresses, the switch extension, tunnels to the other nodes. */
import { readJson } from "#contracts/kubernetes/text/yaml-value.ts";
import { formatIp, parseIp, parsePrefix, prefixContains, prefixesOverlap } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { type CheckFinding, type Found, type NodeCheck, shows, together } from "../check.ts";
import {
  type HnsRecord,
  type KubeRecord,
  type NodeEvidence,
  addressesOfNode,
  fieldsOf,
  isCut,
  listOf,
  managementAddressOf,
  policiesOf,
  subnetsOf,
  textOf,
  networksOfType,
  typeOfNetwork,
} from "../evidence.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const LINK_LOCAL = /^169\.254\./u;
const VFP_EXTENSION = /VFP/u;
/** Types whose pods depend on VFP; WinNAT does not, and a transparent network does only where it has policies. */
const NEEDS_VFP: ReadonlySet<string> = new Set(["overlay", "l2bridge", "l2tunnel"]);
/** Types over an adapter of the machine. */
const OVER_ADAPTER: ReadonlySet<string> = new Set([...NEEDS_VFP, "transparent"]);
/** The network that installers make so that the switch exists before the first pod. */
const EXTERNAL = /^(?:External|ext)$/u;
export const VNI_MIN = 4_096;

const LINK_LOCAL_ADDRESS: NodeCheck = {
  id: "management-address-is-routable",
  code: "node-address-link-local",
  asks: "no network was made on a link-local address",
  needs: ["networks"],
  find: ({ networks }) =>
    together(
      networks.flatMap((each) => {
        const address = managementAddressOf(each);
        if (address === undefined || !LINK_LOCAL.test(formatIp(address))) return [];
        return [
          {
            name: each.name,
            finding: {
              certainty: "certain",
              message: `network ${each.name} was made while the adapter had ${formatIp(address)}`,
              evidence: [
                { ...each.place, says: `ManagementIP ${formatIp(address)} of network ${each.name}` },
              ],
              breaks: "routes, tunnels and load balancers of the network",
            },
          } as const,
        ];
      }),
    ),
};

const MANAGEMENT_ADDRESS: NodeCheck = {
  id: "management-address-is-the-nodes",
  code: "management-address-differs",
  asks: "networks were made on the node's address",
  needs: ["nodes", "networks"],
  find({ node, networks }) {
    if (node === undefined) return [];
    const own = addressesOfNode(node);
    const texts = own.map(formatIp).join(", ");
    return together(
      networks.flatMap((each) => {
        const address = managementAddressOf(each);
        const isOverAdapter =
          OVER_ADAPTER.has(typeOfNetwork(each).toLowerCase()) && !EXTERNAL.test(each.name);
        if (address === undefined || own.length === 0 || own.includes(address) || !isOverAdapter) return [];
        if (LINK_LOCAL.test(formatIp(address))) return [];
        return [
          {
            name: each.name,
            finding: {
              certainty: "likely",
              message: `network ${each.name} has the management address ${formatIp(address)}, and the node ${texts}`,
              evidence: [
                { ...each.place, says: `ManagementIP ${formatIp(address)} of network ${each.name}` },
                { ...node.place, says: `Node ${node.object.metadata.name} has the InternalIP ${texts}` },
              ],
              breaks: "tunnels and node ports, which go by the node's address",
            },
          } as const,
        ];
      }),
    );
  },
};

function extensionsOf({
  document,
  v1,
}: HnsRecord): readonly { readonly name: string; readonly isEnabled: unknown }[] {
  const lists = [v1["Extensions"], fieldsOf(document["Health"])["Extensions"]];
  return lists
    .flatMap(listOf)
    .map(fieldsOf)
    .map((each) => ({ name: textOf(each["Name"]), isEnabled: each["IsEnabled"] }));
}

const EXTENSION: NodeCheck = {
  id: "vfp-extension-is-on",
  code: "vfp-extension-disabled",
  asks: "the VFP extension is enabled on the switches of pods",
  needs: ["networks"],
  find: ({ networks }) =>
    together(
      networks
        .filter((each) => NEEDS_VFP.has(typeOfNetwork(each).toLowerCase()))
        .flatMap((each) => {
          const off = extensionsOf(each).find(
            ({ name, isEnabled }) => VFP_EXTENSION.test(name) && isEnabled === false,
          );
          if (off === undefined) return [];
          return [
            {
              name: each.name,
              finding: {
                certainty: "certain",
                message: `${off.name} is disabled on the switch of network ${each.name}`,
                evidence: [{ ...each.place, says: `${off.name}: IsEnabled False` }],
                breaks: WORDS.breaksWithoutVfp,
              },
            } as const,
          ];
        }),
    ),
};

/** What flannel writes onto a Node. */
interface Lease {
  readonly node: KubeRecord<"Node">;
  readonly vni: number | undefined;
  readonly mac: string;
  readonly address: string;
  readonly range: string;
}

function leaseOf(node: KubeRecord<"Node">): Lease | undefined {
  const { metadata, spec } = node.object;
  const annotations = metadata.annotations ?? {};
  const data = annotations["flannel.alpha.coreos.com/backend-data"];
  if (data === undefined || spec?.podCIDR === undefined) return undefined;
  const read = readJson(data);
  const value = "values" in read ? fieldsOf(read.values[0]) : {};
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
function routesOf(network: HnsRecord): ReadonlyMap<string, Readonly<Record<string, unknown>>> {
  return new Map(
    policiesOf(network, "RemoteSubnetRoute").map((each) => [textOf(each["DestinationPrefix"]), each]),
  );
}

function isReady({ object }: KubeRecord<"Node">): boolean {
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

const ROUTES: NodeCheck = {
  id: "each-node-has-a-tunnel",
  code: "remote-subnet-route-missing",
  asks: "the overlay network has a route to each other node",
  needs: ["nodes", "networks"],
  wholly: ["networks"],
  find(node, { nodes }) {
    const networks = networksOfType(node, "overlay").filter(
      (each) => !EXTERNAL.test(each.name) && !isCut(each, "Policies"),
    );
    return together(
      networks.flatMap((network) => {
        const routes = routesOf(network);
        return peersOf(node, nodes)
          .filter(({ range }) => !routes.has(range))
          .map((peer) => {
            const name = peer.node.object.metadata.name;
            return {
              name: `${name} ${peer.range}`,
              finding: {
                // With routes to others the network is in use, and this one was not made or was lost.
                certainty: routes.size > 0 ? "certain" : "likely",
                message: `network ${network.name} has no RemoteSubnetRoute to ${peer.range} of node ${name}`,
                evidence: [
                  {
                    ...network.place,
                    says: WORDS.routesOf({
                      network: network.name,
                      routes: [...routes.keys()].join(", ") || "none",
                    }),
                  },
                  {
                    ...peer.node.place,
                    says: `Node ${name} has the pods ${peer.range} behind ${peer.address}`,
                  },
                ],
                breaks: `packets of pods of this node to pods of ${name}`,
                twin: { change: "remove-remote-subnet-route", range: peer.range },
              },
            } as const;
          });
      }),
    );
  },
};

function differences(route: Readonly<Record<string, unknown>>, peer: Lease): readonly string[] {
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

const ROUTE_DIFFERS: NodeCheck = {
  id: "tunnels-end-where-nodes-are",
  code: "remote-subnet-route-differs",
  asks: "routes to other nodes have their addresses, MACs and VNIs",
  needs: ["nodes", "networks"],
  find(node, { nodes }) {
    return together(
      networksOfType(node, "overlay").flatMap((network) => {
        const routes = routesOf(network);
        return peersOf(node, nodes).flatMap((peer) => {
          const route = routes.get(peer.range);
          const [first] = route === undefined ? [] : differences(route, peer);
          if (first === undefined) return [];
          const name = peer.node.object.metadata.name;
          return [
            {
              name: `${name} ${peer.range}`,
              finding: {
                certainty: "certain",
                message: `the RemoteSubnetRoute to ${peer.range} has the ${first} of node ${name}`,
                evidence: [
                  { ...network.place, says: `network ${network.name}: ${JSON.stringify(route)}` },
                  {
                    ...peer.node.place,
                    says: `Node ${name}: ${peer.address}, ${peer.mac}, VNI ${peer.vni ?? "?"}`,
                  },
                ],
                breaks: `packets between pods of this node and pods of ${name}`,
              },
            } as const,
          ];
        });
      }),
    );
  },
};

const IDENTIFIERS: NodeCheck = {
  id: "nodes-have-one-vni",
  code: "vxlan-identifiers-differ",
  asks: "all nodes publish the same VXLAN identifier",
  needs: ["nodes"],
  find(node, { nodes }) {
    const leases = nodes.flatMap((each) => leaseOf(each) ?? []).filter(({ vni }) => vni !== undefined);
    const own = leases.find((lease) => lease.node.object.metadata.name === node.node?.object.metadata.name);
    const others = leases.filter(({ vni }) => own !== undefined && vni !== own.vni);
    if (own === undefined) return [];
    return together(
      others.map((other) => ({
        name: other.node.object.metadata.name,
        finding: {
          certainty: "certain",
          message: `this node uses VNI ${own.vni ?? ""}, and ${other.node.object.metadata.name} VNI ${other.vni ?? ""}`,
          evidence: [own, other].map(({ node: of, vni }) => ({
            ...of.place,
            says: `Node ${of.object.metadata.name} publishes VNI ${vni ?? ""}`,
          })),
          breaks: `packets between pods of this node and pods of ${other.node.object.metadata.name}`,
        },
      })),
    );
  },
};

const IDENTIFIER_TOO_LOW: NodeCheck = {
  id: "vni-is-one-for-windows",
  code: "hns-vsid-invalid",
  asks: "overlay networks have identifiers of 4096 and more",
  needs: ["networks"],
  find(node) {
    const found: Found[] = [];
    for (const network of networksOfType(node, "overlay"))
      for (const ipam of listOf(network.document["Ipams"]).map(fieldsOf))
        for (const subnet of listOf(ipam["Subnets"]).map(fieldsOf))
          for (const policy of listOf(subnet["Policies"]).map(fieldsOf)) {
            const id = fieldsOf(policy["Settings"])["IsolationId"];
            if (textOf(policy["Type"]) !== "VSID" || typeof id !== "number" || id >= VNI_MIN) continue;
            found.push({
              name: network.name,
              finding: {
                certainty: "certain",
                message: WORDS.identifierTooLow({ network: network.name, id, min: VNI_MIN }),
                evidence: [{ ...network.place, says: `IsolationId ${id} of a subnet of ${network.name}` }],
                breaks: "all traffic between nodes",
              },
            });
          }
    return together(found);
  },
};

function ownLease({ node }: NodeEvidence): Lease | undefined {
  return node === undefined ? undefined : leaseOf(node);
}

/** VXLAN identifiers of the subnets of a network. */
function identifiersOf({ document }: HnsRecord): readonly number[] {
  return listOf(document["Ipams"])
    .flatMap((ipam) => listOf(fieldsOf(ipam)["Subnets"]))
    .flatMap((subnet) => listOf(fieldsOf(subnet)["Policies"]).map(fieldsOf))
    .filter((policy) => textOf(policy["Type"]) === "VSID")
    .flatMap((policy) => fieldsOf(policy["Settings"])["IsolationId"] ?? [])
    .filter((id) => typeof id === "number");
}

/** What the node's own network has otherwise than flannel publishes of it: other nodes go by what is published. */
function publishedOtherwise(
  node: NodeEvidence,
  differs: (network: HnsRecord, lease: Lease) => readonly [has: string, published: string] | undefined,
): readonly CheckFinding[] {
  const lease = ownLease(node);
  if (lease === undefined) return [];
  return together(
    networksOfType(node, "overlay")
      .filter(({ name }) => !EXTERNAL.test(name))
      .flatMap((network): readonly Found[] => {
        const [has, published] = differs(network, lease) ?? [];
        if (has === undefined || published === undefined) return [];
        return [
          {
            name: network.name,
            finding: {
              certainty: "certain",
              message: `network ${network.name} has ${has}, and other nodes are told ${published}`,
              evidence: [
                shows(network.place, `network ${network.name}: ${has}`),
                shows(
                  lease.node.place,
                  `annotation of Node ${lease.node.object.metadata.name}: ${published}`,
                ),
              ],
              breaks: "packets of other nodes to pods of this one",
            },
          },
        ];
      }),
  );
}

const OWN_IDENTIFIER: NodeCheck = {
  id: "own-vni-is-published",
  code: "vxlan-identifiers-differ",
  asks: "flannel publishes the VXLAN identifier that the node's network has",
  needs: ["nodes", "networks"],
  find: (node) =>
    publishedOtherwise(node, (network, { vni }) => {
      const ids = identifiersOf(network);
      const [id] = ids;
      if (id === undefined || vni === undefined || ids.includes(vni)) return undefined;
      return [`VNI ${id}`, `VNI ${vni}`];
    }),
};

const OWN_MAC: NodeCheck = {
  id: "own-router-mac-is-published",
  code: "remote-subnet-route-differs",
  asks: "flannel publishes the router MAC that the node's network has",
  needs: ["nodes", "networks"],
  find: (node) =>
    publishedOtherwise(node, (network, { mac }) => {
      const text =
        textOf(network.v1["DrMacAddress"]) || textOf(policiesOf(network, "DrMacAddress")[0]?.["Address"]);
      const [own, wanted] = [parseMac(text), parseMac(mac)];
      return own === undefined || wanted === undefined || own === wanted
        ? undefined
        : [`MAC ${text}`, `MAC ${mac}`];
    }),
};

const RANGE: NodeCheck = {
  id: "networks-have-the-nodes-range",
  code: "network-range-differs",
  asks: "flannel's network has a subnet of the node's range of pods",
  needs: ["nodes", "networks"],
  find(node) {
    const lease = ownLease(node);
    const range = parsePrefix(lease?.range ?? "");
    if (lease === undefined || range === undefined) return [];
    return together(
      networksOfType(node, "overlay", "l2bridge")
        .filter(({ name }) => /^(?:flannel|vxlan|cbr)/iu.test(name))
        .flatMap((network): readonly Found[] => {
          const texts = subnetsOf(network);
          const known = texts.flatMap((text) => parsePrefix(text) ?? []);
          if (known.length === 0 || known.some((prefix) => prefixesOverlap(prefix, range))) return [];
          return [
            {
              name: network.name,
              finding: {
                certainty: "certain",
                message: `network ${network.name} has ${texts.join(", ")}, and the node the range ${lease.range}`,
                evidence: [
                  shows(network.place, `network ${network.name}: ${texts.join(", ")}`),
                  shows(lease.node.place, `Node ${lease.node.object.metadata.name}: podCIDR ${lease.range}`),
                ],
                breaks: WORDS.breaksRange,
              },
            },
          ];
        }),
    );
  },
};

const NETWORK_LOST: NodeCheck = {
  id: "a-network-for-pods-exists",
  code: "hns-networks-lost-at-reboot",
  asks: "HNS has a network for the pods that run",
  needs: ["nodes", "pods", "networks"],
  wholly: ["networks"],
  find(node, cluster) {
    const own = node.node;
    const [pod] = podsOn(node, cluster);
    const [other] = node.networks;
    const isThere = node.networks.some(
      (each) =>
        (OVER_ADAPTER.has(typeOfNetwork(each).toLowerCase()) || typeOfNetwork(each) === "") &&
        !EXTERNAL.test(each.name),
    );
    if (own === undefined || pod === undefined || other === undefined || isThere) return [];
    // Pods of a NAT network have its addresses.
    const prefixes = node.networks.flatMap(subnetsOf).flatMap((text) => parsePrefix(text) ?? []);
    const addresses = addressesOfPod(pod);
    if (addresses.some((address) => prefixes.some((prefix) => prefixContains(prefix, address)))) return [];
    return [
      {
        certainty: "likely",
        message: `HNS has no network for the pods of node ${own.object.metadata.name}`,
        evidence: [
          shows(other.place, `networks: ${node.networks.map(({ name }) => name).join(", ")}`),
          shows(pod.place, `pod ${nameOfPod(pod)} runs with ${addresses.map(formatIp).join(", ")}`),
        ],
        breaks: "all traffic of the node's pods",
      },
    ];
  },
};

const HEALTH: NodeCheck = {
  id: "networks-are-sound",
  code: "hns-object-degraded",
  asks: "no network has an error in its health",
  needs: ["networks"],
  find: ({ networks }) =>
    together(
      networks.flatMap((network): readonly Found[] => {
        const health = fieldsOf(network.v1["Health"] ?? network.document["Health"]);
        const code = health["LastErrorCode"];
        if (typeof code !== "number" || code === 0) return [];
        const text = `0x${(code >>> 0).toString(16)}`;
        return [
          {
            name: network.name,
            finding: {
              certainty: "possible",
              message: `the last error of network ${network.name} is ${text}`,
              evidence: [shows(network.place, `Health: LastErrorCode ${code}`)],
              breaks: WORDS.breaksHealth,
            },
          },
        ];
      }),
    ),
};

export const NETWORK_CHECKS: readonly NodeCheck[] = [
  NETWORK_LOST,
  LINK_LOCAL_ADDRESS,
  MANAGEMENT_ADDRESS,
  EXTENSION,
  ROUTES,
  ROUTE_DIFFERS,
  IDENTIFIERS,
  IDENTIFIER_TOO_LOW,
  OWN_IDENTIFIER,
  OWN_MAC,
  RANGE,
  HEALTH,
];
