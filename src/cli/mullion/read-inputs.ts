/** The files that `-f` names, as texts: files, folders, standard input, several of them. */
import { extname } from "node:path";
import { errorCode } from "#core/base/thrown.ts";
import type { TextChunks } from "#contracts/kubernetes/text/plain-list.ts";
import type { LongManifestFile } from "#control-plane/load/manifests.ts";
import { decodeSource } from "#core/base/source-text.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { InputText } from "#cluster/session/session.ts";
import { Failure, describeSystemError } from "./failure.ts";
import type { Terminal } from "./terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** How the API server of a kubeconfig stands among the inputs of a cluster. */
export const SERVER_INPUT = "kubeconfig:";

/** What kubectl takes from a folder. */
const ENDINGS: readonly string[] = [".yaml", ".yml", ".json"];
/** Further files that a folder may hold, as far as they are what they are called: other programs call theirs so, too. */
export interface FurtherFiles {
  readonly endings: readonly string[];
  readonly isOne: (text: InputText) => boolean;
  /** Whether a text may be as long as it likes: the caller reads it item by item. */
  readonly areLong?: boolean;
}

const NO_FURTHER: FurtherFiles = Object.freeze({ endings: Object.freeze([]), isOne: () => false });
const MEGABYTE = 1_048_576;
/** Enough to tell what a text is. */
const HEAD_BYTES = 65_536;

function unreadable(path: string, error: unknown): Failure {
  const isTooLarge = errorCode(error) === "EFBIG";
  if (isTooLarge) {
    return new Failure(
      "cluster-file-too-large",
      WORDS.inputTooLarge({
        inputBytesMax: LIMITS.inputBytesMax / MEGABYTE,
        path: JSON.stringify(path),
      }),
      WORDS.adviceInputTooLarge,
    );
  }
  return new Failure(
    "cluster-file-unreadable",
    `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
    WORDS.adviceClusterFilePath,
  );
}

function checkPaths(paths: readonly string[]): void {
  const url = paths.find((path) => /^https?:\/\//i.test(path));
  if (url !== undefined) {
    throw new Failure(
      "bad-usage",
      `${JSON.stringify(url)} is a URL, and nothing is fetched from the network`,
      `Fetch it first: curl -fsSLO ${url}`,
    );
  }
  if (paths.filter((path) => path === "-").length > 1)
    throw new Failure("bad-usage", "standard input is named twice", "Write -f - once.");
}

function endsWith(file: string, endings: readonly string[]): boolean {
  return endings.includes(extname(file).toLowerCase());
}

/** True for what kubectl takes from a folder. */
export function isManifestFile(file: string): boolean {
  return endsWith(file, ENDINGS);
}

function emptyFolder(folder: string, endings: readonly string[], isRecursive: boolean): Failure {
  return new Failure(
    "input-without-documents",
    `there are no files ${endings.join(", ")} in the folder ${JSON.stringify(folder)}`,
    isRecursive ? "Name the files themselves." : "Add -R to look into the folders below it, too.",
  );
}

interface ListedFiles {
  readonly files: readonly string[];
  /** Those of folders that are taken only when they are what they are called. */
  readonly doubtful: ReadonlySet<string>;
}

async function listFiles(
  paths: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
  { endings }: FurtherFiles,
): Promise<ListedFiles> {
  const files: string[] = [];
  const doubtful = new Set<string>();
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, isRecursive);
    const wanted = [...ENDINGS, ...endings];
    const found = inside?.filter((file) => endsWith(file, wanted)) ?? [path];
    if (found.length === 0) throw emptyFolder(path, wanted, isRecursive);
    files.push(...found);
    if (inside === undefined) continue;
    for (const file of found) if (!endsWith(file, ENDINGS)) doubtful.add(file);
  }
  for (const path of paths) doubtful.delete(path);
  const unique = [...new Set(files)];
  if (unique.length <= LIMITS.inputFilesMax) return { files: unique, doubtful };
  throw new Failure(
    "cluster-file-too-large",
    `-f names ${unique.length} files, more than ${LIMITS.inputFilesMax}`,
    "Name a folder that holds the manifests only.",
  );
}

/** What the text is called that `-` names. */
export const STANDARD_INPUT = "standard input";

/** A text of any length: `text` is what it begins with. */
function longInput(name: string, chunks: TextChunks): LongManifestFile {
  const [first = new Uint8Array()] = chunks;
  const text = decodeSource(name, first.slice(0, HEAD_BYTES))?.text ?? "";
  return { name, text, chunks };
}

/**
 * Reads what `-f` names, in the order given; a folder's files in the order of their names, as kubectl does.
 * `further`: what a folder may hold besides.
 * @throws Failure when one cannot be read, or they are too large together.
 */
export async function readInputs(
  paths: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
  further: FurtherFiles = NO_FURTHER,
): Promise<readonly InputText[]> {
  checkPaths(paths);
  const inputs: InputText[] = [];
  let left: number = LIMITS.inputBytesMax;
  const { files, doubtful } = await listFiles(paths, isRecursive, terminal, further);
  for (const path of files) {
    const name = path === "-" ? STANDARD_INPUT : path;
    try {
      const chunks = further.areLong === true ? await terminal.readChunks(path) : undefined;
      if (chunks !== undefined) {
        inputs.push(longInput(name, chunks));
        continue;
      }
      const text = await terminal.readFile(path, left);
      left -= Buffer.byteLength(text);
      const input = { name, text };
      if (!doubtful.has(path) || further.isOne(input)) inputs.push(input);
    } catch (error) {
      throw unreadable(path, error);
    }
  }
  const [first] = paths;
  if (inputs.length === 0 && first !== undefined)
    throw emptyFolder(first, [...ENDINGS, ...further.endings], isRecursive);
  return inputs;
}
