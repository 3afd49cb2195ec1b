/**
 * The files of a state folder, format 2, as bytes (docs/reference/durability.md): a snapshot of all objects, a log of the
 * commits since, and the position up to which commits were acknowledged.
 *
 * Snapshot and log are lines of `<CRC-32 in hex> <JSON>`. The sum of a line continues that of the line before it, so the
 * last one speaks for the whole file: no line can change, go, come or move unseen.
 */
import { crc32 } from "node:zlib";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import type { StoredChange, StoredKind, StoredObject } from "./stored-object.ts";

/** The number of this layout. 1 was a SQLite database with a row per object. */
export const FORMAT_VERSION = 2;
export const POSITION = "position";
/** The position has two places, written in turn: one of them is whole at any moment. */
export const SLOT_BYTES = 65_536;

const SUM_DIGITS = 8;
const HEX = 16;
const NEWLINE = 0x0a;
/** Before the JSON of a line: the sum and a blank. */
const PREFIX_BYTES = SUM_DIGITS + 1;

/** Who opened the folder last. */
export interface Opened {
  readonly incarnation: number;
  readonly node: string;
  readonly hnsVersion: string;
}

/** Something that is not as it was written. */
export interface Damage {
  readonly file: string;
  /** Of the first byte that is not to be trusted; undefined: the file is gone. */
  readonly offset: number | undefined;
  readonly text: string;
  /** Acknowledged changes that are lost by it; undefined: it cannot be said. */
  readonly missing: number | undefined;
}

/** What the files of a folder say. */
export interface FolderState {
  readonly generation: number;
  readonly objects: Map<string, StoredObject>;
  opened: Opened | undefined;
  /** Of the last commit; each commit adds one. */
  commit: number;
  /** Changes that were stored since the folder was made. */
  changes: number;
  /** The sum of the last line of the log. */
  sum: number;
  /** Where the next line of the log goes. */
  logEnd: number;
  /** The log ends with the acknowledged commit, and nothing had to be taken from elsewhere. */
  isSettled: boolean;
  snapshotBytes: number;
}

/** Of a folder that holds nothing yet. */
export function newState(): FolderState {
  return {
    generation: 0,
    objects: new Map(),
    opened: undefined,
    commit: 0,
    changes: 0,
    sum: 0,
    logEnd: 0,
    isSettled: false,
    snapshotBytes: 0,
  };
}

/** A commit, as a line of the log. */
export interface LogLine {
  readonly bytes: Buffer;
  readonly sum: number;
}

/** Up to where commits were acknowledged. */
export interface Position {
  readonly generation: number;
  readonly commit: number;
  readonly changes: number;
  readonly sum: number;
  /** Where the line of this commit begins in the log. */
  readonly offset: number;
}

interface Slot extends Position {
  /** The line of the commit itself; empty for one that is too long. */
  readonly tail: Uint8Array;
}

export function snapshotName(generation: number): string {
  return `objects-${generation}.snapshot`;
}

export function logName(generation: number): string {
  return `changes-${generation}.log`;
}

/** The generations whose snapshot or log is among these files. */
export function generationsAmong(names: readonly string[]): readonly number[] {
  const found = names.flatMap((name) => {
    const digits = /^(?:objects-(\d+)\.snapshot|changes-(\d+)\.log)$/.exec(name);
    return digits === null ? [] : [Number(digits[1] ?? digits[2])];
  });
  return [...new Set(found)].toSorted((a, b) => a - b);
}

export function keyOf(kind: StoredKind, id: string): string {
  return `${kind}/${id}`;
}

function hexOf(sum: number): string {
  return sum.toString(HEX).padStart(SUM_DIGITS, "0");
}

function formatLine(value: unknown, before: number): LogLine {
  const json = JSON.stringify(value);
  const sum = crc32(json, before);
  return { bytes: Buffer.from(`${hexOf(sum)} ${json}\n`), sum };
}

// Writing.

/** A snapshot in pieces, so that no text of all objects is made, and the sum of its last line. */
export function formatSnapshot(
  state: Pick<FolderState, "objects" | "opened" | "commit" | "changes">,
  generation: number,
): { readonly pieces: readonly Buffer[]; readonly sum: number } {
  const { objects, opened, commit, changes } = state;
  const head = { format: FORMAT_VERSION, generation, objects: objects.size, commit, changes, opened };
  let last = formatLine({ snapshot: head }, 0);
  const pieces = [last.bytes];
  for (const { kind, id, document, internal } of objects.values()) {
    last = formatLine({ kind, id, document, internal: internal ?? {} }, last.sum);
    pieces.push(last.bytes);
  }
  last = formatLine({ end: objects.size }, last.sum);
  pieces.push(last.bytes);
  return { pieces, sum: last.sum };
}

/** The first line of a log, which names the snapshot that it goes on from. */
export function formatLogHead(
  { commit, changes }: Pick<FolderState, "commit" | "changes">,
  generation: number,
  snapshotSum: number,
): LogLine {
  const snapshot = hexOf(snapshotSum);
  return formatLine({ log: { format: FORMAT_VERSION, generation, snapshot, commit, changes } }, 0);
}

export function formatCommit(
  state: Pick<FolderState, "commit" | "changes" | "sum">,
  content: { readonly changes: readonly StoredChange[] } | { readonly opened: Opened },
): LogLine {
  const added = "changes" in content ? content.changes.length : 0;
  const body =
    "opened" in content
      ? content
      : {
          changes: content.changes.map(({ kind, id, object }) =>
            object === undefined
              ? { kind, id }
              : { kind, id, document: object.document, internal: object.internal ?? {} },
          ),
        };
  return formatLine({ commit: state.commit + 1, total: state.changes + added, ...body }, state.sum);
}

/**
 * One place of the position: a line that says it, and the line of the commit itself where there is room, so that the log
 * and the position can go to disk at the same time: whichever comes first tells of the commit.
 */
export function formatSlot(position: Position, line: Uint8Array): { bytes: Buffer; hasTail: boolean } {
  const make = (tail: Uint8Array): Buffer => {
    const head = formatLine({ position: { ...position, tail: tail.length } }, crc32(tail));
    return Buffer.concat([head.bytes, tail]);
  };
  const whole = make(line);
  return whole.length <= SLOT_BYTES
    ? { bytes: whole, hasTail: true }
    : { bytes: make(new Uint8Array()), hasTail: false };
}

/** Where the place of a commit's position begins. */
export function slotOffset(commit: number): number {
  return (commit % 2) * SLOT_BYTES;
}

/** Both places, of which one says the position. */
export function formatPositionFile(position: Position, line: Uint8Array): Buffer {
  const file = Buffer.alloc(2 * SLOT_BYTES);
  formatSlot(position, line).bytes.copy(file, slotOffset(position.commit));
  return file;
}

// Reading.

interface ReadLine {
  readonly value: JsonObject;
  readonly sum: number;
  /** Where the next line begins. */
  readonly end: number;
}

/** The line at `start`, when it is whole and continues `before`. */
function readLine(bytes: Uint8Array, start: number, before: number): ReadLine | undefined {
  const end = bytes.indexOf(NEWLINE, start);
  if (end < start + PREFIX_BYTES) return undefined;
  const json = bytes.subarray(start + PREFIX_BYTES, end);
  const sum = crc32(json, before);
  if (Buffer.from(bytes.subarray(start, start + PREFIX_BYTES)).toString("latin1") !== `${hexOf(sum)} `)
    return undefined;
  try {
    const value = JSON.parse(Buffer.from(json).toString("utf8")) as JsonValue;
    return isJsonObject(value) ? { value, sum, end: end + 1 } : undefined;
  } catch {
    return undefined;
  }
}

function numberIn(value: JsonValue | undefined, field: string): number {
  const found = isJsonObject(value) ? value[field] : undefined;
  return typeof found === "number" && Number.isSafeInteger(found) && found >= 0 ? found : Number.NaN;
}

function textIn(value: JsonObject, field: string): string {
  const found = value[field];
  return typeof found === "string" ? found : "";
}

function readOpened(value: JsonValue | undefined): Opened | undefined {
  if (!isJsonObject(value)) return undefined;
  return {
    incarnation: numberIn(value, "incarnation"),
    node: textIn(value, "node"),
    hnsVersion: textIn(value, "hnsVersion"),
  };
}

function readSlot(file: Uint8Array, start: number): Slot | undefined {
  const slot = file.subarray(start, start + SLOT_BYTES);
  const lineEnd = slot.indexOf(NEWLINE);
  if (lineEnd < 0) return undefined;
  // The sum continues that of the tail, whose length the line says.
  const said = /"tail":(\d+)\}\}$/.exec(Buffer.from(slot.subarray(0, lineEnd)).toString("latin1"));
  const tail = slot.subarray(lineEnd + 1, lineEnd + 1 + Number(said?.[1] ?? 0));
  const position = readLine(slot, 0, crc32(tail))?.value["position"];
  if (position === undefined) return undefined;
  return {
    generation: numberIn(position, "generation"),
    commit: numberIn(position, "commit"),
    changes: numberIn(position, "changes"),
    sum: numberIn(position, "sum"),
    offset: numberIn(position, "offset"),
    tail,
  };
}

/** The places of a position file that are whole, the last one first. */
export function readPositions(file: Uint8Array): readonly Slot[] {
  return [readSlot(file, 0), readSlot(file, SLOT_BYTES)]
    .filter((slot) => slot !== undefined)
    .toSorted((a, b) => b.generation - a.generation || b.commit - a.commit);
}

function objectOf(value: JsonObject): StoredObject {
  const { document, internal } = value;
  return {
    kind: textIn(value, "kind") as StoredKind,
    id: textIn(value, "id"),
    document: isJsonObject(document) ? document : {},
    internal: isJsonObject(internal) ? internal : {},
  };
}

/** `the Network 1111…`, as far as a line that is not whole still says it. */
function nameIn(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.subarray(start, end)).toString("utf8");
  const [, kind, id] = /"kind":"(\w+)","id":"([\w-]+)"/.exec(text) ?? [];
  return kind === undefined || id === undefined ? "an object" : `the ${kind} ${id}`;
}

/** Reads the files of a generation. All that is whole is taken; what is not is in `damages`. */
export class FolderReader {
  readonly damages: Damage[] = [];
  /** What was damaged and is whole again, because it stands in another place, too. */
  readonly recoveries: string[] = [];
  /** The layout that the files say they have, where it is newer than this one. */
  newerFormat: number | undefined;
  private readonly read: (name: string) => Uint8Array | undefined;

  /** `read` gives the bytes of a file of the folder, undefined when it is not there. */
  constructor(read: (name: string) => Uint8Array | undefined) {
    this.read = read;
  }

  /** `names`: the files of the folder. */
  readState(names: readonly string[]): FolderState {
    const slots = this.readPosition();
    const [position] = slots;
    const generation = position?.generation ?? generationsAmong(names).at(-1) ?? 0;
    const state: FolderState = { ...newState(), generation, isSettled: true };
    const snapshotSum = this.readSnapshot(state);
    this.readLog(
      state,
      snapshotSum,
      slots.filter((slot) => slot.generation === generation),
    );
    return state;
  }

  private readPosition(): readonly Slot[] {
    const file = this.read(POSITION);
    if (file === undefined) {
      this.damaged(POSITION, undefined, "it says which changes were acknowledged");
      return [];
    }
    const slots = readPositions(file);
    if (slots.length === 0)
      this.damaged(POSITION, 0, "its checksum is wrong; it says which changes were acknowledged");
    return slots;
  }

  private damaged(file: string, offset: number | undefined, text: string, missing?: number): void {
    this.damages.push({ file, offset, text, missing });
  }

  /** Notes a newer layout. */
  private checkFormat(head: JsonValue | undefined): void {
    const format = numberIn(head, "format");
    if (format > FORMAT_VERSION) this.newerFormat = format;
  }

  /** @returns the sum of the whole snapshot; undefined when it is not whole. */
  private readSnapshot(state: FolderState): number | undefined {
    const name = snapshotName(state.generation);
    const bytes = this.read(name);
    if (bytes === undefined) {
      this.damaged(name, undefined, "it holds the objects as they were before the log");
      return undefined;
    }
    state.snapshotBytes = bytes.length;
    const before = this.damages.length;
    let at = 0;
    let [said, lines, isEnded] = [Number.NaN, 0, false];
    // After a line that is not whole the next one may continue the sum that it had, or the one that it has now.
    let sums: readonly number[] = [0];
    while (at < bytes.length && !isEnded) {
      const line = sums.map((sum) => readLine(bytes, at, sum)).find((found) => found !== undefined);
      if (line === undefined) {
        const newline = bytes.indexOf(NEWLINE, at);
        const end = newline < 0 ? bytes.length : newline;
        const what = lines === 0 ? "its head" : nameIn(bytes, at, end);
        this.damaged(name, at, `the checksum of ${what} is wrong`);
        const stored = Number.parseInt(
          Buffer.from(bytes.subarray(at, at + SUM_DIGITS)).toString("latin1"),
          HEX,
        );
        const now = sums.map((sum) => crc32(bytes.subarray(Math.min(at + PREFIX_BYTES, end), end), sum));
        sums = [...(Number.isNaN(stored) ? [] : [stored >>> 0]), ...now];
        at = end + 1;
      } else {
        sums = [line.sum];
        at = line.end;
        if (line.value["snapshot"] !== undefined) {
          said = this.readHead(state, line.value["snapshot"]);
        } else if (line.value["end"] === undefined) {
          const object = objectOf(line.value);
          state.objects.set(keyOf(object.kind, object.id), object);
        } else isEnded = true;
      }
      lines++;
    }
    if (!isEnded && this.damages.length === before)
      this.damaged(name, bytes.length, this.cutText(said, state.objects.size));
    else if (isEnded && at < bytes.length) this.damaged(name, at, "there is more behind its end");
    return this.damages.length === before ? sums[0] : undefined;
  }

  private cutText(said: number, found: number): string {
    return Number.isNaN(said) ? "it is empty" : `it ends there, with ${found} of ${said} objects`;
  }

  private readHead(state: FolderState, head: JsonValue | undefined): number {
    this.checkFormat(head);
    state.commit = numberIn(head, "commit");
    state.changes = numberIn(head, "changes");
    state.opened = isJsonObject(head) ? readOpened(head["opened"]) : undefined;
    return numberIn(head, "objects");
  }

  private readLog(state: FolderState, snapshotSum: number | undefined, slots: readonly Slot[]): void {
    const name = logName(state.generation);
    const bytes = this.read(name);
    const [position] = slots;
    const problem = this.readLogHead(state, snapshotSum, bytes);
    const sums = new Map<number, number>([[state.commit, state.sum]]);
    if (!Number.isNaN(state.sum)) this.follow(state, bytes ?? new Uint8Array(), sums);
    const [inLog, logEnd] = [state.commit, state.logEnd];
    // What the log has lost at its end, the position may still have.
    for (const slot of slots.toReversed()) this.followTail(state, slot, sums);
    state.isSettled = problem === undefined && inLog === position?.commit && logEnd === bytes?.length;
    const isCut = bytes === undefined || logEnd >= bytes.length;
    const where = problem ?? (isCut ? "it ends there" : "the checksum is wrong there");
    const offset = bytes === undefined ? undefined : logEnd;
    if (position === undefined) {
      if (problem !== undefined || !isCut) this.damaged(name, offset, where);
    } else if (state.commit < position.commit) {
      this.damaged(name, offset, where, position.changes - state.changes);
    } else if (sums.get(position.commit) !== position.sum) {
      this.damaged(name, 0, "it is not the log that the position was written for");
    } else if (problem !== undefined || inLog < position.commit) {
      this.recoveries.push(`${name}: ${where}; all acknowledged changes could be taken from ${POSITION}`);
    }
  }

  /**
   * The first line of the log follows from the snapshot: where one is damaged, the other one says what it was.
   * @returns what is wrong with it.
   */
  private readLogHead(
    state: FolderState,
    snapshotSum: number | undefined,
    bytes: Uint8Array | undefined,
  ): string | undefined {
    const head = bytes === undefined ? undefined : readLine(bytes, 0, 0);
    if (head !== undefined) {
      const said = head.value["log"];
      this.checkFormat(said);
      state.sum = head.sum;
      state.logEnd = head.end;
      if (snapshotSum === undefined) {
        state.commit = numberIn(said, "commit");
        state.changes = numberIn(said, "changes");
      } else if (!isJsonObject(said) || textIn(said, "snapshot") !== hexOf(snapshotSum))
        this.damaged(logName(state.generation), 0, `it does not belong to ${snapshotName(state.generation)}`);
      return undefined;
    }
    if (snapshotSum === undefined) state.sum = Number.NaN;
    else {
      const wanted = formatLogHead(state, state.generation, snapshotSum);
      state.sum = wanted.sum;
      state.logEnd = wanted.bytes.length;
    }
    return bytes === undefined ? "it holds the changes since the snapshot" : "its head is damaged";
  }

  private follow(state: FolderState, bytes: Uint8Array, sums: Map<number, number>): void {
    for (;;) {
      const line = readLine(bytes, state.logEnd, state.sum);
      if (line === undefined || !this.apply(state, line.value)) return;
      state.sum = line.sum;
      state.logEnd = line.end;
      sums.set(state.commit, state.sum);
    }
  }

  private followTail(state: FolderState, slot: Slot, sums: Map<number, number>): void {
    if (slot.tail.length === 0 || slot.commit !== state.commit + 1 || slot.offset !== state.logEnd) return;
    const line = readLine(slot.tail, 0, state.sum);
    if (line === undefined || !this.apply(state, line.value)) return;
    state.sum = line.sum;
    state.logEnd += slot.tail.length;
    sums.set(state.commit, state.sum);
  }

  /** Carries out a commit. @returns false when it is not the next one. */
  private apply(state: FolderState, value: JsonObject): boolean {
    const changes = value["changes"];
    const commit = numberIn(value, "commit");
    if (commit !== state.commit + 1 || (changes !== undefined && !Array.isArray(changes))) return false;
    for (const change of (changes ?? []) as readonly JsonValue[]) {
      if (!isJsonObject(change)) continue;
      const object = objectOf(change);
      const key = keyOf(object.kind, object.id);
      if (change["document"] === undefined) state.objects.delete(key);
      else state.objects.set(key, object);
    }
    state.opened = readOpened(value["opened"]) ?? state.opened;
    state.commit = commit;
    state.changes = numberIn(value, "total");
    return true;
  }
}

/** `objects-3.snapshot, byte 412: the checksum …`. */
export function describeDamage({ file, offset, text, missing }: Damage): string {
  const where = offset === undefined ? `${file} is missing` : `${file}, byte ${offset}`;
  const lost =
    missing === undefined
      ? ""
      : `; ${missing} acknowledged ${missing === 1 ? "change is" : "changes are"} missing`;
  return `${where}: ${text}${lost}`;
}
