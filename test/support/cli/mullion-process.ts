/** The executable `mullion` as users run it, with a runtime folder of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const BIN = resolve("bin/mullion.js");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run that may still go on. */
export interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it has printed so far. */
  readonly printed: () => string;
}

export class MullionHome {
  /** `XDG_RUNTIME_DIR` of all runs. */
  readonly folder: string = mkdtempSync(join(tmpdir(), "mullion-run-"));

  start(...words: readonly string[]): Run {
    const env = { ...process.env, XDG_RUNTIME_DIR: this.folder, MULLION_NAME: "" };
    const child = spawn(process.execPath, [BIN, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const ended = new Promise<Ended>((settle) => {
      child.on("close", (code, signal) => settle({ code, signal, stdout, stderr }));
    });
    return { child, ended, printed: () => stdout + stderr };
  }

  run(...words: readonly string[]): Promise<Ended> {
    return this.start(...words).ended;
  }

  /** Everything that lies in the runtime folder. */
  files(): readonly string[] {
    return readdirSync(this.folder, { recursive: true, encoding: "utf8" }).toSorted();
  }

  /** Ends a cluster that a failed test left, and takes the folder away. */
  async close(...names: readonly string[]): Promise<void> {
    if (this.files().length > 0)
      for (const name of ["default", ...names]) await this.run("down", "--name", name);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
