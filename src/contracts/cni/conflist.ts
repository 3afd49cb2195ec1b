/** Network configuration lists, `*.conflist` and the older single `*.conf`, as the client library reads them (cni.md §1.1). */
import { NEWEST_VERSION, compareVersions } from "./version.ts";
import { readStandardConfiguration } from "./plugin-input.ts";
import { CNI_CODES, CniError, describeError } from "./error.ts";
import { parseJson } from "./json.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";

/** One plugin of a list. */
export interface NetworkPlugin {
  /** The name of the executable. */
  readonly type: string;
  /** Its own `name`, which lists leave out. */
  readonly name: string;
  readonly capabilities: ReadonlyMap<string, boolean>;
  readonly document: JsonObject;
}

/** A list, ready to be run. */
export interface NetworkList {
  readonly name: string;
  /** The greatest version that the list offers and this runtime knows; empty: none given. */
  readonly cniVersion: string;
  readonly isCheckDisabled: boolean;
  readonly isGcDisabled: boolean;
  /** False: the files of the folder named as the network belong to the list, too. */
  readonly hasOnlyInlinedPlugins: boolean;
  readonly plugins: readonly NetworkPlugin[];
  readonly text: string;
}

function invalid(message: string): CniError {
  return new CniError(CNI_CODES.invalidNetworkConfig, `error parsing configuration list: ${message}`);
}

/** Go's name for the type of a decoded value, which the client library's messages carry. */
function goTypeName(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  if (typeof value === "number") return "float64";
  return typeof value === "boolean" ? "bool" : "string";
}

function readFlag(list: JsonObject, key: string): boolean {
  const value = list[key];
  if (value === undefined) return false;
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") throw invalid(`invalid type ${goTypeName(value)} for ${key}`);
  const folded = value.toLowerCase();
  if (folded === "true") return true;
  if (folded === "false") return false;
  throw invalid(`invalid value ${JSON.stringify(folded)} for ${key}`);
}

function isNewerThanKnown(version: string, describe: (why: string) => string): boolean {
  try {
    return compareVersions(version, NEWEST_VERSION) > 0;
  } catch (error) {
    throw invalid(describe(describeError(error)));
  }
}

/** Takes the greatest of the versions that this runtime knows. */
function chooseVersion(list: JsonObject): string {
  const single = list["cniVersion"];
  if (single !== undefined && typeof single !== "string") {
    throw invalid(`invalid cniVersion type ${goTypeName(single)}`);
  }
  const offered = list["cniVersions"];
  if (offered === undefined) return single ?? "";
  // The client library names the type it wanted, not the one it got.
  if (!Array.isArray(offered)) throw invalid("invalid type for cniVersions: []interface {}");
  const known: string[] = [];
  for (const [index, version] of (offered as readonly JsonValue[]).entries()) {
    if (typeof version !== "string") {
      throw invalid(`invalid type for cniVersions index ${index}: ${goTypeName(version)}`);
    }
    const isNewer = isNewerThanKnown(
      version,
      (why) => `invalid cniVersions entry ${version} at index ${index}: ${why}`,
    );
    if (!isNewer) known.push(version);
  }
  if (single !== undefined && single !== "") {
    const isNewer = isNewerThanKnown(single, (why) => `invalid cniVersion ${single}: ${why}`);
    if (!isNewer) known.push(single);
  }
  return known.toSorted(compareVersions).at(-1) ?? single ?? "";
}

/** Reads one plugin object. @throws CniError */
export function readNetworkPlugin(document: JsonObject): NetworkPlugin {
  let standard: ReturnType<typeof readStandardConfiguration>;
  try {
    standard = readStandardConfiguration(document);
  } catch (error) {
    const message = `error parsing configuration: ${describeError(error)}`;
    throw new CniError(CNI_CODES.invalidNetworkConfig, message, { cause: error });
  }
  if (standard.type === "") {
    throw new CniError(CNI_CODES.invalidNetworkConfig, "error parsing configuration: missing 'type'");
  }
  return { type: standard.type, name: standard.name, capabilities: standard.capabilities, document };
}

function readPlugins(list: JsonObject, hasOnlyInlinedPlugins: boolean): readonly NetworkPlugin[] {
  if (!Object.hasOwn(list, "plugins")) {
    if (hasOnlyInlinedPlugins) throw invalid("`loadOnlyInlinedPlugins` is true, and no 'plugins' key");
    return [];
  }
  const plugins = list["plugins"];
  if (!Array.isArray(plugins)) throw invalid(`invalid 'plugins' type ${goTypeName(plugins)}`);
  if (plugins.length === 0) throw invalid("no plugins in list");
  return (plugins as readonly JsonValue[]).map((plugin, index) => {
    try {
      if (!isJsonObject(plugin)) {
        const message = `error parsing configuration: a plugin must be an object, not ${goTypeName(plugin)}`;
        throw new CniError(CNI_CODES.invalidNetworkConfig, message);
      }
      return readNetworkPlugin(plugin);
    } catch (error) {
      const message = `failed to parse plugin config ${index}: ${describeError(error)}`;
      throw new CniError(CNI_CODES.invalidNetworkConfig, message, { cause: error });
    }
  });
}

function parseObject(text: string, what: string): JsonObject {
  let document: JsonValue;
  try {
    document = parseJson(text);
  } catch (error) {
    throw new CniError(CNI_CODES.decodingFailure, `error parsing ${what}: ${describeError(error)}`, {
      cause: error,
    });
  }
  if (isJsonObject(document)) return document;
  throw new CniError(CNI_CODES.decodingFailure, `error parsing ${what}: it must be an object`);
}

/**
 * Parses a list. Its own keys match with case, those of the plugins without. `sideFiles` are the texts of the
 * files that lie in the folder named as the network, which lists without `loadOnlyInlinedPlugins` take in.
 * @throws CniError with the texts of the client library.
 */
export function parseNetworkList(text: string, sideFiles: readonly string[] = []): NetworkList {
  const list = parseObject(text, "configuration list");
  if (!Object.hasOwn(list, "name")) throw invalid("no name");
  const name = list["name"];
  if (typeof name !== "string") throw invalid(`invalid name type ${goTypeName(name)}`);
  const cniVersion = chooseVersion(list);
  const isCheckDisabled = readFlag(list, "disableCheck");
  const isGcDisabled = readFlag(list, "disableGC");
  const hasOnlyInlinedPlugins = readFlag(list, "loadOnlyInlinedPlugins");
  const inlined = readPlugins(list, hasOnlyInlinedPlugins);
  const side = hasOnlyInlinedPlugins
    ? []
    : sideFiles.map((file) => readNetworkPlugin(parseObject(file, "configuration")));
  const plugins = [...inlined, ...side];
  if (plugins.length === 0) throw new CniError(CNI_CODES.invalidNetworkConfig, "no plugin configs found");
  return { name, cniVersion, isCheckDisabled, isGcDisabled, hasOnlyInlinedPlugins, plugins, text };
}

/** Lifts a single plugin (`*.conf`) to a list of one with the same name and version. @throws CniError */
export function parseSinglePlugin(text: string): NetworkList {
  const document = parseObject(text, "configuration");
  const plugin = readNetworkPlugin(document);
  return {
    name: plugin.name,
    cniVersion: readStandardConfiguration(document).cniVersion,
    isCheckDisabled: false,
    isGcDisabled: false,
    hasOnlyInlinedPlugins: true,
    plugins: [plugin],
    text,
  };
}
