/**
 * Cluster IPs and node ports: who has which, and which comes next (k8s.io/kubernetes,
 * `pkg/registry/core/service/ipallocator` and `portallocator`). The books are kept from the Services as they are stored,
 * so that nothing can be lost. A free one is chosen by chance from the upper band of the range, which leaves the lower
 * band to people who choose themselves (KEP-3070, KEP-3668); chance is a function of seed and name, not of the order.
 */
import type { Prng } from "#core/base/prng.ts";
import {
  type Ip,
  type IpFamily,
  type Prefix,
  addToIp,
  familyOf,
  formatIp,
  formatPrefix,
  parseIp,
  prefixContains,
  prefixFamily,
} from "#core/net/ip.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";
import { keyOf } from "../object-store.ts";

export type IpFamilyName = "IPv4" | "IPv6";

export function familyName(family: IpFamily): IpFamilyName {
  return family === 4 ? "IPv4" : "IPv6";
}

/** Numbers 0 to `size` - 1 with owners. */
class NumberAllocator {
  readonly size: number;
  /** Numbers below this one are given out only when the others are used up. */
  private readonly band: number;
  private readonly owners = new Map<number, string>();

  constructor(size: number, band: number) {
    this.size = size;
    this.band = band;
  }

  ownerOf(number: number): string | undefined {
    return this.owners.get(number);
  }

  take(number: number, owner: string): void {
    if (!this.owners.has(number)) this.owners.set(number, owner);
  }

  release(number: number, owner: string): void {
    if (this.owners.get(number) === owner) this.owners.delete(number);
  }

  get taken(): number {
    return this.owners.size;
  }

  /** A free number; undefined when there is none. */
  choose(prng: Prng, reserved: ReadonlySet<number>): number | undefined {
    return (
      this.chooseFrom(this.band, this.size, prng, reserved) ?? this.chooseFrom(0, this.band, prng, reserved)
    );
  }

  private chooseFrom(
    from: number,
    to: number,
    prng: Prng,
    reserved: ReadonlySet<number>,
  ): number | undefined {
    const count = to - from;
    if (count <= 0) return undefined;
    const start = prng.below(count);
    for (let step = 0; step < count; step++) {
      const number = from + ((start + step) % count);
      if (!this.owners.has(number) && !reserved.has(number)) return number;
    }
    return undefined;
  }
}

/** Ranges beyond this size are used from their beginning only. */
const RANGE_SIZE_MAX = 1_048_576;

/** The lower band of a range of addresses: a sixteenth, at least 16 and at most 256 (KEP-3070). */
function addressBand(size: number): number {
  const band = Math.min(Math.max(16, Math.floor(size / 16)), 256);
  return band >= size ? 0 : band;
}

/** The lower band of a range of ports: a 32nd, at least 16 and at most 128 (KEP-3668). */
function portBand(size: number): number {
  const band = Math.min(Math.max(16, Math.floor(size / 32)), 128);
  return band >= size ? 0 : band;
}

/** The cluster IPs of one range. */
export class AddressAllocator {
  readonly range: Prefix;
  readonly family: IpFamilyName;
  private readonly allocator: NumberAllocator;

  constructor(range: Prefix) {
    this.range = range;
    this.family = familyName(prefixFamily(range));
    const bits = (prefixFamily(range) === 4 ? 32 : 128) - range.length;
    const all = bits >= 20 ? RANGE_SIZE_MAX : 2 ** bits;
    // The first address names the network, and the last of IPv4 is for broadcasts.
    const size = Math.max(0, all - (prefixFamily(range) === 4 && bits < 20 ? 2 : 1));
    this.allocator = new NumberAllocator(size, addressBand(size));
  }

  private numberOf(ip: Ip): number | undefined {
    if (familyOf(ip) !== prefixFamily(this.range) || !prefixContains(this.range, ip)) return undefined;
    const offset = Number(BigInt(ip) - BigInt(this.range.address)) - 1;
    return offset >= 0 && offset < this.allocator.size ? offset : undefined;
  }

  /** Whether a Service may have the address at all. */
  contains(ip: Ip): boolean {
    return this.numberOf(ip) !== undefined;
  }

  ownerOf(ip: Ip): string | undefined {
    const number = this.numberOf(ip);
    return number === undefined ? undefined : this.allocator.ownerOf(number);
  }

  take(ip: Ip, owner: string): void {
    const number = this.numberOf(ip);
    if (number !== undefined) this.allocator.take(number, owner);
  }

  release(ip: Ip, owner: string): void {
    const number = this.numberOf(ip);
    if (number !== undefined) this.allocator.release(number, owner);
  }

  choose(prng: Prng, reserved: ReadonlySet<string>): string | undefined {
    const numbers = new Set<number>();
    for (const text of reserved) {
      const ip = parseIp(text);
      const number = ip === undefined ? undefined : this.numberOf(ip);
      if (number !== undefined) numbers.add(number);
    }
    const number = this.allocator.choose(prng, numbers);
    const ip = number === undefined ? undefined : addToIp(this.range.address, number + 1);
    return ip === undefined ? undefined : formatIp(ip);
  }

  get taken(): number {
    return this.allocator.taken;
  }

  toString(): string {
    return formatPrefix(this.range);
  }
}

/** The node ports. A port of TCP and the same of UDP are different ports to a node, but one to the API server. */
export class PortAllocator {
  readonly first: number;
  readonly last: number;
  private readonly allocator: NumberAllocator;
  /** How often an owner has a port: once per protocol. */
  private readonly uses = new Map<string, number>();

  constructor(first: number, last: number) {
    this.first = first;
    this.last = last;
    this.allocator = new NumberAllocator(last - first + 1, portBand(last - first + 1));
  }

  contains(port: number): boolean {
    return port >= this.first && port <= this.last;
  }

  ownerOf(port: number): string | undefined {
    return this.allocator.ownerOf(port - this.first);
  }

  take(port: number, owner: string): void {
    if (!this.contains(port)) return;
    const key = `${port} ${owner}`;
    this.uses.set(key, (this.uses.get(key) ?? 0) + 1);
    this.allocator.take(port - this.first, owner);
  }

  release(port: number, owner: string): void {
    const key = `${port} ${owner}`;
    const uses = (this.uses.get(key) ?? 0) - 1;
    if (uses > 0) this.uses.set(key, uses);
    else {
      this.uses.delete(key);
      this.allocator.release(port - this.first, owner);
    }
  }

  choose(prng: Prng, reserved: ReadonlySet<number>): number | undefined {
    const numbers = new Set([...reserved].map((port) => port - this.first));
    const number = this.allocator.choose(prng, numbers);
    return number === undefined ? undefined : this.first + number;
  }

  get taken(): number {
    return this.allocator.taken;
  }
}

/** The addresses of a Service that are of the cluster's service range. */
export function clusterAddresses({ spec }: Service): readonly Ip[] {
  const texts = spec?.clusterIPs ?? (spec?.clusterIP === undefined ? [] : [spec.clusterIP]);
  return texts.map((text) => parseIp(text)).filter((ip) => ip !== undefined);
}

/** The node ports of a Service, the one for health checks among them. */
export function nodePortsOf({ spec }: Service): readonly number[] {
  const ports = (spec?.ports ?? []).map(({ nodePort }) => nodePort ?? 0);
  return [...ports, spec?.healthCheckNodePort ?? 0].filter((port) => port !== 0);
}

/** All books of a cluster's Services. */
export class ServiceAllocators {
  readonly addresses: readonly AddressAllocator[];
  readonly ports: PortAllocator;

  constructor(ranges: readonly Prefix[], first: number, last: number) {
    this.addresses = ranges.map((range) => new AddressAllocator(range));
    this.ports = new PortAllocator(first, last);
  }

  /** The book of a family. */
  allocatorOf(family: string): AddressAllocator | undefined {
    return this.addresses.find((allocator) => allocator.family === family);
  }

  /** Called for each change of a Service. */
  changed(before: Service | undefined, after: Service | undefined): void {
    const service = after ?? before;
    if (service === undefined) return;
    const owner = keyOf(service.metadata.namespace, service.metadata.name);
    if (before !== undefined) {
      for (const ip of clusterAddresses(before))
        for (const allocator of this.addresses) allocator.release(ip, owner);
      for (const port of nodePortsOf(before)) this.ports.release(port, owner);
    }
    if (after !== undefined) {
      for (const ip of clusterAddresses(after))
        for (const allocator of this.addresses) allocator.take(ip, owner);
      for (const port of nodePortsOf(after)) this.ports.take(port, owner);
    }
  }
}
