/** The command line of `mullion`: verbs, options, help, and how faults are told. */
import { Command, CommanderError } from "commander";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { LINT_SEVERITIES, type LintSeverity } from "#diagnose/catalogue/entry.ts";
import { isPort } from "#core/net/port-range.ts";
import { nearestNames } from "#core/base/nearest-name.ts";
import { addBringUp } from "./cluster/bring-up-command.ts";
import { addExplain } from "./explain/explain-command.ts";
import type { ShardNumber } from "#cluster/verify/report.ts";
import { wrap } from "#core/base/text-layout.ts";
import { reportFailure } from "./failure.ts";
import { addCni } from "./cni/commands.ts";
import { addCompletion } from "./completion/completion-command.ts";
import { addDocker } from "./docker/commands.ts";
import { addHns } from "./hns/commands.ts";
import { addKube } from "./kube/commands.ts";
import { STACK_KINDS } from "#cluster/api/client.ts";
import { OVN_KINDS } from "./get/listings-ovn.ts";
import { HNS_KIND_NAMES, KUBE_KIND_NAMES, parseSelections } from "./get/kinds.ts";
import { addControlPlane, addNode, addPass } from "./cluster/node-commands.ts";
import {
  type EditionOptions,
  type Run,
  type TargetOptions,
  clusterTarget,
  countFor,
  editionAsked,
  usage,
} from "./options.ts";
import { addVerb, describeVerb } from "./described-verb.ts";
import { addDoctor } from "./doctor-command.ts";
import { addExec } from "./exec-command.ts";
import { addResolve } from "./resolve-command.ts";
import { addPrograms, addRun, splitRun } from "./programs/commands.ts";
import { addCapture, addLogs, addShell, addTop } from "./cluster/live-commands.ts";
import { addApply, addDelete, addDown, addUi, addUp } from "./cluster/running-commands.ts";
import {
  PAGE_FORMATS,
  type PageFormat,
  TEXT_FORMATS,
  type TextFormat,
  formatDocument,
} from "./print-document.ts";
import { LIST_FORMATS, type ListFormat } from "./table.ts";
import type { Terminal } from "./terminal.ts";
import {
  ALLOW_NOT_JUDGED,
  DEMO_EXAMPLE,
  LINT_FORMATS,
  MERGE_FORMATS,
  type MergeFormat,
  type LintFormat,
  PROTOCOLS,
  type Protocol,
  VERIFY_FORMATS,
  type Verbs,
  type VerifyFormat,
} from "./verbs.ts";
import { COMPARISON_VALUES, type ComparisonOptions, comparisonRequest } from "./verify-comparison-options.ts";
import { commandOf, unknownHelp, usageFailure } from "./usage-faults.ts";
import { addOvn } from "./ovn/commands.ts";
import { addVfp } from "./vfp/commands.ts";
import { addWine } from "./wine/wine-command.ts";
import { commandLine } from "#data/words.js";

const WORDS = commandLine();

/** The heading of verbs in a help, also of those within a group. */
const VERBS = "Verbs:";

function parsePort(text: string): number {
  const port = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (port < 1 || !isPort(port)) {
    throw usage(`--port takes a port number, not ${JSON.stringify(text)}`, "Write a number from 1 to 65535.");
  }
  return port;
}

const IP_FAMILIES = ["ipv4", "ipv6"] as const;

interface TraceOptions extends TargetOptions, EditionOptions {
  readonly port?: number;
  readonly protocol: Protocol;
  readonly output: PageFormat;
  readonly pcap?: string;
  readonly pcapOn?: string;
  readonly inject?: boolean;
  readonly family?: (typeof IP_FAMILIES)[number];
}

/** @throws Failure for options that do not go together. */
function checkTraceOptions({ protocol, port, pcap, pcapOn }: TraceOptions): void {
  if (protocol === "icmp" && port !== undefined)
    throw usage("ICMP has no ports", "Leave out --port, or choose --protocol tcp.");
  if (protocol === "dns" && port !== undefined)
    throw usage("a lookup asks on port 53", "Leave out --port, or choose --protocol udp.");
  if (pcapOn !== undefined && pcap === undefined)
    throw usage("--pcap-on limits a capture, but --pcap is missing", "Name a file with --pcap.");
}

function addTrace(program: Command, run: Run, trace: Verbs["trace"], terminal: Terminal): void {
  const values = {
    "--port": parsePort,
    "--protocol": PROTOCOLS,
    "--family": IP_FAMILIES,
    "--output": PAGE_FORMATS,
  };
  addVerb(program, "trace", { values }).action((from: string, to: string, options: TraceOptions) =>
    run(() => {
      checkTraceOptions(options);
      const { protocol, port, output, pcap, pcapOn, inject, family } = options;
      const target = clusterTarget(options);
      const isInjected = inject === true;
      if (isInjected && target.files.length > 0)
        throw usage(WORDS.injectNeedsRunningCluster, "Leave out -f.");
      const asDocumented = editionAsked(options, target);
      const how = { protocol, port, output, pcap, pcapOn, isInjected, family };
      return trace({ target, asDocumented, from, to, ...how }, terminal);
    }),
  );
}

interface GetOptions extends TargetOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly node?: string;
  readonly output: ListFormat;
}

function addGet(program: Command, run: Run, get: Verbs["get"], terminal: Terminal): void {
  const lines = (names: readonly string[]): string => wrap(names.join(", "), 90).join("\n  ");
  const holes = {
    kubeKinds: lines(KUBE_KIND_NAMES),
    hnsKinds: HNS_KIND_NAMES.join(", "),
    ovnKinds: lines(OVN_KINDS),
    machineKinds: lines(STACK_KINDS),
  };
  addVerb(program, "get", { values: { "--output": LIST_FORMATS }, holes }).action(
    (kind: string, names: readonly string[], options: GetOptions) =>
      run(() => {
        const { namespace, allNamespaces, node, output } = options;
        const selections = parseSelections([kind, ...names]);
        const scope = { namespace, isEverywhere: allNamespaces === true, node };
        return get({ target: clusterTarget(options), selections, scope, output }, terminal);
      }),
  );
}

interface VerifyOptions extends TargetOptions, ComparisonOptions {
  readonly allow?: readonly string[];
  readonly output?: VerifyFormat;
  readonly shard?: ShardNumber;
  readonly workers?: number;
  readonly helper?: boolean;
  readonly watch?: boolean;
  readonly whole?: boolean;
}

const WORKERS_MAX = 64;

/** @throws Failure for options that do not go together. */
function checkSplit({ shard, workers, output }: VerifyOptions, isComparing: boolean, isBuilt: boolean): void {
  const flag = shard === undefined ? "--workers" : "--shard";
  if (shard === undefined && workers === undefined) return;
  if (!isBuilt)
    throw usage(`${flag} builds the cluster anew, and this is a running one`, "Name the input with -f.");
  if (isComparing)
    throw usage(
      `${flag} is for one verification, and this would be several`,
      "Verify each state by itself, and compare the reports: --before REPORT.",
    );
  checkShardFormat(shard, output);
}

/** @throws Failure for options that do not go with --watch or --whole. */
function checkWatch(
  { watch, whole, shard, workers, output = "table", file = [] }: VerifyOptions,
  isComparing: boolean,
): void {
  if (whole === true && (file.length > 0 || watch === true || isComparing))
    throw usage(WORDS.wholeNeedsRunningCluster, "Leave out --whole.");
  if (watch !== true) return;
  if (shard !== undefined || workers !== undefined || isComparing)
    throw usage("--watch shows one matrix again and again, in one process", WORDS.adviceWatchConflicts);
  if (output !== "table")
    throw usage(
      "--watch is for a person: it shows text",
      "Leave out -o, or run verify once for each report.",
    );
  if (file.includes("-")) throw usage("standard input does not change", "Name files with -f.");
}

/** @throws Failure for a form that cannot be merged. */
function checkShardFormat(shard: ShardNumber | undefined, output: string | undefined): void {
  if (shard === undefined || output === undefined || output === "json") return;
  throw usage(WORDS.shardReportNeedsJson({ output }), WORDS.adviceFormatMergedReport({ output }));
}

/** `--allow a,b --allow c`: names of findings. */
function collectAllowed(text: string, previous: readonly string[] | undefined): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const known = [ALLOW_NOT_JUDGED, ...KNOWLEDGE_CODES];
  for (const name of names) {
    if (known.includes(name)) continue;
    const [near] = nearestNames(name, known, 1);
    throw usage(
      `--allow takes names of findings, not ${JSON.stringify(name)}`,
      near === undefined ? "Each finding shows its name behind why." : `Did you mean ${near}?`,
    );
  }
  return [...(previous ?? []), ...names];
}

function addVerify(program: Command, run: Run, verify: Verbs["verify"], terminal: Terminal): void {
  const values = {
    ...COMPARISON_VALUES,
    "--output": VERIFY_FORMATS,
    "--workers": countFor("--workers", { max: WORKERS_MAX, advice: "1 tries everything in one process." }),
    "--allow": collectAllowed,
  };
  addVerb(program, "verify", { values }).action((options: VerifyOptions) =>
    run(() => {
      const { output = "table", allow = [], shard, workers, helper, watch, whole } = options;
      const target = clusterTarget(options);
      const comparison = comparisonRequest(options, target, output);
      const isComparing = comparison.before.length > 0 || comparison.profiles.length > 1;
      checkSplit(options, isComparing, target.files.length > 0);
      checkWatch(options, isComparing);
      const split = { shard, workers, isHelper: helper === true };
      const again = { isWatching: watch === true, isWhole: whole === true };
      return verify({ target, output, allowed: allow, comparison, ...split, ...again }, terminal);
    }),
  );
}

interface MergeOptions {
  readonly output: MergeFormat;
}

function addMerge(program: Command, run: Run, merge: Verbs["merge"], terminal: Terminal): void {
  addVerb(program, "merge", { values: { "--output": MERGE_FORMATS } }).action(
    (paths: readonly string[], { output }: MergeOptions) => run(() => merge({ paths, output }, terminal)),
  );
}

interface LintCommandOptions {
  readonly profile?: string;
  readonly kubernetes?: string;
  readonly windows?: boolean;
  readonly output?: LintFormat;
  /** An older name of `output`. */
  readonly format?: LintFormat;
  readonly severity: LintSeverity;
  readonly failOn: LintSeverity;
  readonly list?: boolean;
  readonly long?: boolean;
  readonly shard?: ShardNumber;
}

/** @throws Failure when both names say different things. */
function lintFormat({ output, format }: LintCommandOptions): LintFormat {
  if (output !== undefined && format !== undefined && output !== format)
    throw usage("-o and --format both say how to print it", "Leave out --format, the older name of -o.");
  return output ?? format ?? "text";
}

function addLint(program: Command, run: Run, lint: Verbs["lint"], terminal: Terminal): void {
  const values = {
    "--output": LINT_FORMATS,
    "--format": LINT_FORMATS,
    "--severity": LINT_SEVERITIES,
    "--fail-on": LINT_SEVERITIES,
  };
  addVerb(program, "lint", { values }).action((paths: readonly string[], options: LintCommandOptions) =>
    run(() => {
      const { profile, kubernetes, windows, severity, failOn, list, long, shard } = options;
      checkShardFormat(shard, options.output ?? options.format);
      const request = { paths, profile, kubernetes, format: lintFormat(options), severity, failOn };
      const flags = { isWindows: windows === true, isList: list === true, isLong: long === true, shard };
      return lint({ ...request, ...flags }, terminal);
    }),
  );
}

interface DemoOptions {
  readonly file?: string;
  readonly pcap: string;
  readonly full?: boolean;
}

function addDemo(program: Command, run: Run, demo: Verbs["demo"], terminal: Terminal): void {
  addVerb(program, "demo").action(({ file, pcap, full }: DemoOptions) =>
    run(() => demo({ file: file ?? DEMO_EXAMPLE, pcap, isFull: full === true }, terminal)),
  );
}

interface VersionOptions {
  readonly output: TextFormat;
}

/** Which Mullion, on which Node and system: what belongs into a report. */
function addVersion(program: Command, run: Run, terminal: Terminal, version: string): void {
  addVerb(program, "version", { values: { "--output": TEXT_FORMATS } }).action(({ output }: VersionOptions) =>
    run(async () => {
      const { platform, arch, versions } = process;
      const facts = { mullion: version, node: versions.node, system: `${platform}/${arch}` };
      const lines = Object.entries(facts).map(([name, value]) => `${name} ${value}\n`);
      terminal.stdout(output === "text" ? lines.join("") : formatDocument(facts, output));
      return Promise.resolve(0);
    }),
  );
}

/** Paragraphs as one line each, for the width of a terminal to break them; what is indented keeps its lines. */
function withoutBreaks(text: string): string {
  return text
    .split("\n\n")
    .map((paragraph) => (/^\s/m.test(paragraph) ? paragraph : paragraph.replaceAll("\n", " ")))
    .join("\n\n");
}

/** Verbs share how they print help and faults. */
function configure(command: Command, terminal: Terminal): void {
  for (const each of [...command.options, ...command.registeredArguments])
    each.description = withoutBreaks(each.description);
  command
    .description(withoutBreaks(command.description()))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout(text),
      writeErr: () => undefined,
      getOutHelpWidth: () => terminal.columns,
      getErrHelpWidth: () => terminal.columns,
    })
    .helpOption("-h, --help", "show this help")
    .showSuggestionAfterError(true);
  for (const child of command.commands) {
    child.helpGroup(VERBS);
    configure(child, terminal);
  }
}

/** The verbs that a program has: all of them, or those that a test is about. */
export type GivenVerbs = Partial<
  Omit<Verbs, "cni" | "docker" | "hns" | "kube" | "ovn" | "programs" | "vfp">
> & {
  readonly cni?: Partial<Verbs["cni"]>;
  readonly docker?: Partial<Verbs["docker"]>;
  readonly hns?: Partial<Verbs["hns"]>;
  readonly kube?: Partial<Verbs["kube"]>;
  readonly programs?: Partial<Verbs["programs"]>;
  readonly ovn?: Partial<Verbs["ovn"]>;
  readonly vfp?: Partial<Verbs["vfp"]>;
};

/** The program with `explain` and the verbs given. `run` is called with the verb that was chosen. */
export function createProgram(verbs: GivenVerbs, terminal: Terminal, version: string, run: Run): Command {
  const program = describeVerb(new Command("mullion"))
    .usage("VERB [options]")
    .commandsGroup(VERBS)
    .version(version, "-V, --version", "show the version")
    .helpCommand("help [verb]", "show the help of a verb");
  if (verbs.trace !== undefined) addTrace(program, run, verbs.trace, terminal);
  if (verbs.resolve !== undefined) addResolve(program, run, verbs.resolve, terminal);
  if (verbs.exec !== undefined) addExec(program, run, verbs.exec, terminal);
  if (verbs.get !== undefined) addGet(program, run, verbs.get, terminal);
  if (verbs.verify !== undefined) addVerify(program, run, verbs.verify, terminal);
  if (verbs.up !== undefined) addUp(program, run, verbs.up, terminal);
  if (verbs.ui !== undefined) addUi(program, run, verbs.ui, terminal);
  if (verbs.shell !== undefined) addShell(program, run, verbs.shell, terminal);
  if (verbs.logs !== undefined) addLogs(program, run, verbs.logs, terminal);
  if (verbs.capture !== undefined) addCapture(program, run, verbs.capture, terminal);
  if (verbs.top !== undefined) addTop(program, run, verbs.top, terminal);
  if (verbs.apply !== undefined) addApply(program, run, verbs.apply, terminal);
  if (verbs.delete !== undefined) addDelete(program, run, verbs.delete, terminal);
  if (verbs.down !== undefined) addDown(program, run, verbs.down, terminal);
  if (verbs.node !== undefined) addNode(program, run, verbs.node, terminal);
  if (verbs.controlPlane !== undefined) addControlPlane(program, run, verbs.controlPlane, terminal);
  if (verbs.pass !== undefined) addPass(program, run, verbs.pass, terminal);
  if (verbs.lint !== undefined) addLint(program, run, verbs.lint, terminal);
  if (verbs.doctor !== undefined) addDoctor(program, run, verbs.doctor, terminal);
  if (verbs.merge !== undefined) addMerge(program, run, verbs.merge, terminal);
  addExplain(program, run, terminal);
  if (verbs.bringUp !== undefined) addBringUp(program, run, verbs.bringUp, terminal);
  if (verbs.demo !== undefined) addDemo(program, run, verbs.demo, terminal);
  if (verbs.cni !== undefined) addCni(program, run, verbs.cni, terminal);
  if (verbs.docker !== undefined)
    addDocker(program, { verbs: verbs.docker, exec: verbs.exec, run, terminal });
  if (verbs.hns !== undefined) addHns(program, run, verbs.hns, terminal);
  if (verbs.kube !== undefined) addKube(program, run, verbs.kube, terminal);
  if (verbs.ovn !== undefined) addOvn(program, run, verbs.ovn, terminal);
  if (verbs.vfp !== undefined) addVfp(program, run, verbs.vfp, terminal);
  if (verbs.wine !== undefined) addWine(program, run, verbs.wine, terminal);
  if (verbs.programs !== undefined) addPrograms(program, run, verbs.programs, terminal);
  if (verbs.programs?.run !== undefined) addRun(program, run, verbs.programs.run, terminal);
  addVersion(program, run, terminal, version);
  addCompletion(program, run, terminal);
  configure(program, terminal);
  return program;
}

export interface RunOptions {
  /** What follows the program's name. */
  readonly argv: readonly string[];
  /** The verbs that need a cluster. */
  readonly verbs: GivenVerbs;
  readonly terminal: Terminal;
  readonly version: string;
  /** Shows the stack of faults of our own. */
  readonly isDebug: boolean;
}

/** Runs one command line. Never throws, never exits. */
export async function runMullion(options: RunOptions): Promise<number> {
  const { argv, verbs, terminal, version, isDebug } = options;
  let exitCode = 0;
  const program = createProgram(verbs, terminal, version, async (verb) => {
    exitCode = await verb();
  });
  if (argv.length === 0) {
    program.outputHelp();
    return 0;
  }
  try {
    const unknown = unknownHelp(program, argv);
    if (unknown !== undefined) throw unknown;
    const asked = splitRun(argv);
    const runProgram = verbs.programs?.run;
    if (asked !== undefined && runProgram !== undefined) return await runProgram(asked, terminal);
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, terminal, isDebug);
    if (error.exitCode === 0) return 0;
    // A group without one of its verbs.
    if (error.code === "commander.help") {
      commandOf(program, argv).outputHelp();
      return 0;
    }
    return reportFailure(usageFailure(error, program, argv), terminal, isDebug);
  }
}
