/**
 * Settings of policies, described once: the type (`SettingsOf<typeof NAT>`) and the reader come from the same object, a line
 * for each field. Unlike objects of documents they have no v1 form, no schema and no defaults that are left out.
 */
import { parseMac } from "#core/net/mac.ts";
import { parsePortRanges } from "#core/net/port-range.ts";
import { readAddressList } from "../documents/address-list.ts";
import type { ScalarValues } from "./description.ts";
import type { JsonReader } from "./json.ts";
import { SCALAR_READERS } from "./object-json.ts";

/** The greatest whole number of 64 bits that a JavaScript number next to it stands for; above it no u64 fits. */
const U64_MAX = 0xffff_ffff_ffff_f800;

/** Values of fields, by the word that a description says: those of documents, and what only settings have. */
interface SettingValues extends ScalarValues {
  /** Text that may also come as a number. */
  readonly textOrNumber: string;
  /** One port, which stays text (hcn.md §1.6). May be empty. */
  readonly port: string;
  /** A MAC address, which keeps its text. May be empty. */
  readonly mac: string;
  readonly u64: number;
  /** Addresses and CIDRs, which keep their text. */
  readonly prefixes: readonly string[];
}

/** A value by its word; a list of names: one of them, at their numbers. */
type Value = keyof SettingValues | readonly string[];

/** A field. `needed`: what it has to be, where the settings cannot be without it. */
type Setting =
  | Value
  | { readonly is: Value; readonly needed: string }
  | { readonly object: Referred }
  | { readonly list: Referred };

/** Described where they stand, or elsewhere. */
type Referred = Settings | (() => Settings);

/** In the order in which fields are read and shown. */
type Settings = Readonly<Record<string, Setting>>;

type SettingOf<F> = F extends keyof SettingValues
  ? SettingValues[F]
  : F extends readonly (infer Name)[]
    ? Name
    : F extends { readonly is: infer V }
      ? SettingOf<V>
      : F extends { readonly object: infer D }
        ? SettingsOf<D>
        : F extends { readonly list: infer D }
          ? readonly SettingsOf<D>[]
          : never;

type NeededIn<D> = { [K in keyof D]: D[K] extends { readonly needed: string } ? K : never }[keyof D];
type Simplify<T> = { readonly [K in keyof T]: T[K] } & {};

/** The type of described settings. */
export type SettingsOf<D> = D extends () => infer R
  ? SettingsOf<R>
  : Simplify<
      { readonly [K in Exclude<keyof D, NeededIn<D>>]?: SettingOf<D[K]> } & {
        readonly [K in NeededIn<D>]: SettingOf<D[K]>;
      }
    >;

/** Settings by the type of the policy that has them. */
type SettingsTable = Readonly<Record<string, Referred>>;
export type SettingsByType<Table> = { readonly [Type in keyof Table]: SettingsOf<Table[Type]> };

/** @throws HcnError for a wrong value. */
export type ReadSettings<T> = (reader: JsonReader) => T;
type ReadSetting<T> = (reader: JsonReader, field: string) => T | undefined;

export const MAC_WORDS = "a MAC address such as 00-15-5D-01-02-03";

function readMac(reader: JsonReader, field: string): string | undefined {
  const text = reader.text(field);
  if (text !== undefined && text !== "" && parseMac(text) === undefined) throw reader.fail(field, MAC_WORDS);
  return text;
}

function readPort(reader: JsonReader, field: string): string | undefined {
  const text = reader.textOrNumber(field);
  if (text === undefined || text === "") return text;
  const [range, ...others] = parsePortRanges(text) ?? [];
  if (range === undefined || others.length > 0 || range.first !== range.last)
    throw reader.fail(field, "one port");
  return text;
}

/** How each kind of value is read. */
export const SETTING_READERS: { readonly [K in keyof SettingValues]: ReadSetting<SettingValues[K]> } = {
  ...SCALAR_READERS,
  textOrNumber: (reader, field) => reader.textOrNumber(field),
  port: readPort,
  mac: readMac,
  u64: (reader, field) => reader.number(field, U64_MAX),
  prefixes: readAddressList,
};

function referred(settings: Referred): Settings {
  return typeof settings === "function" ? settings() : settings;
}

function settingReader(setting: Setting): ReadSetting<unknown> {
  if (typeof setting === "string") return SETTING_READERS[setting];
  if ("needed" in setting) {
    const read = settingReader(setting.is);
    return (reader, field) => reader.needed(field, read(reader, field), setting.needed);
  }
  if ("list" in setting) {
    const read = settingsReader(referred(setting.list));
    return (reader, field) => reader.list(field, read);
  }
  if ("object" in setting) return objectReader(settingsReader(referred(setting.object)));
  return (reader, field) => reader.enumeration(field, setting);
}

/** Reads settings inside others. */
export function objectReader<T>(read: ReadSettings<T>): ReadSetting<T> {
  return (reader, field) => {
    const object = reader.object(field);
    return object && read(object);
  };
}

/** The reader of described settings. `own` reads fields in ways of their own; `check` looks at all of them before. */
export function settingsReader<const D extends Settings>(
  settings: D,
  own: { readonly [K in keyof D]?: ReadSetting<SettingOf<D[K]>> } = {},
  check?: (reader: JsonReader) => void,
): ReadSettings<SettingsOf<D>> {
  const fields = Object.entries(settings).map(
    ([field, setting]) => [field, own[field] ?? settingReader(setting)] as const,
  );
  return (reader) => {
    check?.(reader);
    const values: Record<string, unknown> = {};
    for (const [field, read] of fields) {
      const value = read(reader, field);
      if (value !== undefined) values[field] = value;
    }
    return Object.freeze(values) as SettingsOf<D>;
  };
}

/** The readers of a table. */
export function settingsReaders<const Table extends SettingsTable>(
  table: Table,
): { readonly [Type in keyof Table]: ReadSettings<SettingsOf<Table[Type]>> } {
  const readers = Object.entries(table).map(([type, settings]) => [type, settingsReader(referred(settings))]);
  return Object.fromEntries(readers) as ReturnType<typeof settingsReaders<Table>>;
}
