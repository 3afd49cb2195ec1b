/** Documents that are no JSON and no YAML: a command line of kube-proxy in any script, and flannel's subnet.env. */
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

const FLAG =
  /(?<![\w-])--([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)(?:(?:=|\s+(?!-))("[^"]*"|'[^']*'|(?:\$[({][^)}]*[)}]|[^\s"'`,;)])+))?/g;

/** Programs of a node where they are called or spoken of: flags belong to the one that is named last. */
const PROGRAM =
  /\b(?:kube-?proxy|kubelet|flanneld|kubectl|kubeadm|containerd|dockerd|etcd|calico-node|antrea-agent|kube-(?:apiserver|controller-manager|scheduler)|[\w-]+(?=\.exe))(?:\.exe)?["']?(?=[\s,\]])/gi;

/** Without quotes, and without the bracket of a text around the whole command: `[kube-proxy.exe --v=4]`. */
function plainValue(text: string): string {
  const value = text.replace(/^["']|["']$/g, "");
  return value.includes("[") ? value : value.replace(/\]+$/, "");
}

function isInComment(text: string, offset: number): boolean {
  const line = text.slice(text.lastIndexOf("\n", offset) + 1, offset);
  return /^\s*(?:#|\/\/|rem\b|::)/i.test(line);
}

/** Lines without a flag that a call may have between two. */
const GAP_MAX = 12;

function isFar(text: string, from: number, to: number): boolean {
  return text.slice(from, to).split("\n").length > GAP_MAX;
}

/** The flags that follow the name of the program in a text; none when it is not called there. */
export function flagsOf(text: string): readonly FoundFlag[] {
  const programs = [...text.matchAll(PROGRAM)];
  if (!programs.some(([name]) => /^kube-?proxy/i.test(name))) return [];
  const flags: FoundFlag[] = [];
  let next = 0;
  let behind = 0;
  for (const match of text.matchAll(FLAG)) {
    while ((programs[next]?.index ?? text.length) < match.index) next++;
    const program = programs[next - 1];
    if (program === undefined || !/^kube-?proxy/i.test(program[0])) continue;
    behind = Math.max(behind, program.index);
    if (isInComment(text, match.index) || isFar(text, behind, match.index)) continue;
    behind = match.index;
    const value = plainValue(match[2] ?? "");
    const whole = match[0].trimEnd();
    flags.push({
      name: match[1] ?? "",
      value,
      start: match.index,
      end: match.index + (value.endsWith("]") ? whole : whole.replace(/\]+$/, "")).length,
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
