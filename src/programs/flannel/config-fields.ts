/**
 * Fields of flannel's JSON: described once, as data. The type (`ConfigOf<typeof NET_CONF>`), the reading, the printing, the
 * schema and the tables of the page come from the description. They are read as Go's decoder reads them: upper and lower
 * case are equal, the last of a name counts.
 */
import { nearestNames } from "#core/base/nearest-name.ts";
import type { Description } from "#core/base/shape.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import {
  type Ip,
  type IpFamily,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  parseInterfaceAddress,
  parseIp,
  prefixFamily,
  prefixOf,
} from "#core/net/ip.ts";
import { FlannelError } from "./reports.ts";

/** Values of fields, by the word that a field says in `is`. */
interface ConfigValues {
  readonly text: string;
  readonly boolean: boolean;
  readonly integer: number;
  /** Bits of the host are cleared, as Go's `ParseCIDR` does. */
  readonly ipv4Prefix: Prefix;
  readonly ipv6Prefix: Prefix;
  readonly ipv4: Ip;
  readonly ipv6: Ip;
  readonly object: JsonObject;
}

interface ConfigField {
  readonly is: keyof ConfigValues;
  /** What it is, for the page: full sentences. */
  readonly text: Description;
  /** What holds without it, in words. */
  readonly absent?: Description;
  /** Of an integer: both are taken. Without them any whole number is. */
  readonly min?: number;
  readonly max?: number;
}

/** An object of the configuration. */
export interface ConfigDescription {
  /** One sentence. */
  readonly text: string;
  /** In the order in which they are printed. */
  readonly fields: Readonly<Record<string, ConfigField>>;
}

/** The type of a described object: every field may be absent. */
export type ConfigOf<D extends ConfigDescription> = {
  readonly [K in keyof D["fields"]]?: ConfigValues[D["fields"][K]["is"]] | undefined;
};

/** What Go's `int` holds and JSON can say exactly. */
const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

/** A value as a message shows it. */
function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

const EXAMPLES: Readonly<Record<IpFamily, { readonly prefix: string; readonly address: string }>> = {
  4: { prefix: "10.244.0.0/16", address: "10.244.1.0" },
  6: { prefix: "fd00:10:244::/48", address: "fd00:10:244:1::" },
};

/** How values of one kind are read and printed. */
interface Kind<T> {
  /** What to write. */
  readonly wanted: (field: ConfigField) => string;
  /** Undefined for what is no value of this kind. */
  readonly read: (value: JsonValue, field: ConfigField) => T | undefined;
  readonly print: (value: T) => JsonValue;
}

function asItIs<T extends JsonValue>(wanted: string, is: (value: JsonValue) => value is T): Kind<T> {
  const read = (value: JsonValue): T | undefined => (is(value) ? value : undefined);
  return { wanted: () => wanted, read, print: (value) => value };
}

function prefixKind(family: IpFamily): Kind<Prefix> {
  return {
    wanted: () => `a range of IPv${family} addresses such as "${EXAMPLES[family].prefix}"`,
    read: (value) => {
      const parsed = typeof value === "string" ? parseInterfaceAddress(value) : undefined;
      const prefix = parsed === undefined ? undefined : prefixOf(parsed.ip, parsed.length);
      return prefix !== undefined && prefixFamily(prefix) === family ? prefix : undefined;
    },
    print: formatPrefix,
  };
}

function addressKind(family: IpFamily): Kind<Ip> {
  return {
    wanted: () => `an IPv${family} address such as "${EXAMPLES[family].address}"`,
    read: (value) => {
      const ip = typeof value === "string" ? parseIp(value) : undefined;
      return ip !== undefined && familyOf(ip) === family ? ip : undefined;
    },
    print: formatIp,
  };
}

const KINDS: { readonly [K in keyof ConfigValues]: Kind<ConfigValues[K]> } = {
  text: asItIs("a text in double quotes", (value) => typeof value === "string"),
  boolean: asItIs("true or false, without quotes", (value) => typeof value === "boolean"),
  integer: {
    wanted: ({ min = -INTEGER_MAX, max = INTEGER_MAX }) =>
      `a whole number from ${min} to ${max}, without quotes`,
    read: (value, { min = -INTEGER_MAX, max = INTEGER_MAX }) =>
      typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
        ? value
        : undefined,
    print: (value) => value,
  },
  ipv4Prefix: prefixKind(4),
  ipv6Prefix: prefixKind(6),
  ipv4: addressKind(4),
  ipv6: addressKind(6),
  object: asItIs('an object such as {"Type": "vxlan"}', (value): value is JsonObject => isJsonObject(value)),
};

/** The last value of a name; undefined when it is absent or null, which Go's decoder leaves alone. */
function valueIn(object: JsonObject, name: string): JsonValue | undefined {
  const folded = name.toLowerCase();
  const given = Object.entries(object).filter(
    ([key, value]) => key.toLowerCase() === folded && value !== undefined && value !== null,
  );
  return given.at(-1)?.[1];
}

/**
 * The described fields of an object; `place` stands before their names in messages: `Backend.`.
 * @throws FlannelError that names the first wrong field and what to write.
 */
export function readConfig<const D extends ConfigDescription>(
  description: D,
  object: JsonObject,
  place = "",
): ConfigOf<D> {
  const values = Object.entries(description.fields).map(([name, field]) => {
    const value = valueIn(object, name);
    if (value === undefined) return [name, undefined] as const;
    const read = KINDS[field.is].read(value, field);
    if (read !== undefined) return [name, read] as const;
    const message = `${place}${name} is ${shown(value)}; write ${KINDS[field.is].wanted(field)}`;
    throw new FlannelError("flanneld-configuration-invalid", message);
  });
  return Object.freeze(Object.fromEntries(values)) as ConfigOf<D>;
}

/** One sentence for each field that none of the descriptions has, with the one that was probably meant. */
export function unknownFields(
  descriptions: readonly ConfigDescription[],
  object: JsonObject,
  place = "",
): readonly string[] {
  const known = [...new Set(descriptions.flatMap(({ fields }) => Object.keys(fields)))];
  const names = new Set(known.map((name) => name.toLowerCase()));
  return Object.keys(object)
    .filter((key) => !names.has(key.toLowerCase()))
    .map((key) => {
      const [near] = nearestNames(key, known, 1);
      const meant = near === undefined ? "" : `; did you mean ${place}${near}?`;
      return `${place}${key} is not a field that flanneld reads${meant}`;
    });
}

/** The fields that have a value, in the order of the description. */
export function printConfig<const D extends ConfigDescription>(
  description: D,
  values: ConfigOf<D>,
): JsonObject {
  const given: Readonly<Record<string, unknown>> = values;
  const printed: Record<string, JsonValue> = {};
  for (const [name, { is }] of Object.entries(description.fields)) {
    const print = KINDS[is].print as (value: unknown) => JsonValue;
    if (given[name] !== undefined) printed[name] = print(given[name]);
  }
  return Object.freeze(printed);
}
