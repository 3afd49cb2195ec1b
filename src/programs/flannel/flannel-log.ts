/** What flanneld says while it works, line by line: the executable prints it, an emulated node keeps it. */

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
