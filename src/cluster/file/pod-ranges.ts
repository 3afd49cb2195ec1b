/** The pod range of each node: taken from the file, or the next free block of the cluster's range. */
import {
  type Ipv4,
  type Prefix,
  formatIp,
  formatPrefix,
  lastIp,
  prefixCovers,
  prefixesOverlap,
} from "#core/net/ip.ts";
import type { ClusterFile, NetworkShape } from "./cluster-file.ts";
import type { NodeFields, RawCluster } from "./description.ts";
import type { LocatedFields } from "./mapping.ts";
import type { Located, ValuePlace, Reading } from "./reading.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

type RawNode = Located<LocatedFields<NodeFields>>;

/** The first and the last address as plain numbers: cluster files are IPv4. */
function boundsOf(prefix: Prefix): readonly [first: number, last: number] {
  return [Number(prefix.address), Number(lastIp(prefix))];
}

/** Hands out blocks of `length` bits in order, leaving out what overlaps a taken range. */
class BlockSource {
  private next: number;
  private readonly end: number;
  private readonly length: number;
  /** Taken ranges in ascending order. */
  private readonly taken: readonly (readonly [first: number, last: number])[];
  private takenIndex = 0;

  constructor(range: Prefix, length: number, taken: readonly Prefix[]) {
    [this.next, this.end] = boundsOf(range);
    this.length = length;
    this.taken = taken.map(boundsOf).sort((a, b) => a[0] - b[0]);
  }

  take(): Prefix | undefined {
    const size = 2 ** (32 - this.length);
    for (;;) {
      if (this.next + size - 1 > this.end) return undefined;
      const first = this.next;
      this.next += size;
      while ((this.taken[this.takenIndex]?.[1] ?? Number.POSITIVE_INFINITY) < first) this.takenIndex++;
      const other = this.taken[this.takenIndex];
      if (other === undefined || other[0] >= first + size)
        return { address: first as Ipv4, length: this.length };
    }
  }
}

/**
 * The pod range of each node in shape `own-subnet`, in the order of the nodes; undefined after a problem.
 * Kubernetes cuts blocks from the start of the cluster's range in the same way (`--node-cidr-mask-size`).
 */
export function assignPodRanges(
  nodes: readonly RawNode[],
  clusterCIDR: Located<Prefix>,
  maskSize: Located<number>,
  reading: Reading,
): readonly Prefix[] | undefined {
  const given = nodes.flatMap((node) => node.value.podCIDR.value ?? []);
  if (given.length === nodes.length) return given;
  if (maskSize.value < clusterCIDR.value.length) {
    const message = `no block of length ${maskSize.value} fits into ${formatPrefix(clusterCIDR.value)}`;
    const advice = WORDS.adviceNodeCIDRMaskSize({ valueLength: clusterCIDR.value.length });
    reading.reportValue(maskSize.place, message, advice);
    return undefined;
  }
  const blocks = new BlockSource(clusterCIDR.value, maskSize.value, given);
  const ranges: Prefix[] = [];
  for (const node of nodes) {
    const range = node.value.podCIDR.value ?? blocks.take();
    if (range === undefined) {
      const message = WORDS.clusterCIDRExhausted({
        length: maskSize.value,
        clusterCIDR: formatPrefix(clusterCIDR.value),
      });
      const advice = "Make network.clusterCIDR larger, network.nodeCIDRMaskSize longer, or give podCIDR.";
      reading.reportValue(node.value.podCIDR.place, message, advice);
      return undefined;
    }
    ranges.push(range);
  }
  return ranges;
}

/** The first `count` blocks of a range; none, with a problem, when it holds fewer. */
export function cutBlocks(
  range: Located<Prefix>,
  length: Located<number>,
  count: number,
  reading: Reading,
): readonly Prefix[] {
  const blocks = new BlockSource(range.value, length.value, []);
  const cut = Array.from({ length: count }, () => blocks.take()).filter((block) => block !== undefined);
  if (length.value >= range.value.length && cut.length === count) return cut;
  const message = `${formatPrefix(range.value)} has no blocks of length ${length.value} for ${count} nodes`;
  reading.reportValue(
    range.place,
    message,
    "Make the range larger, nodeCIDRMaskSize longer, or name fewer nodes.",
  );
  return [];
}

/** What nodes share whose pods have addresses of one subnet. */
export interface SharedSubnet {
  readonly shape: NetworkShape;
  readonly whole: Prefix;
  /** What a DHCP server gives to pods of all Windows nodes; undefined: there is none. */
  readonly leased: Prefix | undefined;
}

/** In shapes `node-subnet` and `pod-subnet` every node says which part of the subnet, or which addresses, are for its pods. */
export function requirePodRanges(
  nodes: readonly RawNode[],
  { shape, whole, leased }: SharedSubnet,
  reading: Reading,
): readonly Prefix[] | undefined {
  const ranges: Prefix[] = [];
  for (const { value: node } of nodes) {
    if (leased !== undefined && node.os.value === "windows") {
      ranges.push(leased);
      if (node.podCIDR.value === undefined) continue;
      const message = "pods of this node have addresses of a DHCP server (network.ipam)";
      reading.reportValue(node.podCIDR.place, message, "Remove the field.");
    } else if (node.podCIDR.value !== undefined) ranges.push(node.podCIDR.value);
    else if (node.podAddresses.value !== undefined) ranges.push(whole);
    else {
      const message = `in shape ${shape} the field is needed`;
      const subnet = shape === "node-subnet" ? "the underlay's subnet" : "network.clusterCIDR";
      const advice = `Write the part of ${subnet} that is for this node's pods.`;
      reading.report("cluster-file-missing-field", node.podCIDR.place, message, advice);
    }
  }
  return ranges.length === nodes.length ? ranges : undefined;
}

/** A range with the place that named it and the words for it. */
export interface NamedRange {
  readonly prefix: Prefix;
  readonly place: ValuePlace;
  readonly name: string;
}

/** The range of the machines. */
export function underlayRange({ underlay: raw }: RawCluster, { underlay }: ClusterFile): NamedRange {
  const { place } = raw.value.subnet;
  return { prefix: underlay.subnet, place, name: "the underlay (underlay.subnet)" };
}

/** Reports ranges that overlap an earlier one. Sorted first, so that thousands of nodes cost little. */
export function reportOverlaps(ranges: readonly NamedRange[], reading: Reading): void {
  const sorted = [...ranges].sort(
    (a, b) => Number(a.prefix.address) - Number(b.prefix.address) || a.prefix.length - b.prefix.length,
  );
  let widest: NamedRange | undefined;
  for (const range of sorted) {
    if (widest !== undefined && prefixesOverlap(widest.prefix, range.prefix)) {
      const [first, second] = widest.place.offset <= range.place.offset ? [widest, range] : [range, widest];
      const message = `${formatPrefix(second.prefix)} overlaps ${first.name}, ${formatPrefix(first.prefix)}`;
      const advice = WORDS.adviceDisjointRange({ ip: formatIp(lastIp(first.prefix)) });
      reading.report("cluster-file-overlapping-ranges", second.place, message, advice);
    }
    if (widest === undefined || lastIp(range.prefix) > lastIp(widest.prefix)) widest = range;
  }
}

/** The shortest range that leaves room for the gateway, the bridge endpoint and a pod. */
const POD_RANGE_LENGTH_MAX = 29;

/** Checks that each range is usable and lies where it must. */
export function checkPodRanges(
  ranges: readonly NamedRange[],
  outer: { readonly prefix: Prefix; readonly name: string },
  reading: Reading,
): void {
  for (const { prefix, place } of ranges) {
    if (prefix.length > POD_RANGE_LENGTH_MAX) {
      const message = `${formatPrefix(prefix)} is too small for pods`;
      reading.reportValue(place, message, `Write a range of length ${POD_RANGE_LENGTH_MAX} or less.`);
    }
    if (!prefixCovers(outer.prefix, prefix)) {
      const message = `${formatPrefix(prefix)} is not in ${outer.name}, ${formatPrefix(outer.prefix)}`;
      reading.reportValue(place, message, `Choose a part of ${formatPrefix(outer.prefix)}.`);
    }
  }
  reportOverlaps(ranges, reading);
}
