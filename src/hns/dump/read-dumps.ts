/** Files of one node as objects that a service can be made of. */
import { addToList } from "#core/base/keyed-lists.ts";
import { decodeSource } from "#core/base/source-text.ts";
import type { DumpItem } from "#contracts/hcn/dumps.ts";
import { dumpItems } from "./dump-items.ts";
import type { DumpProblem, DumpedObject } from "./dumped-object.ts";
import { readDump } from "./read-dump.ts";

export interface DumpFile {
  /** As people know it; problems name it. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** One of a folder's: it may hold something else, and is then passed by. */
  readonly isOptional?: boolean;
}

/** How files write numbers that a double does not hold, by field and double, in the order of the files. */
export type LongNumbers = ReadonlyMap<string, readonly string[]>;

/** The longest name of a field that is looked for before a number, with what stands between them. */
const NAME_SPAN = 80;

/** Calls `each` with every number of more digits than a double surely holds; what it returns stands in its place. */
function replaceLongNumbers(text: string, each: (key: string, digits: string) => string): string {
  return text.replace(/-?\d{16,}/gu, (digits: string, offset: number) => {
    const before = text.slice(Math.max(0, offset - NAME_SPAN), offset).trimEnd();
    const named = /[:=]$/u.test(before) ? before.slice(0, -1).trimEnd() : "";
    const name = (named.endsWith('"') ? named.slice(0, -1) : named).split(/\W/u).at(-1) ?? "";
    return Number.isSafeInteger(Number(digits)) ? digits : each(`${name}=${Number(digits)}`, digits);
  });
}

/**
 * Numbers of a text that was printed of a dump, such as file times, as the dump writes them. Where different numbers of the
 * same field are one double, they are told apart by their order, and only where all of them are printed.
 */
export function withLongNumbers(text: string, numbers: LongNumbers): string {
  if (numbers.size === 0) return text;
  const counts = new Map<string, number>();
  replaceLongNumbers(text, (key, digits) => {
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return digits;
  });
  const used = new Map<string, number>();
  return replaceLongNumbers(text, (key, digits) => {
    const given = numbers.get(key) ?? [];
    const at = used.get(key) ?? 0;
    used.set(key, at + 1);
    const isOne = given.every((each) => each === given[0]);
    // A dump holds each object once in either form.
    const times = (counts.get(key) ?? 0) / given.length;
    return (isOne ? given[0] : Number.isInteger(times) ? given[Math.floor(at / times)] : undefined) ?? digits;
  });
}

export interface NodeDump {
  /** Each once, in the order in which a service takes them: `HnsService.restore`. */
  readonly objects: readonly DumpItem[];
  /** What could not be read. */
  readonly problems: readonly DumpProblem[];
  /** What was read and is less than the node's service held. */
  readonly notes: readonly DumpProblem[];
  /** Names of optional files that hold no object. */
  readonly passedBy: readonly string[];
  readonly longNumbers: LongNumbers;
}

function noText(file: string): DumpProblem {
  return {
    code: "hns-dump-unreadable",
    message: "this file is not text",
    advice: "A dump is text: UTF-8, or UTF-16 as PowerShell writes it.",
    where: { file, line: 0, column: 0, field: "" },
  };
}

/**
 * Reads dumps of one node, whoever wrote them (docs/reference/hns-dumps.md).
 *
 * ```ts
 * const { objects } = readDumps([{ name: "hnsdiag.txt", bytes: readFileSync("hnsdiag.txt") }]);
 * createHns().service.restore(objects, { keepsUnknownFields: true });
 * ```
 */
export function readDumps(files: Iterable<DumpFile>): NodeDump {
  const objects: DumpedObject[] = [];
  const problems: DumpProblem[] = [];
  const notes: DumpProblem[] = [];
  const passedBy: string[] = [];
  const longNumbers = new Map<string, string[]>();
  for (const { name, bytes, isOptional } of files) {
    const source = decodeSource(name, bytes);
    const read = source && readDump(source);
    if (isOptional === true && (read === undefined || read.objects.length === 0)) {
      passedBy.push(name);
      continue;
    }
    if (read === undefined) {
      problems.push(noText(name));
      continue;
    }
    replaceLongNumbers(source?.text ?? "", (key, digits) => {
      addToList(longNumbers, key, digits);
      return digits;
    });
    // One by one: there may be more of them than a call takes arguments.
    for (const each of read.objects) objects.push(each);
    for (const each of read.problems) problems.push(each);
    for (const each of read.notes) notes.push(each);
  }
  return { objects: dumpItems(objects), problems, notes, passedBy, longNumbers };
}
