/** Single values: text, numbers, words from a list, addresses, ranges, names, versions; and JSON taken as it is. */
import { parseNetworkPattern } from "#programs/policy/network-pattern.ts";
import { stripEdges } from "#core/base/text-edges.ts";
import { DOCUMENTED_YEARS, type Edition, parseEdition } from "#core/catalogue/edition.ts";
import { type ParsedNode, isMap, isScalar, isSeq } from "yaml";
import { nearestNames } from "#core/base/nearest-name.ts";
import { DURATION_PATTERN, formatDuration, readDuration } from "#core/base/duration.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { KNOWLEDGE_CODES, type KnowledgeCode, isKnowledgeCode } from "#core/catalogue/codes.ts";
import { NODE_PROFILE_NAMES, type WindowsBuild, parseNodeBuild } from "#core/catalogue/profiles.ts";
import {
  type Ipv4,
  type Ipv6,
  type Prefix,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  parseIpv4,
  parseIpv6,
  prefixOf,
} from "#core/net/ip.ts";
import { type Mac, isGroupMac, parseMac } from "#core/net/mac.ts";
import { type Reading, nameOf, quote, type ValuePlace } from "./reading.ts";
import { type ValueShape, plainShape } from "./shape.ts";
import type { AddressRange, KubernetesRelease } from "./cluster-file.ts";
import { clusterFile } from "#data/words.js";

const WORDS = clusterFile();

/** The text of a value as it stands in the file, for words that YAML would take for numbers: 1.30, 1903. */
function sourceText(node: ParsedNode): string | undefined {
  if (!isScalar(node)) return undefined;
  if (typeof node.value === "string") return node.value;
  return typeof node.value === "number" ? node.source : undefined;
}

interface TextRule<T> {
  readonly noun: string;
  /** JSON schema of the text. */
  readonly pattern: string;
  readonly lengthMax: number;
  parse(text: string): T | undefined;
  /** What to write instead of `text`. */
  advise(text: string): string;
}

/** A text with a form of its own. */
function textOf<T>(rule: TextRule<T>): ValueShape<T> {
  return plainShape({
    noun: rule.noun,
    read(node, place, reading) {
      if (!isScalar(node) || typeof node.value !== "string") {
        const advice = isScalar(node) ? "Put it in quotes." : `Write ${rule.noun}.`;
        reading.reportValue(place, `must be ${rule.noun}, but is ${nameOf(node)}`, advice);
        return undefined;
      }
      const text = node.value;
      const value = text.length > rule.lengthMax ? undefined : rule.parse(text);
      if (value === undefined)
        reading.reportValue(place, `${quote(text)} is not ${rule.noun}`, rule.advise(text));
      return value;
    },
    schema: () => ({ type: "string", pattern: rule.pattern, maxLength: rule.lengthMax }),
  });
}

const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const IPV4_PATTERN = `${OCTET}(\\.${OCTET}){3}`;

/** An IPv4 address. */
export const IPV4: ValueShape<Ipv4> = textOf({
  noun: "an IPv4 address",
  pattern: `^${IPV4_PATTERN}$`,
  lengthMax: 64,
  parse: parseIpv4,
  advise: (text) => {
    if (parseIpv6(text) !== undefined) return "Cluster files hold IPv4 addresses only, such as 10.0.0.11.";
    if (text.includes("/")) return `Leave the length out: ${text.slice(0, text.indexOf("/"))}.`;
    return "Write four numbers from 0 to 255 with dots between them, such as 10.0.0.11.";
  },
});

export const MAC: ValueShape<Mac> = textOf({
  noun: "a MAC address",
  pattern: "^[0-9A-Fa-f]{2}([-:][0-9A-Fa-f]{2}){5}$",
  lengthMax: 17,
  parse: (text) => {
    const mac = parseMac(text);
    return mac === undefined || isGroupMac(mac) ? undefined : mac;
  },
  advise: () => "Write that of one adapter, such as 00-15-5D-10-00-01.",
});

/** `10.224.0.36`, or `10.224.0.36-10.224.0.65`: addresses one by one, which need not be a prefix. */
export const ADDRESS_RANGE: ValueShape<AddressRange> = textOf({
  noun: "an IPv4 address, or the first and the last of several",
  pattern: `^${IPV4_PATTERN}(-${IPV4_PATTERN})?$`,
  lengthMax: 64,
  parse: (text) => {
    const [low = "", high = low, ...rest] = text.split("-");
    const [first, last] = [parseIpv4(low), parseIpv4(high)];
    if (first === undefined || last === undefined || rest.length > 0 || first > last) return undefined;
    return Object.freeze({ first, last });
  },
  advise: (text) => {
    if (!text.includes("/")) return "Write 10.224.0.36, or 10.224.0.36-10.224.0.65.";
    return WORDS.adviceAddressRange;
  },
});

/** The range that a text of a family is in, and whether it is that range itself: it has no host bits. */
function rangeAround(
  text: string,
  family: "number" | "bigint",
): { readonly range: Prefix; readonly isWhole: boolean } | undefined {
  const parsed = parseInterfaceAddress(text);
  if (parsed === undefined || typeof parsed.ip !== family) return undefined;
  const range = prefixOf(parsed.ip, parsed.length);
  return { range, isWhole: range.address === parsed.ip };
}

function wholeRange(text: string, family: "number" | "bigint"): Prefix | undefined {
  const found = rangeAround(text, family);
  return found?.isWhole === true ? found.range : undefined;
}

/** An IPv4 range in CIDR form, without host bits. */
export const PREFIX: ValueShape<Prefix> = textOf({
  noun: "an IPv4 range",
  pattern: `^${IPV4_PATTERN}/(3[0-2]|[12]?[0-9])$`,
  lengthMax: 64,
  parse: (text) => wholeRange(text, "number"),
  advise: (text) => {
    const found = rangeAround(text, "number");
    if (found !== undefined) return `It has host bits; the range is ${formatPrefix(found.range)}.`;
    if (parseInterfaceAddress(text) !== undefined)
      return "Cluster files hold IPv4 ranges only, such as 10.244.1.0/24.";
    const ip = parseIpv4(text);
    if (ip !== undefined) return WORDS.advicePrefixLength({ ip: formatIp(ip) });
    return "Write the first address and the length, such as 10.244.1.0/24.";
  },
});

export const IPV6: ValueShape<Ipv6> = textOf({
  noun: "an IPv6 address",
  pattern: "^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$",
  lengthMax: 64,
  parse: parseIpv6,
  advise: (text) =>
    text.includes("/")
      ? `Leave the length out: ${text.slice(0, text.indexOf("/"))}.`
      : "Write an IPv6 address, such as fd00:10::b.",
});

/** An IPv6 range in CIDR form, without host bits. */
export const IPV6_PREFIX: ValueShape<Prefix> = textOf({
  noun: "an IPv6 range",
  pattern: "^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$",
  lengthMax: 64,
  parse: (text) => wholeRange(text, "bigint"),
  advise: (text) => {
    const found = rangeAround(text, "bigint");
    if (found !== undefined) return `It has host bits; the range is ${formatPrefix(found.range)}.`;
    return "Write the first address and the length, such as fd00:10:244::/48.";
  },
});

/** A Kubernetes name: RFC 1123 subdomain. */
export const NAME: ValueShape<string> = textOf({
  noun: "a name",
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
  lengthMax: 253,
  parse: (text) =>
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text) ? text : undefined,
  advise: (text) => {
    const lower = stripEdges(text.toLowerCase().replace(/[^a-z0-9.-]+/g, "-"), /[-.]/);
    const example = lower === "" || lower.length > 63 ? "win-1" : lower;
    return WORDS.adviceDnsLabel({ example });
  },
});

/** The name of a network: what HNS and CNI both take. */
export const NETWORK_NAME: ValueShape<string> = textOf({
  noun: "a network name",
  pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
  lengthMax: 64,
  parse: (text) => (/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text) ? text : undefined),
  advise: () => "Use letters, digits, dots, underscores and hyphens, such as cbr0.",
});

/** The name of a Windows machine: as NetBIOS takes it, or longer as DNS does. */
export const COMPUTER_NAME: ValueShape<string> = textOf({
  noun: "a computer name",
  pattern: "^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$",
  lengthMax: 63,
  parse: (text) => (/^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$/.test(text) ? text : undefined),
  advise: () => "Use letters, digits and hyphens, as in WIN-8QT3L1K2V9E.",
});

/** What KUBE_NETWORK may say here. */
export const NETWORK_PATTERN: ValueShape<string> = textOf({
  noun: "a name of a network, or a pattern of names",
  pattern: "^\\S+$",
  lengthMax: 256,
  parse: (text) => (parseNetworkPattern(text) === undefined || /\s/.test(text) ? undefined : text),
  advise: () => WORDS.adviceNetworkPattern,
});

/** What `--iface` takes: the name of an adapter, or an address. */
export const INTERFACE: ValueShape<string> = textOf({
  noun: "the name or address of an adapter",
  pattern: "^\\S(.*\\S)?$",
  lengthMax: 256,
  parse: (text) => (/^\S(?:.*\S)?$/.test(text) ? text : undefined),
  advise: () => WORDS.adviceInterface,
});

/** A path that cannot leave the folder it is relative to (design: files named by input stay in their directory). */
function isRelativePath(text: string): boolean {
  const isRooted = /^([/\\]|[A-Za-z]:)/.test(text);
  return !isRooted && !text.split(/[/\\]/).includes("..") && !text.includes("\0");
}

/** A file or folder below the one of the cluster file. */
export const RELATIVE_PATH: ValueShape<string> = textOf({
  noun: "a path below the folder of this file",
  pattern: "^(?![/\\\\])(?!.*(^|[/\\\\])\\.\\.([/\\\\]|$)).+$",
  lengthMax: 1_024,
  parse: (text) => (text !== "" && isRelativePath(text) ? text : undefined),
  advise: () => WORDS.adviceRelativePath,
});

/** A party as the command line names it; which one it is shows when the cluster is up. */
export const PARTY: ValueShape<string> = textOf({
  noun: WORDS.partyNoun,
  pattern: "^[A-Za-z0-9][A-Za-z0-9._:/-]*$",
  lengthMax: 512,
  parse: (text) => (/^[A-Za-z0-9][A-Za-z0-9._:/-]*$/.test(text) ? text : undefined),
  advise: () => "Write pod/NAMESPACE/NAME, node/NAME, service/NAMESPACE/NAME, external or an address.",
});

/** A word of a command line. Lines of one are its own affair. */
export const WORD: ValueShape<string> = textOf({
  noun: "a word of a command",
  pattern: "^[^\\u0000]*$",
  lengthMax: 8_192,
  parse: (text) => (text.includes("\0") ? undefined : text),
  advise: () => "Write one argument, at most 8192 characters long, without a zero byte.",
});

/** The name of a table or a row of OVSDB. */
export const OVSDB_NAME: ValueShape<string> = textOf({
  noun: "a name of the database",
  pattern: "^[!-~]+$",
  lengthMax: 256,
  parse: (text) => (/^[!-~]+$/.test(text) ? text : undefined),
  advise: () => "Write it as mullion ovn nb list shows it.",
});

/** A code of the catalogue. */
export const CODE: ValueShape<KnowledgeCode> = textOf({
  noun: "a code of the catalogue",
  pattern: "^[a-z0-9]+(-[a-z0-9]+)*$",
  lengthMax: 64,
  parse: (text) => (isKnowledgeCode(text) ? text : undefined),
  advise: (text) => {
    const [nearest] = nearestNames(text, KNOWLEDGE_CODES, 1);
    return `${nearest === undefined ? "" : `Did you mean ${nearest}? `}See all codes: mullion explain --list`;
  },
});

/** The name of a resource of Azure: at most 80 letters, digits, `_`, `.` and `-`. */
export const RESOURCE_NAME: ValueShape<string> = textOf({
  noun: "the name of a resource of Azure",
  pattern: "[A-Za-z0-9][A-Za-z0-9_.-]{0,79}",
  lengthMax: 80,
  parse: (text) => (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$/.test(text) ? text : undefined),
  advise: () => "Write letters, digits, '_', '.' and '-', at most 80.",
});

/** Whom a rule is about: an address, a range, a service tag or an application group. */
export const SECURITY_SIDE: ValueShape<string> = textOf({
  noun: "an address, a range, a service tag or an application group",
  pattern: "\\*|[A-Za-z0-9][A-Za-z0-9_./-]{0,79}",
  lengthMax: 80,
  parse(text) {
    const isAddress = /^[0-9./]+$/.test(text);
    if (isAddress) return parseInterfaceAddress(text.includes("/") ? text : `${text}/32`) && text;
    return text === "*" || /^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$/.test(text) ? text : undefined;
  },
  advise: () => 'Write "10.1.2.3", "10.1.0.0/16", "Internet", or the name of an application group.',
});

/** `80` or `30000-32767`, in quotes. */
export const SECURITY_PORTS: ValueShape<{ readonly first: number; readonly last: number }> = textOf({
  noun: "a port or a range of ports",
  pattern: "[0-9]{1,5}(-[0-9]{1,5})?",
  lengthMax: 11,
  parse(text) {
    const [, from = "", to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
    const [first, last] = [Number(from), Number(to)];
    return from !== "" && first <= last && last <= 65_535 ? { first, last } : undefined;
  },
  advise: () => 'Write "80" or "30000-32767".',
});

/** A whole number from `min` to `max`. */
export function integer(noun: string, min: number, max: number): ValueShape<number> {
  return plainShape({
    noun,
    read(node, place, reading) {
      const value = isScalar(node) ? node.value : undefined;
      if (typeof value !== "number") {
        const isQuoted = typeof value === "string" && /^\d+$/.test(value);
        const advice = isQuoted
          ? `Leave the quotes out: ${value}.`
          : `Write a whole number from ${min} to ${max}.`;
        reading.reportValue(place, `must be ${noun}, but is ${nameOf(node)}`, advice);
        return undefined;
      }
      if (!Number.isInteger(value) || value < min || value > max) {
        reading.reportValue(place, `${value} is not ${noun}`, `Write a whole number from ${min} to ${max}.`);
        return undefined;
      }
      return value;
    },
    schema: () => ({ type: "integer", minimum: min, maximum: max }),
  });
}

/** A time from `min` to `max` seconds: a whole number of seconds, or a text such as `90s`. Read as seconds. */
export function seconds(min: number, max: number): ValueShape<number> {
  const noun = WORDS.secondsNoun;
  const isWithin = (value: number): boolean => value >= min && value <= max;
  return plainShape({
    noun,
    read(node, place, reading) {
      const value = isScalar(node) ? node.value : undefined;
      const ms = typeof value === "string" ? readDuration(value, "s") : undefined;
      const amount = ms === undefined ? value : ms / 1_000;
      const isAllowed = typeof value === "string" || Number.isInteger(value);
      if (typeof amount === "number" && isAllowed && isWithin(amount)) return amount;
      const [least, most] = [formatDuration(min * 1_000), formatDuration(max * 1_000)];
      const given = typeof value === "number" ? `${value}` : nameOf(node);
      const isTime = typeof value === "number" || typeof value === "string";
      const what = isTime ? `${given} is not ${noun}` : `must be ${noun}, but is ${given}`;
      reading.reportValue(place, what, `Write a time from ${least} to ${most}.`);
      return undefined;
    },
    schema: () => ({
      anyOf: [
        { type: "integer", minimum: min, maximum: max },
        { type: "string", pattern: DURATION_PATTERN },
      ],
    }),
  });
}

/** A TCP or UDP port. */
export const PORT: ValueShape<number> = integer("a port", 1, 65_535);

/** true or false. */
export const BOOLEAN: ValueShape<boolean> = plainShape({
  noun: "true or false",
  read(node, place, reading) {
    const value = isScalar(node) ? node.value : undefined;
    if (typeof value === "boolean") return value;
    reading.reportValue(
      place,
      `must be true or false, but is ${nameOf(node)}`,
      "Write true or false without quotes.",
    );
    return undefined;
  },
  schema: () => ({ type: "boolean" }),
});

/** A word of the field that means something which is missing here: why it is refused, and what takes its place. */
export interface MissingWord {
  readonly message: string;
  readonly advice: string;
}

interface WordOptions<T extends string> {
  /** Takes more words than those of the list, such as older names, which no description mentions. */
  readonly parse?: (text: string) => T | undefined;
  readonly missing?: Readonly<Record<string, MissingWord>>;
}

function missingWord(text: string | undefined, missing: Readonly<Record<string, MissingWord>>) {
  const word = text?.toLowerCase() ?? "";
  return Object.hasOwn(missing, word) ? missing[word] : undefined;
}

/** One word of a list. A different letter case is refused, with the right word. */
export function oneOf<T extends string>(
  words: readonly T[],
  { parse = (text) => words.find((candidate) => candidate === text), missing = {} }: WordOptions<T> = {},
): ValueShape<T> {
  const noun =
    words.length === 1 ? `\`${words[0]}\`` : `one of ${words.map((word) => `\`${word}\``).join(", ")}`;
  return plainShape({
    noun,
    read(node, place, reading) {
      const text = sourceText(node);
      const word = text === undefined ? undefined : parse(text);
      if (word !== undefined) return word;
      const known = missingWord(text, missing);
      if (known !== undefined) {
        reading.reportValue(place, known.message, known.advice);
        return undefined;
      }
      const [nearest] = text === undefined ? [] : nearestNames(text, words);
      const all = words.join(", ");
      const advice =
        nearest === undefined ? `Write one of: ${all}.` : `Did you mean ${nearest}? Possible values: ${all}.`;
      reading.reportValue(place, `${nameOf(node)} is not possible here`, advice);
      return undefined;
    },
    schema: () => ({ enum: words }),
  });
}

/** A Kubernetes version from `minorMin` to `minorMax`, or one of `early`: 1.34 or 1.34.2, with or without quotes. */
export function kubernetesVersion(
  minorMin: number,
  minorMax: number,
  early: readonly number[],
): ValueShape<KubernetesRelease> {
  return plainShape({
    noun: "a Kubernetes version",
    read(node, place, reading) {
      const text = sourceText(node);
      const match = /^v?1\.(\d{1,3})(?:\.(\d{1,3}))?$/.exec(text ?? "");
      const minor = Number(match?.[1]);
      const isKnown = early.includes(minor) || (minor >= minorMin && minor <= minorMax);
      if (match === null || !isKnown) {
        const advice = `Write a version from 1.${minorMin} to 1.${minorMax}, such as "1.${minorMax}".`;
        reading.reportValue(place, `${nameOf(node)} is not a Kubernetes version known here`, advice);
        return undefined;
      }
      const patch = match[2] === undefined ? undefined : Number(match[2]);
      return Object.freeze({ major: 1, minor, patch });
    },
    schema: () => ({ type: ["string", "number"], examples: [`1.${minorMax}`] }),
  });
}

/** The year of an edition of the Kubernetes page, with or without quotes. */
export const EDITION: ValueShape<Edition> = plainShape({
  noun: `an edition of the documentation: ${DOCUMENTED_YEARS.map((edition) => `\`"${edition}"\``).join(", ")}`,
  read(node, place, reading) {
    const text = sourceText(node);
    const edition = parseEdition(text ?? "");
    if (typeof edition === "string") return edition;
    const problem = text === undefined ? `${nameOf(node)} is no year` : edition.problem;
    reading.reportValue(place, problem, edition.advice);
    return undefined;
  },
  schema: () => ({ enum: [...DOCUMENTED_YEARS, ...DOCUMENTED_YEARS.map(Number)] }),
});

/** A build of Windows: a profile (`ws2022`), with an update revision (`ws2022.2582`), or its number (`20348.2582`). */
export const WINDOWS_BUILD: ValueShape<WindowsBuild> = plainShape({
  noun: `a build of Windows: ${NODE_PROFILE_NAMES.map((name) => `\`${name}\``).join(", ")}, with or without a revision`,
  read(node, place, reading) {
    const text = sourceText(node);
    const build = text === undefined || text.length > 64 ? undefined : parseNodeBuild(text);
    if (build !== undefined) return build;
    const [nearest] = text === undefined ? [] : nearestNames(text, NODE_PROFILE_NAMES);
    const known = `Known are ${NODE_PROFILE_NAMES.join(", ")}; add a revision as in ws2022.2582.`;
    const advice = nearest === undefined ? known : `Did you mean ${nearest}? ${known}`;
    reading.reportValue(place, `${nameOf(node)} is not a build of Windows that has a profile`, advice);
    return undefined;
  },
  schema: () => ({ anyOf: [{ enum: NODE_PROFILE_NAMES }, { type: ["string", "number"] }] }),
});

/** Any JSON value below `depthMax` levels; undefined after a problem. */
function readJson(
  node: ParsedNode | null,
  at: ValuePlace,
  reading: Reading,
  depth: number,
): JsonValue | undefined {
  if (node === null) return null;
  const place = { offset: node.range[0], path: at.path };
  if (depth > LIMITS.documentDepthMax) {
    const message = `values are nested more than ${LIMITS.documentDepthMax} levels deep`;
    reading.report("cluster-file-too-large", place, message, "Write the value out flat.");
    return undefined;
  }
  return reading.withValue(node, place, (value) => {
    if (isMap(value)) return readJsonObject(value, place, reading, depth);
    if (isSeq(value)) {
      const items: JsonValue[] = [];
      for (const item of value.items) {
        const read = readJson(item, place, reading, depth + 1);
        if (read === undefined) return undefined;
        items.push(read);
      }
      return Object.freeze(items);
    }
    return readJsonScalar(value, place, reading);
  });
}

function readJsonScalar(value: ParsedNode, place: ValuePlace, reading: Reading): JsonValue | undefined {
  const scalar = isScalar(value) ? value.value : undefined;
  if (scalar === null || typeof scalar === "string" || typeof scalar === "boolean") return scalar;
  if (typeof scalar === "number" && Number.isFinite(scalar)) return scalar;
  reading.reportValue(
    place,
    `${nameOf(value)} cannot be sent as JSON`,
    "Write text, a number, true, false or null.",
  );
  return undefined;
}

function readJsonObject(
  value: ParsedNode,
  place: ValuePlace,
  reading: Reading,
  depth: number,
): JsonObject | undefined {
  const fields = new Map<string, JsonValue>();
  for (const { key, value: item } of isMap(value) ? value.items : []) {
    const name = sourceText(key);
    const at = { offset: key?.range[0] ?? place.offset, path: place.path };
    if (name === undefined || fields.has(name)) {
      const message =
        name === undefined ? "a field name must be text" : `the field ${quote(name)} is given twice`;
      reading.report(
        "cluster-file-invalid-yaml",
        at,
        message,
        "Every field of JSON has one name, given once.",
      );
      return undefined;
    }
    const read = readJson(item, at, reading, depth + 1);
    if (read === undefined) return undefined;
    fields.set(name, read);
  }
  return Object.freeze(Object.fromEntries(fields));
}

/** A JSON object that is passed on as it is. `needed` are fields that must be there and hold text. */
export function jsonObject(noun: string, needed: readonly string[] = []): ValueShape<JsonObject> {
  return plainShape({
    noun,
    read(node, place, reading) {
      if (!isMap(node)) {
        reading.reportValue(place, `must be ${noun}, but is ${nameOf(node)}`, "Write its fields below it.");
        return undefined;
      }
      const object = readJsonObject(node, place, reading, 1);
      const absent = needed.filter((name) => object !== undefined && typeof object[name] !== "string");
      for (const name of absent) {
        const message = `${quote(name)} is missing or not text`;
        reading.report(
          "cluster-file-missing-field",
          place,
          message,
          `Write ${name}: as the first field of ${noun}.`,
        );
      }
      return absent.length === 0 ? object : undefined;
    },
    schema: () => {
      const properties = Object.fromEntries(needed.map((name) => [name, { type: "string" }]));
      return { type: "object", ...(needed.length > 0 ? { required: needed, properties } : {}) };
    },
  });
}
