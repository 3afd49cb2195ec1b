/**
 * Log lines as Kubernetes' programs write them: text (k8s.io/klog), `I1122 03:47:08.123456    1234 file:line] "Message"
 * key="value"`, or JSON (k8s.io/component-base/logs/json), `{"ts":…,"caller":…,"msg":"Message","v":0,"key":"value"}`.
 */

export type LogFields = Readonly<Record<string, unknown>>;

/** Information, warning, error. */
export type Severity = "I" | "W" | "E";

export interface KlogOptions {
  readonly write: (text: string, severity: Severity) => void;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly pid: number;
  /** `--v`. */
  readonly verbosity: number;
  /** `--logging-format`; `text` when absent. */
  readonly format?: "text" | "json";
}

/** The place that klog names; upstream's names files, here it is the program. */
const PLACE = "kube-proxy:1";

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** `1122 03:47:08.123456`, in the machine's time zone. */
function timeText(wallMs: number): string {
  const time = new Date(wallMs);
  const micros = Math.floor((wallMs - Math.floor(wallMs)) * 1_000);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  const fraction = `${String(time.getMilliseconds()).padStart(3, "0")}${String(micros).padStart(3, "0")}`;
  return `${two(time.getMonth() + 1)}${two(time.getDate())} ${clock}.${fraction}`;
}

function valueText(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value instanceof Error) return JSON.stringify(value.message);
  return typeof value === "string" ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
}

/** A log of one program. */
export class Klog {
  private readonly options: KlogOptions;

  constructor(options: KlogOptions) {
    this.options = options;
  }

  /** Whether lines of that verbosity are written. */
  isOn(level: number): boolean {
    return level <= this.options.verbosity;
  }

  /** Written when `--v` is at least `level`. */
  info(level: number, message: string, fields: LogFields = {}): void {
    if (this.isOn(level)) this.line("I", message, fields, level);
  }

  warning(message: string, fields: LogFields = {}): void {
    this.line("W", message, fields);
  }

  error(message: string, fields: LogFields = {}): void {
    this.line("E", message, fields);
  }

  private line(severity: Severity, message: string, fields: LogFields, level = 0): void {
    const { write, wallMs, pid, format } = this.options;
    const pairs = Object.entries(fields).filter(([, value]) => value !== undefined);
    if (format === "json") {
      // Errors have no verbosity; warnings are information there.
      const verbosity = severity === "E" ? {} : { v: level };
      const plain = pairs.map(([name, value]) => [name, value instanceof Error ? value.message : value]);
      const head = { ts: wallMs(), caller: PLACE, msg: message, ...verbosity };
      write(`${JSON.stringify({ ...head, ...Object.fromEntries(plain) })}\n`, severity);
      return;
    }
    const text = pairs.map(([name, value]) => ` ${name}=${valueText(value)}`).join("");
    const head = `${severity}${timeText(wallMs())} ${String(pid).padStart(7)} ${PLACE}]`;
    write(`${head} ${JSON.stringify(message)}${text}\n`, severity);
  }
}
