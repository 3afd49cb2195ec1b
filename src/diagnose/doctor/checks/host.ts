/** The node below HNS: its addresses, adapters and routes. */
import { listOf, mappingOf, textOf } from "#core/base/json.ts";
import { plural } from "#core/base/text-layout.ts";
import { formatIp, formatPrefix, parseIp, parsePrefix } from "#core/net/ip.ts";
import { type NodeCheck, check, shows } from "../check.ts";
import {
  type ClusterEvidence,
  type HnsRecord,
  type KubeRecord,
  type NodeEvidence,
  addressesOfNode,
  typeOfNetwork,
} from "../evidence.ts";
import type { HostRoute, Interface } from "../host-addresses.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** The node's own adapters: what was asked in a pod has the pod's name. */
export function ownInterfaces({ node, host }: NodeEvidence): readonly Interface[] {
  const name = node?.object.metadata.name.toLowerCase().split(".", 1)[0] ?? "";
  const hostname = node?.object.metadata.labels?.["kubernetes.io/hostname"]?.toLowerCase() ?? name;
  return host.interfaces.filter(
    (each) => each.host !== "" && [name, hostname].includes(each.host.toLowerCase().split(".", 1)[0] ?? ""),
  );
}

const ADDRESS = check("node-address-is-on-an-adapter", function* (node) {
  const own = ownInterfaces(node);
  if (node.node === undefined) return;
  const { object, place } = node.node;
  const wanted = addressesOfNode(node.node);
  const texts = wanted.map(formatIp).join(", ");
  // Whoever printed it, the address is the node's.
  const twice = node.host.interfaces.find(({ duplicates }) =>
    duplicates.some((each) => wanted.includes(each)),
  );
  if (twice !== undefined) {
    const doubled = twice.duplicates.map(formatIp).join(", ");
    yield {
      certainty: "certain",
      message: `another machine has the InternalIP ${doubled} of the node as well`,
      evidence: [
        shows(twice.place, `${twice.heading}: ${doubled} is Duplicate, and Windows does not use it`),
        shows(place, `Node ${object.metadata.name} has the InternalIP ${doubled}`),
      ],
      breaks: WORDS.breaksNodeAddress,
    };
    return;
  }
  const [first] = own;
  const has = own.flatMap(({ addresses }) => addresses);
  if (first === undefined || wanted.length === 0 || has.length === 0) return;
  if (wanted.some((address) => has.includes(address))) return;
  yield {
    certainty: "likely",
    message: `no adapter of the node has its InternalIP ${texts}`,
    evidence: [
      shows(place, `Node ${object.metadata.name} has the InternalIP ${texts}`),
      shows(first.place, `its adapters have ${has.map(formatIp).join(", ")}`),
    ],
    breaks: WORDS.breaksNodeAddress,
  };
});

export function isDefault({ prefix }: HostRoute): boolean {
  return prefix.length === 0;
}

/** The tables of `route print`, which are of one compartment each. */
function tablesOf({ host: { routes } }: NodeEvidence): readonly (readonly HostRoute[])[] {
  const printed = routes.filter(
    ({ adapter, prefix }) => adapter !== undefined && typeof prefix.address === "number",
  );
  return [...Map.groupBy(printed, ({ place, table }) => `${place.file} ${table}`).values()];
}

const DEFAULT_ROUTES = check("default-route-is-one", function* (node) {
  for (const routes of tablesOf(node)) {
    const defaults = routes.filter(isDefault).toSorted((a, b) => a.metric - b.metric);
    const [one, other] = defaults;
    if (one === undefined || other === undefined || one.adapter === other.adapter) continue;
    if (one.metric !== other.metric) continue;
    yield {
      name: one.place.file,
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
    };
  }
});

const NO_DEFAULT_ROUTE = check("default-route-exists", function* (node) {
  const own = node.node === undefined ? [] : addressesOfNode(node.node);
  for (const routes of tablesOf(node)) {
    const [first] = routes;
    const isOwn = routes.some(({ adapter }) => adapter !== undefined && own.includes(adapter));
    if (first === undefined || !isOwn || routes.some(isDefault)) continue;
    yield {
      name: first.place.file,
      certainty: "likely",
      message: "the node has no default route",
      evidence: [shows(first.place, `${plural(routes.length, "route")}, none to 0.0.0.0/0`)],
      breaks: "connections to outside of the node's own networks",
    };
  }
});

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

const ROUTES_TO_NODES = check("routes-lead-to-nodes", function* (node, cluster) {
  const self = node.node === undefined ? [] : addressesOfNode(node.node);
  const table = tablesOf(node).find((routes) =>
    routes.some(({ adapter }) => adapter !== undefined && self.includes(adapter)),
  );
  const [first] = table ?? [];
  if (table === undefined || first === undefined) return;
  for (const peer of routedPeers(node, cluster)) {
    const { name } = peer.object.metadata;
    const range = parsePrefix(peer.object.spec?.podCIDR ?? "");
    const wanted = addressesOfNode(peer);
    const route = table.find(
      ({ prefix }) => range !== undefined && formatPrefix(prefix) === formatPrefix(range),
    );
    const isRight = route?.nextHop !== undefined && wanted.includes(route.nextHop);
    if (range === undefined || wanted.length === 0 || isRight) continue;
    const hop = route?.nextHop === undefined ? "nowhere" : formatIp(route.nextHop);
    yield {
      name: `${name} ${formatPrefix(range)}`,
      certainty: "certain",
      message:
        route === undefined
          ? `no route leads to ${formatPrefix(range)} of node ${name}`
          : `the route to ${formatPrefix(range)} of node ${name} leads to ${hop}`,
      evidence: [
        shows(
          (route ?? first).place,
          route === undefined ? `${plural(table.length, "route")}, and not this one` : hop,
        ),
        shows(
          peer.place,
          `Node ${name} has ${formatPrefix(range)} behind ${wanted.map(formatIp).join(", ")}`,
        ),
      ],
      breaks: `packets of this node to pods of ${name}`,
    };
  }
});

/** Where pods of AKS with IPv6 send what is not for them (https://github.com/microsoft/wcnscripts). */
const AZURE_GATEWAY6 = parseIp("fe80::1234:5678:9abc");

const ROUTE6 = check("pods-have-an-ipv6-route", function* ({ networks, endpoints, host: { routes } }) {
  const azure = networks.find(({ name }) => name.toLowerCase() === "azure");
  const pod = endpoints.find(
    ({ isRemote, addresses }) => !isRemote && addresses.some((each) => typeof each === "bigint"),
  );
  const six = routes.filter(({ prefix }) => typeof prefix.address === "bigint");
  const [first] = six;
  if (azure === undefined || pod === undefined || first === undefined) return;
  if (six.some((route) => isDefault(route) && route.nextHop === AZURE_GATEWAY6)) return;
  yield {
    certainty: "likely",
    message: WORDS.routeMissing6,
    evidence: [
      shows(first.place, `${plural(six.length, "route")} of IPv6, and not this one`),
      shows(pod.place, `endpoint ${pod.name} has ${pod.addresses.map(formatIp).join(", ")}`),
    ],
    breaks: "IPv6 of pods to outside of the node",
  };
});

/** The adapter that a network was made on: of v1 documents, or the policy NetAdapterName. */
function adapterOf({ v1, document }: HnsRecord): string {
  const policies = listOf(document["Policies"]).map(mappingOf);
  const policy = policies.find((each) => textOf(each["Type"]) === "NetAdapterName");
  return textOf(v1["NetworkAdapterName"]) || textOf(mappingOf(policy?.["Settings"])["NetworkAdapterName"]);
}

/** Networks over an adapter of the machine, each with its name. */
export function overAdapters({
  networks,
}: NodeEvidence): readonly { readonly network: HnsRecord; readonly name: string }[] {
  return networks
    .filter((each) => typeOfNetwork(each).toLowerCase() !== "nat")
    .map((network) => ({ network, name: adapterOf(network) }))
    .filter(({ name }) => name !== "");
}

const ADAPTER_GONE = check("adapters-of-networks-exist", function* (node) {
  const { adapters } = node.host;
  // A list without any card is one of virtual adapters alone (`Get-NetAdapter -Name vEthernet*`): no card is missed in it.
  const first = adapters.find(({ name }) => !/^vEthernet\b/iu.test(name));
  const known = new Set(adapters.map(({ name }) => name.toLowerCase()));
  for (const { network, name } of overAdapters(node))
    if (first !== undefined && !known.has(name.toLowerCase()))
      yield {
        name: network.name,
        certainty: "likely",
        message: WORDS.adapterGone({ network: network.name, name }),
        evidence: [
          shows(network.place, `network ${network.name}: adapter ${name}`),
          shows(first.place, `adapters: ${adapters.map((each) => each.name).join(", ")}`),
        ],
        breaks: WORDS.breaksAdapterGone,
      };
});

const ADAPTER_DOWN = check("adapters-of-networks-are-up", function* (node) {
  for (const { network, name } of overAdapters(node)) {
    const adapter = node.host.adapters.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (adapter === undefined || adapter.status === "Up") continue;
    yield {
      name: network.name,
      certainty: "certain",
      message: `adapter ${name} of network ${network.name} is ${adapter.status}`,
      evidence: [
        shows(adapter.place, `${name}: ${adapter.status}`),
        shows(network.place, `network ${network.name} was made on it`),
      ],
      breaks: "all traffic of the node's pods to other machines",
    };
  }
});

export const HOST_CHECKS: readonly NodeCheck[] = [
  ADDRESS,
  ADAPTER_GONE,
  ADAPTER_DOWN,
  NO_DEFAULT_ROUTE,
  DEFAULT_ROUTES,
  ROUTES_TO_NODES,
  ROUTE6,
];
