/** Runs programs of this machine: without a shell, with limits of time and size. */
import { execFile } from "node:child_process";
import { LIMITS } from "#core/base/limits.ts";
import type { CommandRunner } from "./commands.ts";

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
