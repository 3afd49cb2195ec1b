/** IPv6 addresses of the node's own range in Kubernetes (cni.md §5.9, `ipv6NodeIpam`). */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import {
  addToIp,
  familyOf,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  prefixContains,
  prefixOf,
} from "#core/net/ip.ts";
import type { AddressPool, Pools } from "./pools.ts";

/** What Kubernetes says of the node that the plugin runs on. */
export interface NodeFacts {
  /** `major` and `minor` as the API server has them; the minor may have a `+`. */
  readonly major: string;
  readonly minor: string;
  readonly podCIDRs: readonly string[];
}

/** A node has a /64: its first /120 is enough state. */
const POOL_LENGTH = 120;
/** The network's own address and the gateway stay free. */
const FIRST_OFFSET = 2;
/** Kubernetes must be newer. */
const OLD = { major: 1, minor: 16 } as const;

function requireDualStack({ major, minor }: NodeFacts): void {
  const digits = /\d+/.exec(minor)?.[0];
  const number = Number(major);
  if (digits === undefined || !Number.isInteger(number) || major === "") {
    throw new CniError(CNI_CODES.internal, "Error comparing Kubernetes API versions");
  }
  if (number > OLD.major || (number === OLD.major && Number(digits) > OLD.minor)) return;
  throw new CniError(CNI_CODES.internal, "Incompatible Kubernetes version for dual stack");
}

/** @throws CniError for a node without a range of IPv6, and for a Kubernetes that has none */
export function nodePools(facts: NodeFacts): Pools {
  requireDualStack(facts);
  const range = facts.podCIDRs
    .map(parseInterfaceAddress)
    .find((each) => each !== undefined && familyOf(each.ip) === 6);
  if (range === undefined) {
    const message = "[ipam] Failed to retrieve subnet, node does an IPv6 subnet allocated from Kubernetes";
    const details = `the node's spec.podCIDRs are [${facts.podCIDRs.join(", ")}]`;
    throw new CniError(CNI_CODES.internal, message, { details });
  }
  const network = prefixOf(range.ip, POOL_LENGTH);
  const pool: AddressPool = {
    id: formatPrefix(network),
    interfaceName: "",
    subnet: { ip: network.address, length: POOL_LENGTH },
    gateway: addToIp(network.address, 1) ?? network.address,
    isIpv6: true,
    priority: 0,
    references: 0,
    addresses: new Map(),
  };
  for (let offset = FIRST_OFFSET; ; offset++) {
    const ip = addToIp(network.address, offset);
    if (ip === undefined || !prefixContains(network, ip)) break;
    pool.addresses.set(formatIp(ip), { id: "", ip, isInUse: false, isStale: false });
  }
  return new Map([[pool.id, pool]]);
}
