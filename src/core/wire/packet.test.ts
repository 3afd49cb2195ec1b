import { describe, expect, it } from "vitest";
import { HEADROOM_BYTES, Packet } from "./packet.ts";

describe("Packet", () => {
  it("copies the frame it is made from, with room in front", () => {
    const frame = Uint8Array.of(1, 2, 3);
    const packet = Packet.fromFrame(frame, 1);
    frame.fill(9);
    expect(packet.frame).toEqual(Uint8Array.of(1, 2, 3));
    expect([packet.start, packet.length, packet.tag]).toEqual([HEADROOM_BYTES, 3, 1]);
  });

  it("has headroom for the outer headers of VXLAN over IPv6 with a tag", () => {
    expect(HEADROOM_BYTES).toBeGreaterThanOrEqual(14 + 40 + 8 + 8);
  });

  it("its frame is a window, its copy is not", () => {
    const packet = Packet.ofLength(2);
    const copy = packet.copy();
    packet.frame[0] = 7;
    expect(packet.bytes[packet.start]).toBe(7);
    expect(copy.frame[0]).toBe(0);
  });

  it.each([
    { headroom: 72, length: 50, moves: false },
    { headroom: 50, length: 50, moves: false },
    { headroom: 49, length: 50, moves: true },
    { headroom: 0, length: 4, moves: true },
  ])("prepends $length bytes with $headroom bytes of room", ({ headroom, length, moves }) => {
    const bytes = new Uint8Array(headroom + 3);
    bytes.set([1, 2, 3], headroom);
    const packet = new Packet(bytes, headroom, headroom + 3, 2);
    packet.prepend(length);
    expect(packet.length).toBe(length + 3);
    expect(packet.frame.subarray(length)).toEqual(Uint8Array.of(1, 2, 3));
    expect(packet.bytes !== bytes).toBe(moves);
    expect(packet.tag).toBe(2);
    if (moves) expect(packet.start).toBe(HEADROOM_BYTES);
  });

  it("refuses to lie outside its bytes", () => {
    expect(() => new Packet(new Uint8Array(4), 2, 5)).toThrow(/inside/);
    expect(() => new Packet(new Uint8Array(4), 3, 2)).toThrow(/inside/);
  });
});
