/** JSON schema of `mullion explain CODE -o json`: schemas/knowledge-entry.v1alpha1.json. */
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";

const TEXT = Object.freeze({ type: "string", minLength: 1 });

/** JSON schema, draft 7, of one entry. */
export function entrySchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Mullion catalogue entry",
    description:
      "What `mullion explain CODE -o json` prints. In texts, paragraphs are separated by an empty line, and lines that begin with four blanks are commands or their output.",
    type: "object",
    additionalProperties: false,
    required: ["code", "title", "cause", "onNode", "remedy", "sources", "profiles"],
    properties: {
      code: { description: "The stable code.", enum: KNOWLEDGE_CODES },
      title: { description: "One line without a full stop.", ...TEXT },
      cause: { description: "Why it happens.", ...TEXT },
      onNode: { description: "How to see it on a Windows node.", ...TEXT },
      remedy: { description: "What to do about it.", ...TEXT },
      sources: {
        description: "Public pages and threads, or sections of the reference documents.",
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          additionalProperties: false,
          required: ["text"],
          properties: { text: TEXT, url: { type: "string", pattern: "^https://" } },
        },
      },
      profiles: {
        description: "Windows profiles it holds for; `all` for every one.",
        type: "array",
        minItems: 1,
        items: TEXT,
      },
      severity: {
        description: "How much a finding of `mullion lint` weighs; absent when lint does not look for it.",
        enum: ["error", "warning", "info"],
      },
    },
  };
}
