/** Lines as klog prints them: `I1122 04:05:06.123456    1234 flanneld] text`. */
import type { FlannelLog, Severity } from "#programs/flannel/flannel-log.ts";

function two(value: number): string {
  return String(value).padStart(2, "0");
}

export interface KlogLinesParts {
  readonly write: (line: string) => void;
  /** The time of day in milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly pid: number;
}

export class KlogLines implements FlannelLog {
  private readonly parts: KlogLinesParts;

  constructor(parts: KlogLinesParts) {
    this.parts = parts;
  }

  write(severity: Severity, text: string): void {
    const ms = this.parts.wallMs();
    const at = new Date(ms);
    const micros = String(Math.floor((ms % 1_000) * 1_000)).padStart(6, "0");
    const day = `${two(at.getMonth() + 1)}${two(at.getDate())}`;
    const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${micros}`;
    const pid = String(this.parts.pid).padStart(7);
    // One entry is one line, whatever a message holds.
    this.parts.write(`${severity}${day} ${time} ${pid} flanneld] ${text.replaceAll("\n", "\\n")}\n`);
  }
}
