/** Finds a list of plugins: by the path of its file, or by the name of its network in a folder (cni.md §1.1). */
import { basename, dirname, extname, join } from "node:path";
import { type NetworkList, parseNetworkList, parseSinglePlugin } from "#contracts/cni/conflist.ts";
import { CniError, describeError } from "#contracts/cni/error.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { isCniName } from "#contracts/cni/plugin-input.ts";
import { describeSystemError } from "../failure.ts";
import { usage } from "../options.ts";
import type { Terminal } from "../terminal.ts";

const LIST_ENDING = ".conflist";
const ENDINGS: readonly string[] = [LIST_ENDING, ".conf", ".json"];

function isPath(text: string): boolean {
  return text === "-" || /[/\\]/.test(text) || ENDINGS.includes(extname(text));
}

async function readText(path: string, terminal: Terminal): Promise<string> {
  try {
    return await terminal.readFile(path);
  } catch (error) {
    throw usage(
      `${path} cannot be read: ${describeSystemError(error)}`,
      "Name a .conflist file, or a network of --conf-dir.",
    );
  }
}

/** A list has `plugins`, or the ending of one; the older form is a single plugin. */
function isList(path: string, document: unknown): boolean {
  return (
    extname(path) === LIST_ENDING || (isJsonObject(document as never) && "plugins" in (document as object))
  );
}

/** The files that belong to the list: `<folder>/<network>/*.conf`. */
async function readSideFiles(path: string, network: unknown, terminal: Terminal): Promise<readonly string[]> {
  if (path === "-" || typeof network !== "string" || !isCniName(network)) return [];
  const files = (await terminal.listFolder(join(dirname(path), network), false)) ?? [];
  const texts: string[] = [];
  for (const file of files) if (extname(file) === ".conf") texts.push(await readText(file, terminal));
  return texts;
}

async function readListFile(path: string, terminal: Terminal): Promise<NetworkList> {
  const text = await readText(path, terminal);
  const document = parseJson(text);
  if (!isList(path, document)) return parseSinglePlugin(text);
  const network = isJsonObject(document) ? document["name"] : undefined;
  return parseNetworkList(text, await readSideFiles(path, network, terminal));
}

function describeFile(path: string): string {
  return path === "-" ? "standard input" : path;
}

async function findByName(name: string, folder: string, terminal: Terminal): Promise<NetworkList> {
  const files = (await terminal.listFolder(folder, false)) ?? [];
  const lists = files.filter((file) => extname(file) === LIST_ENDING);
  const singles = files.filter((file) => ENDINGS.includes(extname(file)) && !lists.includes(file));
  const names: string[] = [];
  for (const file of [...lists, ...singles]) {
    try {
      const list = await readListFile(file, terminal);
      if (list.name === name) return list;
      names.push(list.name);
    } catch (error) {
      // The client library stops here; another network's mistake is not this one's.
      terminal.stderr(`mullion: ${basename(file)} is passed over: ${describeError(error)}\n`);
    }
  }
  if (names.length === 0) {
    throw usage(
      `no net configurations found in ${folder}`,
      "Name the folder with --conf-dir, or write the path of a .conflist file.",
    );
  }
  throw usage(
    `no net configuration with name ${JSON.stringify(name)} in ${folder}`,
    `There are: ${names.join(", ")}. Or write the path of a file.`,
  );
}

/** @throws Failure that names the file, and what is wrong with it. */
export async function findList(list: string, confFolder: string, terminal: Terminal): Promise<NetworkList> {
  if (!isPath(list)) return findByName(list, confFolder, terminal);
  try {
    return await readListFile(list, terminal);
  } catch (error) {
    if (!(error instanceof CniError) && !(error instanceof Error && error.name === "JsonError")) throw error;
    throw usage(`${describeFile(list)}: ${describeError(error)}`, "More about it: mullion lint FILE");
  }
}
