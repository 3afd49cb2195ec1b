/** Books of addresses beside the pods of the node. */
import { type Ip, formatIp, formatPrefix, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { type NodeCheck, check, shows } from "../check.ts";
import { addressesOfPod, nameOfPod, podsOn } from "./endpoints.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

const LEASES_USED = check("leases-have-pods", function* ({ host: { leases }, endpoints }, { pods }) {
  const used = new Set<Ip>([
    ...pods.flatMap(addressesOfPod),
    ...endpoints.flatMap(({ addresses }) => addresses),
  ]);
  const left = leases.filter(({ address }) => !used.has(address));
  for (const { address, owner, place } of left)
    yield {
      name: formatIp(address),
      certainty: left.length > 1 ? "likely" : "possible",
      message: `IPAM holds ${formatIp(address)}, which no pod and no endpoint has`,
      evidence: [shows(place, `${formatIp(address)} is held for ${owner === "" ? "nobody" : owner}`)],
      breaks: WORDS.breaksLeases,
    };
});

const PODS_LEASED = check("pods-have-leases", function* (node, cluster) {
  const held = new Set(node.host.leases.map(({ address }) => address));
  const [first] = node.host.leases;
  const own = podsOn(node, cluster);
  // Books in which no pod stands are those of another plugin.
  const isTheirs = own.some((pod) => addressesOfPod(pod).some((address) => held.has(address)));
  for (const pod of own) {
    const address = addressesOfPod(pod).find((each) => typeof each === "number");
    if (!isTheirs || first === undefined || address === undefined || held.has(address)) continue;
    yield {
      name: nameOfPod(pod),
      certainty: "likely",
      message: `pod ${nameOfPod(pod)} has ${formatIp(address)}, which IPAM takes for free`,
      evidence: [
        shows(pod.place, `pod ${nameOfPod(pod)} runs with ${formatIp(address)}`),
        shows(first.place, `${node.host.leases.length} addresses are held, and not this one`),
      ],
      breaks: `both pods, when the next one gets ${formatIp(address)}`,
    };
  }
});

const RANGE_FREE = check("range-has-free-addresses", function* ({ node, host: { leases } }) {
  const range = parsePrefix(node?.object.spec?.podCIDR ?? "");
  const [first] = leases;
  if (node === undefined || range === undefined || typeof range.address !== "number" || first === undefined)
    return;
  const held = new Set(leases.map(({ address }) => address).filter((each) => prefixContains(range, each)));
  // Network, gateway and broadcast are nobody's.
  const free = 2 ** (32 - range.length) - 3 - held.size;
  if (free > 0) return;
  yield {
    certainty: "likely",
    message: `all addresses of ${formatPrefix(range)} are held`,
    evidence: [
      shows(first.place, `${held.size} addresses are held`),
      shows(node.place, `Node ${node.object.metadata.name} has the range ${formatPrefix(range)}`),
    ],
    breaks: "pods that are to start on this node",
  };
});

export const LEASE_CHECKS: readonly NodeCheck[] = [LEASES_USED, PODS_LEASED, RANGE_FREE];
