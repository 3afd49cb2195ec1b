/** What flanneld says: why it cannot do something, with the entry of the catalogue that explains it, and lines of its log. */
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

// What it says while it works, line by line: the executable prints it, an emulated node keeps it.

/** As klog marks them: information, warning, error. */
export type Severity = "I" | "W" | "E";

export interface FlannelLog {
  write(severity: Severity, text: string): void;
}

export interface LogLine {
  readonly severity: Severity;
  readonly text: string;
}

/** Lines that are kept; older ones are forgotten. */
const LINES_MAX = 1_000;

/** Keeps the last lines. Plain data, so that a world that holds it can be forked. */
export class KeptLog implements FlannelLog {
  readonly lines: LogLine[] = [];

  write(severity: Severity, text: string): void {
    this.lines.push(Object.freeze({ severity, text }));
    if (this.lines.length > LINES_MAX) this.lines.shift();
  }
}
