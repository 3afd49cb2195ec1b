/** `mullion exec`: a command on a pod or node, answered by the simulated machine. */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { Cluster } from "../cluster.ts";
import { withPolicies } from "../policies/acl-origins.ts";
import { RequestError } from "../request-error.ts";
import { buildLeg } from "../trace/build-trace.ts";
import { type HeardEvent, TraceCollector } from "../trace/trace-collector.ts";
import type { TraceLeg } from "../trace/trace-report.ts";
import { type Sender, findSender } from "../trace/trace.ts";
import { type CommandOutput, type ListedCommand, type Shell, notBuilt } from "./command.ts";
import { CURLS } from "./curl.ts";
import type { ExecReport, ExecWalk } from "./exec-report.ts";
import { LINUX_COMMANDS } from "./linux/commands.ts";
import { CAT, GET_CONTENT, HOSTNAMES, TYPE } from "./machine-files.ts";
import { machineOf } from "./machine.ts";
import { type ShellLine, printLine } from "./shell-line.ts";
import { SHELL_USAGES, unknownCommand, withoutShell } from "./shells.ts";
import { FILTER_USAGES, isKnownBehindPipe } from "./text-filters.ts";
import { ARP } from "./windows/arp.ts";
import { DOCKER } from "./windows/docker.ts";
import { HNSDIAG } from "./windows/hns/hnsdiag.ts";
import { IPCONFIG } from "./windows/ipconfig.ts";
import { CMDLETS } from "./windows/cmdlets/cmdlets.ts";
import { NETSH } from "./windows/netsh.ts";
import { NETSTAT } from "./windows/netstat.ts";
import { NSLOOKUP } from "./windows/nslookup.ts";
import { PING } from "./windows/ping.ts";
import { PIPELINE_USAGES, pipelineCommand } from "./windows/powershell/pipeline.ts";
import { REG } from "./windows/registry/reg.ts";
import { ROUTE } from "./windows/route.ts";
import { VFPCTRL } from "./windows/vfpctrl/vfpctrl.ts";
import { TRACERT } from "./windows/tracert.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** The commands that there are. */
export const COMMANDS: readonly ListedCommand[] = [
  IPCONFIG,
  ROUTE,
  ARP,
  PING,
  NSLOOKUP,
  TRACERT,
  NETSTAT,
  NETSH,
  REG,
  HNSDIAG,
  VFPCTRL,
  DOCKER,
  TYPE,
  ...HOSTNAMES,
  ...CURLS,
  ...CMDLETS.map(pipelineCommand),
  GET_CONTENT,
  ...LINUX_COMMANDS,
  CAT,
];

/** What may stand around a command. */
export const STAGE_USAGES: Readonly<Record<OperatingSystem, readonly string[]>> = {
  windows: [...SHELL_USAGES.windows, ...FILTER_USAGES.windows, ...PIPELINE_USAGES],
  linux: [...SHELL_USAGES.linux, ...FILTER_USAGES.linux],
};

export interface ExecRequest {
  /** Where: as the sender of a trace is written. */
  readonly from: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The walks of the packets that it sends are wanted. */
  readonly trace?: true | undefined;
}

/** Steps of the walks that are kept. */
const WALK_STEPS_MAX = 20_000;

/** Runs a command, and follows the first packet of each connection that it opens, its datagrams and its echo requests. */
function follow(
  cluster: Cluster,
  compartment: Compartment,
  run: () => CommandOutput,
): { readonly output: CommandOutput; readonly walks: readonly ExecWalk[]; readonly isCut: boolean } {
  const { env, enforcement } = cluster;
  const { recorder } = env;
  const collector = new TraceCollector(WALK_STEPS_MAX);
  env.recorder = collector;
  compartment.isFollowed = true;
  try {
    const output = run();
    const leg = (heard: readonly HeardEvent[]): TraceLeg => withPolicies(enforcement, buildLeg(heard));
    const walks = collector.listWalks().map(({ forward, reply }) => ({
      forward: leg(forward),
      ...(reply.length === 0 ? {} : { reply: leg(reply) }),
    }));
    return { output, walks, isCut: collector.isFull };
  } finally {
    env.recorder = recorder;
    compartment.isFollowed = false;
  }
}

function programName(os: OperatingSystem, word: string): string {
  if (os === "windows") return word.toLowerCase().replace(/\.exe$/, "");
  return word.replace(/^(\/usr)?(\/local)?\/s?bin\//, "");
}

function findCommand(os: OperatingSystem, shell: Shell, word: string): ListedCommand | undefined {
  const name = programName(os, word);
  const known = COMMANDS.filter((each) => each.os === os && (each.shell ?? shell) === shell);
  // PowerShell's own words come first: curl is one, curl.exe the program.
  return (
    known.find((each) => each.aliases?.includes(word.toLowerCase()) === true) ??
    known.find((each) => each.name === name)
  );
}

/** Lines with the ends of the system, the last one, too. */
function textOf(os: OperatingSystem, lines: readonly string[] = []): string {
  const end = os === "windows" ? "\r\n" : "\n";
  return lines.map((line) => line + end).join("");
}

/** A request as its shell understands it. */
interface CommandLine {
  readonly sender: Sender;
  readonly os: OperatingSystem;
  readonly shell: Shell;
  readonly line: ShellLine;
  readonly word: string;
  readonly args: readonly string[];
  /** Undefined for a command that Mullion does not have. */
  readonly command: ListedCommand | undefined;
}

/** A word behind a pipe that the shell does not know: the whole line is none. */
function unknownFilter(shell: Shell, { filters }: ShellLine): string | undefined {
  return filters.map(([word = ""]) => word).find((word) => !isKnownBehindPipe(shell, word));
}

/** @throws RequestError for a machine that does not exist, and for an empty command. */
function readCommandLine(cluster: Cluster, request: ExecRequest): CommandLine {
  const sender = findSender(cluster, request.from);
  const { os } = sender.compartment.profile;
  const { shell, line } = withoutShell(os, request.command);
  const [word, ...args] = line.words;
  if (word === undefined || word.trim() === "")
    throw new RequestError("bad-usage", "there is no command", WORDS.adviceExecCommand);
  const unknown = unknownFilter(shell, line);
  if (unknown !== undefined) return { sender, os, shell, line, word: unknown, args: [], command: undefined };
  const command = findCommand(os, shell, word);
  // What goes through a pipeline of PowerShell are objects; a program prints text.
  if (command !== undefined && command.shell === undefined && shell === "powershell" && args.includes("|"))
    notBuilt(command, args.slice(args.indexOf("|")).join(" "));
  return { sender, os, shell, line, word, args, command };
}

/**
 * True for a command that changes the pod or node, which is known before it runs.
 * @throws RequestError as `execute` does before it runs anything.
 */
export function changesMachine(cluster: Cluster, request: ExecRequest): boolean {
  const { command, args } = readCommandLine(cluster, request);
  return command?.isChange?.(args) ?? false;
}

function reportOf(
  request: ExecRequest,
  { sender, os, args, command }: CommandLine,
  output: CommandOutput,
  tookMs: number,
): ExecReport {
  return {
    apiVersion: DOCUMENT_VERSION,
    kind: "ExecReport",
    from: sender.description,
    os,
    command: [...request.command],
    isListed: command !== undefined,
    isChange: command?.isChange?.(args) ?? false,
    stdout: textOf(os, output.stdout),
    stderr: textOf(os, output.stderr),
    exitCode: output.exitCode,
    tookMs,
  };
}

/**
 * Runs the command in `cluster` itself, on whose clock time passes, and which it may change.
 * @throws RequestError for a machine that does not exist, and for options that Mullion's command does not have.
 */
export function execute(cluster: Cluster, request: ExecRequest): ExecReport {
  const line = readCommandLine(cluster, request);
  const { sender, shell, word, args, command } = line;
  const startMs = cluster.clock.nowMs;
  const run = (): CommandOutput =>
    command === undefined
      ? unknownCommand(shell, word)
      : printLine(shell, line.line, command.run(machineOf(cluster, sender), args));
  if (request.trace === true) {
    const { output, walks, isCut } = follow(cluster, sender.compartment, run);
    const report = reportOf(request, line, output, cluster.clock.nowMs - startMs);
    return { ...report, walks: [...walks], ...(isCut ? { isCut } : {}) };
  }
  return reportOf(request, line, run(), cluster.clock.nowMs - startMs);
}

/** As `execute`, for a command that changes the machine; those that call HNS send no packets, and have no walks. */
export async function executeChange(cluster: Cluster, request: ExecRequest): Promise<ExecReport> {
  const line = readCommandLine(cluster, request);
  const { sender, shell, args, command } = line;
  if (command?.change === undefined) return execute(cluster, request);
  const startMs = cluster.clock.nowMs;
  const output = await command.change(machineOf(cluster, sender), args);
  return reportOf(request, line, printLine(shell, line.line, output), cluster.clock.nowMs - startMs);
}
