/**
 * Citations of the pages of docs/sources/, in comments, tables, texts and pages: `dataplane.md §2.3, §9 (F-07)`. Each names a
 * heading, an item of a list or a row of a table that is there.
 */
import { posix } from "node:path";
import type { SourceFile } from "./source-files.ts";

export const SOURCES = "docs/sources";

/** A place where a page is named. */
export interface Citation {
  readonly path: string;
  readonly line: number;
  /** `dataplane`. */
  readonly page: string;
  /** `§2.3`, `F-07`, `Q-9`, `G12`, `O-5`, in the order in which they stand behind the page. */
  readonly ids: readonly string[];
}

/** What stands behind a page and its sections, up to the first word that is none of them. */
const NEXT =
  /^(?:\s|,|;|\(|\)|and\b|to\b|or\b|:|rows?\b|items?\b|facts?\b|steps?\b|table\b|walks?\b|Appendix\b)*(?:(§\s?\d+(?:\.\d+)*(?:\.[A-Z]\d*)?|[FQ]-\d+|G\d+|[OBTN]-\d+[ab]?)|\d+(?:-\d+)?\b)(?![\w-])/;
/** A line break in a comment or in a text of YAML. */
const BREAK = /\n[ \t]*(?:\*|\/\/|#)?[ \t]*/g;
const LONGEST = 200;

/** Every citation of one of the pages in a file. */
export function citationsIn({ path, text }: SourceFile, pages: ReadonlySet<string>): readonly Citation[] {
  const name = new RegExp(`(?<![\\w/#-])(${[...pages].join("|")})\\.md`, "g");
  return [...text.matchAll(name)].map((match) => {
    const from = match.index + match[0].length;
    let rest = text.slice(from, from + LONGEST).replace(BREAK, " ");
    const ids: string[] = [];
    for (let next = NEXT.exec(rest); next !== null; next = NEXT.exec(rest)) {
      if (next[1] !== undefined) ids.push(next[1].replace(/^§\s/, "§"));
      rest = rest.slice(next[0].length);
    }
    const line = text.slice(0, match.index).split("\n").length;
    return { path, line, page: match[1] ?? "", ids };
  });
}

/** What a page has: its sections by number, and the text of each. */
export class CitedPage {
  private readonly text: string;
  private readonly headings: ReadonlySet<string>;

  constructor(text: string) {
    this.text = text;
    const numbers = [...text.matchAll(/^#+ (?:Appendix )?([A-Z]{0,2}[\d.-]+(?:[A-Z]|[ab])?)(?=[.\s])/gm)];
    this.headings = new Set(numbers.map(([, number = ""]) => number.replace(/\.$/, "")));
  }

  has(id: string): boolean {
    if (id.startsWith("§")) return this.hasSection(id.slice(1));
    // A walk may stand for both of its shapes: B-2 for B-2a and B-2b; or in a row of its own.
    return this.headings.has(id) || this.headings.has(`${id}a`) || this.text.includes(`| ${id} `);
  }

  /** `9`; `2.3`; `11.6`, an item of a list in section 11; `9.A`, a part of section 9 with a letter. */
  private hasSection(number: string): boolean {
    if (this.headings.has(number)) return true;
    const [, section = "", part = ""] = /^(\d+)\.(\d+|[A-Z]\d*)$/.exec(number) ?? [];
    if (!this.headings.has(section)) return false;
    const text = this.sectionText(section);
    return new RegExp(`^(?:${part}\\. |\\*\\*${part}[.\\s]|#+ ${section}\\.${part[0] ?? ""}\\b)`, "m").test(
      text,
    );
  }

  private sectionText(section: string): string {
    const from = new RegExp(`^(#+) ${section}[.\\s].*$`, "m").exec(this.text);
    if (from === null) return "";
    const rest = this.text.slice(from.index + from[0].length);
    const end = rest.search(new RegExp(`^#{1,${from[1]?.length ?? 1}} `, "m"));
    return rest.slice(0, end < 0 ? undefined : end);
  }
}

/** Citations that lead nowhere, a sentence each. */
export function findLostCitations(
  files: readonly SourceFile[],
  pages: ReadonlyMap<string, CitedPage>,
): readonly string[] {
  const names = new Set(pages.keys());
  return files
    .filter(({ path }) => posix.dirname(path) !== SOURCES)
    .flatMap((file) => citationsIn(file, names))
    .flatMap(({ path, line, page, ids }) =>
      ids
        // Faults are numbered on one page, and named on others.
        .filter((id) => pages.get(id.startsWith("F-") ? "dataplane" : page)?.has(id) !== true)
        .map((id) => `${path}:${line}: ${page}.md has no ${id}`),
    );
}

/** Ids of rows of the decision tables, which stand in names of tests only. */
const ROW = /\b(?:DT|HCN|CNI|KP|CP|WALK)-(?:EX-)?[A-Z]{0,2}-?\d+[a-z]?\b/;

export function findRowIds(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) => (ROW.test(line) ? [`${path}:${index + 1}: ${ROW.exec(line)?.[0]}`] : [])),
  );
}
