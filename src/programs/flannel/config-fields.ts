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
import { FlannelError } from "./flannel-error.ts";

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

/** One object of the configuration with its place in it. */
class ConfigFields {
  private readonly object: JsonObject;
  /** `Backend.` inside the backend. */
  private readonly place: string;

  constructor(object: JsonObject, place = "") {
    this.object = object;
    this.place = place;
  }

  /** The field's value; undefined when it is absent or null, which Go's decoder leaves alone. */
  value(name: string): JsonValue | undefined {
    const folded = name.toLowerCase();
    let found: JsonValue | undefined;
    for (const [key, value] of Object.entries(this.object))
      if (key.toLowerCase() === folded && value !== undefined && value !== null) found = value;
    return found;
  }

  boolean(name: string): boolean | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.refuse(name, value, "true or false, without quotes");
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    throw this.refuse(name, value, "a text in double quotes");
  }

  integer(name: string, { min = -INTEGER_MAX, max = INTEGER_MAX }: ConfigField): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw this.refuse(name, value, `a whole number from ${min} to ${max}, without quotes`);
  }

  prefix(name: string, family: IpFamily): Prefix | undefined {
    const text = this.value(name);
    if (text === undefined) return undefined;
    const parsed = typeof text === "string" ? parseInterfaceAddress(text) : undefined;
    const prefix = parsed === undefined ? undefined : prefixOf(parsed.ip, parsed.length);
    if (prefix !== undefined && prefixFamily(prefix) === family) return prefix;
    throw this.refuse(name, text, `a range of IPv${family} addresses such as "${EXAMPLES[family].prefix}"`);
  }

  address(name: string, family: IpFamily): Ip | undefined {
    const text = this.value(name);
    if (text === undefined) return undefined;
    const ip = typeof text === "string" ? parseIp(text) : undefined;
    if (ip !== undefined && familyOf(ip) === family) return ip;
    throw this.refuse(name, text, `an IPv${family} address such as "${EXAMPLES[family].address}"`);
  }

  nested(name: string): JsonObject | undefined {
    const value = this.value(name);
    if (value === undefined || isJsonObject(value)) return value;
    throw this.refuse(name, value, 'an object such as {"Type": "vxlan"}');
  }

  private refuse(name: string, value: JsonValue, wanted: string): FlannelError {
    return new FlannelError(
      "flanneld-configuration-invalid",
      `${this.place}${name} is ${shown(value)}; write ${wanted}`,
    );
  }
}

const READERS: {
  readonly [K in keyof ConfigValues]: (
    fields: ConfigFields,
    name: string,
    field: ConfigField,
  ) => ConfigValues[K] | undefined;
} = {
  text: (fields, name) => fields.text(name),
  boolean: (fields, name) => fields.boolean(name),
  integer: (fields, name, field) => fields.integer(name, field),
  ipv4Prefix: (fields, name) => fields.prefix(name, 4),
  ipv6Prefix: (fields, name) => fields.prefix(name, 6),
  ipv4: (fields, name) => fields.address(name, 4),
  ipv6: (fields, name) => fields.address(name, 6),
  object: (fields, name) => fields.nested(name),
};

/**
 * The described fields of an object; `place` stands before their names in messages: `Backend.`.
 * @throws FlannelError that names the first wrong field and what to write.
 */
export function readConfig<const D extends ConfigDescription>(
  description: D,
  object: JsonObject,
  place = "",
): ConfigOf<D> {
  const fields = new ConfigFields(object, place);
  const values = Object.entries(description.fields).map(
    ([name, field]) => [name, READERS[field.is](fields, name, field)] as const,
  );
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

const PRINTERS: { readonly [K in keyof ConfigValues]: (value: ConfigValues[K]) => JsonValue } = {
  text: (value) => value,
  boolean: (value) => value,
  integer: (value) => value,
  ipv4Prefix: formatPrefix,
  ipv6Prefix: formatPrefix,
  ipv4: formatIp,
  ipv6: formatIp,
  object: (value) => value,
};

/** The fields that have a value, in the order of the description. */
export function printConfig<const D extends ConfigDescription>(
  description: D,
  values: ConfigOf<D>,
): JsonObject {
  const given: Readonly<Record<string, unknown>> = values;
  const printed: Record<string, JsonValue> = {};
  for (const [name, { is }] of Object.entries(description.fields)) {
    const print = PRINTERS[is] as (value: unknown) => JsonValue;
    if (given[name] !== undefined) printed[name] = print(given[name]);
  }
  return Object.freeze(printed);
}
