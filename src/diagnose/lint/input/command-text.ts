/** Documents that are no JSON and no YAML: a command line of kube-proxy in any script, and flannel's subnet.env. */
import { stripEnd } from "#core/base/text-edges.ts";
import type { LintDocument, Locate, Range } from "./document.ts";
import type { SourceText } from "#core/base/source-text.ts";

/** A flag in a text. */
export interface FoundFlag {
  readonly name: string;
  /** Empty for a flag without a value. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** The name of a flag, and what stands between it and a value. */
const FLAG = /(?<![\w-])--([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)(=|\s+(?!-))?/g;
const ESCAPED_QUOTE = '`"';
const VALUE_ENDS = /[\s"'`,;)]/;

/** The ends of values, which are asked for from the front to the back. */
class Values {
  private readonly text: string;
  /** The bracket that was found last: the next one behind all places before it. */
  private bracket = -1;

  constructor(text: string) {
    this.text = text;
  }

  /** The end of the value that begins at `start`, which is `start` where none does. */
  endOf(start: number): number {
    const { text } = this;
    // Inside a text of PowerShell a backtick stands before a quote (about_Quoting_Rules).
    if (text.startsWith(ESCAPED_QUOTE, start)) {
      const end = text.indexOf(ESCAPED_QUOTE, start + ESCAPED_QUOTE.length);
      return end < 0 ? start : end + ESCAPED_QUOTE.length;
    }
    const quote = text.charAt(start);
    if (quote === '"' || quote === "'") return text.indexOf(quote, start + 1) + 1 || start;
    let at = start;
    while (at < text.length && !VALUE_ENDS.test(text.charAt(at))) {
      const isExpression = text.startsWith("$(", at) || text.startsWith("${", at);
      at = isExpression ? this.behindBracket(at + 2) : at + 1;
    }
    return at;
  }

  /** Behind the bracket that closes an expression; `from` where none does. */
  private behindBracket(from: number): number {
    if (this.bracket < from) {
      const found = this.text.slice(from).search(/[)}]/);
      this.bracket = found < 0 ? Infinity : from + found;
    }
    return this.bracket === Infinity ? from - 1 : this.bracket + 1;
  }
}

interface FlagText {
  readonly index: number;
  readonly name: string;
  readonly value: string;
  readonly end: number;
}

function* flagTexts(text: string): Generator<FlagText> {
  const pattern = new RegExp(FLAG);
  const values = new Values(text);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole, name = "", separator] = match;
    const start = match.index + whole.length;
    const end = separator === undefined ? start : values.endOf(start);
    yield {
      index: match.index,
      name,
      value: text.slice(start, end),
      end: end > start ? end : match.index + name.length + 2,
    };
    pattern.lastIndex = end;
  }
}

/** Programs of a node where they are called or spoken of: flags belong to the one that is named last. */
const PROGRAM =
  /(?:\b(?:kube-?proxy|kubelet|flanneld|kubectl|kubeadm|containerd|dockerd|etcd|calico-node|antrea-agent|kube-(?:apiserver|controller-manager|scheduler))|(?<![\w-])[\w-]+(?=\.exe))(?:\.exe)?["']?(?=[\s,\]])/gi;

/** Without quotes, and without the bracket of a text around the whole command: `[kube-proxy.exe --v=4]`. */
function plainValue(text: string): string {
  const value = text.replace(/^`?["']|`?["']$/g, "");
  return value.includes("[") ? value : stripEnd(value, /\]/);
}

/** A sign of a comment stands among the first characters of its line. */
const HEAD_OF_LINE = 1_000;
const COMMENT = /^\s*(?:#|\/\/|rem\b|::)/i;

/** Lines without a flag that a call may have between two. */
const GAP_MAX = 12;

/** The number of the line that holds an offset, from 0; offsets are asked for from the front to the back. */
function lineCounter(starts: readonly number[]): (offset: number) => number {
  let line = 0;
  return (offset) => {
    while ((starts[line + 1] ?? Infinity) <= offset) line++;
    return line;
  };
}

/** How programs of Kubernetes log the flags that they were started with, one a line, by their names in order. */
const LOGGED_FLAG = /FLAG: --([a-z][a-z0-9.-]{0,80})="([^"\n]{0,1000})"/g;

/** Of the programs of Kubernetes kube-proxy alone has it (cmd/kube-proxy/app/options.go). */
const OF_KUBE_PROXY = "proxy-mode";

/** The flags that kube-proxy logged at its last start, where its name stands nowhere: a flag tells whose they are. */
function loggedFlags(text: string): readonly FoundFlag[] {
  if (!text.includes(`FLAG: --${OF_KUBE_PROXY}=`)) return [];
  let run: FoundFlag[] = [];
  let found: readonly FoundFlag[] = [];
  for (const { 0: whole, 1: name = "", 2: value = "", index } of text.matchAll(LOGGED_FLAG)) {
    const before = run.at(-1)?.name;
    if (before !== undefined && name <= before) run = [];
    const start = index + "FLAG: ".length;
    run.push({ name, value, start, end: index + whole.length });
    if (run.some((flag) => flag.name === OF_KUBE_PROXY)) found = run;
  }
  // What has no value was not given.
  return found.filter(({ value }) => value !== "");
}

/** The flags that follow the name of the program in a text, or that it logged; none when it is not called there. */
export function flagsOf(text: string): readonly FoundFlag[] {
  // Long logs have none.
  if (!text.includes("--")) return [];
  const programs = [...text.matchAll(PROGRAM)];
  if (!programs.some(([name]) => /^kube-?proxy/i.test(name))) return loggedFlags(text);
  const flags: FoundFlag[] = [];
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const [lineOfFlag, lineOfProgram] = [lineCounter(starts), lineCounter(starts)];
  let next = 0;
  let behind = 0;
  for (const match of flagTexts(text)) {
    while ((programs[next]?.index ?? text.length) < match.index) next++;
    const program = programs[next - 1];
    if (program === undefined || !/^kube-?proxy/i.test(program[0])) continue;
    const line = lineOfFlag(match.index);
    behind = Math.max(behind, lineOfProgram(program.index));
    const isComment = COMMENT.test(text.slice(starts[line], match.index).slice(0, HEAD_OF_LINE));
    if (isComment || line - behind >= GAP_MAX) continue;
    behind = line;
    const value = plainValue(match.value);
    const whole = text.slice(match.index, match.end);
    flags.push({
      name: match.name,
      value,
      start: match.index,
      end: match.index + (value.endsWith("]") ? whole : stripEnd(whole, /\]/)).length,
    });
  }
  return flags;
}

const KNOWN_FLAGS =
  /^(?:v|kubeconfig|config|hostname-override|proxy-mode|network-name|source-vip|enable-dsr)$/;

/** True for flags that only kube-proxy has, or that it always has. */
export function isKubeProxyCall(flags: readonly FoundFlag[]): boolean {
  return flags.some(({ name }) => KNOWN_FLAGS.test(name) && name !== "v");
}

/** Places of a document whose value is made of named parts of a text. */
export function locateParts(parts: ReadonlyMap<string, Range>, base: number): Locate {
  return (places) =>
    places.map((place) => {
      if ("offset" in place)
        return { start: base + place.offset, end: base + place.offset + (place.length ?? 1) };
      const name = String(place.path.at(-1) ?? "");
      const part = parts.get(name) ?? [...parts.values()][0];
      return { start: base + (part?.start ?? 0), end: base + (part?.end ?? 1) };
    });
}

/** A call of kube-proxy as a document. The last flag of a name counts, as in Go. */
export function commandDocument(
  flags: readonly FoundFlag[],
  from: Pick<LintDocument, "source" | "text" | "host" | "locate">,
): LintDocument {
  const value = { flags: Object.fromEntries(flags.map((flag) => [flag.name, flag.value])) };
  return { ...from, kind: "kube-proxy-flags", value, traps: [], title: "kube-proxy's flags" };
}

/** A file that calls kube-proxy. */
export function readCommandLine(source: SourceText): LintDocument | undefined {
  const flags = flagsOf(source.text);
  if (!isKubeProxyCall(flags)) return undefined;
  const locate = locateParts(new Map(flags.map((flag) => [flag.name, flag])), 0);
  return commandDocument(flags, { source, text: source.text, host: undefined, locate });
}

/** `FLANNEL_SUBNET=10.244.1.1/24` and its like, one per line. */
export function readEnvironmentFile(source: SourceText): LintDocument | undefined {
  if (!/^\s*(?:#[^\n]*\n\s*)*FLANNEL_[A-Z0-9_]+=/.test(source.text.slice(0, 4_096))) return undefined;
  const parts = new Map<string, Range>();
  const value: Record<string, string> = {};
  for (const match of source.text.matchAll(/^[ \t]*([A-Za-z_][A-Za-z0-9_]*)=([^\r\n]*)/gm)) {
    const name = match[1] ?? "";
    value[name] = (match[2] ?? "").trim().replace(/^["']|["']$/g, "");
    const start = match.index + match[0].indexOf(name);
    parts.set(name, { start, end: match.index + match[0].trimEnd().length });
  }
  return {
    kind: "subnet-env",
    source,
    text: source.text,
    value,
    locate: locateParts(parts, 0),
    traps: [],
    host: undefined,
    title: "flannel's subnet.env",
  };
}
