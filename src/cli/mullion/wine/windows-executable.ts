/** What kind of file a Windows program is, by its headers (Microsoft's PE format). */

/** Machine types of the COFF header. */
const X64 = 0x8664;
const NAMES: Readonly<Record<number, string>> = {
  0x014c: "x86 (32 bits)",
  0x01c4: "ARM (32 bits)",
  0xaa64: "ARM64",
};

/** As many bytes of a file as have to be read to know it. */
export const EXECUTABLE_HEAD = 4096;

const MZ = 0x5a4d;
/** Where the DOS header says where the PE header begins. */
const PE_POINTER = 0x3c;
const PE = 0x0000_4550;
const MACHINE = 4;
const MACHINE_END = 6;

/**
 * Why this is not a program that can be run, as the end of a sentence that begins with its name; undefined when it is
 * one for x64. `head` is how the file begins.
 */
export function describeUnfit(head: Buffer): string | undefined {
  if (head.length < PE_POINTER + 4 || head.readUInt16LE(0) !== MZ) return "is not a Windows program";
  const at = head.readUInt32LE(PE_POINTER);
  if (at + MACHINE_END > head.length || head.readUInt32LE(at) !== PE) return "is not a Windows program";
  const machine = head.readUInt16LE(at + MACHINE);
  return machine === X64
    ? undefined
    : `is a program for ${NAMES[machine] ?? `machines of type 0x${machine.toString(16)}`}`;
}
