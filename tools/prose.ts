/**
 * Prose that stands in code: a text of twelve words or more in a file of `src/` that is no test. What Mullion says at
 * length lies in `data/`. A sum of texts counts as one text, a hole of a template as one word; a template with more holes
 * than words of its own is a line of values.
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

/** A file whose long texts are programs in another language, which stand beside what fills them in. */
export interface ForeignPrograms {
  readonly count: number;
  /** What each of them is. */
  readonly reason: string;
}

/** By file. */
export const FOREIGN_PROGRAMS: Readonly<Record<string, ForeignPrograms>> = {
  "src/cli/mullion/cluster/shell.ts": {
    count: 1,
    reason: "what sh does before a command has the name servers of a pod",
  },
  "src/cluster/live/sandbox.node.ts": {
    count: 1,
    reason: "what sh does to give a process a file system of its own",
  },
  "src/cli/programs/launchers.ts": {
    count: 2,
    reason: "the files that start a program: one for sh, one for Node; what they say comes from data/words",
  },
  "src/programs/ovn/northd/distributed-translation-flows.ts": {
    count: 1,
    reason: "actions of a logical flow, in the language of ovn-sb(5)",
  },
  "src/programs/ovn/northd/packet-length-flows.ts": {
    count: 1,
    reason: "actions of a logical flow, in the language of ovn-sb(5)",
  },
  "src/programs/ovn/northd/router-flows.ts": {
    count: 2,
    reason: "matches and actions of logical flows, in the language of ovn-sb(5)",
  },
  "src/programs/ovn/northd/switch-flows.ts": {
    count: 1,
    reason: "actions of a logical flow, in the language of ovn-sb(5)",
  },
  "src/programs/ovn/northd/translation-flows.ts": {
    count: 1,
    reason: "actions of a logical flow, in the language of ovn-sb(5)",
  },
};

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

function isProse(text: string): boolean {
  const words = text.split(/\s/u);
  const holes = words.filter((word) => word.includes(HOLE)).length;
  const own = words.filter((word) => !word.includes(HOLE) && /\p{L}/u.test(word)).length;
  return own + holes >= PROSE_WORDS && own >= holes;
}

/** Each text of twelve words or more, in the order of the file. */
export function findProse({ path, text }: SourceFile): readonly Prose[] {
  const found: Prose[] = [];
  const visit = (node: Node): void => {
    const words = textOf(node);
    if (words !== undefined && isProse(words)) {
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

/** What is wrong with the long texts of all files, one sentence each. */
export function findNewProse(
  files: readonly SourceFile[],
  programs: Readonly<Record<string, ForeignPrograms>>,
): readonly string[] {
  const found = new Map(
    files.filter(({ path }) => !isTest(path)).map((file) => [file.path, findProse(file)] as const),
  );
  const more = [...found].flatMap(([path, texts]) => {
    const count = programs[path]?.count ?? 0;
    if (texts.length <= count) return [];
    const lines = texts.map(({ line }) => line).join(", ");
    return [
      `${path} has ${texts.length} texts of ${PROSE_WORDS} words or more, and may have ${count} (lines ${lines}): ` +
        "put them into data/words, as data/README.md says",
    ];
  });
  const fewer = Object.entries(programs).flatMap(([path, { count }]) => {
    const now = found.get(path)?.length ?? 0;
    return now < count ? [`tools/prose.ts: ${path} has ${now} programs, not ${count}: lower its entry`] : [];
  });
  return [...more, ...fewer];
}
