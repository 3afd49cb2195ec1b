/** What endpoints and load balancers are told: source addresses, exceptions, DNS, compartments, and which objects they name. */
import {
  type Ip,
  formatIp,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixFamily,
  familyOf,
} from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { type CheckFinding, type Found, type NodeCheck, shows, together } from "../check.ts";
import {
  type EndpointRecord,
  type HnsRecord,
  type NodeEvidence,
  addressesOfNode,
  fieldsOf,
  listOf,
  managementAddressOf,
  policiesOf,
  subnetsOf,
  textOf,
  networksOfType,
} from "../evidence.ts";
import type { Place } from "../place.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** An address that kube-proxy hides clients behind, and where that stands. */
interface SourceAddress {
  readonly address: Ip;
  readonly place: Place;
  readonly says: string;
}

/** Where back ends have addresses of nodes or of outside, kube-proxy takes the node's own address instead. */
function sourcesOfLoadBalancers({ loadBalancers, networks, node }: NodeEvidence): readonly SourceAddress[] {
  const own = new Set([
    ...networks.map(managementAddressOf),
    ...(node === undefined ? [] : addressesOfNode(node)),
  ]);
  return loadBalancers.flatMap(({ id, document, place }) => {
    const address = parseIp(textOf(document["SourceVIP"]));
    if (address === undefined || address === 0 || own.has(address)) return [];
    return [{ address, place, says: `load balancer ${id} has the SourceVIP ${formatIp(address)}` }];
  });
}

/** Which of the sources is in no subnet of an overlay network of the node. */
function outside(node: NodeEvidence, sources: readonly SourceAddress[]): readonly Found[] {
  const networks = networksOfType(node, "overlay");
  const prefixes = networks.flatMap(subnetsOf).flatMap((text) => parsePrefix(text) ?? []);
  const [network] = networks;
  return sources.flatMap(({ address, place, says }): readonly Found[] => {
    const known = prefixes.filter((prefix) => prefixFamily(prefix) === familyOf(address));
    if (network === undefined || known.length === 0) return [];
    if (known.some((prefix) => prefixContains(prefix, address))) return [];
    const text = formatIp(address);
    return [
      {
        name: text,
        finding: {
          certainty: "certain",
          message: WORDS.sourceOutside({ value: text }),
          evidence: [
            shows(place, says),
            shows(network.place, `overlay networks have ${networks.flatMap(subnetsOf).join(", ")}`),
          ],
          breaks: WORDS.breaksSources,
        },
      },
    ];
  });
}

const SOURCE_SUBNET: NodeCheck = {
  id: "source-addresses-are-in-their-subnets",
  code: "kube-proxy-source-vip-invalid",
  asks: "load balancers have a source address of an overlay network",
  needs: ["networks", "load balancers"],
  wholly: ["networks"],
  find: (node) => together(outside(node, sourcesOfLoadBalancers(node))),
};

const SOURCE_FILE: NodeCheck = {
  id: "reserved-source-address-fits",
  code: "kube-proxy-source-vip-invalid",
  asks: WORDS.asksSourceFile,
  needs: ["networks", "source addresses"],
  wholly: ["networks"],
  find: (node) =>
    together(
      outside(
        node,
        node.host["source addresses"].map(({ address, place }) => ({
          address,
          place,
          says: `${formatIp(address)} is reserved`,
        })),
      ),
    ),
};

const SOURCE_ENDPOINT: NodeCheck = {
  id: "source-addresses-have-endpoints",
  code: "source-vip-without-endpoint",
  asks: "the source address of load balancers is that of an endpoint",
  needs: ["networks", "load balancers", "endpoints"],
  wholly: ["endpoints"],
  find(node) {
    const local = new Set(
      node.endpoints.filter(({ isRemote }) => !isRemote).flatMap((each) => each.addresses),
    );
    const [endpoint] = node.endpoints;
    if (networksOfType(node, "overlay").length === 0 || endpoint === undefined) return [];
    return together(
      sourcesOfLoadBalancers(node)
        .filter(({ address }) => !local.has(address))
        .map(({ address, place, says }) => ({
          name: formatIp(address),
          finding: {
            certainty: "likely",
            message: `load balancers send from ${formatIp(address)}, which no local endpoint has`,
            evidence: [
              shows(place, says),
              shows(
                endpoint.place,
                WORDS.endpointsWithout({ count: node.endpoints.length, address: formatIp(address) }),
              ),
            ],
            breaks: WORDS.breaksSources,
          },
        })),
    );
  },
};

const SOURCE_NETWORK_ADDRESS: NodeCheck = {
  id: "source-addresses-are-no-subnets",
  code: "source-vip-is-network-address",
  asks: WORDS.asksSourceNetworkAddress,
  needs: ["networks", "load balancers"],
  find(node) {
    const first = new Map(
      networksOfType(node, "overlay")
        .flatMap((network) => subnetsOf(network).map((text) => ({ network, prefix: parsePrefix(text) })))
        .flatMap(({ network, prefix }) => (prefix === undefined ? [] : [[prefix.address, network] as const])),
    );
    return together(
      sourcesOfLoadBalancers(node).flatMap(({ address, place, says }): readonly Found[] => {
        const network = first.get(address);
        if (network === undefined) return [];
        return [
          {
            name: formatIp(address),
            finding: {
              certainty: "certain",
              message: `load balancers send from ${formatIp(address)}, the subnet of network ${network.name} itself`,
              evidence: [
                shows(place, says),
                shows(network.place, `network ${network.name} has ${subnetsOf(network).join(", ")}`),
              ],
              breaks: WORDS.breaksSources,
            },
          },
        ];
      }),
    );
  },
};

const SOURCES_AGREE: NodeCheck = {
  id: "source-addresses-agree",
  code: "kube-proxy-source-vip-invalid",
  asks: "all load balancers have the same source address",
  needs: ["load balancers"],
  find(node) {
    const found: Found[] = [];
    for (const family of [4, 6] as const) {
      const sources = sourcesOfLoadBalancers(node).filter(({ address }) => familyOf(address) === family);
      const [one] = sources;
      const other = sources.find(({ address }) => address !== one?.address);
      if (one === undefined || other === undefined) continue;
      found.push({
        name: formatIp(other.address),
        finding: {
          certainty: "likely",
          message: `some load balancers send from ${formatIp(one.address)}, others from ${formatIp(other.address)}`,
          evidence: [one, other].map(({ place, says }) => shows(place, says)),
          breaks: WORDS.breaksSources,
        },
      });
    }
    return together(found);
  },
};

/** The exceptions of an endpoint's OutBoundNAT. */
function exceptionsOf(endpoint: EndpointRecord): readonly string[] {
  return policiesOf(endpoint, "OutBoundNAT").flatMap((policy) =>
    listOf(policy["Exceptions"] ?? policy["ExceptionList"]).map(textOf),
  );
}

const EXCEPTIONS: NodeCheck = {
  id: "exceptions-hold-pods",
  code: "cni-exception-list-without-pods",
  asks: "OutBoundNAT leaves packets between pods alone",
  needs: ["nodes", "pods", "endpoints"],
  find(node, { pods }) {
    const others = pods.filter(
      ({ object: { spec, status } }) =>
        spec?.nodeName !== node.node?.object.metadata.name &&
        spec?.hostNetwork !== true &&
        status?.phase === "Running",
    );
    return together(
      node.endpoints.flatMap((each): readonly Found[] => {
        const texts = exceptionsOf(each);
        const prefixes = texts.flatMap((text) => parsePrefix(text) ?? []);
        if (each.isRemote || prefixes.length === 0 || node.node === undefined) return [];
        const peer = others.find((pod) =>
          addressesOfPod(pod).some(
            (address) =>
              familyOf(address) === 4 && !prefixes.some((prefix) => prefixContains(prefix, address)),
          ),
        );
        if (peer === undefined) return [];
        const address = addressesOfPod(peer).map(formatIp).join(", ");
        return [
          {
            name: each.addresses.map(formatIp).join(", "),
            finding: {
              certainty: "likely",
              message: WORDS.exceptionsWithoutPod({
                address: each.addresses.map(formatIp).join(", "),
                peer: address,
              }),
              evidence: [
                shows(each.place, `OutBoundNAT of endpoint ${each.name}, but for ${texts.join(", ")}`),
                shows(peer.place, `pod ${nameOfPod(peer)} has ${address}`),
              ],
              breaks: WORDS.breaksExceptions,
            },
          },
        ];
      }),
    );
  },
};

/** Where NodeLocal DNS listens. */
const NODE_LOCAL_DNS = parseIp("169.254.20.10");

function dnsOf({ document, v1 }: EndpointRecord): {
  readonly servers: readonly string[];
  readonly search: string;
} {
  const dns = fieldsOf(document["Dns"]);
  const servers = listOf(dns["ServerList"]).map(textOf);
  const search = listOf(dns["Search"]).map(textOf);
  return {
    servers: servers.length > 0 ? servers : textOf(v1["DNSServerList"]).split(","),
    search: [...search, textOf(dns["Domain"]), textOf(v1["DNSSuffix"])].join(","),
  };
}

/** Pods that ask the cluster's DNS, each with its endpoint. */
function askingPods(node: NodeEvidence, cluster: Parameters<NodeCheck["find"]>[1]) {
  const byAddress = new Map(
    node.endpoints
      .filter(({ isRemote }) => !isRemote)
      .flatMap((each) => each.addresses.map((address) => [address, each] as const)),
  );
  return podsOn(node, cluster).flatMap((pod) => {
    const endpoint = addressesOfPod(pod)
      .flatMap((address) => byAddress.get(address) ?? [])
      .at(0);
    const policy = pod.object.spec?.dnsPolicy ?? "ClusterFirst";
    return endpoint === undefined || policy !== "ClusterFirst" ? [] : [{ pod, endpoint }];
  });
}

const DNS_SERVERS: NodeCheck = {
  id: "endpoints-ask-the-clusters-dns",
  code: "endpoint-dns-differs",
  asks: "endpoints of pods have the address of the cluster's DNS",
  needs: ["nodes", "pods", "services", "endpoints"],
  find(node, cluster) {
    const dns = cluster.services.find(
      ({ object: { metadata } }) => metadata.labels?.["k8s-app"] === "kube-dns",
    );
    const own = dns?.object.spec?.clusterIPs ?? [dns?.object.spec?.clusterIP ?? ""];
    const known = new Set([...own.map(parseIp), NODE_LOCAL_DNS]);
    if (dns === undefined) return [];
    return together(
      askingPods(node, cluster).flatMap(({ pod, endpoint }): readonly Found[] => {
        const servers = dnsOf(endpoint).servers.flatMap((text) => parseIp(text.trim()) ?? []);
        if (servers.length === 0 || servers.some((server) => known.has(server))) return [];
        const texts = servers.map(formatIp).join(", ");
        return [
          {
            name: nameOfPod(pod),
            finding: {
              certainty: "likely",
              message: WORDS.dnsServers({ pod: nameOfPod(pod), texts, own: own.join(", ") }),
              evidence: [
                shows(endpoint.place, `endpoint ${endpoint.name} has the DNS servers ${texts}`),
                shows(dns.place, `Service ${dns.object.metadata.name} has ${own.join(", ")}`),
              ],
              breaks: `names of Services in pod ${nameOfPod(pod)}`,
            },
          },
        ];
      }),
    );
  },
};

const DNS_SUFFIX: NodeCheck = {
  id: "endpoints-complete-names",
  code: "endpoint-dns-differs",
  asks: "endpoints of pods complete names with the pod's namespace",
  needs: ["nodes", "pods", "endpoints"],
  find: (node, cluster) =>
    together(
      askingPods(node, cluster).flatMap(({ pod, endpoint }): readonly Found[] => {
        const { search } = dnsOf(endpoint);
        const wanted = `${pod.object.metadata.namespace}.svc.`;
        if (search.replaceAll(",", "") === "" || search.includes(wanted)) return [];
        return [
          {
            name: nameOfPod(pod),
            finding: {
              certainty: "likely",
              message: WORDS.dnsSuffix({ pod: nameOfPod(pod) }),
              evidence: [
                shows(endpoint.place, `endpoint ${endpoint.name} has the suffixes ${search}`),
                shows(pod.place, `pod ${nameOfPod(pod)} wants ${wanted}…`),
              ],
              breaks: `short names of Services in pod ${nameOfPod(pod)}`,
            },
          },
        ];
      }),
    ),
};

const MACS: NodeCheck = {
  id: "macs-are-single",
  code: "endpoint-mac-doubled",
  asks: "no two local endpoints of a network have one MAC address",
  needs: ["endpoints"],
  find({ endpoints }) {
    const known = new Map<string, EndpointRecord>();
    return together(
      endpoints.flatMap((each): readonly Found[] => {
        const mac = parseMac(textOf(each.document["MacAddress"]));
        if (each.isRemote || mac === undefined || each.addresses.length === 0) return [];
        const key = `${each.network} ${mac}`;
        const other = known.get(key);
        if (other === undefined) known.set(key, each);
        if (other === undefined || other.id === each.id) return [];
        const text = textOf(each.document["MacAddress"]);
        return [
          {
            name: text,
            finding: {
              certainty: "likely",
              message: `two local endpoints of a network have the MAC address ${text}`,
              evidence: [other, each].map((one) =>
                shows(
                  one.place,
                  `endpoint ${one.name || one.id} (${one.addresses.map(formatIp).join(", ")}): ${text}`,
                ),
              ),
              breaks: WORDS.breaksMacs,
            },
          },
        ];
      }),
    );
  },
};

/** References from endpoints to objects that a list does not have. */
function withoutTarget(
  endpoints: readonly EndpointRecord[],
  targets: readonly HnsRecord[],
  what: "network" | "namespace",
): readonly CheckFinding[] {
  const known = new Set(targets.map(({ id }) => id.toLowerCase()));
  const [target] = targets;
  return together(
    endpoints.flatMap((each): readonly Found[] => {
      const id = what === "network" ? each.network : textOf(each.document["HostComputeNamespace"]);
      const isNone = id === "" || /^[0-]+$/u.test(id);
      if (each.isRemote || isNone || known.has(id.toLowerCase()) || target === undefined) return [];
      return [
        {
          name: each.name || each.id,
          finding: {
            certainty: "likely",
            message: `endpoint ${each.name || each.id} is of ${what} ${id}, which HNS does not list`,
            evidence: [
              shows(each.place, `endpoint of ${each.addresses.map(formatIp).join(", ")}: ${what} ${id}`),
              shows(target.place, `${targets.length} of kind ${what}, and not this one`),
            ],
            breaks: `all traffic of ${each.addresses.map(formatIp).join(", ")}`,
          },
        },
      ];
    }),
  );
}

const NETWORKS_EXIST: NodeCheck = {
  id: "endpoints-have-networks",
  code: "endpoint-network-missing",
  asks: "networks of endpoints exist",
  needs: ["networks", "endpoints"],
  wholly: ["networks"],
  find: ({ endpoints, networks }) => withoutTarget(endpoints, networks, "network"),
};

const NAMESPACES_EXIST: NodeCheck = {
  id: "endpoints-have-namespaces",
  code: "endpoint-namespace-missing",
  asks: "namespaces of endpoints exist",
  needs: ["namespaces", "endpoints"],
  wholly: ["namespaces"],
  find: ({ endpoints, namespaces }) => withoutTarget(endpoints, namespaces, "namespace"),
};

function compartmentOf({ document, v1 }: HnsRecord): number | undefined {
  const id = v1["CompartmentId"] ?? document["CompartmentId"] ?? document["NamespaceId"];
  return typeof id === "number" ? id : undefined;
}

/** Where the endpoint's adapter is; HNS writes the name of the field in two ways. */
function compartmentOfEndpoint({ v1 }: EndpointRecord): number | undefined {
  return listOf(fieldsOf(v1["Resources"])["Allocators"])
    .map(fieldsOf)
    .flatMap((each) => [each["CompartmendId"], each["CompartmentId"]])
    .find((id): id is number => typeof id === "number" && id > 0);
}

const COMPARTMENTS: NodeCheck = {
  id: "compartments-agree",
  code: "endpoint-compartment-differs",
  asks: "endpoints are in the compartments of their namespaces",
  needs: ["namespaces", "endpoints"],
  find: ({ endpoints, namespaces }) =>
    together(
      endpoints.flatMap((each): readonly Found[] => {
        const id = textOf(each.document["HostComputeNamespace"]).toLowerCase();
        const namespace = namespaces.find((one) => one.id.toLowerCase() === id);
        const [own, wanted] = [compartmentOfEndpoint(each), namespace && compartmentOf(namespace)];
        if (namespace === undefined || own === undefined || wanted === undefined || own === wanted) return [];
        const address = each.addresses.map(formatIp).join(", ");
        return [
          {
            name: address,
            finding: {
              certainty: "certain",
              message: WORDS.compartmentsDiffer({ address, own, wanted }),
              evidence: [
                shows(each.place, `endpoint ${each.name}: compartment ${own}`),
                shows(namespace.place, `namespace ${namespace.id}: compartment ${wanted}`),
              ],
              breaks: `all traffic of ${address}`,
            },
          },
        ];
      }),
    ),
};

const COMPARTMENTS_EXIST: NodeCheck = {
  id: "compartments-exist",
  code: "endpoint-compartment-differs",
  asks: "compartments of namespaces exist in Windows",
  needs: ["namespaces", "compartments"],
  find({ namespaces, host: { compartments } }) {
    const known = new Set(compartments.map(({ id }) => id));
    const [first] = compartments;
    return together(
      namespaces.flatMap((each): readonly Found[] => {
        const id = compartmentOf(each);
        if (id === undefined || id === 0 || known.has(id) || first === undefined) return [];
        return [
          {
            name: each.id,
            finding: {
              certainty: "likely",
              message: `namespace ${each.id} is compartment ${id}, which Windows does not have`,
              evidence: [
                shows(each.place, `namespace ${each.id}: compartment ${id}`),
                shows(first.place, `compartments ${compartments.map((one) => one.id).join(", ")}`),
              ],
              breaks: "all traffic of the pod in that namespace",
            },
          },
        ];
      }),
    );
  },
};

export const POLICY_CHECKS: readonly NodeCheck[] = [
  SOURCE_SUBNET,
  SOURCE_FILE,
  SOURCE_NETWORK_ADDRESS,
  SOURCES_AGREE,
  SOURCE_ENDPOINT,
  EXCEPTIONS,
  DNS_SERVERS,
  DNS_SUFFIX,
  MACS,
  NETWORKS_EXIST,
  NAMESPACES_EXIST,
  COMPARTMENTS,
  COMPARTMENTS_EXIST,
];
