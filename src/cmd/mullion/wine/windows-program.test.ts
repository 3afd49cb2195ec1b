import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { machineOf, refuseProgram } from "./windows-program.ts";

const folder = mkdtempSync(join(tmpdir(), "mullion-program-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

/** The beginning of a program as linkers write it: MZ, the place of the header, PE, the machine. */
function program(machine: number, place = 0x80): Buffer {
  const bytes = Buffer.alloc(0x200);
  bytes.write("MZ", 0, "latin1");
  bytes.writeUInt32LE(place, 0x3c);
  if (place < bytes.length - 6) {
    bytes.write("PE\0\0", place, "latin1");
    bytes.writeUInt16LE(machine, place + 4);
  }
  return bytes;
}

describe("a program for Wine", () => {
  it("for x64 is run, and so is a batch file", () => {
    expect(machineOf(file("x64.exe", program(0x8664)))).toBe(0x8664);
    expect(refuseProgram(file("x64.exe", program(0x8664)))).toBeUndefined();
    expect(refuseProgram(file("run.CMD", "echo on"))).toBeUndefined();
  });

  it.each([
    ["prog32.exe", 0x014c, "32-bit x86"],
    ["arm.exe", 0xaa64, "64-bit ARM"],
    ["odd.exe", 0x0200, "machine 0x200"],
  ])("%s is refused in a sentence that says only x64 runs", (name, machine, what) => {
    const refusal = refuseProgram(file(name, program(machine)));
    expect(refusal?.message).toContain(`${name}" is for ${what}; only programs for x64 run here`);
  });

  it("a folder is none", () => {
    expect(refuseProgram(folder)?.message).toContain("cannot be read: it is a folder");
  });

  it.each<readonly [string, Uint8Array | string]>([
    ["empty.exe", ""],
    ["short.exe", "MZ"],
    ["script.sh", "#!/bin/sh\n"],
    ["linux", "\u007fELF".padEnd(100, "\0")],
    ["dos.exe", program(0x8664).fill(0, 0x80)],
    ["far.exe", program(0x8664, 0xffff_fff0)],
    ["cut.exe", program(0x8664).subarray(0, 0x84)],
  ])("%s is no Windows program", (name, bytes) => {
    expect(refuseProgram(file(name, bytes))?.message).toContain("is no Windows program");
  });
});
