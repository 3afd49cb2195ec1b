/** Tells cluster files from manifests, also where one text holds both (`cat cluster.yaml web.yaml | mullion … -f -`). */
import { isLong } from "#control-plane/load/manifests.ts";
import type { InputText } from "../session/session.ts";

/** The field `apiVersion: mullion/…` at the left edge, or first in a JSON object. */
const CLUSTER_FILE = /^(?:\{\s*)?["']?apiVersion["']?\s*:\s*["']?mullion\//m;
/** A line that ends a document. */
const SEPARATOR = /^---(?:\s|$)/;

/** True for a text that means to be a cluster file, or to hold one. */
export function isClusterFile(text: string): boolean {
  return CLUSTER_FILE.test(text);
}

/** What one text holds. */
export interface SplitText {
  /** Each document that means to be a cluster file, at the lines that it has in the text. */
  readonly clusterFiles: readonly InputText[];
  /** The other documents, at the lines that they have; undefined when there are none. */
  readonly manifests: InputText | undefined;
}

/** Begin and end of each document of a YAML text, in lines. */
function documentsOf(lines: readonly string[]): readonly (readonly [begin: number, end: number])[] {
  const begins = lines.flatMap((line, index) => (SEPARATOR.test(line) ? [index] : []));
  const starts = begins[0] === 0 ? begins : [0, ...begins];
  return starts.map((begin, index) => [begin, starts[index + 1] ?? lines.length]);
}

function isBlank(lines: readonly string[]): boolean {
  return lines.every((line) => /^\s*(?:#.*|---\s*)?$/.test(line));
}

/** A text without cluster file is given back as it is, however large it is. */
export function splitText(given: InputText): SplitText {
  const { name, text } = given;
  if (isLong(given) || !isClusterFile(text)) return { clusterFiles: [], manifests: given };
  const lines = text.split("\n");
  const isJson = text.trimStart().startsWith("{");
  const documents = isJson ? [[0, lines.length] as const] : documentsOf(lines);
  const filled = documents.filter(([begin, end]) => !isBlank(lines.slice(begin, end)));
  if (filled.length <= 1) return { clusterFiles: [{ name, text }], manifests: undefined };
  const isCluster = ([begin, end]: readonly [number, number]): boolean =>
    isClusterFile(lines.slice(begin, end).join("\n"));
  /** Only these documents, at their lines. */
  const only = (kept: readonly (readonly [number, number])[]): InputText => ({
    name,
    text: lines
      .map((line, index) => (kept.some(([begin, end]) => begin <= index && index < end) ? line : ""))
      .join("\n"),
  });
  const others = filled.filter((each) => !isCluster(each));
  return {
    clusterFiles: filled.filter(isCluster).map((each) => only([each])),
    manifests: others.length === 0 ? undefined : only(others),
  };
}
