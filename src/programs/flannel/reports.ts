/** What flanneld cannot do, with the entry of the catalogue that explains it. */
import { messageOf } from "#core/base/thrown.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

export class FlannelError extends Error {
  override readonly name = "FlannelError";
  readonly code: KnowledgeCode;

  constructor(code: KnowledgeCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** One sentence about something that failed, and its code. */
export interface FlannelFinding {
  readonly code: KnowledgeCode;
  readonly message: string;
}

/** A failure as a finding: its own code if it has one, else `code`. */
export function findingOf(error: unknown, code: KnowledgeCode, before = ""): FlannelFinding {
  return { code: error instanceof FlannelError ? error.code : code, message: `${before}${messageOf(error)}` };
}
