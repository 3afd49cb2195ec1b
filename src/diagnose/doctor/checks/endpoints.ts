/** Endpoints of HNS beside each other, beside their networks and beside pods. */
import { listOf, mappingOf, textOf } from "#core/base/json.ts";
import { type Ip, formatIp, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { plural } from "#core/base/text-layout.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import {
  type ClusterEvidence,
  type EndpointRecord,
  type HnsRecord,
  type KubeRecord,
  type NodeEvidence,
  addressesOfNode,
  subnetsOf,
  networksOfType,
} from "../evidence.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** States of an endpoint (hcn.md §2.10). */
const CREATED = 1;
const DEGRADED = 5;

/** Endpoints that no pod has: kube-proxy's source address, the node's own on a network, what docker makes. */
const NO_POD = /^(?:source-?vip|cbr0_ep|.{0,60}_ep|.{0,40}gateway.{0,20})$/iu;

export function stateOf({ document, v1 }: Pick<HnsRecord, "document" | "v1">): unknown {
  return v1["State"] ?? document["State"];
}

function describe({ id, name, addresses, isRemote }: EndpointRecord): string {
  const named = name === "" ? id : name;
  return `${isRemote ? "remote" : "local"} endpoint ${named} (${addresses.map(formatIp).join(", ")})`;
}

/** Addresses that kube-proxy hides clients behind: their endpoints are nobody's pod. */
function sourceAddresses({ loadBalancers }: NodeEvidence): ReadonlySet<string> {
  return new Set(loadBalancers.map(({ document }) => textOf(document["SourceVIP"])));
}

/** Pods of the node that have addresses of their own and run. */
export function podsOn({ node }: NodeEvidence, { pods }: ClusterEvidence): readonly KubeRecord<"Pod">[] {
  const name = node?.object.metadata.name;
  return pods.filter(
    ({ object: { spec, status } }) =>
      spec?.nodeName === name &&
      spec?.hostNetwork !== true &&
      status?.phase === "Running" &&
      name !== undefined,
  );
}

export function addressesOfPod({ object: { status } }: KubeRecord<"Pod">): readonly Ip[] {
  const texts = [status?.podIP, ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return [...new Set(texts.flatMap((text) => (text === undefined ? [] : (parseIp(text) ?? []))))];
}

export function nameOfPod({ object: { metadata } }: KubeRecord<"Pod">): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** The pod of an address, as what a finding is about. */
function aboutPod([address]: readonly Ip[]): Pick<CheckFinding, "about"> {
  return address === undefined ? {} : { about: { of: "pod", address } };
}

/** Pairs of endpoints of one network with one address. */
function* pairs(endpoints: readonly EndpointRecord[]): Iterable<{
  readonly address: Ip;
  readonly pair: readonly [EndpointRecord, EndpointRecord];
}> {
  const first = new Map<string, EndpointRecord>();
  for (const each of endpoints)
    for (const address of each.addresses) {
      const key = `${each.network} ${formatIp(address)}`;
      const known = first.get(key);
      if (known === undefined) first.set(key, each);
      else yield { address, pair: [known, each] };
    }
}

/** `areLocal`: how many of the two are local. */
function doubled(endpoints: readonly EndpointRecord[], areLocal: number): readonly CheckFinding[] {
  const found = [...pairs(endpoints)].filter(
    ({ pair }) => pair.filter((each) => !each.isRemote).length === areLocal,
  );
  return found.map(({ address, pair }) => ({
    name: formatIp(address),
    certainty: "certain",
    message:
      areLocal === 2
        ? `two local endpoints have the address ${formatIp(address)}`
        : WORDS.remoteShadowsLocal({ address: formatIp(address) }),
    evidence: pair.map((each) => shows(each.place, describe(each))),
    breaks: `packets to ${formatIp(address)}`,
    ...(areLocal === 1 ? { twin: { change: "remote-endpoint", address } as const } : aboutPod([address])),
  }));
}

const SHADOWED = check("remote-endpoints-shadow-no-pod", function* (node, cluster) {
  const found = doubled(node.endpoints, 1);
  yield* found;
  if (found.length > 0) return;
  const own = new Map(
    podsOn(node, cluster).flatMap((pod) => addressesOfPod(pod).map((address) => [address, pod])),
  );
  for (const each of node.endpoints.filter(({ isRemote }) => isRemote))
    for (const address of each.addresses) {
      const pod = own.get(address);
      if (pod === undefined) continue;
      yield {
        name: formatIp(address),
        certainty: "certain",
        message: WORDS.remoteShadowsPod({ address: formatIp(address), pod: nameOfPod(pod) }),
        evidence: [
          shows(each.place, describe(each)),
          shows(pod.place, `pod ${nameOfPod(pod)} runs on this node`),
        ],
        breaks: `all traffic of pod ${nameOfPod(pod)}`,
        ...aboutPod([address]),
      };
    }
});

const TWICE = check("local-addresses-are-single", ({ endpoints }) => doubled(endpoints, 2));

/** What an endpoint that is gone, or in no compartment, does to the twin. */
function withoutEndpoint([address]: readonly Ip[]): Pick<CheckFinding, "twin"> {
  return address === undefined ? {} : { twin: { change: "remove-endpoint", address } };
}

const POD_WITHOUT = check("pods-have-endpoints", function* (node, cluster) {
  const local = node.endpoints.filter(({ isRemote }) => !isRemote);
  // HNS does not know which address an endpoint got from DHCP: any of them may be the pod's.
  if (local.some(({ addresses }) => addresses.length === 0)) return;
  const known = new Set(local.flatMap((each) => each.addresses));
  const without = podsOn(node, cluster).filter((pod) => {
    const addresses = addressesOfPod(pod);
    return addresses.length > 0 && !addresses.some((address) => known.has(address));
  });
  for (const pod of without) {
    const address = addressesOfPod(pod).map(formatIp).join(", ");
    yield {
      name: nameOfPod(pod),
      certainty: "likely",
      message: `pod ${nameOfPod(pod)} has ${address}, and no endpoint of HNS does`,
      evidence: [
        shows(pod.place, `pod ${nameOfPod(pod)} runs with ${address}`),
        ...node.endpoints.slice(0, 1).map(({ place }) =>
          shows(
            place,
            WORDS.endpointsWithout({
              endpoints: plural(node.endpoints.length, "endpoint"),
              address,
            }),
          ),
        ),
      ],
      breaks: `all traffic of pod ${nameOfPod(pod)}`,
      ...withoutEndpoint(addressesOfPod(pod)),
    };
  }
});

/** Made for no namespace and never attached: what kube-proxy takes its source address from is such an endpoint. */
function isOfNoNamespace(each: Pick<HnsRecord, "document" | "v1">): boolean {
  return stateOf(each) === CREATED && textOf(each.document["HostComputeNamespace"]) === "";
}

const WITHOUT_POD = check("endpoints-have-pods", (node, cluster) => {
  if (node.node === undefined) return [];
  const known = new Set(cluster.pods.flatMap(addressesOfPod));
  const nat = new Set(networksOfType(node, "nat").map(({ id }) => id));
  const own = new Set(addressesOfNode(node.node));
  const sources = sourceAddresses(node);
  const left = node.endpoints.filter(
    ({ isRemote, addresses, name, network, ...each }) =>
      !isRemote &&
      addresses.length > 0 &&
      !isOfNoNamespace(each) &&
      !NO_POD.test(name) &&
      !nat.has(network) &&
      !addresses.some((address) => known.has(address) || own.has(address) || sources.has(formatIp(address))),
  );
  return left.map((each) => ({
    name: `${each.name} ${each.addresses.map(formatIp).join(", ")}`.trim(),
    certainty: "possible",
    message: `no pod has the address of the ${describe(each)}`,
    evidence: [shows(each.place, describe(each))],
    breaks: WORDS.breaksLeftEndpoint,
  }));
});

const NOT_ATTACHED = check("endpoints-are-attached", function* (node, cluster) {
  const running = new Map(
    podsOn(node, cluster).flatMap((pod) => addressesOfPod(pod).map((address) => [address, pod])),
  );
  // Whoever makes an endpoint for a pod names the namespace; the node's own ones have none.
  const loose = node.endpoints.filter(
    (each) =>
      !each.isRemote && stateOf(each) === CREATED && textOf(each.document["HostComputeNamespace"]) !== "",
  );
  for (const each of loose) {
    const pod = each.addresses.flatMap((address) => running.get(address) ?? []).at(0);
    yield {
      name: `${each.name} ${each.addresses.map(formatIp).join(", ")}`.trim(),
      certainty: pod === undefined ? "possible" : "certain",
      message: `the ${describe(each)} is attached to no compartment`,
      evidence: [
        shows(each.place, "State 1: created, not attached"),
        ...(pod === undefined ? [] : [shows(pod.place, `pod ${nameOfPod(pod)} runs with this address`)]),
      ],
      breaks:
        pod === undefined ? "the container that it was made for" : `all traffic of pod ${nameOfPod(pod)}`,
      ...(pod === undefined ? {} : withoutEndpoint(each.addresses)),
    };
  }
});

const DEGRADED_ENDPOINT = check("endpoints-are-sound", ({ endpoints }) =>
  endpoints
    .filter((each) => stateOf(each) === DEGRADED)
    .map((each) => ({
      name: each.id,
      certainty: "certain",
      message: `the ${describe(each)} is degraded`,
      evidence: [shows(each.place, "State 5: degraded")],
      breaks: `packets to and from ${each.addresses.map(formatIp).join(", ")}`,
      ...aboutPod(each.addresses),
    })),
);

const OUTSIDE = check("endpoints-are-in-their-subnets", function* ({ networks, endpoints }) {
  const byNetwork = new Map(networks.map((each) => [each.id.toLowerCase(), each]));
  for (const each of endpoints) {
    const network = byNetwork.get(each.network.toLowerCase());
    const prefixes =
      network === undefined ? [] : subnetsOf(network).flatMap((text) => parsePrefix(text) ?? []);
    const [outside] = each.addresses.filter(
      (address) =>
        prefixes.some((prefix) => typeof prefix.address === typeof address) &&
        !prefixes.some((prefix) => prefixContains(prefix, address)),
    );
    if (network === undefined || each.isRemote || outside === undefined) continue;
    yield {
      name: formatIp(outside),
      certainty: "likely",
      message: `the ${describe(each)} is in no subnet of network ${network.name}`,
      evidence: [
        shows(each.place, describe(each)),
        shows(network.place, `network ${network.name} has ${subnetsOf(network).join(", ")}`),
      ],
      breaks: `packets to ${formatIp(outside)} from other nodes`,
      ...aboutPod([outside]),
    };
  }
});

const NAMESPACES = check("namespaces-hold-endpoints", function* ({ namespaces, endpoints }) {
  const known = new Set(endpoints.map(({ id }) => id.toLowerCase()));
  for (const each of namespaces) {
    const ids = listOf(each.document["Resources"])
      .map(mappingOf)
      .filter((one) => textOf(one["Type"]) === "Endpoint")
      .map((one) => textOf(mappingOf(one["Data"])["Id"]).toLowerCase());
    const [gone] = ids.filter((id) => id !== "" && !known.has(id));
    if (gone === undefined) continue;
    yield {
      name: each.id,
      certainty: "likely",
      message: `namespace ${each.id} refers to endpoint ${gone}, which HNS does not list`,
      evidence: [
        shows(each.place, `namespace ${each.id} holds endpoint ${gone}`),
        ...endpoints
          .slice(0, 1)
          .map(({ place }) => shows(place, `${plural(endpoints.length, "endpoint")}, and not this one`)),
      ],
      breaks: "all traffic of the pod in that namespace",
    };
  }
});

export const ENDPOINT_CHECKS: readonly NodeCheck[] = [
  SHADOWED,
  TWICE,
  POD_WITHOUT,
  WITHOUT_POD,
  NOT_ATTACHED,
  DEGRADED_ENDPOINT,
  OUTSIDE,
  NAMESPACES,
];
