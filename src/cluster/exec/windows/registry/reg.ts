/**
 * `reg query`, in the form of printed outputs: a blank line before each key, four blanks before a value and between its parts. Errors,
 * their exit code 1, and the line that counts what `/s` with `/v` found, are those of public logs.
 *
 * Inferred: a key without values is printed without its own name when it has keys, as the key of all interfaces is in printed
 * outputs; one without both prints nothing.
 */
import { stripEnd } from "#core/base/text-edges.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../../command.ts";
import type { Machine } from "../../machine.ts";
import { type RegistryKey, type RegistryValue, SERVICES, registryKeys } from "./registry-keys.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

const HIVES: Readonly<Record<string, string>> = {
  HKLM: "HKEY_LOCAL_MACHINE",
  HKCU: "HKEY_CURRENT_USER",
  HKCR: "HKEY_CLASSES_ROOT",
  HKU: "HKEY_USERS",
  HKCC: "HKEY_CURRENT_CONFIG",
};

function failed(...stderr: readonly string[]): CommandOutput {
  return { stdout: [], stderr, exitCode: 1 };
}

const USAGE = 'Type "REG QUERY /?" for usage.';

/** The key with its hive's whole name; undefined where there is no such hive. */
function wholePath(given: string): string | undefined {
  // PowerShell's spelling of a drive is not one of reg.exe's.
  const [hive = "", ...rest] = stripEnd(given, /\\/).split("\\");
  const known = HIVES[hive.toUpperCase()] ?? Object.values(HIVES).find((each) => each === hive.toUpperCase());
  return known === undefined ? undefined : [known, ...rest].join("\\");
}

/** What is asked of a key. */
interface Query {
  readonly path: string;
  /** A value by its name; undefined: all. */
  readonly value: string | undefined;
  readonly isRecursive: boolean;
}

const NO_DATA_OPTIONS = new Set(["f", "t", "k", "d", "c", "e", "se", "z", "reg:32", "reg:64"]);

/** @throws RequestError for what the real program takes, and this one does not. */
function readQuery(args: readonly string[]): Query | "syntax" | "key" {
  const [given, ...options] = args;
  if (given === undefined) return "syntax";
  const path = wholePath(given);
  if (path === undefined) return "key";
  const queue = [...options];
  let value: string | undefined;
  let isRecursive = false;
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const option = optionOf(word);
    if (option === "s") isRecursive = true;
    else if (option === "v" && value === undefined) {
      value = queue.shift();
      if (value === undefined) return "syntax";
    } else if (option !== undefined && (NO_DATA_OPTIONS.has(option) || option === "ve"))
      return notBuilt(REG, `query ${args.join(" ")}`);
    else return "syntax";
  }
  return { path, value, isRecursive };
}

function isBelow(path: string, parent: string): boolean {
  return path.toLowerCase().startsWith(`${parent.toLowerCase()}\\`);
}

function valueLines(values: readonly RegistryValue[]): readonly string[] {
  return values.map(({ name, type, data }) => `    ${name}    ${type}    ${data}`);
}

function keyLines({ path, values }: RegistryKey): readonly string[] {
  return values.length === 0 ? [] : ["", path, ...valueLines(values)];
}

/** The names of the keys directly below. */
function childrenOf(keys: readonly RegistryKey[], { path }: RegistryKey): readonly string[] {
  return keys.flatMap((each) =>
    isBelow(each.path, path) && !each.path.slice(path.length + 1).includes("\\") ? [each.path] : [],
  );
}

function showKey(keys: readonly RegistryKey[], key: RegistryKey, isRecursive: boolean): readonly string[] {
  if (isRecursive) {
    const below = keys.filter(({ path }) => isBelow(path, key.path));
    return [...[key, ...below].flatMap(keyLines), ""];
  }
  const [own, children] = [keyLines(key), childrenOf(keys, key)];
  return own.length + children.length === 0 ? [] : [...own, "", ...children];
}

/** `/v`: the value of the key, or with `/s` of all keys below as well. */
function showValue(keys: readonly RegistryKey[], key: RegistryKey, wanted: Query): CommandOutput {
  const below = keys.filter(({ path }) => isBelow(path, key.path));
  const asked = wanted.isRecursive ? [key, ...below] : [key];
  const found = asked.map(({ path, values }) => ({
    path,
    values: values.filter(({ name }) => name.toLowerCase() === (wanted.value ?? "").toLowerCase()),
  }));
  const lines = found.flatMap(keyLines);
  const count = found.filter(({ values }) => values.length > 0).length;
  if (wanted.isRecursive)
    return {
      stdout: [...lines, "", `End of search: ${count} match(es) found.`],
      exitCode: count === 0 ? 1 : 0,
    };
  if (count === 0) return failed(WORDS.registryKeyMissing);
  return { stdout: [...lines, ""], exitCode: 0 };
}

function query(machine: Machine, args: readonly string[]): CommandOutput {
  const wanted = readQuery(args);
  if (wanted === "syntax") return failed("ERROR: Invalid syntax.", USAGE);
  if (wanted === "key") return failed("ERROR: Invalid key name.", USAGE);
  const keys = registryKeys(machine);
  const key = keys.find(({ path }) => path.toLowerCase() === wanted.path.toLowerCase());
  if (key === undefined) {
    // What is not acted out here may well stand in the registry of a real machine.
    const isCovered = keys.some(({ path }) => isBelow(wanted.path, path));
    return isCovered ? failed(WORDS.registryKeyMissing) : notBuilt(REG, `query ${wanted.path}`);
  }
  if (wanted.value !== undefined) return showValue(keys, key, wanted);
  return { stdout: showKey(keys, key, wanted.isRecursive), exitCode: 0 };
}

export const REG: ListedCommand = {
  name: "reg",
  os: "windows",
  usages: ["Tcpip", "Tcpip6", "Dnscache"].map(
    (service) => `reg query ${SERVICES.replace(/^\w+/, "HKLM")}\\${service}[\\KEY] [/v VALUE] [/s]`,
  ),
  run: (machine, args) => {
    const [verb = "", ...rest] = args;
    return verb.toLowerCase() === "query" ? query(machine, rest) : notBuilt(REG, args.join(" "));
  },
};
