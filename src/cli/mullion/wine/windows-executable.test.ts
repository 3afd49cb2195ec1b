import { describe, expect, it } from "vitest";
import { describeUnfit } from "./windows-executable.ts";

/** The headers of an executable up to its machine type. */
function head(machine: number, at = 0x80): Buffer {
  const bytes = Buffer.alloc(at + 6);
  bytes.writeUInt16LE(0x5a4d, 0);
  bytes.writeUInt32LE(at, 0x3c);
  bytes.writeUInt32LE(0x4550, at);
  bytes.writeUInt16LE(machine, at + 4);
  return bytes;
}

describe("describeUnfit", () => {
  it("takes programs for x64", () => {
    expect(describeUnfit(head(0x8664))).toBeUndefined();
    expect(describeUnfit(head(0x8664, 0x40))).toBeUndefined();
  });

  it.each([
    [0x014c, "is a program for x86 (32 bits)"],
    [0xaa64, "is a program for ARM64"],
    [0x0200, "is a program for machines of type 0x200"],
  ])("machine 0x%s", (machine, text) => {
    expect(describeUnfit(head(machine))).toBe(text);
  });

  it("knows what is none", () => {
    const tooFar = head(0x8664);
    tooFar.writeUInt32LE(0xffff_fff0, 0x3c);
    const none = [
      Buffer.alloc(0),
      Buffer.from("#!/bin/sh\nexit 0\n".repeat(10)),
      head(0x8664).subarray(0, 0x85),
      tooFar,
    ];
    for (const bytes of none) expect(describeUnfit(bytes)).toBe("is not a Windows program");
  });
});
