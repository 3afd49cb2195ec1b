/**
 * Which kind of object a document is, and in which dialect. Dumps do not say: hnsdiag prints objects one after the
 * other, and files of collectlogs.ps1 are told apart by their names alone. The fields tell (hcn.md §2).
 */
import { objectShapes } from "#data/facts.js";
import { HCN_KINDS, type HcnObjectKind } from "#contracts/hcn/client.ts";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import type { JsonObject } from "#core/base/json.ts";
import { NETWORK_TYPES } from "#contracts/hcn/documents/network.ts";
import type { Dialect } from "#contracts/hcn/description/object-json.ts";

export interface ObjectShape {
  readonly kind: HcnObjectKind;
  readonly dialect: Dialect;
}

interface ShapeRow extends ObjectShape {
  /** Fields that no other kind has in either dialect. */
  readonly own: readonly string[];
  /** Fields that go with it and may be elsewhere, too. */
  readonly also: readonly string[];
}

const DIALECTS: readonly Dialect[] = ["v1", "v2"];

function readRow(row: CheckedFields): ShapeRow {
  const shape = {
    kind: row.word("kind", HCN_KINDS),
    dialect: row.word("dialect", DIALECTS),
    own: row.texts("own"),
    also: row.texts("also"),
  };
  row.end();
  return shape;
}

const TABLE = CheckedFields.ofTable(objectShapes());
const ROWS = TABLE.items("rows").map(readRow);
/** Fields of policies: they stand beside `Type`, or in `Settings`. */
export const POLICY_FIELDS: readonly string[] = TABLE.texts("policy");
const OWN_WEIGHT = 4;
const SCHEMA_WEIGHT = 2;
const NAMESPACE_TYPES: readonly string[] = ["host", "hostdefault", "guest", "guestdefault"];

function isV2(document: JsonObject): boolean {
  const version = document["SchemaVersion"];
  return typeof version === "object" && version !== null && "Major" in version && version["Major"] === 2;
}

/** What the value of `Type` tells: networks and namespaces have one each. */
function kindOfType(type: unknown): HcnObjectKind | undefined {
  if (typeof type !== "string") return undefined;
  const wanted = type.toLowerCase();
  if (NAMESPACE_TYPES.includes(wanted)) return "Namespace";
  return NETWORK_TYPES.some((name) => name.toLowerCase() === wanted) ? "Network" : undefined;
}

function scoreOf(row: ShapeRow, document: JsonObject): number {
  // A view of a v1 dump in v2 form keeps fields of v1 that v2 has no place for.
  if (row.dialect === "v1" && isV2(document)) return 0;
  const count = (fields: readonly string[]): number =>
    fields.filter((field) => Object.hasOwn(document, field)).length;
  const own = count(row.own);
  const also = count(row.also);
  const isOfType = kindOfType(document["Type"]) === row.kind;
  if (own === 0 && !isOfType && also < 2) return 0;
  const schema = row.dialect === "v1" || isV2(document) ? SCHEMA_WEIGHT : 0;
  return own * OWN_WEIGHT + also + (isOfType ? 1 : 0) + schema;
}

/** The kind that the fields fit best; undefined for what is no object of HNS. */
export function recognizeObject(document: JsonObject): ObjectShape | undefined {
  let best: ShapeRow | undefined;
  let bestScore = 0;
  for (const row of ROWS) {
    const score = scoreOf(row, document);
    if (score > bestScore) [best, bestScore] = [row, score];
  }
  return best && { kind: best.kind, dialect: best.dialect };
}

/** The dialect of an object whose kind is known from elsewhere. */
export function recognizeDialect(kind: HcnObjectKind, document: JsonObject): Dialect {
  if (isV2(document)) return "v2";
  const scores = ROWS.filter((row) => row.kind === kind).map((row) => [row, scoreOf(row, document)] as const);
  const [best] = scores.toSorted(([, a], [, b]) => b - a);
  return best?.[0].dialect ?? "v1";
}
