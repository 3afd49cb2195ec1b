/** Files of one node as objects that a service can be made of. */
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

export interface NodeDump {
  /** Each once, in the order in which a service takes them: `HnsService.restore`. */
  readonly objects: readonly DumpItem[];
  /** What could not be read. */
  readonly problems: readonly DumpProblem[];
  /** What was read and is less than the node's service held. */
  readonly notes: readonly DumpProblem[];
  /** Names of optional files that hold no object. */
  readonly passedBy: readonly string[];
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
    // One by one: there may be more of them than a call takes arguments.
    for (const each of read.objects) objects.push(each);
    for (const each of read.problems) problems.push(each);
    for (const each of read.notes) notes.push(each);
  }
  return { objects: dumpItems(objects), problems, notes, passedBy };
}
