/** Addresses in policies: an address or a CIDR, alone or in a comma list (hcn.md §3.5). */
import {
  type InterfaceAddress,
  type IpFamily,
  type Prefix,
  bitsOf,
  familyOf,
  maskIp,
  parseInterfaceAddress,
  parseIp,
  prefixOf,
} from "#core/net/ip.ts";
import type { JsonReader } from "../description/json.ts";

/** Parses `10.0.0.1`, `10.0.0.0/8` or the same in IPv6, host bits kept; a bare address has the full length. */
export function parseAddressOrPrefix(text: string): InterfaceAddress | undefined {
  const trimmed = text.trim();
  if (trimmed.includes("/")) return parseInterfaceAddress(trimmed);
  const ip = parseIp(trimmed);
  return ip === undefined ? undefined : { ip, length: bitsOf(familyOf(ip)) };
}

export function hasHostBits(address: InterfaceAddress): boolean {
  return maskIp(address.ip, address.length) !== address.ip;
}

/** The prefix that an address or a CIDR lies in; undefined for any other text, and for one of another family. */
export function prefixIn(text: string, family?: IpFamily): Prefix | undefined {
  const address = parseAddressOrPrefix(text);
  if (address === undefined || (family ?? familyOf(address.ip)) !== familyOf(address.ip)) return undefined;
  return prefixOf(address.ip, address.length);
}

/** The prefixes of those texts that say one, of a family if one is asked for. */
export function prefixesIn(texts: readonly string[], family?: IpFamily): readonly Prefix[] {
  return texts.map((text) => prefixIn(text, family)).filter((prefix) => prefix !== undefined);
}

/** Reads a list of addresses and CIDRs, which keep their text. */
export function readAddressList(reader: JsonReader, field: string): readonly string[] | undefined {
  const items = reader.texts(field);
  if (items?.every((item) => parseAddressOrPrefix(item) !== undefined) === false)
    throw reader.fail(field, "a list of addresses and CIDRs");
  return items;
}

/** What a prefix is, for who wrote another thing. */
export const PREFIX_WORDS = "a CIDR such as 10.96.0.0/12";

/** Reads an address or CIDR, which keeps its text. */
export function readAddressOrPrefix(reader: JsonReader, field: string): string | undefined {
  const text = reader.text(field);
  if (text !== undefined && parseAddressOrPrefix(text) === undefined) throw reader.fail(field, PREFIX_WORDS);
  return text;
}

/** Reads an address that may be empty. */
export function readOptionalIp(reader: JsonReader, field: string): string | undefined {
  const text = reader.text(field);
  if (text !== undefined && text !== "" && parseIp(text) === undefined)
    throw reader.fail(field, "an IP address");
  return text;
}

/** The items of a comma list, without blanks and empty ones. */
export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
