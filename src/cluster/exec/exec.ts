/** `mullion exec`: a command on a pod or node, answered by the simulated machine. */
import { DOCUMENT_VERSION } from "#core/base/shape.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { Cluster } from "../cluster.ts";
import { RequestError } from "../request-error.ts";
import { findSender } from "../trace/trace.ts";
import type { CommandOutput, ListedCommand } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import type { ExecReport } from "./exec-report.ts";
import { machineOf } from "./machine.ts";
import { unknownCommand, withoutShell } from "./shells.ts";

export interface ExecRequest {
  /** Where: as the sender of a trace is written. */
  readonly from: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
}

function programName(os: OperatingSystem, word: string): string {
  return os === "windows" ? word.toLowerCase().replace(/\.exe$/, "") : word;
}

function findCommand(os: OperatingSystem, word: string): ListedCommand | undefined {
  const name = programName(os, word);
  return COMMANDS.find((each) => each.os === os && each.name === name);
}

/** Lines with the ends of the system, the last one, too. */
function textOf(os: OperatingSystem, lines: readonly string[] = []): string {
  const end = os === "windows" ? "\r\n" : "\n";
  return lines.map((line) => line + end).join("");
}

/**
 * Runs the command in `cluster` itself, on whose clock time passes, and which it may change.
 * @throws RequestError for a machine that does not exist, and for options that Mullion's command does not have.
 */
export function execute(cluster: Cluster, request: ExecRequest): ExecReport {
  const sender = findSender(cluster, request.from);
  const { os } = sender.compartment.profile;
  const { shell, words } = withoutShell(os, request.command);
  const [word, ...args] = words;
  if (word === undefined || word.trim() === "")
    throw new RequestError(
      "bad-usage",
      "there is no command",
      "Write it after --: mullion exec pod/web -- ipconfig. mullion exec --list shows which there are.",
    );
  const command = findCommand(os, word);
  const startMs = cluster.clock.nowMs;
  const output: CommandOutput =
    command === undefined ? unknownCommand(shell, word) : command.run(machineOf(cluster, sender), args);
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
    tookMs: cluster.clock.nowMs - startMs,
  };
}
