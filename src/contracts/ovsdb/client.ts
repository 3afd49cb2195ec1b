/**
 * The OVSDB line: agents of OVN see their databases only through this interface. Operations and values are those of the
 * wire (RFC 7047, sections 4 and 5), so that a client over a socket hands them on as they are. Implementations: a database in
 * memory (`memory-database.ts`), a server over a socket (`socket-client.node.ts`).
 */

/** `named-uuid` stands for a row that the same transaction inserts (RFC 7047, 5.1). */
export type OvsdbAtom =
  | string
  | number
  | boolean
  | readonly ["uuid", string]
  | readonly ["named-uuid", string];

/** A set of one is its bare atom, both ways (RFC 7047, 5.1). */
export type OvsdbValue =
  | OvsdbAtom
  | readonly ["set", readonly OvsdbAtom[]]
  | readonly ["map", readonly (readonly [OvsdbAtom, OvsdbAtom])[]];

/** Columns of a row. What an insert leaves out has its default. */
export type OvsdbRow = Readonly<Record<string, OvsdbValue>>;

type Comparison = "<" | "<=" | "==" | "!=" | ">=" | ">" | "includes" | "excludes";
export type OvsdbCondition = readonly [column: string, comparison: Comparison, value: OvsdbValue];

type Mutator = "+=" | "-=" | "*=" | "/=" | "%=" | "insert" | "delete";
export type OvsdbMutation = readonly [column: string, mutator: Mutator, value: OvsdbValue];

/** An operation of a transaction (RFC 7047, 5.2). */
export type OvsdbOperation =
  | {
      readonly op: "insert";
      readonly table: string;
      readonly row: OvsdbRow;
      readonly "uuid-name"?: string;
      /** Chosen by the client (ovsdb-server(7)). */
      readonly uuid?: string;
    }
  | {
      readonly op: "select";
      readonly table: string;
      readonly where: readonly OvsdbCondition[];
      readonly columns?: readonly string[];
    }
  | {
      readonly op: "update";
      readonly table: string;
      readonly where: readonly OvsdbCondition[];
      readonly row: OvsdbRow;
    }
  | {
      readonly op: "mutate";
      readonly table: string;
      readonly where: readonly OvsdbCondition[];
      readonly mutations: readonly OvsdbMutation[];
    }
  | { readonly op: "delete"; readonly table: string; readonly where: readonly OvsdbCondition[] }
  | {
      readonly op: "wait";
      /** Milliseconds; 0 does not wait at all. */
      readonly timeout: number;
      readonly table: string;
      readonly where: readonly OvsdbCondition[];
      readonly columns: readonly string[];
      readonly until: "==" | "!=";
      readonly rows: readonly OvsdbRow[];
    }
  | { readonly op: "comment"; readonly comment: string }
  | { readonly op: "abort" };

/** What an operation answers: its own fields, or an error. */
export interface OvsdbResult {
  readonly uuid?: readonly ["uuid", string];
  readonly count?: number;
  readonly rows?: readonly OvsdbRow[];
  readonly error?: string;
  readonly details?: string;
}

/**
 * Rows that changed, by table and UUID (RFC 7047, 4.1.6): `new` has the monitored columns and is absent of a deleted row;
 * `old` is absent of a new row, and of a changed one has the columns that changed, with what they were.
 */
export type OvsdbUpdates = Readonly<
  Record<string, Readonly<Record<string, { readonly old?: OvsdbRow; readonly new?: OvsdbRow }>>>
>;

export interface OvsdbMonitor {
  /** Ends it; nothing is heard after that. */
  cancel(): void;
}

export interface OvsdbClient {
  /**
   * Carries operations out as one transaction. A result for each that was come by, `null` for those behind a failed one, and
   * one element more where only the commit failed (ovsdb-server(7)): `errorOf` finds either.
   *
   * @throws the transport's own error when the answer does not come: then nobody knows whether it was carried out.
   */
  transact(operations: readonly OvsdbOperation[]): Promise<readonly (OvsdbResult | null)[]>;

  /**
   * Follows tables: each with the columns of interest. Before it resolves, `listener` hears every row that is there as a new one;
   * after that each change, those of own transactions before their answer (ovsdb-server(7)). A client that lost its
   * server and found it again says what has changed meanwhile, as if it were one change.
   */
  monitor(
    tables: Readonly<Record<string, readonly string[]>>,
    listener: (updates: OvsdbUpdates) => void,
  ): Promise<OvsdbMonitor>;
}

/** The error that made a transaction fail; undefined when it was carried out. */
export function errorOf(results: readonly (OvsdbResult | null)[]): OvsdbResult | undefined {
  return results.find((result) => result?.error !== undefined) ?? undefined;
}

/** The members of a set, be it one, none or many. */
export function membersOf(value: OvsdbValue | undefined): readonly OvsdbAtom[] {
  if (value === undefined) return [];
  if (typeof value !== "object") return [value];
  if (value[0] === "set") return value[1];
  return value[0] === "map" ? [] : [value];
}

/** A map of texts, as all maps of OVN but few are. */
export function textsOf(value: OvsdbValue | undefined): ReadonlyMap<string, string> {
  if (typeof value !== "object" || value[0] !== "map") return new Map();
  return new Map(value[1].map(([key, text]) => [String(key), String(text)]));
}

/** UUIDs that a column refers to. */
export function referencesOf(value: OvsdbValue | undefined): readonly string[] {
  return membersOf(value).flatMap((atom) => (typeof atom === "object" ? [atom[1]] : []));
}

/** A set as the wire has it: the bare atom when it is one. */
export function setOf(members: readonly OvsdbAtom[]): OvsdbValue {
  const [first] = members;
  return members.length === 1 && first !== undefined ? first : ["set", members];
}

/** A map as the wire has it. */
export function mapOf(entries: Readonly<Record<string, string>>): OvsdbValue {
  return ["map", Object.entries(entries)];
}
