/**
 * Prose that stands in code: a text of twelve words or more in a file of `src/` that is no test. What Mullion says at
 * length lies in `data/`. A sum of texts counts as one text, a hole of a template as one word.
 */
import { parseAst } from "rolldown/parseAst";
import { type SourceFile, isTest } from "./source-files.ts";

/** From so many words on a text is prose. */
const PROSE_WORDS = 12;

/** A text in code, with its place. */
export interface Prose {
  readonly line: number;
  readonly text: string;
}

/** How many texts each file may hold. */
export type ProseCounts = Readonly<Record<string, number>>;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Stands for what is put into a text when the program runs. */
const HOLE = "{…}";

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

/** The text that a node is; undefined for what is none. */
function textOf(node: Node): string | undefined {
  if (node.type === "Literal") return typeof node["value"] === "string" ? node["value"] : undefined;
  if (node.type === "TemplateLiteral") {
    const quasis = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
    return quasis.map(({ value }) => value.cooked).join(HOLE);
  }
  if (node.type !== "BinaryExpression" || node["operator"] !== "+") return undefined;
  const [left, right] = [textOf(node["left"] as Node), textOf(node["right"] as Node)];
  return left === undefined && right === undefined ? undefined : `${left ?? HOLE}${right ?? HOLE}`;
}

function countWords(text: string): number {
  return text.split(/\s/u).filter((word) => /\p{L}/u.test(word) || word.includes(HOLE)).length;
}

/** Each text of twelve words or more, in the order of the file. */
export function findProse({ path, text }: SourceFile): readonly Prose[] {
  const found: Prose[] = [];
  const visit = (node: Node): void => {
    const words = textOf(node);
    if (words !== undefined && countWords(words) >= PROSE_WORDS) {
      found.push({ line: text.slice(0, node.start).split("\n").length, text: words });
      return;
    }
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? (value as readonly unknown[]) : [value])
        if (isNode(child)) visit(child);
  };
  visit(parseAst(text, { lang: "ts" }, path) as unknown as Node);
  return found;
}

/** Files that do not hold as many texts as the list says, one sentence each: the list gets shorter with every text that moves. */
export function findNewProse(files: readonly SourceFile[], allowed: ProseCounts): readonly string[] {
  const found = new Map(
    files.filter(({ path }) => !isTest(path)).map((file) => [file.path, findProse(file)] as const),
  );
  const more = [...found].flatMap(([path, texts]) => {
    const count = allowed[path] ?? 0;
    if (texts.length <= count) return [];
    const lines = texts.map(({ line }) => line).join(", ");
    return [
      `${path} has ${texts.length} texts of ${PROSE_WORDS} words or more, and may have ${count} (lines ${lines}): ` +
        "put them into data/words, as data/README.md says",
    ];
  });
  const fewer = Object.entries(allowed).flatMap(([path, count]) => {
    const now = found.get(path)?.length ?? 0;
    return now < count ? [`tools/prose.json: ${path} has ${now} texts, not ${count}: lower its entry`] : [];
  });
  return [...more, ...fewer];
}
