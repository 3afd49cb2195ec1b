/**
 * Pod ranges of nodes, as kube-controller-manager's node IPAM gives them out: equal blocks of the cluster's range, the
 * next free one first. Ranges that nodes have already keep their blocks. Kept from the nodes as they are stored.
 */
import {
  type Ip,
  type Ipv4,
  type Ipv6,
  type Prefix,
  bitsOf,
  formatPrefix,
  lastIp,
  parseInterfaceAddress,
  prefixFamily,
  prefixOf,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";

/** Blocks of one cluster range. */
class BlockAllocator {
  readonly range: Prefix;
  private readonly blockLength: number;
  private readonly count: number;
  private readonly owners = new Map<number, string>();
  /** All blocks before this one are taken. */
  private next = 0;

  constructor(range: Prefix, blockLength: number) {
    this.range = range;
    this.blockLength = Math.max(blockLength, range.length);
    this.count = 2 ** Math.min(this.blockLength - range.length, 20);
  }

  private blockOf(ip: Ip): number {
    const shift = BigInt(bitsOf(prefixFamily(this.range)) - this.blockLength);
    return Number((BigInt(ip) - BigInt(this.range.address)) >> shift);
  }

  /** First and last block that a range touches. */
  private span(prefix: Prefix): readonly [number, number] | undefined {
    if (!prefixesOverlap(prefix, this.range)) return undefined;
    if (prefix.length <= this.range.length) return [0, this.count - 1];
    return [this.blockOf(prefix.address), Math.min(this.blockOf(lastIp(prefix)), this.count - 1)];
  }

  take(prefix: Prefix, owner: string): void {
    const span = this.span(prefix);
    if (span === undefined) return;
    for (let block = span[0]; block <= span[1]; block++)
      if (!this.owners.has(block)) this.owners.set(block, owner);
  }

  release(prefix: Prefix, owner: string): void {
    const span = this.span(prefix);
    if (span === undefined) return;
    for (let block = span[0]; block <= span[1]; block++) {
      if (this.owners.get(block) !== owner) continue;
      this.owners.delete(block);
      this.next = Math.min(this.next, block);
    }
  }

  /** The next free block; undefined when all are taken. */
  choose(): Prefix | undefined {
    while (this.next < this.count && this.owners.has(this.next)) this.next++;
    if (this.next >= this.count) return undefined;
    const family = prefixFamily(this.range);
    const shift = BigInt(bitsOf(family) - this.blockLength);
    const address = BigInt(this.range.address) + (BigInt(this.next) << shift);
    const ip = family === 4 ? (Number(address) as Ipv4) : (address as Ipv6);
    return { address: ip, length: this.blockLength };
  }

  get taken(): number {
    return this.owners.size;
  }
}

function rangesOf({ spec }: Node): readonly Prefix[] {
  const texts = spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]);
  const parsed = texts.map((text) => parseInterfaceAddress(text)).filter((range) => range !== undefined);
  return parsed.map(({ ip, length }) => prefixOf(ip, length));
}

export class NodeRanges {
  private readonly allocators: readonly BlockAllocator[];

  constructor(ranges: readonly Prefix[], ipv4Length: number, ipv6Length: number) {
    this.allocators = ranges.map(
      (range) => new BlockAllocator(range, prefixFamily(range) === 4 ? ipv4Length : ipv6Length),
    );
  }

  /** Whether there is anything to give out. */
  get isUsed(): boolean {
    return this.allocators.length > 0;
  }

  /** Called for each change of a node. */
  changed(before: Node | undefined, after: Node | undefined): void {
    const name = (after ?? before)?.metadata.name ?? "";
    if (before !== undefined)
      for (const range of rangesOf(before))
        for (const allocator of this.allocators) allocator.release(range, name);
    if (after !== undefined)
      for (const range of rangesOf(after))
        for (const allocator of this.allocators) allocator.take(range, name);
  }

  /** The ranges for a node that has none; undefined when one family has none left. */
  choose(): readonly string[] | undefined {
    const chosen: string[] = [];
    for (const allocator of this.allocators) {
      const block = allocator.choose();
      if (block === undefined) return undefined;
      chosen.push(formatPrefix(block));
    }
    return chosen;
  }

  get taken(): number {
    return this.allocators.reduce((sum, allocator) => sum + allocator.taken, 0);
  }
}
