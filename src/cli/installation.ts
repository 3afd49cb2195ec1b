/** Where this package is installed. A program runs as a source of a clone, or from a bundle, which lies elsewhere. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commands } from "#data/words.js";

const WORDS = commands();

const NAME = "mullion";

interface Manifest {
  readonly name: string;
  readonly version: string;
}

function readManifest(folder: string): Manifest | undefined {
  const file = join(folder, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : undefined;
}

function findManifest(): { readonly folder: string; readonly manifest: Manifest } {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    const manifest = readManifest(folder);
    if (manifest?.name === NAME) return { folder, manifest };
    if (dirname(folder) === folder) {
      throw new Error(WORDS.installationMissing({ start, name: NAME }));
    }
  }
}

/** The folder with package.json, the examples, and what was built. */
export function packageRoot(): string {
  return findManifest().folder;
}

export function packageVersion(): string {
  return findManifest().manifest.version;
}
