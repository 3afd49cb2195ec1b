/** What pages ask of verbs that need no running cluster: `lint`, `doctor`, and comparisons of `verify`. */
import { isFields, mappingOf } from "#core/base/json.ts";
import { LIMITS } from "#core/base/limits.ts";
import { badField } from "#core/base/shape.ts";
import { DOCTOR_REPORT } from "#diagnose/doctor/doctor.ts";
import { PROFILE_NAMES, type WindowsBuild, parseProfile } from "#core/catalogue/profiles.ts";
import type { ClusterTarget } from "../cluster/cluster-target.ts";
import { doctor } from "../doctor.ts";
import { Failure } from "../failure.ts";
import { lint } from "../lint.ts";
import { usage } from "../options.ts";
import type { Terminal } from "../terminal.ts";
import type { DoctorRequest, LintRequest } from "../verbs.ts";
import { compareAsAsked } from "../verify-comparison.ts";
import { commandLine, commands } from "#data/words.js";

const WORDS = commands();
const OPTION_WORDS = commandLine();

/** Who waits for long work: hears how far it is, and may end it. */
export interface Watcher {
  readonly tell: (text: string) => void;
  /** Resolves when the work is no longer wanted. */
  readonly stopped: Promise<unknown>;
}

/** What a page may have run. */
export const EXAMINATIONS = ["lint", "doctor", "compare"] as const;
export type Examination = (typeof EXAMINATIONS)[number];

/** What a page has sent. @throws Failure with `advice` when it is no JSON object */
export function objectIn(body: string, advice: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw usage("the request is not JSON", advice);
  }
  if (isFields(value)) return value;
  throw usage("the request is not a JSON object", advice);
}

/** Texts that a page has sent, by name. @throws Failure for what is none. */
function textsOf(inputs: unknown): ReadonlyMap<string, string> {
  if (!Array.isArray(inputs)) throw usage("the request has no inputs", WORDS.adviceUiInputs);
  const texts = new Map<string, string>();
  for (const input of inputs as unknown[]) {
    const { name, text } = mappingOf(input);
    if (typeof name !== "string" || typeof text !== "string" || name === "" || name === "-")
      throw usage("an input lacks name or text", WORDS.adviceUiInputs);
    texts.set(name, text);
  }
  return texts;
}

interface KeptOutput {
  readonly terminal: Terminal;
  readonly output: () => string;
}

/** The terminal with its output kept; with `texts` it knows no files but these. */
function keepingTerminal(terminal: Terminal, texts: ReadonlyMap<string, string> | undefined): KeptOutput {
  const chunks: string[] = [];
  const read = (path: string): string => {
    const text = texts?.get(path);
    if (text === undefined) throw Object.assign(new Error(path), { code: "ENOENT" });
    return text;
  };
  const screen: Partial<Terminal> = {
    stdout: (text) => void chunks.push(text),
    stderr: () => undefined,
    status: () => undefined,
  };
  const files: Partial<Terminal> = {
    readFile: async (path) => Promise.resolve(read(path)),
    readBytes: async (path) => Promise.resolve(new TextEncoder().encode(read(path))),
    readChunks: async () => Promise.resolve(undefined),
    listFolder: async () => Promise.resolve(undefined),
    foldersIn: async () => Promise.resolve([]),
  };
  // Derived, not spread: a terminal may be of a class.
  const own = Object.assign(Object.create(terminal) as Terminal, screen, texts === undefined ? {} : files);
  return { terminal: own, output: () => chunks.join("") };
}

/** The terminal of work that is watched: what would be written over and over is told, Ctrl-C is the watcher's. */
function watched(terminal: Terminal, { tell, stopped }: Watcher): Terminal {
  const own: Partial<Terminal> = {
    isInteractive: true,
    status: (text) => {
      if (text !== "") tell(text);
    },
    untilInterrupted: async () => void (await stopped),
  };
  return Object.assign(Object.create(terminal) as Terminal, own);
}

const DOCTOR: Omit<DoctorRequest, "paths"> = {
  output: "json",
  kubeconfig: undefined,
  node: undefined,
  collect: undefined,
  isHns: false,
  watchEveryMs: undefined,
  isRedacted: false,
  threads: undefined,
  isLong: true,
};

const LINT: Omit<LintRequest, "paths"> = {
  profile: undefined,
  kubernetes: undefined,
  isWindows: false,
  format: "json",
  severity: "info",
  failOn: "error",
  isList: false,
  isLong: true,
  shard: undefined,
};

/** Builds by their names. @throws Failure for fewer than two, or one that is none. */
function readBuilds(names: unknown): readonly { readonly label: string; readonly build: WindowsBuild }[] {
  const builds = (Array.isArray(names) ? (names as unknown[]) : []).flatMap((label) => {
    const build = typeof label === "string" ? parseProfile(label) : undefined;
    return build === undefined ? [] : [{ label: label as string, build }];
  });
  if (Array.isArray(names) && builds.length === names.length && builds.length > 1) return builds;
  throw usage(WORDS.uiBuilds, `Builds are: ${PROFILE_NAMES.join(", ")}.`);
}

/** `{ "profiles": […] }`: the files on several builds. `{ "before": [{ name, text }] }`: then, and the cluster that runs. */
async function compare(
  body: string,
  target: ClusterTarget,
  terminal: Terminal,
  watcher: Watcher | undefined,
): Promise<string> {
  const { profiles, before } = objectIn(body, WORDS.adviceUiInputs);
  const common = { failsOnChange: false, asDocumented: undefined };
  const texts = before === undefined ? undefined : textsOf(before);
  if (texts === undefined && target.files.length === 0)
    throw new Failure(
      "bad-usage",
      OPTION_WORDS.profileNeedsFile,
      "Start the pages with the files: mullion ui -f FILE",
    );
  const asked =
    texts === undefined
      ? { ...common, profiles: readBuilds(profiles), before: [] }
      : { ...common, profiles: [], before: [...texts.keys()] };
  // What runs now is asked, as it has become; builds start from the files.
  const about = texts === undefined ? target : { ...target, files: [] };
  const kept = keepingTerminal(terminal, texts).terminal;
  const compared = await compareAsAsked(asked, about, watcher === undefined ? kept : watched(kept, watcher));
  return JSON.stringify(compared?.comparison ?? null);
}

/** The JSON of a saved report, when the only path is one; else what doctor says of all. @throws Failure. */
export async function readDoctor(paths: readonly string[], terminal: Terminal): Promise<string> {
  const [only] = paths;
  if (only !== undefined && paths.length === 1 && (await terminal.listFolder(only, false)) === undefined) {
    const saved = parsedOr(new TextDecoder().decode(await terminal.readBytes(only, LIMITS.inputBytesMax)));
    if (isFields(saved) && saved["kind"] === "DoctorReport") {
      const field = badField(DOCTOR_REPORT, saved);
      if (field === undefined) return JSON.stringify(saved);
      throw usage(WORDS.uiReportInvalid({ file: JSON.stringify(only), field }), WORDS.adviceUiReport);
    }
  }
  const kept = keepingTerminal(terminal, undefined);
  await doctor({ ...DOCTOR, paths }, kept.terminal);
  return kept.output();
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Runs what a page asks for, as its verb does, and answers the verb's JSON. */
export async function examine(
  verb: Examination,
  body: string | undefined,
  target: ClusterTarget,
  terminal: Terminal,
  watcher?: Watcher,
): Promise<string> {
  if (verb === "compare") return compare(body ?? "", target, terminal, watcher);
  const texts = body === undefined ? undefined : textsOf(objectIn(body, WORDS.adviceUiInputs)["inputs"]);
  const paths = texts === undefined ? target.files : [...texts.keys()];
  if (paths.length === 0) return "null";
  const kept = keepingTerminal(terminal, texts);
  if (verb === "doctor") await doctor({ ...DOCTOR, paths }, kept.terminal);
  else await lint({ ...LINT, paths }, kept.terminal);
  return kept.output();
}
