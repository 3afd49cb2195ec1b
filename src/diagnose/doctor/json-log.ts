/**
 * Logs of which each line is a JSON object: kubelet and kube-proxy with `--logging-format=json`, containerd with
 * `format = "json"`, and what Docker keeps of a container. Readers get the lines that the text form has.
 */
import { type Fields, isFields } from "#core/base/json.ts";
import { SourceText } from "#core/base/source-text.ts";
import { stripEnd } from "#core/base/text-edges.ts";

/** How a line of a program begins: with one of the names that are written first. */
export const JSON_LOG_LINE: string = String.raw`\{"(?:ts|time|level|caller|msg|error)":`;

/** Such a line, or one that Docker keeps, in which a container may print anything. */
const BEGINNING = new RegExp(String.raw`^(?:${JSON_LOG_LINE}|\{"log":")`, "mu");

/** A log that is one has such lines at its beginning. */
const HEAD_LENGTH = 65_536;

/** Of later than the year 5138 in seconds, which `ts` once counted. */
const SECONDS_MAX = 1e11;

/** Names that are said before the message, or by its side. */
const HEAD: ReadonlySet<string> = new Set(["ts", "time", "level", "caller", "msg", "v", "stream"]);

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : (JSON.stringify(value) ?? "");
}

function pad(value: number, length = 2): string {
  return String(value).padStart(length, "0");
}

/** `I0102 15:04:05.000000       1 proxier.go:1180]`. */
function klogHead({ caller, ...fields }: Fields): string {
  const { ts, v } = fields;
  const moment = typeof ts === "number" ? ts : 0;
  const at = new Date(moment < SECONDS_MAX ? moment * 1_000 : moment);
  const day = `${pad(at.getUTCMonth() + 1)}${pad(at.getUTCDate())}`;
  const time = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}.${pad(at.getUTCMilliseconds() * 1_000, 6)}`;
  // An error has no level.
  return `${v === undefined ? "E" : "I"}${day} ${time} 1 ${typeof caller === "string" ? caller : "?"}]`;
}

/** Values that stand beside the message, as both klog and logrus print them. */
function besides(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]) =>
    HEAD.has(name) ? [] : [`${name}=${shown(value)}`],
  );
}

/** One line in its text form; what is no line of such a log stays as it is. */
export function plainLine(line: string): string {
  if (!BEGINNING.test(line)) return line;
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    // Cut, or no JSON after all.
    return line;
  }
  if (!isFields(fields)) return line;
  const { log, msg, ts, time } = fields;
  // Docker keeps what a container prints, a line each.
  if (typeof log === "string") return stripEnd(log, /[\r\n]/).replaceAll("\n", " ");
  if (typeof msg !== "string") return line;
  const text = msg.replaceAll(/[\r\n]+/gu, " ");
  if (typeof ts === "number") return [klogHead(fields), text, ...besides(fields)].join(" ");
  const { level } = fields;
  const head =
    typeof time === "string"
      ? `time=${shown(time)} level=${typeof level === "string" ? level : "info"} `
      : "";
  return [`${head}msg=${shown(text)}`, ...besides(fields)].join(" ");
}

export function isJsonLog(text: string): boolean {
  return BEGINNING.test(text.slice(0, HEAD_LENGTH));
}

/** A text in which lines of such a log have their text form; the numbers of lines stay. */
export function withPlainLines(source: SourceText): SourceText {
  const { file, text, encoding, hasByteOrderMark } = source;
  if (!isJsonLog(text)) return source;
  const plain = text.split("\n").map((line) => plainLine(line.endsWith("\r") ? line.slice(0, -1) : line));
  return new SourceText(file, plain.join("\n"), encoding, hasByteOrderMark);
}
