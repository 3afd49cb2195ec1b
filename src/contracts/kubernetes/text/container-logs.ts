/**
 * The logs that `kubectl cluster-info dump` prints between the lists of objects when nothing says where to write them
 * (kubectl, pkg/cmd/clusterinfo/clusterinfo_dump.go): each between two lines that name container and pod.
 */
const START = "==== START logs for container ";
const END = "==== END logs for container ";
const LINE_END = " ====";

function isAtLineBegin(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === "\n";
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}

/** Where the log ends whose first line is at `start`: behind the line that names the same container, else with the text. */
function endOfLog(text: string, start: number): number {
  const named = text.slice(start + START.length, lineEnd(text, start)).trimEnd();
  const end = named.endsWith(LINE_END) ? text.indexOf(END + named, start) : -1;
  return end < 0 ? text.length : lineEnd(text, end);
}

/** The log of a container, between the two lines that name it. */
export interface ContainerLog {
  readonly container: string;
  readonly namespace: string;
  readonly pod: string;
  readonly text: string;
  /** Of the first line of the log, from 1. */
  readonly line: number;
}

/** A name in Kubernetes is not longer. */
const NAME_MAX = 253;
/** `web of pod shop/web-0 ====`; bounds in it would take the checker of patterns too long. */
const NAMED = /^(\S+) of pod ([^\s/]+)\/(\S+) ====/u;

function countLines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at >= 0 && at < to; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** The logs that stand in a text, in their order; one that is cut ends with the text. */
export function containerLogsIn(text: string): readonly ContainerLog[] {
  const logs: ContainerLog[] = [];
  let done = 0;
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf(START); at >= 0; at = text.indexOf(START, Math.max(at + 1, done))) {
    if (!isAtLineBegin(text, at)) continue;
    const begin = Math.min(lineEnd(text, at) + 1, text.length);
    done = endOfLog(text, at);
    const last = text.lastIndexOf("\n", done - 1) + 1;
    const end = text.startsWith(END, last) ? last : done;
    const names = NAMED.exec(text.slice(at + START.length, begin))?.slice(1) ?? [];
    const [container = "", namespace = "", pod = ""] = names;
    line += countLines(text, counted, begin);
    counted = begin;
    if (container !== "" && names.every(({ length }) => length <= NAME_MAX))
      logs.push({ container, namespace, pod, text: text.slice(begin, end), line });
  }
  return logs;
}

/** The text with an empty line in place of each line of a log, so that what is left stands where it stood. */
export function withoutContainerLogs(text: string): string {
  const parts: string[] = [];
  let done = 0;
  for (let at = text.indexOf(START); at >= 0; at = text.indexOf(START, Math.max(at + 1, done))) {
    if (!isAtLineBegin(text, at)) continue;
    const end = endOfLog(text, at);
    const lines = text.slice(at, end).split("\n").length - 1;
    parts.push(text.slice(done, at), "\n".repeat(lines));
    done = end;
  }
  return done === 0 ? text : parts.join("") + text.slice(done);
}
