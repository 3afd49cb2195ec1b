/**
 * Reads a dump of HNS objects, whoever wrote it (docs/reference/hns-dumps.md): our own, `Get-Hns… | ConvertTo-Json`,
 * what PowerShell shows on a screen, `hnsdiag list …` with and without `-d`, and several of them in one file. What does
 * not read is told with its place, and the rest is read.
 */
import { listed } from "#core/base/text-layout.ts";
import { LIMITS } from "#core/base/limits.ts";
import { SourceText, withoutPrompts } from "#core/base/source-text.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import { type JsonObject, isJsonObject } from "#core/base/json.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import { checkJsonObject } from "#contracts/hcn/description/json.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { DumpProblem, DumpRead, DumpedObject } from "./dumped-object.ts";
import { type ListedObject, readFormatList, readFormatTable } from "./format-list.ts";
import { SECTIONS, readHnsdiagText, sectionOf } from "./hnsdiag-text.ts";
import {
  BrokenJson,
  type Extent,
  type Member,
  type TextLine,
  linesOf,
  membersOf,
  parseValue,
  visitItems,
} from "./json-extent.ts";
import { ADDED_FIELD, KIND_FIELD, undoPowerShell } from "./power-shell.ts";
import { POLICY_FIELDS, recognizeDialect, recognizeObject } from "./recognize-object.ts";
import { parseDumpItem } from "#contracts/hcn/http/dump-protocol.ts";
import { DUMP_KINDS, DUMP_VERSION, type DumpItem, type HnsDump } from "#contracts/hcn/dumps.ts";
import { hnsFiles } from "#data/words.js";

const WORDS = hnsFiles();

// Our own dump as a text: the objects in stored form, which is what the durable store keeps, so nothing is lost on the way
// back.

export function formatDump(service: HnsDump["service"], objects: readonly DumpItem[]): string {
  const dump: HnsDump = {
    apiVersion: DUMP_VERSION,
    kind: "HnsDump",
    ...(service !== undefined && { service }),
    objects,
  };
  return `${JSON.stringify(dump, undefined, 2)}\n`;
}

/** An object of a dump; undefined when it is none. */
export function readStoredItem(value: JsonObject): Omit<DumpedObject, "where"> | undefined {
  const item = parseDumpItem(value);
  if (item === undefined) return undefined;
  return { ...item, dialect: "v2", document: { ID: item.id, ...item.document }, cut: [] };
}

/** A line that begins with a bracket begins JSON; behind JSON the next value may follow at once. */
const JSON_START = /^[ \t\u00a0\ufeff]*(?=[{[])/gm;
const NEXT_START = /[ \t\r\n,]*(?=[{[])/y;
/** Broken values in one file after which nobody can tell what is what. */
const BROKEN_MAX = 20;
const WRAPPERS_MAX = 4;
const FIELDS_SHOWN = 5;
const HALVES_SHOWN = 20;

const READABLE = WORDS.adviceDumpSources;
const DEEPER = WORDS.adviceDumpDepth;

/** Fields of an object that stands for a list of objects of one kind. */
const NAMED_LISTS: Readonly<Record<string, HcnObjectKind>> = {
  ...SECTIONS,
  policylists: "LoadBalancer",
  sdnroutes: "SdnRoute",
};

/** What shows less than there is, and which command shows all. */
const HNSDIAG = {
  message: WORDS.hnsdiagWithoutDetails,
  advice: WORDS.adviceHnsdiagDetails,
} as const;
const TABLE: Readonly<Record<keyof typeof HNSDIAG, string>> = {
  message: WORDS.powershellTable,
  advice: WORDS.advicePowershellJson,
};

/** Where a field of an object stands. */
type FieldPlace = Pick<Member, "key" | "keyStart">;

/** Reading goes no further. */
class Stop extends Error {}

class DumpReader {
  private readonly source: SourceText;
  private readonly objects: DumpedObject[] = [];
  private readonly problems: DumpProblem[] = [];
  private readonly notes: DumpProblem[] = [];
  private readonly tableRows: ListedObject[] = [];
  private readonly halves: ListedObject[] = [];
  private linesPassedBy = 0;
  private broken = 0;
  private isNamesOnlyReported = false;

  constructor(source: SourceText) {
    this.source = source;
  }

  read(): DumpRead {
    try {
      this.readAll();
      this.readTableRows();
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
    }
    this.reportHalves();
    if (this.objects.length === 0 && this.problems.length === 0)
      this.problem("hns-dump-unreadable", 0, "", "this file holds no objects of HNS", READABLE);
    const { objects, problems, notes, linesPassedBy } = this;
    return { objects, problems, notes, linesPassedBy };
  }

  private readAll(): void {
    const { text } = this.source;
    let at = 0;
    for (;;) {
      const start = this.nextStart(at);
      this.readLines({ start: at, end: start ?? text.length });
      if (start === undefined) return;
      at = this.readTopValue(start);
    }
  }

  private nextStart(at: number): number | undefined {
    const { text } = this.source;
    NEXT_START.lastIndex = at;
    if (NEXT_START.exec(text) !== null) return NEXT_START.lastIndex;
    JSON_START.lastIndex = at;
    return JSON_START.exec(text) === null ? undefined : JSON_START.lastIndex;
  }

  /** Reads one value and returns the offset behind it; behind its first line when it is broken. */
  private readTopValue(start: number): number {
    try {
      return this.readContainer(start, undefined, 0);
    } catch (error) {
      if (!(error instanceof BrokenJson)) throw error;
      this.reportBroken(error);
      return this.nextTopLine(start);
    }
  }

  /** Where the next line begins with a bracket in its first column: inside of values brackets are indented. */
  private nextTopLine(start: number): number {
    const { text } = this.source;
    const next = /\n(?=[{[])/g;
    next.lastIndex = start;
    return next.exec(text) === null ? text.length : next.lastIndex;
  }

  private reportBroken({ message, offset }: BrokenJson): void {
    const advice = WORDS.adviceSaveAgain;
    this.problem("hns-dump-unreadable", offset, "", message, advice);
    if (++this.broken < BROKEN_MAX) return;
    this.problem("hns-dump-unreadable", offset, "", "too much of this file is broken to read on", READABLE);
    throw new Stop();
  }

  private readContainer(start: number, kind: HcnObjectKind | undefined, depth: number): number {
    const { text } = this.source;
    if (text[start] === "{") return this.readObject(start, kind, depth);
    const lines: TextLine[] = [];
    const end = visitItems(text, start, (item) => this.readItem(item, kind, depth, lines));
    this.readTextLines(lines);
    return end;
  }

  private readItem(item: Extent, kind: HcnObjectKind | undefined, depth: number, lines: TextLine[]): void {
    try {
      this.readSoundItem(item, kind, depth, lines);
    } catch (error) {
      // Where it ends is known, so the items behind it can be read.
      if (!(error instanceof BrokenJson)) throw error;
      this.reportBroken(error);
    }
  }

  private readSoundItem(
    item: Extent,
    kind: HcnObjectKind | undefined,
    depth: number,
    lines: TextLine[],
  ): void {
    const { text } = this.source;
    const letter = text[item.start];
    if (depth > WRAPPERS_MAX) throw new BrokenJson(WORDS.listInList, item.start);
    if (letter === "{" || letter === "[") this.readContainer(item.start, kind, depth + 1);
    else if (letter === '"') {
      // `hnsdiag … | ConvertTo-Json` makes a text of each line.
      const line = parseValue(text, item);
      lines.push({ line: this.source.positionOf(item.start).line, text: String(line) });
    } else if (text.slice(item.start, item.end) !== "null") {
      throw new BrokenJson("an object of HNS is expected here", item.start);
    }
  }

  private readObject(start: number, kind: HcnObjectKind | undefined, depth: number): number {
    const { members, end } = membersOf(this.source.text, start);
    if (this.readWrapper(members, depth)) return end;
    const document = this.parseObject({ start, end });
    if (document !== undefined) this.addDocument(document, start, members, kind);
    return end;
  }

  /** True for what only stands around objects: `{"value": [], "Count": 2}`, an answer of HNS v1, our own dump. */
  private readWrapper(members: readonly Member[], depth: number): boolean {
    const { text } = this.source;
    const byName = new Map(members.map((member) => [member.key.toLowerCase(), member]));
    const inside = (member: Member, kind?: HcnObjectKind): void => {
      if (text[member.start] === "[" || text[member.start] === "{")
        this.readContainer(member.start, kind, depth + 1);
    };
    const own = byName.get("objects");
    if (own !== undefined && byName.has("apiversion") && byName.has("kind")) {
      if (text[own.start] === "[") visitItems(text, own.start, (item) => this.readStored(item));
      else throw new BrokenJson("objects must be a list", own.start);
      return true;
    }
    const [value, output] = [byName.get("value"), byName.get("output")];
    // What `mullion hns get -o json` prints of several objects.
    const items = members.length === 1 ? byName.get("items") : undefined;
    const whole =
      items ??
      (byName.has("count") && members.length === 2 ? value : byName.has("success") ? output : undefined);
    if (whole !== undefined) {
      inside(whole);
      return true;
    }
    const lists = members.filter(
      (member) => NAMED_LISTS[member.key.toLowerCase()] !== undefined && text[member.start] === "[",
    );
    if (lists.length === 0 || byName.has("id") || lists.length < members.length) return false;
    for (const member of lists) inside(member, NAMED_LISTS[member.key.toLowerCase()]);
    return true;
  }

  private parseObject(extent: Extent): JsonObject | undefined {
    const value = parseValue(this.source.text, extent);
    try {
      return checkJsonObject(value);
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      throw new BrokenJson(error.detail ?? error.message, extent.start);
    }
  }

  private readStored(item: Extent): void {
    if (this.source.text[item.start] !== "{")
      throw new BrokenJson("an object of HNS is expected here", item.start);
    const value = this.parseObject(item);
    const stored = value && readStoredItem(value);
    if (stored !== undefined) {
      this.add({ ...stored, where: this.placeOf(item.start) });
      return;
    }
    this.problem(
      "hns-dump-object-unknown",
      item.start,
      "",
      WORDS.dumpObjectIncomplete,
      "Each object is {kind, id, document}; docs/reference/hns-dumps.md shows one.",
    );
  }

  private addDocument(
    given: JsonObject,
    start: number,
    members: readonly Member[],
    kind: HcnObjectKind | undefined,
  ): void {
    const { document, cut } = undoPowerShell(given);
    // A view adds fields that tell the kind and the form of an object of which the dump says little.
    const known = given[ADDED_FIELD] === undefined ? undefined : recognizeObject(given);
    const named = DUMP_KINDS.find((each) => each !== "Globals" && each === given[KIND_FIELD]) as typeof kind;
    this.addObject({ document, cut, start, members, kind: kind ?? named, known });
  }

  private addObject(found: {
    readonly document: JsonObject;
    readonly cut: readonly string[];
    readonly start: number;
    readonly members: readonly FieldPlace[];
    readonly kind: HcnObjectKind | undefined;
    readonly known?: ReturnType<typeof recognizeObject>;
  }): void {
    const { cut, start, members, kind, known } = found;
    const document = withId(found.document);
    const shape =
      kind === undefined
        ? (known ?? recognizeObject(document))
        : { kind, dialect: recognizeDialect(kind, document) };
    const id = document["ID"];
    if (shape === undefined || typeof id !== "string" || parseGuid(id) === undefined) {
      this.reportUnknown(document, shape?.kind, start);
      return;
    }
    const matter = cut.filter((path) => !path.startsWith("Resources"));
    if (matter.length > 0) this.reportCut(shape.kind, document, matter, start, members);
    this.add({ ...shape, document, cut, where: this.placeOf(start) });
  }

  private reportUnknown(document: JsonObject, kind: HcnObjectKind | undefined, start: number): void {
    const { ID: id, Value: value } = document;
    const { Type: type } = isJsonObject(value) ? value : document;
    const fields = Object.keys(document);
    const isPolicy = fields.length === 1 || fields.some((field) => POLICY_FIELDS.includes(field));
    if (id === undefined && typeof type === "string" && isPolicy) {
      const message = WORDS.policyWithoutObject({ type });
      const advice = WORDS.adviceLintPolicies;
      this.problem("hns-dump-object-unknown", start, "", message, advice);
      return;
    }
    const some = fields.slice(0, FIELDS_SHOWN).join(", ");
    const what =
      kind === undefined
        ? "is not an object of HNS"
        : `is ${/^[AEIOU]/u.test(kind) ? "an" : "a"} ${kind} without an ID`;
    const message = `what begins here ${what}; it has ${some === "" ? "no fields" : `the fields ${some}`}`;
    this.problem("hns-dump-object-unknown", start, "", message, READABLE);
  }

  private reportCut(
    kind: HcnObjectKind,
    document: JsonObject,
    cut: readonly string[],
    start: number,
    members: readonly FieldPlace[],
  ): void {
    const [first = ""] = cut;
    const name = document["Name"] ?? document["ID"];
    const top = /^[^.[]*/.exec(first)?.[0];
    const at = members.find((member) => member.key === top)?.keyStart ?? start;
    const message = `cut off: ${listed(cut)} of ${kind} ${JSON.stringify(name)}`;
    if (this.notes.length < LIMITS.hnsDumpProblemsMax)
      this.note("hns-dump-value-cut", at, first, message, DEEPER);
  }

  private add(object: DumpedObject): void {
    if (this.objects.length >= LIMITS.hnsDumpObjectsMax) {
      const message = `this file holds more than ${LIMITS.hnsDumpObjectsMax} objects`;
      this.problem(
        "hns-dump-unreadable",
        0,
        "",
        message,
        "Split it into several, and restore what you need.",
      );
      throw new Stop();
    }
    this.objects.push(object);
  }

  private readLines(extent: Extent): void {
    if (extent.end > extent.start) this.readTextLines(linesOf(this.source, extent));
  }

  private readTextLines(lines: readonly TextLine[]): void {
    const tables = readFormatTable(lines);
    this.tableRows.push(...tables.objects);
    const lists = readFormatList(tables.rest);
    for (const each of lists.objects) this.addListed(each);
    this.halves.push(...lists.withoutId);
    const { objects, rest } = readHnsdiagText(lists.rest);
    for (const { kind, document, line, column } of objects) {
      this.reportNamesOnly(line, HNSDIAG);
      this.add({ kind, dialect: "v1", document, cut: [], where: { file: this.source.file, line, column } });
    }
    this.linesPassedBy += rest.filter(({ text }) => /\w/.test(text) && sectionOf(text) === undefined).length;
  }

  /** Rows of tables say less than anything else of the same object in the file. */
  private readTableRows(): void {
    const known = new Set(this.objects.map(({ document }) => JSON.stringify(document["ID"]).toLowerCase()));
    for (const row of this.tableRows) {
      const { ID: id } = withId(row.document);
      if (known.has(JSON.stringify(id).toLowerCase())) {
        this.linesPassedBy++;
        continue;
      }
      this.reportNamesOnly(row.lines[0]?.line ?? 1, TABLE);
      this.addListed(row);
    }
  }

  private addListed({ document, cut, lines: own, fieldLines }: ListedObject): void {
    const start = this.source.offsetAt({ line: own[0]?.line ?? 1, column: 1 });
    const members = Array.from(fieldLines, ([key, line]) => ({
      key,
      keyStart: this.source.offsetAt({ line, column: 1 }),
    }));
    this.addObject({ document, cut, start, members, kind: undefined });
  }

  /** Half a paste: PowerShell prints fields by the alphabet, so the id stands in the other half. */
  private reportHalves(): void {
    const isAllThereIs = this.objects.length === 0 && this.problems.length === 0;
    for (const { document, lines } of this.halves.slice(0, HALVES_SHOWN)) {
      const kind = recognizeObject(document)?.kind ?? "object";
      const fields = Object.keys(document);
      const [first = "", last = ""] = [fields[0], fields.at(-1)];
      const isBefore = (field: string): boolean => field.toLowerCase() < "id";
      const message = fields.every(isBefore)
        ? WORDS.pasteEndsEarly({ kind, field: last })
        : fields.some(isBefore)
          ? WORDS.listedWithoutId({ kind })
          : WORDS.pasteBeginsLate({ kind, field: first });
      const offset = this.source.offsetAt({ line: lines[0]?.line ?? 1, column: 1 });
      if (isAllThereIs) this.problem("hns-dump-value-cut", offset, "", message, WORDS.adviceWholePaste);
      else if (this.notes.length < LIMITS.hnsDumpProblemsMax)
        this.note("hns-dump-value-cut", offset, "", message, WORDS.adviceWholePaste);
    }
  }

  /** Once per file. */
  private reportNamesOnly(line: number, { message, advice }: typeof TABLE): void {
    if (this.isNamesOnlyReported) return;
    this.isNamesOnlyReported = true;
    const offset = this.source.offsetAt({ line, column: 1 });
    this.note("hns-dump-names-only", offset, "", message, advice);
  }

  private placeOf(offset: number): DumpedObject["where"] {
    return { file: this.source.file, ...this.source.positionOf(offset) };
  }

  private problem(code: KnowledgeCode, offset: number, field: string, message: string, advice: string): void {
    const where = { ...this.placeOf(offset), field };
    // What is open at the end of the text is so in every value that it is in.
    const before = this.problems.at(-1);
    const isSame = before?.where.line === where.line && before.where.column === where.column;
    if (isSame && before.message === message) return;
    this.problems.push({ code, message, advice, where });
    if (this.problems.length < LIMITS.hnsDumpProblemsMax) return;
    const last = WORDS.problemsTooMany;
    this.problems.push({
      code,
      message: last,
      advice: READABLE,
      where: { ...this.placeOf(offset), field: "" },
    });
    throw new Stop();
  }

  private note(code: KnowledgeCode, offset: number, field: string, message: string, advice: string): void {
    this.notes.push({ code, message, advice, where: { ...this.placeOf(offset), field } });
  }
}

/** `Select-Object Id` spells the field as it was asked for. */
function withId(document: JsonObject): JsonObject {
  if (document["ID"] !== undefined) return document;
  const { Id, id, ...rest } = document;
  const found = Id ?? id;
  return found === undefined ? document : { ID: found, ...rest };
}

/** Every object of one file, and what could not be read. */
export function readDump(source: SourceText): DumpRead {
  const { file, text, encoding, hasByteOrderMark } = source;
  const shown = withoutPrompts(text);
  const read = new DumpReader(new SourceText(file, shown, encoding, hasByteOrderMark)).read();
  if (shown === text) return read;
  const blank = (lines: string): number => lines.split("\n").filter((line) => line.trim() === "").length;
  return { ...read, linesPassedBy: read.linesPassedBy + blank(shown) - blank(text) };
}
