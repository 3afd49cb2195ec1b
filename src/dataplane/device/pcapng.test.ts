import { describe, expect, it } from "vitest";
import { formatHex } from "#core/base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { LIMITS } from "#core/base/limits.ts";
import { readPcapng } from "#test/support/wire/pcapng-reader.ts";
import { PcapngWriter } from "./pcapng.ts";

describe("PcapngWriter", () => {
  it("writes section, interface and packet as the format lays them out", () => {
    const writer = new PcapngWriter({ epochMs: 1 });
    writer.addInterface({ name: "w1" });
    writer.writePacket({
      interface: 0,
      timestampMs: 0.5,
      frame: Uint8Array.of(0xaa, 0xbb, 0xcc),
      comment: "hi",
      direction: "out",
    });
    expect(formatHex(writer.bytes())).toBe(
      formatHex(
        annotatedHex(`
        0a0d0d0a 0000002c                        ; section header, 44 bytes
        1a2b3c4d 0001 0000 ffffffffffffffff      ; byte order, version 1.0, length not said
        0004 0007 4d756c6c696f6e 00 0000 0000    ; application, end of options
        0000002c
        00000001 00000028                        ; interface description, 40 bytes
        0001 0000 00000000                       ; Ethernet, no snap length
        0002 0002 7731 0000                      ; name
        0009 0001 09 000000 0000 0000            ; nanoseconds, end of options
        00000028
        00000006 00000038                        ; enhanced packet, 56 bytes
        00000000 00000000 0016e360               ; interface 0, 1 500 000 ns
        00000003 00000003 aabbcc 00              ; lengths, bytes, padding
        0001 0002 6869 0000                      ; comment
        0002 0004 00000002 0000 0000             ; outbound, end of options
        00000038
      `),
      ),
    );
  });

  it("gives back what was written", () => {
    const writer = new PcapngWriter({ epochMs: 1_700_000_000_000 });
    const uplink = writer.addInterface({ name: "w1/uplink", description: "Uplink von w1 → Fabric" });
    const pod = writer.addInterface({ name: "w1/web" });
    writer.writePacket({ interface: pod, timestampMs: 0, frame: new Uint8Array(0), direction: "in" });
    writer.writePacket({ interface: uplink, timestampMs: 1234.567891, frame: new Uint8Array(61).fill(7) });
    const capture = readPcapng(writer.bytes());
    expect(capture.interfaces).toEqual([
      { name: "w1/uplink", description: "Uplink von w1 → Fabric", linkType: 1, timestampResolution: 9 },
      { name: "w1/web", description: undefined, linkType: 1, timestampResolution: 9 },
    ]);
    expect(capture.packets).toEqual([
      {
        interface: 1,
        timestampNs: 1_700_000_000_000_000_000n,
        frame: new Uint8Array(0),
        comment: undefined,
        direction: "in",
      },
      {
        interface: 0,
        timestampNs: 1_700_000_001_234_567_891n,
        frame: new Uint8Array(61).fill(7),
        comment: undefined,
        direction: undefined,
      },
    ]);
  });

  it("copies the frame: what happens to it later does not change the capture", () => {
    const writer = new PcapngWriter();
    const frame = Uint8Array.of(1, 2, 3, 4);
    const number = writer.addInterface({ name: "a" });
    writer.writePacket({ interface: number, timestampMs: 0, frame });
    frame.fill(9);
    expect(readPcapng(writer.bytes()).packets[0]?.frame).toEqual(Uint8Array.of(1, 2, 3, 4));
  });

  it("stays whole while it grows past its first buffer", () => {
    const writer = new PcapngWriter();
    const number = writer.addInterface({ name: "a" });
    for (let i = 0; i < 500; i++) {
      writer.writePacket({ interface: number, timestampMs: i, frame: new Uint8Array(1500).fill(i) });
    }
    const { packets } = readPcapng(writer.bytes());
    expect(packets).toHaveLength(500);
    expect(packets.every(({ frame }, i) => frame.length === 1500 && frame[700] === (i & 0xff))).toBe(true);
  });

  it("leaves packets out when it is full, counts them and stays readable", () => {
    const writer = new PcapngWriter({ bytesMax: 400 });
    const number = writer.addInterface({ name: "a" });
    const written = [100, 100, 100, 20].map((length) =>
      writer.writePacket({ interface: number, timestampMs: 0, frame: new Uint8Array(length) }),
    );
    expect(written).toEqual([true, true, false, true]);
    expect(writer.omittedCount).toBe(1);
    expect(writer.bytes().length).toBeLessThanOrEqual(400);
    expect(readPcapng(writer.bytes()).packets.map(({ frame }) => frame.length)).toEqual([100, 100, 20]);
  });

  it("is taken in parts that are one capture together, and counts what did not fit in between", () => {
    const writer = new PcapngWriter({ bytesMax: 300 });
    const number = writer.addInterface({ name: "a" });
    const parts = [1, 2, 3].map((second) => {
      for (let i = 0; i < second; i++)
        writer.writePacket({
          interface: number,
          timestampMs: second,
          frame: new Uint8Array(150).fill(second),
        });
      return writer.take();
    });
    const { packets, lost } = readPcapng(Buffer.concat(parts));
    expect(packets.map(({ frame }) => frame[0])).toEqual([1, 2, 3]);
    // One of two, and two of three.
    expect(lost).toBe(3);
    expect(writer.take()).toEqual(new Uint8Array(0));
  });

  it("cuts long comments between characters", () => {
    const writer = new PcapngWriter();
    const number = writer.addInterface({ name: "a" });
    writer.writePacket({
      interface: number,
      timestampMs: 0,
      frame: new Uint8Array(1),
      comment: "→".repeat(5_000),
    });
    const comment = readPcapng(writer.bytes()).packets[0]?.comment;
    expect(comment).toBe("→".repeat(Math.floor(LIMITS.captureTextBytesMax / 3)));
  });

  it("refuses an interface that it does not know", () => {
    expect(() =>
      new PcapngWriter().writePacket({ interface: 0, timestampMs: 0, frame: new Uint8Array(1) }),
    ).toThrow(/interface/);
  });
});
