import { describe, expect, it } from "vitest";
import { writeU16 } from "#core/base/bytes.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";
import { FlowKey, hashKey } from "./flow-key.ts";

/** dataplane.md §6.10 V6. */
const SEGMENT = annotatedHex(`
  00155daa0001 0e2a0af4010a 0800 45000034 12344000 8006a087 0af4010a cb00710a
  c03101bb 00000001 00000000 8010fd5c 672f0000 02040582 01030308 01010402`);

function keyOf(packet: Packet, direction: "out" | "in", tni = 0): FlowKey {
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  const tunnel = new TunnelHeaders();
  tunnel.locate(packet.bytes, headers);
  const key = new FlowKey();
  key.read(packet, headers, direction, tunnel, tni);
  return key;
}

function inTunnel(frame: Uint8Array): Packet {
  const packet = Packet.fromFrame(frame);
  encapsulateVxlan(packet, {
    link: { sourceMac: 0x0015_5d00_0012 as Mac, destinationMac: 0x0015_5d00_0011 as Mac },
    ip: {
      source: 0x0a00_000b as Ipv4,
      destination: 0x0a00_000c as Ipv4,
      ttl: 128,
      identification: 1,
      isDontFragment: true,
    },
    sourcePort: 50_000,
    vni: 4_096,
  });
  return packet;
}

describe("FlowKey.read", () => {
  it.each([
    ["a segment", keyOf(Packet.fromFrame(SEGMENT), "out"), 8],
    ["an incoming segment", keyOf(Packet.fromFrame(SEGMENT), "in"), 8],
    ["a segment of a virtual subnet", keyOf(Packet.fromFrame(SEGMENT), "in", 4_096), 9],
    ["a segment in a tunnel", keyOf(inTunnel(SEGMENT), "in"), 18],
  ])("%s: leaves the hash of the words it has read", (_, key, length) => {
    expect(key.length).toBe(length);
    expect(key.hash).toBe(hashKey(key.words, length));
  });

  it.each([
    ["a segment", keyOf(Packet.fromFrame(SEGMENT), "out")],
    ["a segment in a tunnel", keyOf(inTunnel(SEGMENT), "in", 4_096)],
  ])("%s: a copy is the same key, in what held another one before", (_, key) => {
    key.isSourceTranslated = true;
    key.isSyn = true;
    const copy = keyOf(inTunnel(SEGMENT), "out");
    copy.copyFrom(key);
    expect([...copy.keep()]).toEqual([...key.keep()]);
    expect(copy).toMatchObject({
      length: key.length,
      tupleLength: key.tupleLength,
      hash: key.hash,
      isSourceTranslated: true,
      isSyn: true,
    });
  });

  it("gives connections that differ in a port alone hashes that differ in their low bits", () => {
    const buckets = new Set<number>();
    for (let port = 0; port < 4_096; port++) {
      const frame = SEGMENT.slice();
      writeU16(frame, 34, 1_024 + port);
      buckets.add(keyOf(Packet.fromFrame(frame), "out").hash & 0xfff);
    }
    // 4 096 balls in 4 096 buckets leave about 1/e of them empty.
    expect(buckets.size).toBeGreaterThan(2_400);
  });
});
