/**
 * An object of a dump as it is looked at: what the dump says stands, word for word; what a view adds to it is named in a
 * field of its own, so that nobody takes it for what the node said.
 */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import type { DumpItem } from "#contracts/hcn/dumps.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { ADDED_FIELD, CUT_FIELD, KIND_FIELD, joinPath } from "./power-shell.ts";
import { recognizeObject } from "./recognize-object.ts";
import { documentToV1, withUnsaid } from "./v2-to-v1.ts";

/** Paths of fields that are worked out, in the order in which they stand. */
type Added = string[];

/** What a service finds at its own time, in its own surroundings: of the node it would be made up. */
const OF_THE_MOMENT: readonly string[] = ["State", "Health"];

function withAdded(
  given: JsonObject,
  shown: JsonObject,
  path: string,
  unknown: ReadonlySet<string>,
  added: Added,
): JsonObject {
  const both: Record<string, JsonValue | undefined> = { ...given };
  for (const [field, value] of Object.entries(shown)) {
    const at = path === "" ? field : joinPath(path, field);
    // What was cut off had a value, so any other would be wrong.
    if (value === undefined || unknown.has(at)) continue;
    if (OF_THE_MOMENT.includes(field) && given[field] === undefined) continue;
    const own = given[field];
    if (own === undefined) {
      both[field] = value;
      added.push(at);
    } else if (isJsonObject(own) && isJsonObject(value)) {
      both[field] = withAdded(own, value, at, unknown, added);
    }
  }
  return both;
}

/** What the dump says of the object, in the words of a dialect. What a dialect has no words for keeps its own. */
function givenIn({ kind, document, v1 }: DumpItem, isV1: boolean): JsonObject {
  if (kind === "Globals") return document;
  if (isV1) return v1 ?? documentToV1(kind, document);
  return v1 === undefined ? document : withUnsaid(document, v1, documentToV1(kind, document));
}

/** What the v2 form of a v1 document has to have, and no field of the dump says. */
function addedByForm({ kind, v1 }: DumpItem, given: JsonObject): readonly string[] {
  if (v1 === undefined) return [];
  const says = (...fields: readonly string[]): boolean => fields.some((field) => v1[field] !== undefined);
  const fields = says("SchemaVersion") ? [] : ["SchemaVersion"];
  if (kind === "Namespace" && !says("IsDefault", "Type")) fields.push("Type");
  return fields.filter((field) => given[field] !== undefined);
}

/** True for a network of which v1, which always shows a type, was not pasted that far. In v2 none is NAT. */
function isUntyped({ kind, v1 }: DumpItem): boolean {
  return kind === "Network" && v1 !== undefined && v1["Type"] === undefined;
}

/** What was worked out on the ground of a network's type, or of what its list of policies leaves out. */
function withoutVerdicts(shown: JsonObject): JsonObject {
  const { NotEnforced: _verdicts, ...rest } = shown;
  const { Health: health } = rest;
  if (!isJsonObject(health)) return rest;
  const { Data: data } = health;
  const inner = isJsonObject(data) ? { ...health, Data: withoutVerdicts(data) } : health;
  return { ...rest, Health: withoutVerdicts(inner) };
}

/**
 * The object as the dump has it. Lists are those of the dump.
 * @param shown what a service that was made of the dump shows; fields that it has alone are added and marked.
 */
function asGiven(item: DumpItem, shown: JsonObject, isV1: boolean): JsonObject {
  const given = givenIn(item, isV1);
  const { [CUT_FIELD]: cut } = item.v1 ?? item.document;
  const added: Added = isV1 ? [] : [...addedByForm(item, given)];
  const unknown = new Set(isJsonObject(cut) ? Object.keys(cut) : []);
  // The places of what is cut off are those of the dump's own form, and nearly all of a network follows from its type.
  const isOtherForm = isV1 === (item.v1 === undefined);
  const isOpen =
    (isOtherForm && cut !== undefined) || (item.kind === "Network" && given["Type"] === undefined);
  const document = isOpen ? given : withAdded(given, shown, "", unknown, added);
  const isPlain = recognizeObject(document) === undefined;
  if (isPlain) added.push(KIND_FIELD);
  return {
    ...document,
    ...(isPlain && { [KIND_FIELD]: item.kind }),
    ...(cut !== undefined && { [CUT_FIELD]: cut }),
    ...(added.length > 0 && { [ADDED_FIELD]: added }),
  };
}

/**
 * The objects of a kind that a dump holds, as it has them.
 * @param documents what a service that was made of the dump shows of that kind.
 * @param isAdding beside what the dump says stands what was worked out, marked; else what the dump says and nothing else.
 */
export function fromDump(
  items: readonly DumpItem[],
  kind: HcnObjectKind,
  documents: readonly JsonObject[],
  { isV1, isAdding }: { readonly isV1: boolean; readonly isAdding: boolean },
): readonly JsonObject[] {
  const keyOf = ({ ID: id }: JsonObject): string => (typeof id === "string" ? id.toLowerCase() : "");
  const byId = new Map(documents.map((document) => [keyOf(document), document]));
  const isWhole = items.every(
    (item) => (item.v1 ?? item.document)[CUT_FIELD] === undefined && !isUntyped(item),
  );
  return items.flatMap((item) => {
    const shown = item.kind === kind ? byId.get(item.id.toLowerCase()) : undefined;
    if (shown === undefined) return [];
    if (isAdding) return [asGiven(item, isWhole ? shown : withoutVerdicts(shown), isV1)];
    // Tables write NAT where a type is absent.
    return [isUntyped(item) ? { ...givenIn(item, isV1), Type: "" } : givenIn(item, isV1)];
  });
}
