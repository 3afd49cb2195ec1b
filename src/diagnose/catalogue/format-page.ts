/** The catalogue as a page of the documentation: docs/reference/codes.md. */
import { SECTIONS } from "./catalogue.ts";
import type { KnowledgeEntry, Source } from "./entry.ts";
import { formatProfiles } from "./format-entry.ts";
import { wrap } from "#core/base/text-layout.ts";
import { blocksOf } from "./prose.ts";

const LINE_WIDTH = 110;

/** Angle brackets such as those of <port> would be taken for HTML. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[<>*_]/g, (letter) => `\\${letter}`);
}

/** A text of the catalogue in Markdown. */
export function formatMarkdown(text: string): string {
  const parts: string[] = [];
  for (const block of blocksOf(text)) {
    if (block.kind === "paragraph") parts.push(wrap(escapeMarkdown(block.text), LINE_WIDTH).join("\n"));
    else parts.push(`\`\`\`text\n${block.lines.join("\n")}\n\`\`\``);
  }
  return parts.join("\n\n");
}

/** A source as an item of a list. */
export function markdownSource(source: Source): string {
  return source.url === undefined ? `- ${source.text}` : `- [${source.text}](${source.url})`;
}

function formatEntry(entry: KnowledgeEntry): string {
  return [
    `### ${entry.code}`,
    `**${escapeMarkdown(entry.title)}.**`,
    formatMarkdown(entry.cause),
    `**How to see it on a Windows node.** Holds for ${formatProfiles(entry.profiles)}.`,
    formatMarkdown(entry.onNode),
    "**What to do.**",
    formatMarkdown(entry.remedy),
    "**Sources**",
    entry.sources.map(markdownSource).join("\n"),
  ].join("\n\n");
}

/** The whole catalogue in Markdown. */
export function formatCodesPage(): string {
  const parts = [
    "# Codes",
    [
      "Every limitation, every reason for a drop and every refusal has a code. `mullion explain CODE` prints the same",
      "texts. Codes are stable: texts may change, codes may not.",
      "",
      "This page is generated from the catalogue; `npm run schemas` writes it again.",
    ].join("\n"),
  ];
  for (const { title, entries } of SECTIONS) {
    parts.push(
      `## ${title}`,
      entries.map((entry) => `- [${entry.code}](#${entry.code}): ${escapeMarkdown(entry.title)}`).join("\n"),
    );
    for (const entry of entries) parts.push(formatEntry(entry));
  }
  return `${parts.join("\n\n")}\n`;
}
