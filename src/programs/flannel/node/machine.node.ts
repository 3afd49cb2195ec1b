/** `subnet.env` on this machine's disk, and its programs, run without a shell, with limits of time and size. */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, resolve as resolvePath } from "node:path";
import { replaceFile, writeInPlace } from "#core/base/owner-only.node.ts";
import type { SubnetFiles } from "./subnet-file.ts";
import { execFile } from "node:child_process";
import { LIMITS } from "#core/base/limits.ts";
import type { CommandRunner } from "./commands.ts";

const MODE = 0o644;

export class MachineSubnetFiles implements SubnetFiles {
  async read(path: string): Promise<string | undefined> {
    try {
      return await readFile(resolvePath(path), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async write(path: string, text: string, how: "replaced" | "in-place"): Promise<void> {
    // On Windows a path without a drive is on the current one.
    const target = resolvePath(path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    if (how === "in-place") writeInPlace(target, text, MODE);
    else replaceFile(target, text, MODE);
  }
}

const WAIT_MS = 60_000;

export class MachineCommandRunner implements CommandRunner {
  /** Put in front of every command: `ip netns exec NAME`. */
  private readonly before: readonly string[];

  constructor(before: readonly string[] = []) {
    this.before = before;
  }

  run(program: string, words: readonly string[]): Promise<string> {
    const [first = program, ...rest] = [...this.before, program, ...words];
    return new Promise((resolve, reject) => {
      const options = { timeout: WAIT_MS, maxBuffer: LIMITS.jsonBytesMax, windowsHide: true };
      const child = execFile(first, rest, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else {
          const said = stderr.trim() === "" ? error.message : stderr.trim();
          reject(new Error(`${program} ${words.join(" ")}: ${said}`, { cause: error }));
        }
      });
      // Programs that end before they read are no fault: there is nothing for them.
      child.stdin?.on("error", () => undefined);
      child.stdin?.end();
    });
  }
}
