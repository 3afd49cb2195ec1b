/**
 * What a cluster is built from: the texts that `-f` names, the manifests that a cluster file among them names, and the objects
 * of the API server that `--kubeconfig` names.
 */
import { dirname, join } from "node:path";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { splitText } from "#cluster/input/split-text.ts";
import type { InputText } from "#cluster/session/session.ts";
import { isNetworkText } from "#cluster/input/evidence.ts";
import { type FurtherFiles, SERVER_INPUT, isManifestFile, readInputs } from "../read-inputs.ts";
import type { Terminal } from "../terminal.ts";

/** Configuration of CNI, as it lies in /etc/cni/net.d and its like on Windows. */
const CNI_FILES: FurtherFiles = { endings: [".conf", ".conflist"], isOne: isNetworkText, areLong: true };

/** The paths that a cluster file names; none when it has problems, which are told later. */
export function manifestsOf({ name, text }: InputText): readonly string[] {
  const parsed = parseClusterFile(text, name);
  if (!("cluster" in parsed)) return [];
  const folder = name === "standard input" ? "." : dirname(name);
  return parsed.cluster.manifests.map((path) => join(folder, path));
}

/** Folders in a folder that are looked into for files which nobody reads. */
const FOLDERS_MAX = 100;
const HIDDEN_FOLDER = /(?:^|[\\/])(?:\.[^\\/]*|node_modules)$/;

/** How many files that would be read lie in folders directly below. */
async function countBelow(path: string, terminal: Terminal): Promise<number> {
  const folders = (await terminal.foldersIn(path)).filter((folder) => !HIDDEN_FOLDER.test(folder));
  const files = await Promise.all(
    folders.slice(0, FOLDERS_MAX).map(async (folder) => (await terminal.listFolder(folder, false)) ?? []),
  );
  return files.flat().filter((file) => isManifestFile(file)).length;
}

/** Inputs of which the first of each folder says what lies below the folder and is not read. */
async function withUnread(
  inputs: readonly InputText[],
  paths: readonly string[],
  terminal: Terminal,
): Promise<readonly InputText[]> {
  const marked = [...inputs];
  for (const path of paths) {
    const inside = path === "-" ? undefined : await terminal.listFolder(path, false);
    const first = marked.findIndex(({ name }) => inside?.includes(name) === true);
    const [input, count] = [marked[first], first < 0 ? 0 : await countBelow(path, terminal)];
    if (input !== undefined && count > 0) marked[first] = { ...input, unreadBelow: { folder: path, count } };
  }
  return marked;
}

/**
 * Reads everything; a file that is named twice is read once.
 * @throws Failure when one cannot be read, or they are too large together.
 */
export async function readClusterInputs(
  paths: readonly string[],
  isRecursive: boolean,
  terminal: Terminal,
): Promise<readonly InputText[]> {
  const servers = paths.filter((path) => path.startsWith(SERVER_INPUT));
  const files = paths.filter((path) => !servers.includes(path));
  const inputs = [...(files.length > 0 ? await readInputs(files, isRecursive, terminal, CNI_FILES) : [])];
  for (const server of servers) {
    // The client of Kubernetes is loaded only where there is a server.
    const { readServer } = await import("../server-objects.ts");
    inputs.push(...(await readServer(server.slice(SERVER_INPUT.length), terminal)));
  }
  const clusterFiles = inputs.flatMap((input) => splitText(input).clusterFiles);
  // A cluster file names what belongs to it.
  if (clusterFiles.length === 0) return isRecursive ? inputs : withUnread(inputs, files, terminal);
  const named = clusterFiles.flatMap(manifestsOf);
  if (named.length === 0) return inputs;
  const known = new Set(inputs.map(({ name }) => name));
  const more = await readInputs(named, isRecursive, terminal, CNI_FILES);
  return [...inputs, ...more.filter(({ name }) => !known.has(name))];
}
