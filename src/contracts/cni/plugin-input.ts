/**
 * What a plugin is given: its environment as a table, with who requires what and what is well formed (cni.md §1.3), and the
 * parts of the configuration that all plugins share (cni.md §1.2).
 */
import type { ByMode, Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "./error.ts";
import { DecodeError, StructReader } from "./json.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type CniLibrary, OLDEST_VERSION } from "./version.ts";
import { type CniDns, type CniResult, parseResult, readDns } from "./result.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** Names that every reader of `CNI_ARGS` knows. */
const COMMON_ARGUMENTS: readonly string[] = ["IgnoreUnknown"];

function parseIgnoreUnknown(pair: string, value: string): boolean {
  const folded = value.toLowerCase();
  if (folded === "1" || folded === "true") return true;
  if (folded === "0" || folded === "false") return false;
  throw new CniError(CNI_CODES.internal, WORDS.cniArgsBooleanInvalid({ pair: JSON.stringify(pair), folded }));
}

/**
 * Parses `CNI_ARGS`. Only the names in `known` are returned, spelled exactly so; names match with case.
 * The empty text means no arguments.
 * @throws CniError (999) for a pair without exactly one `=`, and for unknown names unless `IgnoreUnknown` is
 *   `1` or `true`.
 */
export function parseCniArguments(text: string, known: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (text === "") return values;
  const unknown: string[] = [];
  let isIgnoringUnknown = false;
  for (const pair of text.split(";")) {
    const [name, value, ...more] = pair.split("=");
    if (name === undefined || value === undefined || more.length > 0) {
      throw new CniError(CNI_CODES.internal, `ARGS: invalid pair ${JSON.stringify(pair)}`);
    }
    if (known.includes(name)) values.set(name, value);
    else if (COMMON_ARGUMENTS.includes(name)) isIgnoringUnknown = parseIgnoreUnknown(pair, value);
    else unknown.push(pair);
  }
  if (unknown.length > 0 && !isIgnoringUnknown) {
    const list = unknown.map((pair) => JSON.stringify(pair)).join(" ");
    throw new CniError(CNI_CODES.internal, `ARGS: unknown args [${list}]`);
  }
  return values;
}

/** Joins pairs as runtimes do. */
export function formatCniArguments(pairs: readonly (readonly [name: string, value: string])[]): string {
  return pairs.map(([name, value]) => `${name}=${value}`).join(";");
}

/** The commands of the specification. */
export type CniCommand = "ADD" | "DEL" | "CHECK" | "GC" | "STATUS" | "VERSION";

export type Environment = Readonly<Record<string, string | undefined>>;

/** One environment variable. */
export interface Parameter {
  readonly name: string;
  readonly requiredBy: readonly CniCommand[];
  /** What upstream's skeleton requires, where it asks for more than the specification. */
  readonly requiredByUpstream?: readonly CniCommand[];
  /** What it holds, for the documentation. */
  readonly content: string;
  /** The violation of its form, checked where it is required and present. */
  readonly violation?: (value: string) => CniError | undefined;
}

const NAME_PATTERN = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;
const INTERFACE_NAME_BYTES_MAX = 15;

/** The character set of container IDs and network names. */
export function isCniName(text: string): boolean {
  return NAME_PATTERN.test(text);
}

function utf8Length(text: string): number {
  let length = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) length += 1;
    else if (code < 0x800) length += 2;
    else length += code < 0x1_0000 ? 3 : 4;
  }
  return length;
}

function invalid(message: string, details = ""): CniError {
  return new CniError(CNI_CODES.invalidEnvironment, message, { details });
}

/** The violation of a container ID's form; undefined when it is well formed. */
export function containerIdViolation(id: string): CniError | undefined {
  // The client library, which also checks it, answers an empty ID with a code of its own.
  if (id === "") return new CniError(CNI_CODES.unknownContainer, "missing containerID");
  return isCniName(id) ? undefined : invalid("invalid characters in containerID", id);
}

/** The violation of an interface name's form; undefined when it is well formed. */
export function interfaceNameViolation(name: string): CniError | undefined {
  if (name === "") return invalid("interface name is empty");
  if (utf8Length(name) > INTERFACE_NAME_BYTES_MAX) {
    return invalid(
      "interface name is too long",
      `interface name should be less than ${INTERFACE_NAME_BYTES_MAX + 1} characters`,
    );
  }
  if (name === "." || name === "..") return invalid("interface name is . or ..");
  return /[/:\s\u0085]/.test(name)
    ? invalid("interface name contains / or : or whitespace characters")
    : undefined;
}

/** The violation of a network name's form; undefined when it is well formed. */
export function networkNameViolation(name: string): CniError | undefined {
  if (name === "") return new CniError(CNI_CODES.invalidNetworkConfig, "missing network name");
  return isCniName(name)
    ? undefined
    : new CniError(CNI_CODES.invalidNetworkConfig, "invalid characters found in network name", {
        details: name,
      });
}

/** All parameters, in the order in which they are validated. */
export const PARAMETERS: readonly Parameter[] = [
  {
    name: "CNI_COMMAND",
    requiredBy: ["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"],
    content: "the verb",
  },
  {
    name: "CNI_CONTAINERID",
    requiredBy: ["ADD", "DEL", "CHECK"],
    content: "letters, digits, _ . -, the first a letter or digit",
    violation: containerIdViolation,
  },
  {
    name: "CNI_NETNS",
    requiredBy: ["ADD", "CHECK"],
    content: WORDS.cniNetnsContent,
  },
  {
    name: "CNI_IFNAME",
    requiredBy: ["ADD", "DEL", "CHECK"],
    content: "at most 15 bytes, not . or .., without / : and white space",
    violation: interfaceNameViolation,
  },
  { name: "CNI_ARGS", requiredBy: [], content: "K=V;K2=V2" },
  {
    name: "CNI_PATH",
    requiredBy: ["GC"],
    requiredByUpstream: ["ADD", "DEL", "CHECK", "GC", "STATUS"],
    content: "folders of delegates, joined by ; on Windows, by : elsewhere",
  },
  // Switches off a check that does nothing on Windows. Inferred: nowhere else either, for there is none here.
  { name: "CNI_NETNS_OVERRIDE", requiredBy: [], content: "true or 1" },
];

/** Commands that need the parameter: the specification's, or those of upstream's skeleton. */
const REQUIRED_BY: ByMode<(parameter: Parameter) => readonly string[]> = {
  upstream: ({ requiredBy, requiredByUpstream }) => requiredByUpstream ?? requiredBy,
  hardened: ({ requiredBy }) => requiredBy,
};

/** What the environment of one call says; absent variables are empty. */
export interface PluginParameters {
  /** As given: it may be no known command. */
  readonly command: string;
  readonly containerId: string;
  readonly netns: string;
  readonly ifName: string;
  readonly args: string;
  readonly path: string;
}

/**
 * Reads and validates the parameters: violations of form end it at once, what is missing is collected.
 * @throws CniError with code 4.
 */
export function readParameters(env: Environment, compat: Compat, library: CniLibrary): PluginParameters {
  const command = env["CNI_COMMAND"] ?? "";
  const missing: string[] = [];
  const requiredBy = REQUIRED_BY[compat];
  for (const parameter of PARAMETERS) {
    const value = env[parameter.name] ?? "";
    const isRequired = library.commands.has(command) && requiredBy(parameter).includes(command);
    if (!isRequired && parameter.name !== "CNI_COMMAND") continue;
    if (value === "") missing.push(parameter.name);
    const isChecked = value !== "" && !library.checksNamesLast;
    const violation = isChecked ? parameter.violation?.(value) : undefined;
    if (violation !== undefined) throw violation;
  }
  if (missing.length > 0) throw invalid(`required env variables [${missing.join(",")}] missing`);
  return {
    command,
    containerId: env["CNI_CONTAINERID"] ?? "",
    netns: env["CNI_NETNS"] ?? "",
    ifName: env["CNI_IFNAME"] ?? "",
    args: env["CNI_ARGS"] ?? "",
    path: env["CNI_PATH"] ?? "",
  };
}

/** One attachment that the runtime still knows (GC). */
export interface GcAttachment {
  readonly containerId: string;
  readonly ifName: string;
}

/** The standard members; texts are empty when absent. */
export interface StandardConfiguration {
  readonly cniVersion: string;
  readonly name: string;
  readonly type: string;
  /** `ipam.type`; empty: no IPAM plugin. */
  readonly ipamType: string;
  readonly dns: CniDns;
  readonly capabilities: ReadonlyMap<string, boolean>;
}

/** Reads the standard members, names without regard to case. @throws DecodeError */
export function readStandardConfiguration(document: JsonObject): StandardConfiguration {
  const reader = new StructReader(document);
  return {
    cniVersion: reader.text("cniVersion"),
    name: reader.text("name"),
    type: reader.text("type"),
    ipamType: reader.struct("ipam")?.text("type") ?? "",
    dns: readDns(reader.struct("dns")),
    capabilities: readCapabilities(reader.object("capabilities") ?? {}),
  };
}

/** The names are data: they keep their case. */
function readCapabilities(declared: JsonObject): ReadonlyMap<string, boolean> {
  const capabilities = new Map<string, boolean>();
  for (const [name, given] of Object.entries(declared)) {
    const value = given ?? false;
    if (typeof value !== "boolean") throw new DecodeError(`capabilities.${name}`, "true or false", value);
    capabilities.set(name, value);
  }
  return capabilities;
}

/** The version the configuration is written in. */
export function effectiveVersion(configured: string): string {
  return configured === "" ? OLDEST_VERSION : configured;
}

/** What `read` gives; a field of a wrong type is an error of the contract. @throws CniError with `code` */
export function decoding<T>(code: number, words: (fault: string) => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CniError(code, words(error.message), { cause: error });
  }
}

/** The result of the previous plugin, or of the ADD that is being checked. @throws DecodeError, CniError */
export function readPrevResult(document: JsonObject): CniResult | undefined {
  const reader = new StructReader(document);
  const value = reader.raw("prevResult");
  return value === undefined ? undefined : parseResult(value, effectiveVersion(reader.text("cniVersion")));
}

/** The result of the ADD that CHECK compares with. @throws CniError (7) when it is missing; DecodeError */
export function requirePrevResult(document: JsonObject): CniResult {
  const previous = readPrevResult(document);
  if (previous !== undefined) return previous;
  const message = 'CHECK needs the field "prevResult", the result of ADD';
  throw new CniError(CNI_CODES.invalidNetworkConfig, message);
}

/**
 * The attachments that GC must keep. Undefined when the runtime sent no list, which says nothing; an empty list
 * says that nothing is valid. Old client libraries spell the key `cni.dev/attachments`.
 * @throws DecodeError
 */
export function readValidAttachments(document: JsonObject): readonly GcAttachment[] | undefined {
  const reader = new StructReader(document);
  const key = ["cni.dev/valid-attachments", "cni.dev/attachments"].find(
    (name) => reader.raw(name) !== undefined,
  );
  if (key === undefined) return undefined;
  return reader.structs(key).map((attachment) => ({
    containerId: attachment.text("containerID"),
    ifName: attachment.text("ifname"),
  }));
}
