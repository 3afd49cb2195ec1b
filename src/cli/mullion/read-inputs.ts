/** The files that `-f` names, as texts: files, folders, standard input, several of them. */
import { extname } from "node:path";
import { errorCode } from "#core/base/thrown.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { InputText } from "#cluster/session/session.ts";
import { Failure, describeSystemError } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** What kubectl takes from a folder. */
const ENDINGS: readonly string[] = [".yaml", ".yml", ".json"];
const MEGABYTE = 1_048_576;

function unreadable(path: string, error: unknown): Failure {
  const isTooLarge = errorCode(error) === "EFBIG";
  if (isTooLarge) {
    return new Failure(
      "cluster-file-too-large",
      `the files are larger than ${LIMITS.inputBytesMax / MEGABYTE} MiB together, the last one ${JSON.stringify(path)}`,
      "Leave out what the network does not need, such as ConfigMaps and Secrets with large data.",
    );
  }
  return new Failure(
    "cluster-file-unreadable",
    `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
    "The path is relative to the folder you are in. An example: examples/two-windows-nodes/cluster.yaml",
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

/** The files that a folder stands for. */
function filesIn(folder: string, files: readonly string[], isRecursive: boolean): readonly string[] {
  const found = files.filter((file) => ENDINGS.includes(extname(file).toLowerCase()));
  if (found.length > 0) return found;
  throw new Failure(
    "input-without-documents",
    `there are no files ${ENDINGS.join(", ")} in the folder ${JSON.stringify(folder)}`,
    isRecursive ? "Name the files themselves." : "Add -R to look into the folders below it, too.",
  );
}

async function listFiles(
  paths: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
): Promise<readonly string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, isRecursive);
    files.push(...(inside === undefined ? [path] : filesIn(path, inside, isRecursive)));
  }
  const unique = [...new Set(files)];
  if (unique.length <= LIMITS.inputFilesMax) return unique;
  throw new Failure(
    "cluster-file-too-large",
    `-f names ${unique.length} files, more than ${LIMITS.inputFilesMax}`,
    "Name a folder that holds the manifests only.",
  );
}

/**
 * Reads what `-f` names, in the order given; a folder's files in the order of their names, as kubectl does.
 * @throws Failure when one cannot be read, or they are too large together.
 */
export async function readInputs(
  paths: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
): Promise<readonly InputText[]> {
  checkPaths(paths);
  const inputs: InputText[] = [];
  let left: number = LIMITS.inputBytesMax;
  for (const path of await listFiles(paths, isRecursive, terminal)) {
    try {
      const text = await terminal.readFile(path, left);
      left -= Buffer.byteLength(text);
      inputs.push({ name: path === "-" ? "standard input" : path, text });
    } catch (error) {
      throw unreadable(path, error);
    }
  }
  return inputs;
}
