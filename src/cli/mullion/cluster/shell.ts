/** `mullion shell` and `mullion logs`: into pods that are real, and what their processes print. */
import { spawn } from "node:child_process";
import { accessSync, constants, readlinkSync } from "node:fs";
import { constants as systemConstants } from "node:os";
import { delimiter, join } from "node:path";
import type { ControlClient } from "#cluster/api/client.ts";
import { ApiError, ReportedError } from "#cluster/api/error-details.ts";
import type { LivePlace } from "#cluster/live/live-places.ts";
import { Failure } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { LogsRequest, ShellRequest } from "../verbs.ts";
import { connectRunning } from "./cluster-target.ts";
import { clusterLife, commands } from "#data/words.js";

const WORDS = commands();
const LIFE = clusterLife();
const NOT_FOUND = 404;

/** Shows the pod's name servers in the place of the machine's, and runs the command. Arguments: resolver, command. */
const SCRIPT = `if [ -n "$1" ] && [ -e /etc/resolv.conf ]; then
  mount -t tmpfs mullion /sys && printf %s "$1" > /sys/resolv.conf && mount --bind /sys/resolv.conf /etc/resolv.conf && umount /sys
fi
shift
exec "$@"
`;

/** `pod/default/web`, `default/web` and `web` are one. */
function podOf(text: string): string {
  return text.replace(/^(?:pods?\/)?(?:default\/)?/, "");
}

function isOtherUsers(pid: number): boolean {
  return readlinkSync(`/proc/${pid}/ns/user`) !== readlinkSync("/proc/self/ns/user");
}

/** The words that run a command in a namespace. `pid`: of the process that has the cluster. */
function enter(
  { path, resolver = "" }: LivePlace,
  pid: number,
  command: readonly string[],
): readonly string[] {
  const users = isOtherUsers(pid) ? [`--target=${pid}`, "--user", "--preserve-credentials"] : [];
  const shown = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", resolver];
  return ["nsenter", ...users, `--net=${path}`, "--", ...shown, ...command];
}

function run([program = "", ...words]: readonly string[]): Promise<number> {
  // Ctrl-C is for the command.
  const ignore = (): void => undefined;
  process.on("SIGINT", ignore);
  return new Promise<number>((resolve, reject) => {
    const child = spawn(program, words, { stdio: "inherit" });
    child.once("error", (error) =>
      reject(new Failure("live-not-possible", error.message, WORDS.adviceNoShell)),
    );
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : systemConstants.signals[signal])),
    );
  }).finally(() => process.off("SIGINT", ignore));
}

/** True for a program of this machine: a path, or a name in PATH. */
function isProgram(name: string): boolean {
  const folders = name.includes("/") ? [""] : (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Runs the command of `mullion exec` in a pod that is real.
 * @returns its exit code; undefined where the pod is simulated, or this machine has no such program, such as `ipconfig`.
 */
export async function execInRealPod(
  client: ControlClient,
  from: string,
  command: readonly string[],
): Promise<number | undefined> {
  const pod = podOf(from);
  const { machines } = await client.live().catch((error: unknown) => {
    if (error instanceof ReportedError && error.details.code === "cluster-not-live") return { machines: [] };
    throw error;
  });
  const place = machines.find((machine) => machine.pod === pod);
  if (place === undefined || !isProgram(command[0] ?? "")) return undefined;
  return run(enter(place, (await client.health()).pid, command));
}

export async function shell(request: ShellRequest, _terminal: Terminal): Promise<number> {
  const client = await connectRunning(request.running);
  const { machines } = await client.live();
  const pod = request.pod === undefined ? undefined : podOf(request.pod);
  const place = machines.find((machine) => machine.pod === pod);
  if (place === undefined) {
    const named = pod ?? "";
    const [message, advice] =
      pod === undefined
        ? [LIFE.clusterNotLive, LIFE.adviceClusterNotLive]
        : [LIFE.podIsSimulated({ pod: named }), LIFE.advicePodIsSimulated({ pod: named })];
    throw new ApiError(NOT_FOUND, "cluster-not-live", message, advice);
  }
  const { pid } = await client.health();
  const command = request.command.length > 0 ? request.command : [process.env["SHELL"] ?? "/bin/sh"];
  return run(enter(place, pid, command));
}

export async function logs(request: LogsRequest, terminal: Terminal): Promise<ExitCode> {
  const client = await connectRunning(request.running);
  terminal.stdout((await client.liveLog(podOf(request.pod))).text);
  return 0;
}
