/** Results as data: the one place that says how JSON and YAML are written. */
import { stringify } from "yaml";

/** Formats of a document, as `-o` names them. */
export const DOCUMENT_FORMATS = ["json", "yaml"] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

/** True for a format that is data, not text for people. */
export function isDocumentFormat(format: string): format is DocumentFormat {
  return DOCUMENT_FORMATS.some((known) => known === format);
}

/**
 * A value as JSON, or as YAML that reads as the same value; ends with a line feed. YAML lines are not folded, and what
 * occurs twice is written twice: not every reader knows anchors.
 */
export function formatDocument(value: unknown, format: DocumentFormat): string {
  return format === "json"
    ? `${JSON.stringify(value, undefined, 2)}\n`
    : stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
