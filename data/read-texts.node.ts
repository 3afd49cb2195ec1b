/** The texts of this folder, read from their files. */
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { type Document, LineCounter, isMap, isNode, isScalar, parse, parseDocument } from "yaml";
import { replaceFile } from "#core/base/owner-only.node.ts";
import { textsByName } from "#core/base/words.ts";
import type { Table } from "./facts.js";
import type { AllTexts, Shelf, Subject, TextFile } from "./texts.js";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const SHELVES: readonly Shelf[] = ["catalogue", "errors"];
const FRONT_MATTER = /^---\n([^]*?)\n---\n/;
const VERBATIM = "    ";
const TEXT_ENDING = ".md";
const TABLE_ENDING = ".yaml";
const FACTS = "facts";
const WORDS = "words";

interface Block {
  readonly isVerbatim: boolean;
  readonly lines: string[];
}

/** A paragraph becomes one line; what is indented by four blanks stays as it is. */
export function joinParagraphs(lines: readonly string[]): string {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const line of lines) {
    const isVerbatim = line.startsWith(VERBATIM);
    if (line === "") open = undefined;
    else if (open?.isVerbatim === isVerbatim) open.lines.push(line);
    else {
      open = { isVerbatim, lines: [line] };
      blocks.push(open);
    }
  }
  return blocks
    .map((block) =>
      block.isVerbatim ? block.lines.join("\n") : block.lines.join(" ").replace(/\\([\\<*_`])/g, "$1"),
    )
    .join("\n\n");
}

function parseText(path: string): TextFile {
  const text = readFileSync(path, "utf8").replaceAll("\r\n", "\n");
  const [head, yaml] = FRONT_MATTER.exec(text) ?? [];
  if (head === undefined || yaml === undefined) throw new Error(`${path}: no head between two lines of ---`);
  const sections: Record<string, string> = {};
  for (const part of text.slice(head.length).split(/^(?=## )/m)) {
    const lines = part.split("\n");
    const heading = part.startsWith("## ") ? (lines.shift() ?? "").slice("## ".length) : "";
    sections[heading] = joinParagraphs(lines);
  }
  return { fields: parse(yaml) as unknown, sections };
}

export function readTable(name: string): unknown {
  return parse(readFileSync(join(ROOT, `${name}${TABLE_ENDING}`), "utf8"));
}

/** Where in a document something begins: its name, or itself in a list; what is not there is where it would be. */
function offsetOf(document: Document, path: readonly string[]): number {
  const name = path.at(-1);
  if (name === undefined) return 0;
  const above = path.slice(0, -1);
  const holder: unknown = document.getIn(above, true);
  const key = isMap(holder)
    ? holder.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === name)?.key
    : undefined;
  const found: unknown = key ?? document.getIn(path, true);
  return isNode(found) && found.range ? found.range[0] : offsetOf(document, above);
}

/** A table of facts. @throws Error where it is no YAML. */
export function openTable(name: string): Table {
  const path = `${FACTS}/${name}${TABLE_ENDING}`;
  const file = `data/${path}`;
  const text = readFileSync(join(ROOT, path), "utf8");
  const value = readKept(name, text);
  if (value !== undefined) return { value, placeOf: (at) => parseTable(file, text).placeOf(at) };
  const table = parseTable(file, text);
  keep(name, text, table.value);
  return table;
}

/** Of a clone, beside what Node has compiled: to parse the tables took half of each start. */
const KEPT = join(ROOT, "..", "node_modules", ".cache", "mullion", FACTS);
const READABLE = 0o644;

/** What a table was read as, and of which text. */
interface KeptTable {
  readonly sum: number;
  readonly length: number;
  readonly value: unknown;
}

function readKept(name: string, text: string): unknown {
  try {
    const kept = JSON.parse(readFileSync(join(KEPT, `${name}.json`), "utf8")) as KeptTable;
    return kept.length === text.length && kept.sum === crc32(text) ? kept.value : undefined;
  } catch {
    // Nothing is kept, or half of it: the table itself is there.
    return undefined;
  }
}

function keep(name: string, text: string, value: unknown): void {
  if (!existsSync(join(ROOT, "..", "node_modules"))) return;
  const kept: KeptTable = { sum: crc32(text), length: text.length, value };
  try {
    mkdirSync(KEPT, { recursive: true });
    replaceFile(join(KEPT, `${name}.json`), JSON.stringify(kept), READABLE);
  } catch {
    // A clone of which nothing may be written works as well, and starts more slowly.
  }
}

/** The same of a text; `file` is what it is called. */
export function parseTable(file: string, text: string): Table {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const placeAt = (offset: number): string => `${file}:${lineCounter.linePos(offset).line}`;
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`${placeAt(error.pos[0])}: ${error.message}`);
  return { value: document.toJS() as unknown, placeOf: (path) => placeAt(offsetOf(document, path)) };
}

/** A text of `words/`: paragraphs; or, where all of it is indented, lines that stay as they are. */
function parseWords(lines: readonly string[]): string {
  const isVerbatim = lines.every((line) => line === "" || line.startsWith(VERBATIM));
  if (!isVerbatim) return joinParagraphs(lines);
  const text = lines.map((line) => line.slice(VERBATIM.length)).join("\n");
  return text.replace(/^\n/u, "").trimEnd();
}

/** The texts of a file of `words/` by their headings. @throws Error where two have one name. */
export function readWords(name: string): Readonly<Record<string, string>> {
  const path = join(ROOT, WORDS, `${name}${TEXT_ENDING}`);
  const [, ...parts] = readFileSync(path, "utf8").replaceAll("\r\n", "\n").split(/^## /m);
  const texts = new Map<string, string>();
  for (const part of parts) {
    const [heading = "", ...lines] = part.split("\n");
    if (texts.has(heading)) throw new Error(`${path}: there are two texts ${heading}`);
    texts.set(heading, parseWords(lines));
  }
  return Object.fromEntries(texts);
}

/** The same, read when it is needed. */
export function openWords(name: string): ReturnType<typeof textsByName> {
  return textsByName(() => readWords(name));
}

/** The names of the files of `words/`. */
export function listWords(): readonly string[] {
  const files = readdirSync(join(ROOT, WORDS)).filter((file) => file.endsWith(TEXT_ENDING));
  return files.map((file) => file.slice(0, -TEXT_ENDING.length)).toSorted();
}

/** In the order of the shelf's `subjects.yaml`. */
export function listSubjects(shelf: Shelf): readonly Subject[] {
  const subjects = readTable(`${shelf}/subjects`) as readonly Omit<Subject, "names">[];
  return subjects.map(({ folder, title }) => {
    const files = readdirSync(join(ROOT, shelf, folder)).filter((file) => file.endsWith(TEXT_ENDING));
    return { folder, title, names: files.map((file) => file.slice(0, -TEXT_ENDING.length)).toSorted() };
  });
}

export function readText(shelf: Shelf, folder: string, name: string): TextFile {
  return parseText(join(ROOT, shelf, folder, `${name}${TEXT_ENDING}`));
}

export function readAll(): AllTexts {
  const subjects = new Map(SHELVES.map((shelf) => [shelf, listSubjects(shelf)]));
  const texts = SHELVES.flatMap((shelf) =>
    (subjects.get(shelf) ?? []).flatMap(({ folder, names }) =>
      names.map((name) => [`${shelf}/${folder}/${name}`, readText(shelf, folder, name)] as const),
    ),
  );
  const tables = readdirSync(ROOT)
    .filter((file) => file.endsWith(TABLE_ENDING))
    .map((file) => file.slice(0, -TABLE_ENDING.length))
    .map((name) => [name, readTable(name)] as const);
  return {
    subjects: Object.fromEntries(subjects) as AllTexts["subjects"],
    texts: Object.fromEntries(texts),
    tables: Object.fromEntries(tables),
  };
}
