/** What every device keeps, whatever carries its frames: one suite for all of them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readU16 } from "#core/base/bytes.ts";
import type { Mac } from "#core/net/mac.ts";
import { buildEthernetFrame } from "#core/wire/build-frame.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";

/** Two devices, each of which gets what the other sends. */
export interface DevicePair {
  readonly left: Device;
  readonly right: Device;
  /** Lets frames arrive until `isDone`. */
  run(isDone: () => boolean): Promise<void>;
  /** Pulls the cable at `left`. */
  cut(): void;
  close(): Promise<void>;
}

/** IEEE 802: the first of the ethertypes for experiments. What else a kernel says on a new interface has another. */
const EXPERIMENT = 0x88b5;
const LEFT = 0x0200_0000_0001 as Mac;
const RIGHT = 0x0200_0000_0002 as Mac;

function frame(from: Mac, to: Mac, first: number, bytes = 60): Packet {
  const payload = Uint8Array.from({ length: bytes - 14 }, (_, index) => (first + index) & 0xff);
  return buildEthernetFrame({
    link: { sourceMac: from, destinationMac: to },
    etherType: EXPERIMENT,
    payload,
  });
}

/** Keeps the packets of the experiment. */
class Inbox implements Receiver {
  readonly packets: Packet[] = [];

  receive(packet: Packet): void {
    if (readU16(packet.bytes, packet.start + 12) === EXPERIMENT) this.packets.push(packet);
  }

  get frames(): readonly (readonly number[])[] {
    return this.packets.map((packet) => [...packet.frame]);
  }
}

export function describeDevice(name: string, open: () => DevicePair | Promise<DevicePair>): void {
  describe(`the contract of a device: ${name}`, () => {
    let pair: DevicePair;
    const atLeft = new Inbox();
    const atRight = new Inbox();

    beforeAll(async () => {
      pair = await open();
      pair.left.attach(atLeft);
      pair.right.attach(atRight);
    });

    afterAll(() => pair.close());

    /** Sends copies, since the device owns what it is given, and returns what they were. */
    function send(device: Device, packets: readonly Packet[]): readonly (readonly number[])[] {
      return packets.map((packet) => {
        const bytes = [...packet.frame];
        expect(device.transmit(packet)).toBe(true);
        return bytes;
      });
    }

    it("carries frames both ways, whole and in order, and never inside of transmit", async () => {
      const rightward = send(
        pair.left,
        Array.from({ length: 50 }, (_, index) => frame(LEFT, RIGHT, index)),
      );
      const leftward = send(pair.right, [frame(RIGHT, LEFT, 200)]);
      expect([atLeft.packets.length, atRight.packets.length]).toEqual([0, 0]);
      await pair.run(() => atLeft.packets.length === 1 && atRight.packets.length === 50);
      expect(atRight.frames).toEqual(rightward);
      expect(atLeft.frames).toEqual(leftward);
    });

    it.each([60, 61, 1_513, 1_514])("carries a frame of %i bytes", async (bytes) => {
      const before = atRight.packets.length;
      const [sent] = send(pair.left, [frame(LEFT, RIGHT, 7, bytes)]);
      await pair.run(() => atRight.packets.length > before);
      expect(atRight.frames[before]).toEqual(sent);
    });

    it("a packet is its receiver's: what comes later does not change it, and there is room in front of it", async () => {
      const before = atRight.packets.length;
      const sent = send(pair.left, [frame(LEFT, RIGHT, 1)]);
      await pair.run(() => atRight.packets.length > before);
      const [kept] = atRight.packets.slice(before);
      send(pair.left, [frame(LEFT, RIGHT, 99)]);
      await pair.run(() => atRight.packets.length > before + 1);
      expect([...(kept?.frame ?? [])]).toEqual(sent[0]);
      expect(kept?.start).toBeGreaterThanOrEqual(50);
    });

    it("takes no frame any more when its cable is cut", async () => {
      const before = atRight.packets.length;
      pair.cut();
      expect(pair.left.transmit(frame(LEFT, RIGHT, 1))).toBe(false);
      pair.right.transmit(frame(RIGHT, LEFT, 1));
      await pair.run(() => true);
      expect(atRight.packets.length).toBe(before);
    });
  });
}
