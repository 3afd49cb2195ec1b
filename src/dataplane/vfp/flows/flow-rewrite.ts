/**
 * A transposition for one IPv4 flow, worked out once and kept as a few words of a flow's record, so that a packet of the
 * flow reads one piece of memory and no object.
 *
 * All packets of a unified flow have the same MACs, addresses and ports, so what a rewrite adds to their checksums is
 * the same, too: the sum of `~before + after` over all changed words (RFC 1624), folded to 16 bits. Applying is a few
 * stores and one addition per checksum.
 *
 * ```
 * 0       what changes (bits of `Changes`), hops, DSCP; 0: nothing
 * 1..3    the 12 bytes of both MACs
 * 4, 5    source, destination
 * 6       ports
 * 7       what the sums of the IP header and of the transport grow by, 16 bits each
 * ```
 */
import { wordAt } from "#core/base/bytes.ts";
import { foldSum } from "#core/wire/checksum.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { udpChecksumField } from "#core/wire/udp.ts";
import type { FlowKey } from "../flow-key.ts";
import { VXLAN_PROTOCOL } from "../flow-key.ts";
import { type Transposition, coveringChecksumOffset, writeDscp } from "../actions/transposition.ts";

/** Words of a rewrite. */
export const REWRITE_WORDS = 8;
/** More hops than this are no rewrite's; no pipeline has as many layers. */
const HOPS_MAX = 0xff;

const Changes = {
  link: 1,
  /** Addresses or hops. */
  network: 2,
  ports: 4,
  isUdp: 8,
  dscp: 16,
  /** Where the checksum lies in the transport header, 0 for none. */
  checksumShift: 5,
  /** Six bits each from here on. */
  dscpShift: 11,
  hopsShift: 17,
} as const;

/** What replacing one 32-bit word adds to a one's-complement sum. */
function delta(before: number, after: number): number {
  if (before === after) return 0;
  const removed = (~(before >>> 16) & 0xffff) + (~before & 0xffff);
  return removed + ((after >>> 16) & 0xffff) + (after & 0xffff);
}

/**
 * Writes the rewrite into `target` from `at` on. `key` is the one the packets arrive with; of those that lose outer headers,
 * the inner one.
 */
export function compileRewrite(
  key: FlowKey,
  transposition: Transposition,
  target: Int32Array,
  at: number,
): void {
  const { words } = key;
  const { dscp } = transposition;
  const hops = Math.min(transposition.ttlDecrements, HOPS_MAX);
  const source = wordAt(words, 2);
  const destination = wordAt(words, 3);
  const ports = wordAt(words, 1);
  const newSource = transposition.newSource?.[0] ?? source;
  const newDestination = transposition.newDestination?.[0] ?? destination;
  const newPorts = key.hasPorts ? portsAfter(ports, transposition) : ports;
  const addressDelta = delta(source, newSource) + delta(destination, newDestination);
  const transportDelta = foldSum(addressDelta + delta(ports, newPorts));
  const protocol = key.isTunnel && key.protocol === VXLAN_PROTOCOL ? IpProtocol.udp : key.protocol;
  const checksumOffset = transportDelta === 0 ? 0 : Math.max(0, coveringChecksumOffset(protocol));
  target[at] =
    writeLink(key, transposition, target, at + 1) |
    (addressDelta === 0 && hops === 0 ? 0 : Changes.network) |
    (newPorts === ports ? 0 : Changes.ports) |
    (checksumOffset > 0 && protocol === IpProtocol.udp ? Changes.isUdp : 0) |
    (dscp < 0 ? 0 : Changes.dscp | (dscp << Changes.dscpShift)) |
    (checksumOffset << Changes.checksumShift) |
    (hops << Changes.hopsShift);
  target[at + 4] = newSource;
  target[at + 5] = newDestination;
  target[at + 6] = newPorts;
  // Each hop takes one off the upper byte of its word, whatever is in it.
  const hopsDelta = hops === 0 ? 0 : 0xffff - (hops << 8);
  target[at + 7] = (foldSum(addressDelta + hopsDelta) << 16) | transportDelta;
}

function writeLink(key: FlowKey, transposition: Transposition, target: Int32Array, at: number): number {
  const { sourceMac, destinationMac } = transposition;
  const from = key.tupleLength + 1;
  const middle = wordAt(key.words, from + 1);
  const destinationLow = destinationMac === undefined ? middle & ~0xffff : (destinationMac % 0x1_0000) << 16;
  const sourceHigh = sourceMac === undefined ? middle & 0xffff : Math.floor(sourceMac / 0x1_0000_0000);
  target[at] =
    destinationMac === undefined ? wordAt(key.words, from) : Math.floor(destinationMac / 0x1_0000) | 0;
  target[at + 1] = destinationLow | sourceHigh;
  target[at + 2] = sourceMac === undefined ? wordAt(key.words, from + 2) : (sourceMac % 0x1_0000_0000) | 0;
  return sourceMac === undefined && destinationMac === undefined ? 0 : Changes.link;
}

/** How many hops the rewrite at `at` takes. */
export function rewriteHops(words: Int32Array, at: number): number {
  return wordAt(words, at) >>> Changes.hopsShift;
}

/** Rewrites a packet, which `headers` describes, as the words from `at` on say. */
export function applyRewrite(words: Int32Array, at: number, packet: Packet, headers: Headers): void {
  const changes = wordAt(words, at);
  const { view } = packet;
  const { ethernet, network, transport } = headers;
  if ((changes & Changes.link) !== 0) {
    view.setInt32(ethernet, wordAt(words, at + 1));
    view.setInt32(ethernet + 4, wordAt(words, at + 2));
    view.setInt32(ethernet + 8, wordAt(words, at + 3));
  }
  const deltas = wordAt(words, at + 7);
  if ((changes & Changes.network) !== 0) {
    view.setInt32(network + 12, wordAt(words, at + 4));
    view.setInt32(network + 16, wordAt(words, at + 5));
    view.setUint8(network + 8, view.getUint8(network + 8) - (changes >>> Changes.hopsShift));
    view.setUint16(network + 10, addToChecksum(view.getUint16(network + 10), deltas >>> 16));
  }
  if (transport >= 0) {
    if ((changes & Changes.ports) !== 0) view.setInt32(transport, wordAt(words, at + 6));
    const offset = (changes >>> Changes.checksumShift) & 0x3f;
    if (offset !== 0)
      addToTransport(view, transport + offset, deltas & 0xffff, (changes & Changes.isUdp) !== 0);
  }
  if ((changes & Changes.dscp) !== 0)
    writeDscp(packet.bytes, headers, (changes >>> Changes.dscpShift) & 0x3f);
}

function addToTransport(view: DataView, field: number, sum: number, isUdp: boolean): void {
  const before = view.getUint16(field);
  // RFC 768: zero means that the sender computed none; it stays so.
  if (isUdp && before === 0) return;
  const after = addToChecksum(before, sum);
  view.setUint16(field, isUdp ? udpChecksumField(after) : after);
}

/** The field after `sum` was added to what it covers. */
function addToChecksum(checksum: number, sum: number): number {
  const total = (~checksum & 0xffff) + sum;
  return ~((total & 0xffff) + (total >>> 16)) & 0xffff;
}

function portsAfter(ports: number, transposition: Transposition): number {
  const source = transposition.sourcePort >= 0 ? transposition.sourcePort : ports >>> 16;
  const destination = transposition.destinationPort >= 0 ? transposition.destinationPort : ports & 0xffff;
  return (source << 16) | destination;
}
