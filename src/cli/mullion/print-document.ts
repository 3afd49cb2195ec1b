/** Results as data: the one place that says how JSON and YAML are written. */
import { visibleText } from "#core/base/visible-text.ts";
import { Document, Scalar, stringify, visit } from "yaml";

/** Formats of a document, as `-o` names them. */
export const DOCUMENT_FORMATS = ["json", "yaml"] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

/** What verbs print that have one text for people. */
export const TEXT_FORMATS = ["text", "json", "yaml"] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];

/** What verbs print whose answer is worth a page. */
export const PAGE_FORMATS = ["text", "json", "yaml", "html"] as const;
export type PageFormat = (typeof PAGE_FORMATS)[number];

/** What doctor prints: for build servers, code scanning, and threads, too. */
export const REPORT_FORMATS = ["text", "json", "yaml", "html", "junit", "sarif", "markdown"] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** True for a format that is data, not text for people. */
export function isDocumentFormat(format: string): format is DocumentFormat {
  return DOCUMENT_FORMATS.some((known) => known === format);
}

/**
 * A value as JSON, or as YAML that reads as the same value; ends with a line feed. YAML lines are not folded, and what
 * occurs twice is written twice: not every reader knows anchors.
 */
export function formatDocument(value: unknown, format: DocumentFormat): string {
  return format === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : formatYaml(value);
}

/** Texts that the terminal's gate writes with escapes stand in double quotes, where YAML reads escapes. */
function formatYaml(value: unknown): string {
  const text = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
  if (visibleText(text) === text) return text;
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "string" && visibleText(node.value) !== node.value)
        node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}
