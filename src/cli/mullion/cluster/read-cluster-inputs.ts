/**
 * What a cluster is built from: the texts that `-f` names, the manifests that a cluster file among them names, and the objects
 * of the API server that `--kubeconfig` names.
 */
import { dirname, join } from "node:path";
import { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
import { splitText } from "#cluster/input/split-text.ts";
import type { InputText } from "#cluster/session/session.ts";
import { isNetworkText } from "#cluster/input/evidence.ts";
import { type FurtherFiles, SERVER_INPUT, readInputs } from "../read-inputs.ts";
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
  const named = inputs.flatMap((input) => splitText(input).clusterFiles).flatMap(manifestsOf);
  if (named.length === 0) return inputs;
  const known = new Set(inputs.map(({ name }) => name));
  const more = await readInputs(named, isRecursive, terminal, CNI_FILES);
  return [...inputs, ...more.filter(({ name }) => !known.has(name))];
}
