/** The address that kube-proxy of an overlay network hides clients behind. */
import { textOf } from "#core/base/json.ts";
import { plural } from "#core/base/text-layout.ts";
import {
  type Ip,
  formatIp,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixFamily,
  familyOf,
} from "#core/net/ip.ts";
import { type CheckFinding, type NodeCheck, check, shows } from "../check.ts";
import {
  type NodeEvidence,
  addressesOfNode,
  managementAddressOf,
  subnetsOf,
  networksOfType,
} from "../evidence.ts";
import type { Place } from "../place.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** An address that kube-proxy hides clients behind, and where that stands. */
interface SourceAddress {
  readonly address: Ip;
  readonly place: Place;
  readonly says: string;
}

/**
 * Each address once, with the first load balancer that has it. Where back ends have addresses of nodes or of outside, kube-proxy
 * takes the node's own address instead.
 */
function sourcesOfLoadBalancers({ loadBalancers, networks, node }: NodeEvidence): readonly SourceAddress[] {
  const own = new Set([
    ...networks.map(managementAddressOf),
    ...(node === undefined ? [] : addressesOfNode(node)),
  ]);
  const found = new Map<Ip, SourceAddress>();
  for (const { id, document, place } of loadBalancers) {
    const address = parseIp(textOf(document["SourceVIP"]));
    if (address === undefined || address === 0 || own.has(address) || found.has(address)) continue;
    const says = `load balancer ${id} has the SourceVIP ${formatIp(address)}`;
    found.set(address, { address, place, says });
  }
  return [...found.values()];
}

/** Which of the sources is in no subnet of an overlay network of the node. */
function* outside(node: NodeEvidence, sources: readonly SourceAddress[]): Generator<CheckFinding> {
  const networks = networksOfType(node, "overlay");
  const prefixes = networks.flatMap(subnetsOf).flatMap((text) => parsePrefix(text) ?? []);
  const [network] = networks;
  for (const { address, place, says } of sources) {
    const known = prefixes.filter((prefix) => prefixFamily(prefix) === familyOf(address));
    if (network === undefined || known.length === 0) continue;
    if (known.some((prefix) => prefixContains(prefix, address))) continue;
    const text = formatIp(address);
    yield {
      name: text,
      certainty: "certain",
      message: WORDS.sourceOutside({ value: text }),
      evidence: [
        shows(place, says),
        shows(network.place, `overlay networks have ${networks.flatMap(subnetsOf).join(", ")}`),
      ],
      breaks: WORDS.breaksSources,
    };
  }
}

const SOURCE_SUBNET = check("source-addresses-are-in-their-subnets", (node) =>
  outside(node, sourcesOfLoadBalancers(node)),
);

const SOURCE_FILE = check("reserved-source-address-fits", (node) =>
  outside(
    node,
    node.host["source addresses"].map(({ address, place }) => ({
      address,
      place,
      says: `${formatIp(address)} is reserved`,
    })),
  ),
);

const SOURCE_ENDPOINT = check("source-addresses-have-endpoints", function* (node) {
  const local = new Set(node.endpoints.filter(({ isRemote }) => !isRemote).flatMap((each) => each.addresses));
  const [endpoint] = node.endpoints;
  if (networksOfType(node, "overlay").length === 0 || endpoint === undefined) return;
  for (const { address, place, says } of sourcesOfLoadBalancers(node)) {
    if (local.has(address)) continue;
    yield {
      name: formatIp(address),
      certainty: "likely",
      message: `load balancers send from ${formatIp(address)}, which no local endpoint has`,
      evidence: [
        shows(place, says),
        shows(
          endpoint.place,
          WORDS.endpointsWithout({
            endpoints: plural(node.endpoints.length, "endpoint"),
            address: formatIp(address),
          }),
        ),
      ],
      breaks: WORDS.breaksSources,
    };
  }
});

const SOURCE_NETWORK_ADDRESS = check("source-addresses-are-no-subnets", function* (node) {
  const first = new Map(
    networksOfType(node, "overlay")
      .flatMap((network) => subnetsOf(network).map((text) => ({ network, prefix: parsePrefix(text) })))
      .flatMap(({ network, prefix }) => (prefix === undefined ? [] : [[prefix.address, network] as const])),
  );
  for (const { address, place, says } of sourcesOfLoadBalancers(node)) {
    const network = first.get(address);
    if (network === undefined) continue;
    yield {
      name: formatIp(address),
      certainty: "certain",
      message: `load balancers send from ${formatIp(address)}, the subnet of network ${network.name} itself`,
      evidence: [
        shows(place, says),
        shows(network.place, `network ${network.name} has ${subnetsOf(network).join(", ")}`),
      ],
      breaks: WORDS.breaksSources,
    };
  }
});

const SOURCES_AGREE = check("source-addresses-agree", function* (node) {
  for (const family of [4, 6] as const) {
    const sources = sourcesOfLoadBalancers(node).filter(({ address }) => familyOf(address) === family);
    const [one, other] = sources;
    if (one === undefined || other === undefined) continue;
    yield {
      name: formatIp(other.address),
      certainty: "likely",
      message: `some load balancers send from ${formatIp(one.address)}, others from ${formatIp(other.address)}`,
      evidence: [one, other].map(({ place, says }) => shows(place, says)),
      breaks: WORDS.breaksSources,
    };
  }
});

export const SOURCE_CHECKS: readonly NodeCheck[] = [
  SOURCE_SUBNET,
  SOURCE_FILE,
  SOURCE_NETWORK_ADDRESS,
  SOURCES_AGREE,
  SOURCE_ENDPOINT,
];
