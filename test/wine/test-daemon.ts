/** A service of its own for a test: `mullion hns serve` on a free port of this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export const ROOT: string = join(fileURLToPath(new URL(".", import.meta.url)), "..", "..");

export interface TestDaemon {
  readonly process: ChildProcess;
  /** By which programs find it. */
  readonly variables: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once("exit", () => resolve());
  });
}

/** The address that it prints when it listens. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.on("data", (part: Buffer) => {
      said += part.toString();
      const found = /MULLION_HNS=(http:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", () => reject(new Error(`The service ended: ${said}`)));
  });
}

/** @param words more for `mullion hns serve`. */
export async function startDaemon(...words: readonly string[]): Promise<TestDaemon> {
  const folder = mkdtempSync(join(tmpdir(), "mullion-wine-"));
  const tokenFile = join(folder, "token");
  const child = spawn(
    process.execPath,
    ["bin/mullion.js", "hns", "serve", "--listen", "127.0.0.1:0", "--token-file", tokenFile, ...words],
    { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] },
  );
  const address = await addressOf(child);
  return {
    process: child,
    variables: { MULLION_HNS: address, MULLION_HNS_TOKEN: readFileSync(tokenFile, "utf8").trim() },
    stop: async () => {
      child.kill("SIGKILL");
      await ended(child);
      rmSync(folder, { recursive: true });
    },
  };
}

/** What the service answers at a path, as text; with a body it is a POST. */
async function ask({ variables }: TestDaemon, path: string, body?: object): Promise<string> {
  const answer = await fetch(`${variables["MULLION_HNS"] ?? ""}${path}`, {
    headers: { authorization: `Bearer ${variables["MULLION_HNS_TOKEN"] ?? ""}` },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  return answer.text();
}

/** How many registrations for notifications the service has. */
export async function listenersOf(daemon: TestDaemon): Promise<number> {
  const found = /^mullion_hns_listeners (\d+)$/m.exec(await ask(daemon, "/metrics"));
  return Number(found?.[1]);
}

/** Lets the service leave enumerations of networks without an answer. */
export async function hangEnumerations(daemon: TestDaemon): Promise<void> {
  await ask(daemon, "/hcn/faults", { effect: "hang", calls: { operation: "enumerate", kind: "Network" } });
}

/** How many calls wait for an answer that a fault holds back. */
export async function waitingCallsOf(daemon: TestDaemon): Promise<number> {
  return Number(/"waiting": ?(\d+)/.exec(await ask(daemon, "/hcn/faults"))?.[1]);
}

export interface ProgramResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Wine's own host of drivers falls over at times when the machine is busy, and says so on the standard error of the
 * program that it was started with. A program that falls over itself does not end with 0.
 */
const OF_WINE = /^wine: Unhandled page fault .*\r?\n/gm;

/** Waits for a program that was spawned with pipes. */
export async function resultOf(child: ChildProcess): Promise<ProgramResult> {
  const [stdout, stderr] = await Promise.all([
    child.stdout === null ? "" : text(child.stdout),
    child.stderr === null ? "" : text(child.stderr),
    ended(child),
  ]);
  const code = child.exitCode;
  return { code, stdout, stderr: code === 0 ? stderr.replaceAll(OF_WINE, "") : stderr };
}
