/** The table of errors as a page of the documentation: docs/reference/errors.md. */
import { escapeMarkdown, formatMarkdown, markdownSource } from "../format-page.ts";
import { INFERRED_NOTE, formatNumbers, nameOf } from "./format-error.ts";
import { ERROR_ORIGINS, type KnownError, ORIGIN_TITLES } from "./known-error.ts";
import { KNOWN_ERRORS } from "./table.ts";

function code(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function formatError(error: KnownError): string {
  const numbers = formatNumbers(error);
  const names = error.names.slice(1);
  const facts = [
    ...(numbers === "" ? [] : [`Numbers: ${numbers}.`]),
    ...(names.length === 0 ? [] : [`Also called ${names.map(code).join(", ")}.`]),
  ];
  return [
    `### ${error.id}`,
    ...(error.names[0] === undefined ? [] : [`**${escapeMarkdown(nameOf(error))}**`]),
    ...(facts.length === 0 ? [] : [facts.join(" ")]),
    ...(error.texts.length === 0 ? [] : [error.texts.map((text) => `- ${code(text)}`).join("\n")]),
    formatMarkdown(error.cause),
    ...(error.isInferred === true ? [`_${INFERRED_NOTE}_`] : []),
    "**Next command**",
    `\`\`\`text\n${error.next.join("\n")}\n\`\`\``,
    "**What to do.**",
    formatMarkdown(error.remedy),
    ...(error.related === undefined ? [] : [`More: [${error.related}](codes.md#${error.related})`]),
    "**Sources**",
    error.sources.map(markdownSource).join("\n"),
  ].join("\n\n");
}

/** The whole table in Markdown. */
export function formatErrorsPage(): string {
  const parts = [
    "# Errors",
    [
      "What Windows, HNS and the programs of a Windows node print when they fail: numbers, names and texts, with the",
      "cause, the next command and the remedy. `mullion explain` takes a number in any spelling, a name, a text or a",
      "whole line; `mullion explain --log FILE` finds them in a log. In texts, `…` stands for words that differ.",
      "",
      "This page is generated from the catalogue; `npm run schemas` writes it again.",
    ].join("\n"),
  ];
  for (const origin of ERROR_ORIGINS) {
    const errors = KNOWN_ERRORS.filter((error) => error.origin === origin);
    const items = errors.map((error) => {
      const text = error.texts[0];
      return `- [${nameOf(error)}](#${error.id})${text === undefined ? "" : `: ${code(text)}`}`;
    });
    parts.push(`## ${ORIGIN_TITLES[origin]}`, items.join("\n"));
    for (const error of errors) parts.push(formatError(error));
  }
  return `${parts.join("\n\n")}\n`;
}
