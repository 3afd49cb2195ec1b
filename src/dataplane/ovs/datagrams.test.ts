// Datagrams in fragments are whole in the tables and leave as they came (datapath/conntrack.c and actions.c of Open vSwitch).
import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { buildUdpFrame } from "#core/wire/build-frame.ts";
import { ETHERNET_HEADER_BYTES } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import type { Packet } from "#core/wire/packet.ts";
import { fragmentIpv4 } from "../host/ip/fragmentation.ts";
import { Datagrams, cutTo } from "./datagrams.ts";

const DATAGRAM = buildUdpFrame({
  link: { sourceMac: parseMac("0a:58:0a:80:00:03")!, destinationMac: parseMac("0a:58:0a:80:00:01")! },
  ip: {
    source: parseIp("10.128.0.3")!,
    destination: parseIp("10.128.1.3")!,
    ttl: 64,
    identification: 7,
    isDontFragment: false,
  },
  udp: { sourcePort: 5_000, destinationPort: 53 },
  payload: Uint8Array.from({ length: 3_000 }, (_, index) => index & 0xff),
});

function viewOf(packet: Packet): Ipv4View {
  return Ipv4View.parse(packet.bytes, packet.start + ETHERNET_HEADER_BYTES, packet.end) as Ipv4View;
}

function bytesOf(packet: Packet): string {
  return Buffer.from(packet.bytes.subarray(packet.start, packet.end)).toString("hex");
}

const FRAGMENTS = fragmentIpv4(DATAGRAM, viewOf(DATAGRAM), 1_400);

function take(datagrams: Datagrams, packet: Packet) {
  const headers = new Headers();
  headers.parse(packet);
  return datagrams.take(packet, headers);
}

describe("a datagram in fragments", () => {
  it.each([
    ["in their order", [0, 1, 2]],
    ["the last first", [2, 1, 0]],
    ["one of them twice", [0, 0, 1, 2]],
  ])("is whole when the last one is there: %s", (_title, order) => {
    const datagrams = new Datagrams(new VirtualClock());
    const arrivals = order.map((index) => take(datagrams, FRAGMENTS[index]!));
    expect(arrivals.slice(0, -1).map((each) => each?.kind)).toEqual(order.slice(1).map(() => "waits"));
    const whole = arrivals.at(-1);
    if (whole?.kind !== "whole") throw new Error("the datagram is not whole");
    expect(bytesOf(whole.packet)).toBe(bytesOf(DATAGRAM));
    // The longest was 1 396 bytes: 1 376 are a multiple of 8, and 20 of the header.
    expect(whole.longestBytes).toBe(1_396);
    expect(cutTo(whole.packet, whole.longestBytes).map(bytesOf)).toEqual(FRAGMENTS.map(bytesOf));
  });

  it("waits for nobody when the rest does not come in half a minute", () => {
    const clock = new VirtualClock();
    const datagrams = new Datagrams(clock);
    take(datagrams, FRAGMENTS[0]!);
    clock.runUntil(30_000);
    expect([1, 2, 0].map((index) => take(datagrams, FRAGMENTS[index]!)?.kind)).toEqual([
      "waits",
      "waits",
      "whole",
    ]);
  });

  it("fails when fragments overlap, and says so", () => {
    const datagrams = new Datagrams(new VirtualClock());
    const [first] = FRAGMENTS;
    const other = fragmentIpv4(DATAGRAM, viewOf(DATAGRAM), 1_000)[1]!;
    expect(take(datagrams, first!)).toEqual({ kind: "waits" });
    expect(take(datagrams, other)).toEqual({ kind: "failed", text: "fragments overlap" });
  });

  it("is not asked for where a frame is none", () => {
    expect(take(new Datagrams(new VirtualClock()), DATAGRAM)).toBeUndefined();
    expect(cutTo(DATAGRAM, undefined)).toEqual([DATAGRAM]);
    expect(cutTo(DATAGRAM, 3_028)).toEqual([DATAGRAM]);
  });
});
