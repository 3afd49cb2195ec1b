/** Fields of flannel's JSON, read as Go's decoder reads them: upper and lower case are equal, the last of a name counts. */
import { nearestNames } from "#core/base/nearest-name.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import {
  type Ip,
  type IpFamily,
  type Prefix,
  familyOf,
  parseInterfaceAddress,
  parseIp,
  prefixFamily,
  prefixOf,
} from "#core/net/ip.ts";
import { FlannelError } from "./flannel-error.ts";

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
export class ConfigFields {
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

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw this.refuse(name, value, `a whole number from ${min} to ${max}, without quotes`);
  }

  /** A network; host bits are cleared, as Go's `ParseCIDR` does. */
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

  /** One sentence for each field that is not read, with the one that was probably meant. */
  unknown(known: readonly string[]): readonly string[] {
    const names = new Set(known.map((name) => name.toLowerCase()));
    return Object.keys(this.object)
      .filter((key) => !names.has(key.toLowerCase()))
      .map((key) => {
        const [near] = nearestNames(key, known, 1);
        const meant = near === undefined ? "" : `; did you mean ${this.place}${near}?`;
        return `${this.place}${key} is not a field that flanneld reads${meant}`;
      });
  }

  private refuse(name: string, value: JsonValue, wanted: string): FlannelError {
    return new FlannelError(
      "flanneld-configuration-invalid",
      `${this.place}${name} is ${shown(value)}; write ${wanted}`,
    );
  }
}
