/**
 * Which fields a rule fixes, and what it lies under in an index.
 *
 * Rules that fix the same fields (say protocol, a source /24 and a destination port) have one **shape**. A packet is asked
 * once per shape: the words that the shape fixes, masked, hash to a bucket, and only the rules there are tried. A rule
 * with several prefixes lies in several buckets. So a group of ten thousand ACLs costs what its few shapes cost.
 */
import { wordAt } from "#core/base/bytes.ts";
import { type Prefix, prefixFamily } from "#core/net/ip.ts";
import type { Condition } from "./condition.ts";
import type { FlowKey } from "../flow-key.ts";
import { ipWords } from "../actions/transposition.ts";

/** A rule with more buckets than this is tried for each packet: its prefixes are a set, which is quick to ask. */
const PLACES_MAX = 256;

/**
 * The fixed fields as a number: prefix lengths plus one of destination and source (0: any), then a bit each for protocol,
 * destination port and source port.
 */
export type Shape = number;

/** Where a rule lies. */
export interface Place {
  readonly shape: Shape;
  readonly hash: number;
}

const PROTOCOL = 1 << 16;
const DESTINATION_PORT = 1 << 17;
const SOURCE_PORT = 1 << 18;

function mix(hash: number, word: number): number {
  return Math.imul(hash ^ (hash >>> 15) ^ word, 0x85eb_ca6b);
}

function finish(hash: number): number {
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** Mixes the first `length` bits of the address in `words` from `at` on. */
function mixPrefix(start: number, words: Int32Array, at: number, length: number): number {
  let hash = start;
  for (let bits = length, i = at; bits > 0; bits -= 32, i++) {
    const word = bits >= 32 ? wordAt(words, i) : wordAt(words, i) & (-1 << (32 - bits));
    hash = mix(hash, word);
  }
  return hash;
}

/** What rules of `shape` that may match `key` lie under. */
export function hashOfKey(shape: Shape, key: FlowKey): number {
  const destination = (shape & 0xff) - 1;
  const source = ((shape >>> 8) & 0xff) - 1;
  let hash = Math.imul(shape, 0x9e37_79b1);
  if ((shape & PROTOCOL) !== 0) hash = mix(hash, key.protocol);
  if ((shape & DESTINATION_PORT) !== 0) hash = mix(hash, key.destinationPort);
  if ((shape & SOURCE_PORT) !== 0) hash = mix(hash, key.sourcePort);
  if (destination >= 0) hash = mixPrefix(hash, key.words, key.family === 4 ? 3 : 6, destination);
  if (source >= 0) hash = mixPrefix(hash, key.words, 2, source);
  return finish(hash);
}

/** The prefixes of a family that a side is known by; undefined when sets or nothing say who it is about. */
function prefixesOf(
  prefixes: readonly Prefix[] | undefined,
  hasSets: boolean,
  family: 4 | 6,
): readonly Prefix[] | undefined {
  if (prefixes === undefined || hasSets) return undefined;
  const own = prefixes.filter((prefix) => prefixFamily(prefix) === family);
  return own.some(({ length }) => length === 0) || own.length === 0 ? undefined : own;
}

function onlyPort(ranges: Condition["destinationPorts"]): number | undefined {
  const [range, ...more] = ranges ?? [];
  return range === undefined || more.length > 0 || range.first !== range.last ? undefined : range.first;
}

/** Undefined stands for any address. */
type Side = readonly (Prefix | undefined)[];
const ANY: Side = [undefined];

/** The prefixes of both sides that make few places: both together, or the shorter list alone. */
function chooseSides(destination: Side, source: Side): readonly [Side, Side] | undefined {
  if (destination.length * source.length <= PLACES_MAX) return [destination, source];
  const isDestinationShorter = destination.length <= source.length;
  const shorter = isDestinationShorter ? destination : source;
  if (shorter === ANY || shorter.length > PLACES_MAX) return undefined;
  return isDestinationShorter ? [destination, ANY] : [ANY, source];
}

/** Everything that lies under a hash of its own; none: the rule has to be tried for each packet. */
export function placesOf(condition: Condition, family: 4 | 6): readonly Place[] {
  const [protocol, ...otherProtocols] = condition.protocols ?? [];
  const hasProtocol = protocol !== undefined && otherProtocols.length === 0;
  const destinationPort = onlyPort(condition.destinationPorts);
  const sourcePort = onlyPort(condition.sourcePorts);
  const { destination, destinationSets, source, sourceSets } = condition;
  const sides = chooseSides(
    prefixesOf(destination, destinationSets !== undefined, family) ?? ANY,
    prefixesOf(source, sourceSets !== undefined, family) ?? ANY,
  );
  const [destinations, sources] = sides ?? [ANY, ANY];
  const isAnyAddress = destinations === ANY && sources === ANY;
  if (isAnyAddress && destinationPort === undefined && sourcePort === undefined) return [];
  const fields =
    (hasProtocol ? PROTOCOL : 0) |
    (destinationPort === undefined ? 0 : DESTINATION_PORT) |
    (sourcePort === undefined ? 0 : SOURCE_PORT);
  return destinations.flatMap((to) =>
    sources.map((from): Place => {
      const shape =
        fields | (to === undefined ? 0 : to.length + 1) | (from === undefined ? 0 : (from.length + 1) << 8);
      let hash = Math.imul(shape, 0x9e37_79b1);
      if (hasProtocol) hash = mix(hash, protocol);
      if (destinationPort !== undefined) hash = mix(hash, destinationPort);
      if (sourcePort !== undefined) hash = mix(hash, sourcePort);
      if (to !== undefined) hash = mixPrefix(hash, Int32Array.from(ipWords(to.address)), 0, to.length);
      if (from !== undefined) hash = mixPrefix(hash, Int32Array.from(ipWords(from.address)), 0, from.length);
      return { shape, hash: finish(hash) };
    }),
  );
}
