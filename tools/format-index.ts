/** What `data/` holds, as pages that list it, and the list of codes for the compiler. */
import { quirks } from "#data/facts.js";
import { listSubjects } from "#data/texts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { wrap } from "#core/base/text-layout.ts";
import { listSections, pathOfEntry } from "#diagnose/catalogue/catalogue.ts";
import { nameOf } from "#diagnose/catalogue/errors/format-error.ts";
import { ERROR_ORIGINS, ORIGIN_TITLES } from "#diagnose/catalogue/errors/known-error.ts";
import { KNOWN_ERRORS } from "#diagnose/catalogue/errors/table.ts";

const LINE_WIDTH = 110;

/** Angle brackets such as those of <port> would be taken for HTML. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[<>*_]/g, (letter) => `\\${letter}`);
}

function codeSpan(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function page(title: string, introduction: string, sections: readonly (readonly [string, string])[]): string {
  const parts = sections.flatMap(([heading, items]) => [`## ${heading}`, items]);
  return `${[`# ${title}`, wrap(introduction, LINE_WIDTH).join("\n"), ...parts].join("\n\n")}\n`;
}

/** The page of the catalogue: data/catalogue/README.md. */
export function formatCatalogueIndex(): string {
  const sections = listSections().map(({ title, entries }) => {
    const items = entries.map(({ code, title: text }) => {
      const [, , folder = "", file = ""] = pathOfEntry(code).split("/");
      return `- [${code}](${folder}/${file}): ${escapeMarkdown(text)}`;
    });
    return [title, items.join("\n")] as const;
  });
  const introduction =
    "Every limitation, every reason for a drop and every refusal has a code, and each code a file here. " +
    "`mullion explain CODE` prints it. Codes are stable: texts may change, codes may not. " +
    "This list is generated; `npm run schemas` writes it again.";
  return page("Codes", introduction, sections);
}

/** The page of the errors: data/errors/README.md. */
export function formatErrorsIndex(): string {
  const sections = ERROR_ORIGINS.map((origin) => {
    const items = KNOWN_ERRORS.filter((error) => error.origin === origin).map((error) => {
      const text = error.texts[0];
      return `- [${nameOf(error)}](${origin}/${error.id}.md)${text === undefined ? "" : `: ${codeSpan(text)}`}`;
    });
    return [ORIGIN_TITLES[origin], items.join("\n")] as const;
  });
  const introduction =
    "What Windows, HNS and the programs of a Windows node print when they fail: numbers, names and texts, with the " +
    "cause, the next command and the remedy. `mullion explain` takes a number in any spelling, a name, a text or a " +
    "whole line; `mullion explain --log FILE` finds them in a log. In texts, `{name}`, `{number}` and the like stand for what differs. " +
    "This list is generated; `npm run schemas` writes it again.";
  return page("Errors", introduction, sections);
}

/** The codes by subject, and the names of defects, a list each. */
function formatNames(begin: (name: string) => string): string {
  const codes = listSubjects("catalogue").map(({ title, names }) =>
    [`  // ${title}.`, ...names.map((name) => `  "${name}",`)].join("\n"),
  );
  const defects = CheckedFields.ofTable(quirks())
    .names()
    .map((name) => `  "${name}",`);
  return `// Written by npm run schemas from the files of catalogue/ and from facts/quirks.yaml.
${begin("KNOWLEDGE_CODES")}[
${codes.join("\n")}
];
${begin("QUIRK_NAMES")}[
${defects.join("\n")}
];
`;
}

/** The module of the codes: data/codes.js. */
export function formatCodes(): string {
  return formatNames((name) => `export const ${name} = `);
}

/** What the compiler knows of them: data/codes.d.ts. */
export function formatCodeTypes(): string {
  return formatNames((name) => `export declare const ${name}: readonly `);
}
