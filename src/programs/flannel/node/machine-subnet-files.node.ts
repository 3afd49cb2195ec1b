/** `subnet.env` on this machine's disk. */
import { mkdir, readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { replaceFile, writeInPlace } from "#core/base/owner-only.node.ts";
import type { SubnetFiles } from "./subnet-file.ts";

const MODE = 0o644;

export class MachineSubnetFiles implements SubnetFiles {
  async read(path: string): Promise<string | undefined> {
    try {
      return await readFile(resolve(path), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async write(path: string, text: string, how: "replaced" | "in-place"): Promise<void> {
    // On Windows a path without a drive is on the current one.
    const target = resolve(path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    if (how === "in-place") writeInPlace(target, text, MODE);
    else replaceFile(target, text, MODE);
  }
}
