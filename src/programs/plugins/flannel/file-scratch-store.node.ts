/** Scratch files on the disk, in the layout of upstream (cni.md §3.3). */
import { mkdirSync, readdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "#core/base/owner-only.node.ts";
import { inSystemWords, readIfThere, whenThere } from "../host-local/file-lease-store.node.ts";
import type { ScratchStore } from "./scratch-files.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export class FileScratchStore implements ScratchStore {
  read(folder: string, name: string): Promise<string | undefined> {
    return readIfThere(join(folder, name));
  }

  write(folder: string, name: string, text: string): Promise<void> {
    return inSystemWords(() => {
      mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
      replaceFile(join(folder, name), text, FILE_MODE);
    });
  }

  remove(folder: string, name: string): Promise<void> {
    return inSystemWords(() => whenThere(() => unlinkSync(join(folder, name))));
  }

  list(folder: string): Promise<readonly string[]> {
    return inSystemWords(() => whenThere(() => readdirSync(folder).toSorted()) ?? []);
  }
}
