/**
 * Results of ADD: one shape inside, seven versions on the wire (cni.md §1.5). Each field is one row of a table: its type,
 * its keys, the versions that have it; printing and reading go by the rows.
 *
 * Inside, a result is what 1.1.0 can say. `formatResult` gives the object of one version with its keys in the
 * order in which the Go library prints them; `parseResult` reads any version.
 */
import type { Description } from "#core/base/shape.ts";
import { type InterfaceAddress, type Ip, familyOf, formatIp, parseInterfaceAddress } from "#core/net/ip.ts";
import { readGoIp } from "./go-json.ts";
import { DecodeError, type StructReader, readStruct, formatJson, sortKeys } from "./json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "./error.ts";
import { CNI_LIBRARY_1_3, type CniLibrary, NEWEST_VERSION, OLDEST_VERSION } from "./version.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

/** Values of fields, by the word that a field says in `is`. */
interface ResultValues {
  readonly text: string;
  readonly integer: number;
  readonly address: InterfaceAddress;
  readonly ip: Ip;
  readonly texts: readonly string[];
  /** `4` or `6`, of the address beside it: no value of its own. */
  readonly family: never;
}

/** A field inside, and what stands for it on the wire. */
export interface ResultField {
  readonly is: keyof ResultValues;
  /** What it is, for schema and page: full sentences. */
  readonly text: Description;
  readonly key: string;
  /** In results up to 0.2.0, where that is another one. */
  readonly oldKey?: string;
  /** It is there whatever it holds. */
  readonly always?: true;
  /** Go omits a plain number that is 0; `table` and `scope` are pointers and stay. */
  readonly omitsZero?: true;
  /** The first and the last version that have it. */
  readonly since?: string;
  readonly until?: string;
  /** The first version that it is converted to; older structures have it, and it is not copied there. */
  readonly printedSince?: string;
}
export type ResultFields = Readonly<Record<string, ResultField>>;

type NamesOf<D> = { [K in keyof D]: D[K] extends { readonly is: "family" } ? never : K }[keyof D];
type AlwaysOf<D> = { [K in keyof D]: D[K] extends { readonly always: true } ? K : never }[keyof D];
type ValueIn<F> = F extends { readonly is: infer I extends keyof ResultValues } ? ResultValues[I] : never;
type StructOf<D> = { readonly [K in AlwaysOf<D>]: ValueIn<D[K]> } & {
  readonly [K in Exclude<NamesOf<D>, AlwaysOf<D>>]?: ValueIn<D[K]>;
};

// Fields in the order in which the Go library prints them (pkg/types, types/020, types/040 and types/100 of cni 1.3.0).

const INTERFACE = {
  name: { is: "text", key: "name", always: true, text: "What it is called." },
  mac: { is: "text", key: "mac", text: "Its MAC address." },
  mtuBytes: { is: "integer", key: "mtu", omitsZero: true, since: "1.0.0", text: "Its MTU in bytes." },
  sandbox: {
    is: "text",
    key: "sandbox",
    text: (): string => WORDS.cniInterfaceSandbox,
  },
  socketPath: { is: "text", key: "socketPath", since: "1.0.0", text: "The socket that stands for it." },
  pciId: { is: "text", key: "pciID", since: "1.0.0", text: "The device of PCI that it is." },
} as const;
export type CniInterface = StructOf<typeof INTERFACE>;

const IP = {
  family: { is: "family", key: "version", since: "0.3.0", until: "0.4.0", text: "`4` or `6`." },
  interface: {
    is: "integer",
    key: "interface",
    since: "0.3.0",
    text: "Which interface has it, counted from 0.",
  },
  address: { is: "address", key: "address", oldKey: "ip", always: true, text: "With its prefix length." },
  gateway: { is: "ip", key: "gateway", text: "The gateway of its subnet." },
} as const;
export type CniIp = StructOf<typeof IP>;

const ROUTE = {
  destination: { is: "address", key: "dst", always: true, text: "Where it leads, as a prefix." },
  gateway: { is: "ip", key: "gw", text: "The next hop; absent: that of the address." },
  mtuBytes: {
    is: "integer",
    key: "mtu",
    omitsZero: true,
    printedSince: "0.3.0",
    text: "The MTU of the way in bytes.",
  },
  advertisedMssBytes: {
    is: "integer",
    key: "advmss",
    omitsZero: true,
    printedSince: "0.3.0",
    text: "The segments of TCP that are asked for, in bytes.",
  },
  priority: {
    is: "integer",
    key: "priority",
    omitsZero: true,
    printedSince: "0.3.0",
    text: "The lower one counts.",
  },
  table: { is: "integer", key: "table", printedSince: "0.3.0", text: "The routing table that it is in." },
  scope: { is: "integer", key: "scope", printedSince: "0.3.0", text: "How far what it leads to is." },
} as const;
export type CniRoute = StructOf<typeof ROUTE>;

const DNS = {
  nameservers: { is: "texts", key: "nameservers", text: "Addresses of name servers." },
  domain: { is: "text", key: "domain", text: "The suffix of the connection." },
  search: { is: "texts", key: "search", text: "Suffixes that are tried in turn." },
  options: { is: "texts", key: "options", text: "Options of the resolver." },
} as const;
export type CniDns = Required<StructOf<typeof DNS>>;

/** The members of a result, where they are lists of their own. */
export const RESULT_MEMBERS: {
  readonly interfaces: ResultFields;
  readonly ips: ResultFields;
  readonly routes: ResultFields;
  readonly dns: ResultFields;
} = { interfaces: INTERFACE, ips: IP, routes: ROUTE, dns: DNS };

/** How results of a version are put together. */
interface ResultForm {
  /** `ip4` and `ip6` with the first address and the routes of each, or lists of all. */
  readonly shape: "families" | "lists";
  /** An empty `dns` goes and keys are sorted, where the library does so. */
  readonly isSorted: boolean;
}

const FAMILIES: ResultForm = { shape: "families", isSorted: false };
const LISTS: ResultForm = { shape: "lists", isSorted: false };
const SORTED_LISTS: ResultForm = { shape: "lists", isSorted: true };

/** Each version of the specification (cni.md §1.5). */
const RESULT_FORMS: ReadonlyMap<string, ResultForm> = new Map([
  ["0.1.0", FAMILIES],
  ["0.2.0", FAMILIES],
  ["0.3.0", LISTS],
  ["0.3.1", LISTS],
  ["0.4.0", LISTS],
  ["1.0.0", SORTED_LISTS],
  ["1.1.0", SORTED_LISTS],
]);

/** What an attachment has; lists may be empty. */
export interface CniResult {
  readonly interfaces: readonly CniInterface[];
  readonly ips: readonly CniIp[];
  readonly routes: readonly CniRoute[];
  readonly dns: CniDns;
  /** The version to print it in when that is not the configuration's: a meta plugin may hand on what it was given. */
  readonly printedVersion?: string;
}

export const EMPTY_DNS: CniDns = Object.freeze({ nameservers: [], domain: "", search: [], options: [] });

export function isEmptyDns(dns: CniDns): boolean {
  return (
    dns.nameservers.length === 0 && dns.domain === "" && dns.search.length === 0 && dns.options.length === 0
  );
}

/** `address/length`, host bits kept. */
export function formatInterfaceAddress(address: InterfaceAddress): string {
  return `${formatIp(address.ip)}/${address.length}`;
}

// Formatting

/** The fields of a struct that a version has, each with its key there. */
export function fieldsIn(
  fields: ResultFields,
  version: string,
): readonly (readonly [name: string, field: ResultField, key: string])[] {
  const isOld = RESULT_FORMS.get(version)?.shape === "families";
  return Object.entries(fields).flatMap(([name, field]) => {
    const { key, oldKey = key, since = version, until = version } = field;
    return since <= version && version <= until ? [[name, field, isOld ? oldKey : key] as const] : [];
  });
}

/** A value of JSON; undefined for what Go omits: empty texts and lists, and a number that is 0 where it is plain. */
function printValue(value: unknown, { is, omitsZero }: ResultField): JsonValue | undefined {
  if (value === undefined || value === "") return undefined;
  if (is === "address") return formatInterfaceAddress(value as InterfaceAddress);
  if (is === "ip") return formatIp(value as Ip);
  if (is === "integer") return omitsZero === true && value === 0 ? undefined : (value as number);
  if (is === "texts")
    return (value as readonly string[]).length === 0 ? undefined : (value as readonly string[]);
  return value as string;
}

function printStruct(fields: ResultFields, struct: object, version: string): JsonObject {
  const values = new Map<string, unknown>(Object.entries(struct));
  const printed = fieldsIn(fields, version).flatMap(([name, field, key]): readonly [string, JsonValue][] => {
    if (field.printedSince !== undefined && version < field.printedSince) return [];
    if (field.is === "family") return [[key, `${familyOf((struct as CniIp).address.ip)}`]];
    const value = printValue(values.get(name), field) ?? (field.always === true ? "" : undefined);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(printed);
}

/** The `dns` member; empty parts are left out. */
export function formatDns(dns: CniDns): JsonObject {
  return printStruct(DNS, dns, NEWEST_VERSION);
}

/** A list that holds something. */
function listMember(key: string, items: readonly JsonObject[]): JsonObject {
  return items.length === 0 ? {} : { [key]: items };
}

function formatFamily(key: string, family: 4 | 6, { ips, routes }: CniResult, version: string): JsonObject {
  const first = ips.find((ip) => familyOf(ip.address.ip) === family);
  if (first === undefined) return {};
  const own = routes.filter((route) => familyOf(route.destination.ip) === family);
  const printed = own.map((route) => printStruct(ROUTE, route, version));
  return { [key]: { ...printStruct(IP, first, version), ...listMember("routes", printed) } };
}

function formatFamilies(result: CniResult, version: string): JsonObject {
  const families = { ...formatFamily("ip4", 4, result, version), ...formatFamily("ip6", 6, result, version) };
  if (Object.keys(families).length === 0)
    throw new CniError(CNI_CODES.internal, "cannot convert: no valid IP addresses");
  return { cniVersion: version, ...families, dns: formatDns(result.dns) };
}

/**
 * The result object of `version`, keys in the order of print.
 * @throws CniError (999) when the version is unknown, or cannot hold the result (up to 0.2.0: no address).
 */
export function formatResult(
  result: CniResult,
  version: string,
  { sortsResults }: CniLibrary = CNI_LIBRARY_1_3,
): JsonObject {
  const form = RESULT_FORMS.get(version);
  if (form === undefined)
    throw new CniError(CNI_CODES.internal, `no converter for CNI result version 1.1.0 to ${version}`);
  if (form.shape === "families") return formatFamilies(result, version);
  const list = (key: string, fields: ResultFields, items: readonly object[]): JsonObject =>
    listMember(
      key,
      items.map((item) => printStruct(fields, item, version)),
    );
  const lists = {
    ...list("interfaces", INTERFACE, result.interfaces),
    ...list("ips", IP, result.ips),
    ...list("routes", ROUTE, result.routes),
  };
  if (!form.isSorted || !sortsResults) return { cniVersion: version, ...lists, dns: formatDns(result.dns) };
  const dns: JsonObject = isEmptyDns(result.dns) ? {} : { dns: formatDns(result.dns) };
  return sortKeys({ cniVersion: version, ...lists, ...dns }) as JsonObject;
}

/** Prints a result for stdout: four spaces per level, no newline at the end. */
export function printResult(
  result: CniResult,
  version: string,
  library: CniLibrary = CNI_LIBRARY_1_3,
): string {
  const text = formatJson(formatResult(result, version, library), 4);
  // Go escapes what it has put for bytes that are no text, unless the result has gone through a map for sorting.
  return library.sortsResults ? text : text.replaceAll("\ufffd", String.raw`\ufffd`);
}

// Parsing

function parseAddressField(reader: StructReader, name: string): InterfaceAddress {
  const text = reader.text(name);
  const address = parseInterfaceAddress(text);
  if (address === undefined) {
    throw new DecodeError(reader.pathOf(name), "an address with a prefix length", text);
  }
  return address;
}

function readValue(reader: StructReader, { is, always }: ResultField, key: string): unknown {
  if (is === "address") return parseAddressField(reader, key);
  if (is === "ip") return readGoIp(reader, key);
  if (is === "integer") return reader.integer(key);
  if (is === "texts") return reader.texts(key);
  return reader.text(key) || (always === true ? "" : undefined);
}

/** What a version has of a struct; a result of another field is passed by, as Go does. @throws DecodeError */
function readFields<D extends ResultFields>(fields: D, reader: StructReader, version: string): StructOf<D> {
  const read = fieldsIn(fields, version).flatMap(([name, field, key]): readonly [string, unknown][] => {
    const value = field.is === "family" ? undefined : readValue(reader, field, key);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(read) as StructOf<D>;
}

/** Reads one route (`dst`, `gw`, …). @throws DecodeError */
export function readRoute(reader: StructReader): CniRoute {
  return readFields(ROUTE, reader, NEWEST_VERSION);
}

/** Reads a `dns` object; absent parts are empty. @throws DecodeError */
export function readDns(reader: StructReader | undefined): CniDns {
  return reader === undefined ? EMPTY_DNS : { ...EMPTY_DNS, ...readFields(DNS, reader, NEWEST_VERSION) };
}

function readFamilies(reader: StructReader, version: string): CniResult {
  const families = [reader.struct("ip4"), reader.struct("ip6")].filter((family) => family !== undefined);
  return {
    interfaces: [],
    ips: families.map((family) => readFields(IP, family, version)),
    routes: families.flatMap((family) => family.structs("routes").map(readRoute)),
    dns: readDns(reader.struct("dns")),
  };
}

/**
 * Reads a result of any version. `assumedVersion` stands in when it does not say its own.
 * @throws DecodeError for wrong fields, CniError (999) for a version that is unknown.
 */
export function parseResult(document: JsonValue, assumedVersion: string): CniResult {
  const reader = readStruct(document, "");
  const version = reader.text("cniVersion") || assumedVersion || OLDEST_VERSION;
  const form = RESULT_FORMS.get(version);
  if (form === undefined)
    throw new CniError(CNI_CODES.internal, `unsupported CNI result version ${JSON.stringify(version)}`);
  if (form.shape === "families") return readFamilies(reader, version);
  return {
    interfaces: reader.structs("interfaces").map((each) => readFields(INTERFACE, each, version)),
    ips: reader.structs("ips").map((each) => readFields(IP, each, version)),
    routes: reader.structs("routes").map(readRoute),
    dns: readDns(reader.struct("dns")),
  };
}
