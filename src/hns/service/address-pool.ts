/**
 * The addresses of one network: which are reserved, which are taken, which comes next (hcn.md §4.2).
 *
 * Inferred (hcn.md §11.1): reserved are the network address, the gateway and, for IPv4, the broadcast address of each
 * subnet. In an IP subnet that is a part of its subnet, the first address is reserved with the flag
 * ReserveNetworkAddress, and the last one with EnableBroadcast. Which free address comes next is an option: at random by
 * default, because published outputs show scattered values.
 */
import type { Prng } from "#core/base/prng.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { IP_SUBNET_FLAGS, SUBNET_FLAGS } from "#contracts/hcn/documents/network.ts";
import {
  type Ip,
  type Prefix,
  addToIp,
  bitsOf,
  equalPrefixes,
  familyOf,
  formatIp,
  formatPrefix,
  lastIp,
  prefixContains,
  prefixFamily,
} from "#core/net/ip.ts";
import type { IpSubnetRecord, SubnetRecord, MacRange } from "./records.ts";
import type { Mac } from "#core/net/mac.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** Which free address comes next. */
export type AllocationOrder = "random" | "lowest-first";

/** Bits of a block that allocation looks at: a block of IPv6 has more than anybody needs. */
const BITS_MAX = 32;

/** Where an address lies. */
export interface AddressPlace {
  readonly subnet: SubnetRecord;
  readonly ipSubnet: IpSubnetRecord;
}

/** All addresses of a block below this offset are taken or reserved. */
interface LowestFree {
  readonly prefix: Prefix;
  offset: number;
}

export class AddressPool {
  /** Addresses of local endpoints. */
  private readonly owners = new Map<Ip, Guid>();
  /** Addresses that the node itself has: none else may take them. */
  private readonly nodeAddresses: readonly Ip[];
  private readonly order: AllocationOrder;
  /** By block; kept where the order is `lowest-first`. */
  private readonly lowest = new Map<Guid, LowestFree>();

  constructor(nodeAddresses: readonly Ip[], order: AllocationOrder = "random") {
    this.nodeAddresses = nodeAddresses;
    this.order = order;
  }

  /**
   * The subnet and its block that hold `ip`; undefined when none does. Inferred (hcn.md §4.2): an endpoint binds to a
   * block, so an address of a subnet outside its blocks is free to none.
   */
  findPlace(subnets: readonly SubnetRecord[], ip: Ip): AddressPlace | undefined {
    const subnet = subnets.find((candidate) => prefixContains(candidate.prefix, ip));
    const ipSubnet = subnet?.ipSubnets.find((block) => prefixContains(block.prefix, ip));
    return subnet === undefined || ipSubnet === undefined ? undefined : { subnet, ipSubnet };
  }

  /**
   * Checks that an endpoint may take `ip`, if it is free.
   * @throws HcnError HCN_E_ADDR_INVALID_OR_RESERVED.
   */
  checkReservation(place: AddressPlace, ip: Ip): void {
    const reserved = this.reservationOf(place, ip);
    if (reserved !== undefined) {
      throw new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED", {
        detail: `${formatIp(ip)} is ${reserved}; choose another address of ${formatPrefix(place.subnet.prefix)}`,
      });
    }
  }

  /** @throws HcnError ERROR_OBJECT_ALREADY_EXISTS when a local endpoint has `ip`. */
  checkOwner(ip: Ip): void {
    const owner = this.owners.get(ip);
    if (owner !== undefined) {
      throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS", {
        detail: WORDS.addressTaken({ ip: formatIp(ip), owner }),
      });
    }
  }

  /**
   * A free address, from the first subnet that has one.
   * @throws HcnError HCN_E_ADDR_INVALID_OR_RESERVED when all are taken.
   */
  allocate(subnets: readonly SubnetRecord[], prng: Prng): Ip {
    for (const subnet of subnets) {
      for (const ipSubnet of subnet.ipSubnets) {
        const ip = this.allocateFrom({ subnet, ipSubnet }, prng);
        if (ip !== undefined) return ip;
      }
    }
    const names = subnets.map((subnet) => formatPrefix(subnet.prefix)).join(", ");
    // Inferred: no source shows what an exhausted subnet answers.
    throw new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED", {
      detail: WORDS.addressesExhausted({ names }),
    });
  }

  ownerOf(ip: Ip): Guid | undefined {
    return this.owners.get(ip);
  }

  /** The first one has it: restored endpoints may claim one address twice. */
  take(ip: Ip, owner: Guid): void {
    if (!this.owners.has(ip)) this.owners.set(ip, owner);
  }

  release(ip: Ip, owner: Guid): void {
    if (this.owners.get(ip) !== owner) return;
    this.owners.delete(ip);
    for (const hint of this.lowest.values())
      if (prefixContains(hint.prefix, ip))
        hint.offset = Math.min(hint.offset, Number(BigInt(ip) - BigInt(hint.prefix.address)));
  }

  private allocateFrom(place: AddressPlace, prng: Prng): Ip | undefined {
    const { ipSubnet, subnet } = place;
    const bits = Math.min(bitsOf(prefixFamily(ipSubnet.prefix)) - ipSubnet.prefix.length, BITS_MAX);
    const count = 2 ** bits;
    // So many may be in the way: gateway and edges of subnet and block, the node's addresses, other endpoints'.
    const obstacles = this.owners.size + this.nodeAddresses.length + 5;
    const hint = this.order === "random" ? undefined : this.lowestOf(ipSubnet);
    const start = hint === undefined ? prng.below(count) : hint.offset;
    const end = hint === undefined ? count : count - start;
    for (let tried = 0; tried < end && tried <= obstacles; tried++) {
      const offset = (start + tried) % count;
      const ip = addToIp(ipSubnet.prefix.address, offset);
      if (
        ip === undefined ||
        this.owners.has(ip) ||
        this.reservationOf({ subnet, ipSubnet }, ip) !== undefined
      )
        continue;
      if (hint !== undefined) hint.offset = offset;
      return ip;
    }
    return undefined;
  }

  private lowestOf({ id, prefix }: IpSubnetRecord): LowestFree {
    const known = this.lowest.get(id) ?? { prefix, offset: 0 };
    this.lowest.set(id, known);
    return known;
  }

  /** Why no endpoint may have `ip`; undefined when one may. */
  private reservationOf({ subnet, ipSubnet }: AddressPlace, ip: Ip): string | undefined {
    const isGatewayFree = (subnet.flags & SUBNET_FLAGS.DoNotReserveGatewayAddress) !== 0;
    if (ip === subnet.gateway && !isGatewayFree) return "the gateway";
    const edge = edgeOf(subnet.prefix, ip) ?? blockEdgeOf(subnet, ipSubnet, ip);
    if (edge !== undefined) return edge;
    return this.nodeAddresses.includes(ip) && !isGatewayFree
      ? "an address of the node in the range"
      : undefined;
  }
}

/** A subnet of one or two addresses has no network or broadcast address (RFC 3021). */
function edgeOf(prefix: Prefix, ip: Ip): string | undefined {
  const bits = bitsOf(familyOf(ip)) - prefix.length;
  if (bits < 2) return undefined;
  if (ip === prefix.address) return `the network address of ${formatPrefix(prefix)}`;
  return familyOf(ip) === 4 && ip === lastIp(prefix)
    ? `the broadcast address of ${formatPrefix(prefix)}`
    : undefined;
}

/** The edges of a block that is a part of its subnet, as far as its flags ask for it. */
function blockEdgeOf(subnet: SubnetRecord, { prefix, flags }: IpSubnetRecord, ip: Ip): string | undefined {
  if (equalPrefixes(prefix, subnet.prefix)) return undefined;
  const edge = edgeOf(prefix, ip);
  const flag =
    ip === prefix.address ? IP_SUBNET_FLAGS.ReserveNetworkAddress : IP_SUBNET_FLAGS.EnableBroadcast;
  return (flags & flag) === 0 ? undefined : edge;
}

// MAC addresses of endpoints (hcn.md §4.3): one range of 4096 per network, `00-15-5D-xx-x0-00` to `…-xF-FF`.

/** 00-15-5D-00-00-00: the prefix of Hyper-V. */
const HYPER_V_BASE = 0x00155d000000;
const RANGE_SIZE = 0x1000;
const RANGE_COUNT = 0x1000;
/** The first ones are those of machines: their adapters count up from 00-15-5D-00-00-11, and HNS does not see others'. */
const MACHINE_RANGES = 0x10;

/** A range that no network of the node has yet. */
export function chooseMacRange(taken: readonly MacRange[], prng: Prng): MacRange {
  const start = prng.below(RANGE_COUNT);
  for (let tried = 0; tried < RANGE_COUNT; tried++) {
    const index = (start + tried) % RANGE_COUNT;
    const first = HYPER_V_BASE + index * RANGE_SIZE;
    if (
      index < MACHINE_RANGES ||
      taken.some((range) => range.first < first + RANGE_SIZE && range.last >= first)
    )
      continue;
    return Object.freeze({ first: first as Mac, last: (first + RANGE_SIZE - 1) as Mac });
  }
  throw new HcnError("HCN_E_INVALID_NETWORK", { detail: "All MAC ranges of the node are in use" });
}

/** A MAC address that no machine has, for vNICs of the service itself. */
export function chooseMac(prng: Prng): Mac {
  for (;;) {
    const offset = prng.below(RANGE_COUNT * RANGE_SIZE);
    if (offset >= MACHINE_RANGES * RANGE_SIZE) return (HYPER_V_BASE + offset) as Mac;
  }
}

/** The MAC addresses of one network's local endpoints. */
export class MacPool {
  private readonly owners = new Map<Mac, Guid>();

  /**
   * A free MAC of the ranges.
   * @throws HcnError HCN_E_INVALID_ENDPOINT when all are taken.
   */
  allocate(ranges: readonly MacRange[], prng: Prng): Mac {
    for (const range of ranges) {
      const count = range.last - range.first + 1;
      const start = prng.below(Math.min(count, 0x1_0000_0000));
      for (let tried = 0; tried < count && tried <= this.owners.size; tried++) {
        const mac = (range.first + ((start + tried) % count)) as Mac;
        if (!this.owners.has(mac)) return mac;
      }
    }
    // Inferred: no source shows what an exhausted pool answers.
    throw new HcnError("HCN_E_INVALID_ENDPOINT", {
      detail: WORDS.macPoolExhausted,
    });
  }

  ownerOf(mac: Mac): Guid | undefined {
    return this.owners.get(mac);
  }

  /** The first one has it: restored endpoints may claim one address twice. */
  take(mac: Mac, owner: Guid): void {
    if (!this.owners.has(mac)) this.owners.set(mac, owner);
  }

  release(mac: Mac, owner: Guid): void {
    if (this.owners.get(mac) === owner) this.owners.delete(mac);
  }
}
