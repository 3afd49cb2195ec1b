/** What kind of program a file is, by its header, before Wine is asked to run it. */
import { closeSync, openSync, readSync } from "node:fs";
import { type Failure, describeSystemError } from "../failure.ts";
import { usage } from "../options.ts";

/** Of the PE format: where the header's place stands, and how long what is read of it is. */
const HEADER_PLACE = 0x3c;
const DOS_HEADER_BYTES = 0x40;
const SIGNATURE_BYTES = 4;
const MACHINE_BYTES = 2;

const X64 = 0x8664;
const MACHINES: Readonly<Record<number, string>> = {
  0x014c: "32-bit x86",
  0x01c4: "32-bit ARM",
  0xaa64: "64-bit ARM",
};

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, position));
}

/** The number of the machine that a program is for; undefined when the file is no Windows program. */
export function machineOf(path: string): number | undefined {
  const file = openSync(path, "r");
  try {
    const start = readAt(file, 0, DOS_HEADER_BYTES);
    if (start.length < DOS_HEADER_BYTES || start.toString("latin1", 0, 2) !== "MZ") return undefined;
    const header = readAt(file, start.readUInt32LE(HEADER_PLACE), SIGNATURE_BYTES + MACHINE_BYTES);
    const isPe = header.length === SIGNATURE_BYTES + MACHINE_BYTES && header.readUInt32LE() === 0x4550;
    return isPe ? header.readUInt16LE(SIGNATURE_BYTES) : undefined;
  } finally {
    closeSync(file);
  }
}

/** Why a program cannot be run; undefined when it can. */
export function refuseProgram(path: string): Failure | undefined {
  // Wine hands them to its command interpreter, which is a program for x64.
  if (/\.(?:bat|cmd)$/i.test(path)) return undefined;
  const name = JSON.stringify(path);
  let machine: number | undefined;
  try {
    machine = machineOf(path);
  } catch (error) {
    return usage(`${name} cannot be read: ${describeSystemError(error)}`, "Name the path of an .exe file.");
  }
  if (machine === X64) return undefined;
  if (machine === undefined)
    return usage(`${name} is no Windows program`, "Name an .exe file that was built for Windows on x64.");
  return usage(
    `${name} is for ${MACHINES[machine] ?? `machine 0x${machine.toString(16)}`}; only programs for x64 run here`,
    "Mullion's DLLs are for x64. Build the program for it: GOARCH=amd64, or x86_64-w64-mingw32-gcc.",
  );
}
