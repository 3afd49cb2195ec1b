/** Scratch files on the disk, in the layout of upstream (cni.md §3.3). */
import { mkdirSync, readdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { readPlainFile, replaceFile } from "#core/base/owner-only.node.ts";
import { errorCode } from "#core/base/thrown.ts";
import { describeSystemError } from "../host-local/file-lease-store.node.ts";
import type { ScratchStore } from "./scratch-files.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Runs `work`; `undefined` when what it looks for is not there. */
function whenThere<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new Error(describeSystemError(error), { cause: error });
  }
}

export class FileScratchStore implements ScratchStore {
  read(folder: string, name: string): Promise<string | undefined> {
    return Promise.resolve().then(() => whenThere(() => readPlainFile(join(folder, name)).toString("utf8")));
  }

  async write(folder: string, name: string, text: string): Promise<void> {
    await Promise.resolve();
    try {
      mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
      replaceFile(join(folder, name), text, FILE_MODE);
    } catch (error) {
      throw new Error(describeSystemError(error), { cause: error });
    }
  }

  remove(folder: string, name: string): Promise<void> {
    return Promise.resolve().then(() => whenThere(() => unlinkSync(join(folder, name))));
  }

  list(folder: string): Promise<readonly string[]> {
    return Promise.resolve().then(() => whenThere(() => readdirSync(folder).toSorted()) ?? []);
  }
}
