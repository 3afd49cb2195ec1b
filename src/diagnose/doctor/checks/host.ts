/** The node below HNS: addresses, routes, adapters, MTUs, the registry, its version, switch ports and books of addresses. */
import { type Ip, formatIp, formatPrefix, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { type WindowsBuild, hasUpdate, parseProfile } from "#core/catalogue/profiles.ts";
import { concernsBuild } from "#core/catalogue/quirks.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Found, type NodeCheck, shows, together } from "../check.ts";
import {
  type ClusterEvidence,
  type HnsRecord,
  type KubeRecord,
  type NodeEvidence,
  addressesOfNode,
  fieldsOf,
  listOf,
  textOf,
  typeOfNetwork,
} from "../evidence.ts";
import type { HostRoute, Interface } from "../host-addresses.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** The node's own adapters: what was asked in a pod has the pod's name. */
function ownInterfaces({ node, host }: NodeEvidence): readonly Interface[] {
  const name = node?.object.metadata.name.toLowerCase().split(".", 1)[0] ?? "";
  const hostname = node?.object.metadata.labels?.["kubernetes.io/hostname"]?.toLowerCase() ?? name;
  return host.interfaces.filter(
    (each) => each.host !== "" && [name, hostname].includes(each.host.toLowerCase().split(".", 1)[0] ?? ""),
  );
}

const ADDRESS: NodeCheck = {
  id: "node-address-is-on-an-adapter",
  code: "node-address-missing",
  asks: "an adapter of the node has its address",
  needs: ["nodes", "interfaces"],
  find(node) {
    const own = ownInterfaces(node);
    const wanted = node.node === undefined ? [] : addressesOfNode(node.node);
    const [first] = own;
    const has = own.flatMap(({ addresses }) => addresses);
    if (node.node === undefined || first === undefined || wanted.length === 0 || has.length === 0) return [];
    if (wanted.some((address) => has.includes(address))) return [];
    const texts = wanted.map(formatIp).join(", ");
    return [
      {
        certainty: "likely",
        message: `no adapter of the node has its InternalIP ${texts}`,
        evidence: [
          shows(node.node.place, `Node ${node.node.object.metadata.name} has the InternalIP ${texts}`),
          shows(first.place, `its adapters have ${has.map(formatIp).join(", ")}`),
        ],
        breaks: WORDS.breaksNodeAddress,
      },
    ];
  },
};

function isDefault({ prefix }: HostRoute): boolean {
  return prefix.length === 0;
}

/** The tables of `route print`, which are of one compartment each. */
function tablesOf({ host: { routes } }: NodeEvidence): readonly (readonly HostRoute[])[] {
  const printed = routes.filter(
    ({ adapter, prefix }) => adapter !== undefined && typeof prefix.address === "number",
  );
  return [...Map.groupBy(printed, ({ place, table }) => `${place.file} ${table}`).values()];
}

const DEFAULT_ROUTES: NodeCheck = {
  id: "default-route-is-one",
  code: "default-routes-doubled",
  asks: "no two default routes of different adapters are equally good",
  needs: ["routes"],
  find: (node) =>
    together(
      tablesOf(node).flatMap((routes): readonly Found[] => {
        const defaults = routes.filter(isDefault).toSorted((a, b) => a.metric - b.metric);
        const [one, other] = defaults;
        if (one === undefined || other === undefined || one.adapter === other.adapter) return [];
        if (one.metric !== other.metric) return [];
        return [
          {
            name: one.place.file,
            finding: {
              certainty: "likely",
              message: `two default routes have the metric ${one.metric}`,
              evidence: [one, other].map((route) =>
                shows(
                  route.place,
                  WORDS.defaultRoute({
                    hop: route.nextHop === undefined ? "the link" : formatIp(route.nextHop),
                    adapter: route.adapter === undefined ? "" : formatIp(route.adapter),
                    metric: route.metric,
                  }),
                ),
              ),
              breaks: "connections to outside, of which each may take either way",
            },
          },
        ];
      }),
    ),
};

const NO_DEFAULT_ROUTE: NodeCheck = {
  id: "default-route-exists",
  code: "no-route",
  asks: "the node has a default route",
  needs: ["nodes", "routes"],
  find(node) {
    const own = node.node === undefined ? [] : addressesOfNode(node.node);
    return together(
      tablesOf(node).flatMap((routes): readonly Found[] => {
        const [first] = routes;
        const isOwn = routes.some(({ adapter }) => adapter !== undefined && own.includes(adapter));
        if (first === undefined || !isOwn || routes.some(isDefault)) return [];
        return [
          {
            name: first.place.file,
            finding: {
              certainty: "likely",
              message: "the node has no default route",
              evidence: [shows(first.place, `${routes.length} routes, none to 0.0.0.0/0`)],
              breaks: "connections to outside of the node's own networks",
            },
          },
        ];
      }),
    );
  },
};

const HOST_GATEWAY = "host-gw";

/** Nodes whose pods are reached by a route on this one. */
function routedPeers({ node }: NodeEvidence, { nodes }: ClusterEvidence): readonly KubeRecord<"Node">[] {
  const backendOf = ({ object }: KubeRecord<"Node">): string | undefined =>
    object.metadata.annotations?.["flannel.alpha.coreos.com/backend-type"];
  if (node === undefined || backendOf(node) !== HOST_GATEWAY) return [];
  return nodes.filter(
    (each) =>
      each.object !== node.object &&
      backendOf(each) === HOST_GATEWAY &&
      each.object.spec?.podCIDR !== undefined &&
      each.object.status?.conditions?.some(({ type, status }) => type === "Ready" && status !== "True") !==
        true,
  );
}

const ROUTES_TO_NODES: NodeCheck = {
  id: "routes-lead-to-nodes",
  code: "flannel-route-not-programmed",
  asks: WORDS.asksRoutesToNodes,
  needs: ["nodes", "routes"],
  find(node, cluster) {
    const self = node.node === undefined ? [] : addressesOfNode(node.node);
    const table = tablesOf(node).find((routes) =>
      routes.some(({ adapter }) => adapter !== undefined && self.includes(adapter)),
    );
    const [first] = table ?? [];
    if (table === undefined || first === undefined) return [];
    return together(
      routedPeers(node, cluster).flatMap((peer): readonly Found[] => {
        const { name } = peer.object.metadata;
        const range = parsePrefix(peer.object.spec?.podCIDR ?? "");
        const wanted = addressesOfNode(peer);
        const route = table.find(
          ({ prefix }) => range !== undefined && formatPrefix(prefix) === formatPrefix(range),
        );
        const isRight = route?.nextHop !== undefined && wanted.includes(route.nextHop);
        if (range === undefined || wanted.length === 0 || isRight) return [];
        const hop = route?.nextHop === undefined ? "nowhere" : formatIp(route.nextHop);
        return [
          {
            name: `${name} ${formatPrefix(range)}`,
            finding: {
              certainty: "certain",
              message:
                route === undefined
                  ? `no route leads to ${formatPrefix(range)} of node ${name}`
                  : `the route to ${formatPrefix(range)} of node ${name} leads to ${hop}`,
              evidence: [
                shows(
                  (route ?? first).place,
                  route === undefined ? `${table.length} routes, and not this one` : hop,
                ),
                shows(
                  peer.place,
                  `Node ${name} has ${formatPrefix(range)} behind ${wanted.map(formatIp).join(", ")}`,
                ),
              ],
              breaks: `packets of this node to pods of ${name}`,
            },
          },
        ];
      }),
    );
  },
};

/** Where pods of AKS with IPv6 send what is not for them (https://github.com/microsoft/wcnscripts). */
const AZURE_GATEWAY6 = parseIp("fe80::1234:5678:9abc");

const ROUTE6: NodeCheck = {
  id: "pods-have-an-ipv6-route",
  code: "no-route",
  asks: WORDS.asksRoute6,
  needs: ["networks", "endpoints", "routes"],
  find({ networks, endpoints, host: { routes } }) {
    const azure = networks.find(({ name }) => name.toLowerCase() === "azure");
    const pod = endpoints.find(
      ({ isRemote, addresses }) => !isRemote && addresses.some((each) => typeof each === "bigint"),
    );
    const six = routes.filter(({ prefix }) => typeof prefix.address === "bigint");
    const [first] = six;
    if (azure === undefined || pod === undefined || first === undefined) return [];
    if (six.some((route) => isDefault(route) && route.nextHop === AZURE_GATEWAY6)) return [];
    return [
      {
        certainty: "likely",
        message: WORDS.routeMissing6,
        evidence: [
          shows(first.place, `${six.length} routes of IPv6, and not this one`),
          shows(pod.place, `endpoint ${pod.name} has ${pod.addresses.map(formatIp).join(", ")}`),
        ],
        breaks: "IPv6 of pods to outside of the node",
      },
    ];
  },
};

/** The adapter that a network was made on: of v1 documents, or the policy NetAdapterName. */
function adapterOf({ v1, document }: HnsRecord): string {
  const policies = listOf(document["Policies"]).map(fieldsOf);
  const policy = policies.find((each) => textOf(each["Type"]) === "NetAdapterName");
  return textOf(v1["NetworkAdapterName"]) || textOf(fieldsOf(policy?.["Settings"])["NetworkAdapterName"]);
}

/** Networks over an adapter of the machine, each with its name. */
function overAdapters({
  networks,
}: NodeEvidence): readonly { readonly network: HnsRecord; readonly name: string }[] {
  return networks
    .filter((each) => typeOfNetwork(each).toLowerCase() !== "nat")
    .map((network) => ({ network, name: adapterOf(network) }))
    .filter(({ name }) => name !== "");
}

const ADAPTER_GONE: NodeCheck = {
  id: "adapters-of-networks-exist",
  code: "network-adapter-renamed",
  asks: "the adapters that networks were made on exist",
  needs: ["networks", "adapters"],
  find(node) {
    const { adapters } = node.host;
    const [first] = adapters;
    const known = new Set(adapters.map(({ name }) => name.toLowerCase()));
    return together(
      overAdapters(node)
        .filter(({ name }) => !known.has(name.toLowerCase()))
        .flatMap(({ network, name }): readonly Found[] =>
          first === undefined
            ? []
            : [
                {
                  name: network.name,
                  finding: {
                    certainty: "likely",
                    message: WORDS.adapterGone({ network: network.name, name }),
                    evidence: [
                      shows(network.place, `network ${network.name}: adapter ${name}`),
                      shows(first.place, `adapters: ${adapters.map((each) => each.name).join(", ")}`),
                    ],
                    breaks: WORDS.breaksAdapterGone,
                  },
                },
              ],
        ),
    );
  },
};

const ADAPTER_DOWN: NodeCheck = {
  id: "adapters-of-networks-are-up",
  code: "interface-down",
  asks: "the adapters that networks were made on are up",
  needs: ["networks", "adapters"],
  find: (node) =>
    together(
      overAdapters(node).flatMap(({ network, name }): readonly Found[] => {
        const adapter = node.host.adapters.find((each) => each.name.toLowerCase() === name.toLowerCase());
        if (adapter === undefined || adapter.status === "Up") return [];
        return [
          {
            name: network.name,
            finding: {
              certainty: "certain",
              message: `adapter ${name} of network ${network.name} is ${adapter.status}`,
              evidence: [
                shows(adapter.place, `${name}: ${adapter.status}`),
                shows(network.place, `network ${network.name} was made on it`),
              ],
              breaks: "all traffic of the node's pods to other machines",
            },
          },
        ];
      }),
    ),
};

const VXLAN_OVERHEAD = 50;
const VXLAN_PORT = 4_789;
const VNI_MIN = 4_096;

const TUNNEL_MTU: NodeCheck = {
  id: "tunnels-fit-their-links",
  code: "mtu-exceeded",
  asks: "VXLAN devices of Linux nodes leave room for the outer header",
  needs: ["links"],
  find: (_, { links }) =>
    together(
      links.flatMap((tunnel): readonly Found[] => {
        const below = links.find(
          ({ name, place }) => name === tunnel.vxlan?.device && place.file === tunnel.place.file,
        );
        if (below === undefined || tunnel.mtu + VXLAN_OVERHEAD <= below.mtu) return [];
        return [
          {
            name: tunnel.name,
            finding: {
              certainty: "certain",
              message: `${tunnel.name} takes packets of ${tunnel.mtu} bytes, and ${below.name} below it ${below.mtu}`,
              evidence: [tunnel, below].map(({ name, mtu, place }) => shows(place, `${name}: mtu ${mtu}`)),
              breaks: "large packets between that node and others: small ones arrive",
            },
          },
        ];
      }),
    ),
};

const UPLINK_MTU: NodeCheck = {
  id: "uplinks-have-one-mtu",
  code: "mtu-exceeded",
  asks: WORDS.asksUplinkMtu,
  needs: ["networks", "mtus", "links"],
  find(node, { links }) {
    const names = new Set(overAdapters(node).map(({ name }) => `vethernet (${name})`.toLowerCase()));
    const own = node.host.mtus.find(({ name }) => names.has(name.toLowerCase()));
    return together(
      links.flatMap((tunnel): readonly Found[] => {
        const below = links.find(
          ({ name, place }) => name === tunnel.vxlan?.device && place.file === tunnel.place.file,
        );
        if (own === undefined || below === undefined || own.mtu === below.mtu) return [];
        return [
          {
            name: below.place.file,
            finding: {
              certainty: "possible",
              message: WORDS.uplinksDiffer({
                own: own.name,
                ownMtu: own.mtu,
                below: below.name,
                belowMtu: below.mtu,
              }),
              evidence: [own, below].map(({ name, mtu, place }) => shows(place, `${name}: MTU ${mtu}`)),
              breaks: WORDS.breaksUplinks,
            },
          },
        ];
      }),
    );
  },
};

function hasOverlay({ networks }: NodeEvidence): boolean {
  return networks.some((each) => typeOfNetwork(each).toLowerCase() === "overlay");
}

/** What of a Linux node's VXLAN device Windows cannot use. */
function ofTunnels(
  node: NodeEvidence,
  { links }: ClusterEvidence,
  wrong: (vxlan: { readonly id: number; readonly port: number }) => string | undefined,
): readonly Found[] {
  if (!hasOverlay(node)) return [];
  return links.flatMap(({ name, vxlan, place }): readonly Found[] => {
    const message = vxlan === undefined || !/^(?:flannel|vxlan)/u.test(name) ? undefined : wrong(vxlan);
    if (vxlan === undefined || message === undefined) return [];
    return [
      {
        name,
        finding: {
          certainty: "certain",
          message: `${name} of a Linux node ${message}`,
          evidence: [shows(place, `${name}: vxlan id ${vxlan.id}, dstport ${vxlan.port}`)],
          breaks: "packets between pods of Linux nodes and pods of this one",
        },
      },
    ];
  });
}

const TUNNEL_PORT: NodeCheck = {
  id: "tunnels-use-the-port-of-windows",
  code: "flannel-vxlan-port-not-4789",
  asks: "VXLAN devices of Linux nodes use UDP port 4789",
  needs: ["networks", "links"],
  find: (node, cluster) =>
    together(
      ofTunnels(node, cluster, ({ port }) =>
        port === VXLAN_PORT ? undefined : `sends to port ${port}, and Windows takes ${VXLAN_PORT}`,
      ),
    ),
};

const TUNNEL_IDENTIFIER: NodeCheck = {
  id: "tunnels-have-an-identifier-for-windows",
  code: "flannel-vni-below-4096",
  asks: "VXLAN devices of Linux nodes have identifiers of 4096 and more",
  needs: ["networks", "links"],
  find: (node, cluster) =>
    together(
      ofTunnels(node, cluster, ({ id }) =>
        id >= VNI_MIN ? undefined : `has the identifier ${id}, and Windows uses none below ${VNI_MIN}`,
      ),
    ),
};

/** The process of the kernel. */
const SYSTEM = 4;

const VXLAN_PORT_TAKEN: NodeCheck = {
  id: "vxlan-port-is-free",
  code: "vxlan-port-in-use",
  asks: "no program of the node waits on UDP port 4789",
  needs: ["networks", "listeners"],
  find(node) {
    const taken = node.host.listeners.find(
      ({ protocol, port, process }) => protocol === "udp" && port === VXLAN_PORT && process !== SYSTEM,
    );
    if (taken === undefined || !hasOverlay(node)) return [];
    return [
      {
        certainty: "likely",
        message: WORDS.vxlanPortTaken({ process: taken.process, port: VXLAN_PORT }),
        evidence: [
          shows(taken.place, `UDP ${formatIp(taken.address)}:${taken.port}, process ${taken.process}`),
        ],
        breaks: "packets of other nodes to pods of this one",
      },
    ];
  },
};

/** Values of the registry with which the network of a node does not work. */
const REGISTRY: readonly {
  readonly id: string;
  readonly code: KnowledgeCode;
  readonly asks: string;
  readonly name: string;
  readonly isBad: (value: number) => boolean;
  readonly breaks: string;
}[] = [
  {
    id: "ipv6-is-on",
    code: "windows-ipv6-switched-off",
    asks: "IPv6 is not switched off in the registry",
    name: "DisabledComponents",
    isBad: (value) => (value & 0xff) === 0xff,
    breaks: "containers: HNS attaches none to a network",
  },
  {
    id: "load-balancers-can-be-deleted",
    code: "hns-feature-override",
    asks: "no feature override keeps load balancers from being deleted",
    name: "140377743",
    isBad: (value) => value === 1,
    breaks: "Services that change: rules of old load balancers stay",
  },
];

const REGISTRY_CHECKS: readonly NodeCheck[] = REGISTRY.map(({ id, code, asks, name, isBad, breaks }) => ({
  id,
  code,
  asks,
  needs: ["registry"],
  find: ({ host: { registry } }) =>
    together(
      registry
        .filter((each) => each.name.toLowerCase() === name.toLowerCase() && isBad(each.value))
        .map(({ key, value, place }) => ({
          name: key,
          finding: {
            certainty: "certain",
            message: `the registry value ${name} is 0x${value.toString(16)}`,
            evidence: [shows(place, `${key}: ${name} = 0x${value.toString(16)}`)],
            breaks,
          },
        })),
    ),
}));

/** Builds whose network has a defect that an update mends. */
const UPDATES: readonly {
  readonly code: KnowledgeCode;
  readonly concerns: (build: WindowsBuild) => boolean;
  readonly kb: string;
}[] = [
  {
    code: "overlay-needs-windows-update",
    concerns: (build) => build.profile.name === "ws2019" && !hasUpdate(build, "KB4489899"),
    kb: "KB4489899",
  },
  {
    code: "windows-update-drops-overlay-rules",
    concerns: (build) => concernsBuild("overlay-decap-lost-at-restart", build),
    kb: "KB4577668",
  },
];

const VERSION: NodeCheck = {
  id: "windows-has-its-updates",
  code: "overlay-needs-windows-update",
  asks: "Windows has the updates that overlay networks need",
  needs: ["networks", "versions"],
  find(node) {
    if (!hasOverlay(node)) return [];
    const installed = new Set(node.host.versions.flatMap(({ update }) => update ?? []));
    return node.host.versions.flatMap(({ build: text, place }) => {
      // Without a revision the updates are not known.
      const build = text?.includes(".") === true && !text.endsWith(".0") ? parseProfile(text) : undefined;
      if (build === undefined) return [];
      return UPDATES.filter(({ concerns, kb }) => concerns(build) && !installed.has(kb)).map(
        ({ code, kb }) => ({
          code,
          certainty: "likely" as const,
          message: `build ${text ?? ""} lacks ${kb}, which overlay networks need`,
          evidence: [shows(place, `build ${text ?? ""}`)],
          breaks: "packets between pods of different nodes",
        }),
      );
    });
  },
};

const PORTS_OPEN: NodeCheck = {
  id: "switch-ports-are-open",
  code: "switch-port-blocked",
  asks: "no port of the switch is blocked",
  needs: ["port states"],
  find: ({ host, endpoints }) =>
    together(
      host["port states"]
        .filter(({ isBlocked }) => isBlocked)
        .map(({ port, place }) => {
          const endpoint = endpoints.find(({ v1 }) => JSON.stringify(v1).toLowerCase().includes(port));
          const whose = endpoint === undefined ? `port ${port}` : endpoint.addresses.map(formatIp).join(", ");
          return {
            name: port,
            finding: {
              certainty: "certain",
              message: `the switch port of ${whose} is blocked`,
              evidence: [
                shows(place, `port ${port}: Blocked`),
                ...(endpoint === undefined
                  ? []
                  : [shows(endpoint.place, `endpoint ${endpoint.name} has this port`)]),
              ],
              breaks: `all packets of ${whose}`,
            },
          };
        }),
    ),
};

const LEASES_USED: NodeCheck = {
  id: "leases-have-pods",
  code: "lease-without-pod",
  asks: "addresses that IPAM holds are those of pods or endpoints",
  needs: ["nodes", "pods", "endpoints", "leases"],
  wholly: ["pods", "endpoints"],
  find({ host: { leases }, endpoints }, { pods }) {
    const used = new Set<Ip>([
      ...pods.flatMap(addressesOfPod),
      ...endpoints.flatMap(({ addresses }) => addresses),
    ]);
    const left = leases.filter(({ address }) => !used.has(address));
    return together(
      left.map(({ address, owner, place }) => ({
        name: formatIp(address),
        finding: {
          certainty: left.length > 1 ? "likely" : "possible",
          message: `IPAM holds ${formatIp(address)}, which no pod and no endpoint has`,
          evidence: [shows(place, `${formatIp(address)} is held for ${owner === "" ? "nobody" : owner}`)],
          breaks: WORDS.breaksLeases,
        },
      })),
    );
  },
};

const PODS_LEASED: NodeCheck = {
  id: "pods-have-leases",
  code: "pod-without-lease",
  asks: "addresses of pods are held in IPAM's books",
  needs: ["nodes", "pods", "leases"],
  wholly: ["leases"],
  find(node, cluster) {
    const held = new Set(node.host.leases.map(({ address }) => address));
    const [first] = node.host.leases;
    const own = podsOn(node, cluster);
    // Books in which no pod stands are those of another plugin.
    const isTheirs = own.some((pod) => addressesOfPod(pod).some((address) => held.has(address)));
    return together(
      own.flatMap((pod): readonly Found[] => {
        const address = addressesOfPod(pod).find((each) => typeof each === "number");
        if (!isTheirs || first === undefined || address === undefined || held.has(address)) return [];
        return [
          {
            name: nameOfPod(pod),
            finding: {
              certainty: "likely",
              message: `pod ${nameOfPod(pod)} has ${formatIp(address)}, which IPAM takes for free`,
              evidence: [
                shows(pod.place, `pod ${nameOfPod(pod)} runs with ${formatIp(address)}`),
                shows(first.place, `${node.host.leases.length} addresses are held, and not this one`),
              ],
              breaks: `both pods, when the next one gets ${formatIp(address)}`,
            },
          },
        ];
      }),
    );
  },
};

const RANGE_FREE: NodeCheck = {
  id: "range-has-free-addresses",
  code: "ipam-range-exhausted",
  asks: "the node's range has a free address for the next pod",
  needs: ["nodes", "leases"],
  find({ node, host: { leases } }) {
    const range = parsePrefix(node?.object.spec?.podCIDR ?? "");
    const [first] = leases;
    if (node === undefined || range === undefined || typeof range.address !== "number" || first === undefined)
      return [];
    const held = new Set(leases.map(({ address }) => address).filter((each) => prefixContains(range, each)));
    // Network, gateway and broadcast are nobody's.
    const free = 2 ** (32 - range.length) - 3 - held.size;
    if (free > 0) return [];
    return [
      {
        certainty: "likely",
        message: `all addresses of ${formatPrefix(range)} are held`,
        evidence: [
          shows(first.place, `${held.size} addresses are held`),
          shows(node.place, `Node ${node.object.metadata.name} has the range ${formatPrefix(range)}`),
        ],
        breaks: "pods that are to start on this node",
      },
    ];
  },
};

/** What networkhealth.ps1 calls too many (https://github.com/microsoft/SDN). */
const THREADS_MAX = 200;
const BLOCKS_MIN = 10;

const THREADS: NodeCheck = {
  id: "hns-does-not-hang",
  code: "hns-service-hangs",
  asks: "HNS does not have more threads than it should",
  needs: ["node health"],
  find: ({ host }) =>
    host["node health"]
      .filter(({ hnsThreads }) => hnsThreads > THREADS_MAX)
      .map(({ hnsThreads, place }) => ({
        certainty: "likely",
        message: `HNS has ${hnsThreads} threads: they wait for each other`,
        evidence: [shows(place, `${hnsThreads} threads, more than ${THREADS_MAX}`)],
        breaks: "pods that start and Services that change",
      })),
};

const HEALTH_BLOCKS: NodeCheck = {
  id: "blocks-of-ports-are-free",
  code: "load-balancer-ports-exhausted",
  asks: "networkhealth.ps1 found free blocks of ports",
  needs: ["node health"],
  find: ({ host }) =>
    together(
      host["node health"].flatMap(({ freeBlocks, place }) =>
        (["tcp", "udp"] as const).flatMap((protocol): readonly Found[] => {
          const free = freeBlocks[protocol];
          if (free === undefined || free > BLOCKS_MIN) return [];
          return [
            {
              name: protocol,
              finding: {
                certainty: free === 0 ? "certain" : "likely",
                message: `${free} blocks of ${protocol} ports are free`,
                evidence: [shows(place, `${free} free blocks of ${protocol} ports`)],
                breaks: "Services that kube-proxy programs from now on, without DSR",
              },
            },
          ];
        }),
      ),
    ),
};

export const HOST_CHECKS: readonly NodeCheck[] = [
  ...REGISTRY_CHECKS,
  VERSION,
  THREADS,
  HEALTH_BLOCKS,
  ADDRESS,
  ADAPTER_GONE,
  ADAPTER_DOWN,
  NO_DEFAULT_ROUTE,
  DEFAULT_ROUTES,
  ROUTES_TO_NODES,
  ROUTE6,
  TUNNEL_PORT,
  TUNNEL_IDENTIFIER,
  TUNNEL_MTU,
  UPLINK_MTU,
  VXLAN_PORT_TAKEN,
  PORTS_OPEN,
  LEASES_USED,
  PODS_LEASED,
  RANGE_FREE,
];
