/**
 * The addresses of one network: which are reserved, which are taken, which comes next (hcn.md §4.2).
 * Inferred (hcn.md §11.1): reserved are the network address, the gateway and, for IPv4, the broadcast address; free
 * addresses are handed out in random order, because published outputs show scattered values.
 */
import type { Prng } from "../base/prng.ts";
import type { Guid } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import { SUBNET_FLAGS } from "../hcn/network.ts";
import { type Ip, addToIp, bitsOf, familyOf, formatIp } from "../net/ip.ts";
import { type Prefix, formatPrefix, lastIp, prefixContains, prefixFamily } from "../net/prefix.ts";
import type { IpSubnetRecord, SubnetRecord } from "./network-record.ts";

/** The largest number of addresses of one subnet that allocation looks at: an IPv6 subnet has more than anybody needs. */
const CANDIDATES_MAX = 65_536;

export class AddressPool {
  /** Addresses of local endpoints. */
  private readonly owners = new Map<Ip, Guid>();
  /** Addresses that the node itself has: nobody else may take them. */
  private readonly nodeAddresses: readonly Ip[];

  constructor(nodeAddresses: readonly Ip[]) {
    this.nodeAddresses = nodeAddresses;
  }

  /** The subnet and its block that hold `ip`; undefined when none does. */
  findSubnet(
    subnets: readonly SubnetRecord[],
    ip: Ip,
  ): { readonly subnet: SubnetRecord; readonly ipSubnet: IpSubnetRecord | undefined } | undefined {
    const subnet = subnets.find((candidate) => prefixContains(candidate.prefix, ip));
    if (subnet === undefined) return undefined;
    return { subnet, ipSubnet: subnet.ipSubnets.find((block) => prefixContains(block.prefix, ip)) };
  }

  /**
   * Checks that an endpoint may take `ip`, if nobody has it.
   * @throws HcnError HCN_E_ADDR_INVALID_OR_RESERVED.
   */
  checkReservation(subnet: SubnetRecord, ip: Ip): void {
    const reserved = this.reservationOf(subnet, ip);
    if (reserved !== undefined) {
      throw new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED", {
        detail: `${formatIp(ip)} is ${reserved} of ${formatPrefix(subnet.prefix)}; choose another address of the subnet`,
      });
    }
  }

  /** @throws HcnError ERROR_OBJECT_ALREADY_EXISTS when a local endpoint has `ip`. */
  checkOwner(ip: Ip): void {
    const owner = this.owners.get(ip);
    if (owner !== undefined) {
      throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", {
        detail: `${formatIp(ip)} belongs to endpoint ${owner}; delete that endpoint or choose another address`,
      });
    }
  }

  /**
   * A free address of `family`, from the first subnet that has one.
   * @throws HcnError HCN_E_ADDR_INVALID_OR_RESERVED when all are taken.
   */
  allocate(subnets: readonly SubnetRecord[], prng: Prng): Ip {
    for (const subnet of subnets) {
      const ip = this.allocateFrom(subnet, prng);
      if (ip !== undefined) return ip;
    }
    const names = subnets.map((subnet) => formatPrefix(subnet.prefix)).join(", ");
    // Inferred: no source shows what an exhausted subnet answers.
    throw new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED", {
      detail: `No address is left in ${names}; delete endpoints or add a subnet`,
    });
  }

  ownerOf(ip: Ip): Guid | undefined {
    return this.owners.get(ip);
  }

  /** Whoever is first has it: restored endpoints may claim one address twice. */
  take(ip: Ip, owner: Guid): void {
    if (!this.owners.has(ip)) this.owners.set(ip, owner);
  }

  release(ip: Ip, owner: Guid): void {
    if (this.owners.get(ip) === owner) this.owners.delete(ip);
  }

  private allocateFrom(subnet: SubnetRecord, prng: Prng): Ip | undefined {
    const bits = bitsOf(prefixFamily(subnet.prefix)) - subnet.prefix.length;
    const count = bits > 16 ? CANDIDATES_MAX : 2 ** bits;
    const start = prng.below(count);
    for (let tried = 0; tried < count; tried++) {
      const ip = addToIp(subnet.prefix.address, (start + tried) % count);
      if (ip !== undefined && !this.owners.has(ip) && this.reservationOf(subnet, ip) === undefined) return ip;
    }
    return undefined;
  }

  /** Why nobody may have `ip`; undefined when somebody may. */
  private reservationOf(subnet: SubnetRecord, ip: Ip): string | undefined {
    const isGatewayFree = (subnet.flags & SUBNET_FLAGS.DoNotReserveGatewayAddress) !== 0;
    if (ip === subnet.gateway && !isGatewayFree) return "the gateway";
    const reserved = edgeOf(subnet.prefix, ip);
    if (reserved !== undefined) return reserved;
    return this.nodeAddresses.includes(ip) && !isGatewayFree
      ? "an address of the node in the range"
      : undefined;
  }
}

/** A subnet of one or two addresses has no network or broadcast address (RFC 3021). */
function edgeOf(prefix: Prefix, ip: Ip): string | undefined {
  const bits = bitsOf(familyOf(ip)) - prefix.length;
  if (bits < 2) return undefined;
  if (ip === prefix.address) return "the network address";
  return familyOf(ip) === 4 && ip === lastIp(prefix) ? "the broadcast address" : undefined;
}
