/** An entry as text for a terminal. */
import type { KnowledgeEntry, Source } from "./entry.ts";
import { wrap } from "#core/base/text-layout.ts";
import { pageOnEntry } from "./documentation-texts.ts";
import { blocksOf } from "./prose.ts";

const INDENT = "  ";
/** Below this, lines would be broken in the middle of commands. */
const WIDTH_MIN = 40;

/** Paragraphs wrapped and set in; what is verbatim set in further. */
export function formatText(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const block of blocksOf(text)) {
    if (lines.length > 0) lines.push("");
    if (block.kind === "paragraph") {
      for (const line of wrap(block.text, width - INDENT.length)) lines.push(INDENT + line);
    } else {
      for (const line of block.lines) lines.push(INDENT + INDENT + line);
    }
  }
  return lines;
}

/** The pages of docs/sources/, as texts name them. */
const PAGE = /(?<![\w./-])(?=[a-z-]+\.md\b)/;

/** A source on a line, its address on the next; where it begins with a page of the project, with its folder. */
export function formatSource(source: Source): string[] {
  if (source.url === undefined) return [`${INDENT}- ${source.text.replace(PAGE, "docs/sources/")}`];
  return [`${INDENT}- ${source.text}`, `${INDENT}${INDENT}${source.url}`];
}

/** The profiles in words. */
export function formatProfiles(profiles: readonly string[]): string {
  return profiles.includes("all") ? "every build of Windows" : profiles.join(", ");
}

/**
 * Formats an entry for a terminal of `width` columns (at least 40). Paragraphs are wrapped; commands and
 * addresses of pages are never broken. `heading` may colour the headings.
 */
export function formatEntry(
  entry: KnowledgeEntry,
  width: number,
  heading: (text: string) => string = (text) => text,
): string {
  const columns = Math.max(width, WIDTH_MIN);
  const lines = [heading(entry.code), ...wrap(entry.title, columns), ""];
  const parts: readonly (readonly [title: string, text: string])[] = [
    ["Why", entry.cause],
    ["How to see it on a Windows node", entry.onNode],
    ["What to do", entry.remedy],
  ];
  for (const [title, text] of parts) lines.push(heading(title), ...formatText(text, columns), "");
  const page = [...new Set(pageOnEntry(entry.code))];
  if (page.length > 0) {
    lines.push(heading("What the Kubernetes page says"), ...formatText(page.join("\n\n"), columns), "");
  }
  lines.push(heading("Holds for"), `${INDENT}${formatProfiles(entry.profiles)}`, "");
  lines.push(heading("Sources"), ...entry.sources.flatMap(formatSource));
  return `${lines.join("\n")}\n`;
}
