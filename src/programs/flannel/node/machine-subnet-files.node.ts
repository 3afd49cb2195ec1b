/** `subnet.env` on this machine's disk. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
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
    if (how === "in-place") {
      await writeFile(target, text, { mode: MODE });
      return;
    }
    const temporary = join(dirname(target), `.${basename(target)}.${process.pid}`);
    await writeFile(temporary, text, { mode: MODE });
    await rename(temporary, target);
  }
}
