/** Objects from the files of one node as one dump: in v2 form, each once, in the order in which a service takes them. */
import { assert } from "#core/base/assert.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import { type JsonObject, type JsonValue, isJsonObject, mappingOf, textOf } from "#core/base/json.ts";
import { DUMP_KINDS, type DumpItem } from "#contracts/hcn/dumps.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import { parseMac } from "#core/net/mac.ts";
import type { DumpedObject } from "./dumped-object.ts";

import { CUT_FIELD } from "./power-shell.ts";
import { documentFromV1 } from "./v1-to-v2.ts";

/** `Subnets[0].Policies` → `Subnets`, `0`, `Policies`. */
function stepsOf(path: string): readonly string[] {
  return path.split(/[.[\]]/).filter((step) => step !== "");
}

function valueAt(value: JsonValue | undefined, steps: readonly string[]): JsonValue | undefined {
  let at = value;
  for (const step of steps) {
    if (Array.isArray(at)) at = (at as readonly JsonValue[])[Number(step)];
    else at = mappingOf(at)[step];
  }
  return at;
}

function without(value: JsonValue, [step = "", ...below]: readonly string[]): JsonValue {
  if (Array.isArray(value)) {
    const items = value as readonly JsonValue[];
    if (below.length === 0) return items.filter((_, index) => index !== Number(step));
    return items.map((item, index) => (index === Number(step) ? without(item, below) : item));
  }
  if (!isJsonObject(value)) return value;
  if (below.length === 0)
    return Object.fromEntries(Object.entries(value).filter(([field]) => field !== step));
  return { ...value, [step]: without(value[step] ?? null, below) };
}

/** The document without the texts that stand in the place of values; they are kept in a field of their own. */
function withoutCut(document: JsonObject, cut: readonly string[]): JsonObject {
  if (cut.length === 0) return document;
  const texts: Record<string, JsonValue> = {};
  let value: JsonValue = document;
  // From behind, so that the places in a list stay right.
  for (const path of cut.toReversed()) {
    texts[path] = valueAt(document, stepsOf(path)) ?? "";
    value = without(value, stepsOf(path));
  }
  return { ...(value as JsonObject), [CUT_FIELD]: texts };
}

function countLeaves(value: JsonValue | undefined): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((count: number, item) => count + countLeaves(item as JsonValue), 0);
}

/** True for an object of our own dump, which tells all that there is. */
function isOwn({ internal, v1 }: DumpItem): boolean {
  return internal !== undefined && v1 === undefined;
}

/** The same object from two files: what the one that tells less has alone is added to the other. */
function join(a: DumpItem, b: DumpItem): DumpItem {
  if (isOwn(a) || isOwn(b)) return isOwn(a) ? a : b;
  const [more, less] = countLeaves(b.document) > countLeaves(a.document) ? [b, a] : [a, b];
  const v1 = more.v1 ?? less.v1;
  return {
    ...more,
    document: { ...less.document, ...more.document },
    ...(v1 !== undefined && { v1: { ...less.v1, ...v1 } }),
  };
}

/** The id of a network by its name. */
function networkIds(objects: readonly DumpedObject[]): (name: string) => string | undefined {
  const ids = new Map<string, string>();
  for (const { kind, document } of objects) {
    const { Name: name, ID: id } = document;
    if (kind === "Network" && typeof name === "string" && typeof id === "string")
      ids.set(name.toLowerCase(), parseGuid(id) ?? id);
  }
  return (name) => ids.get(name.toLowerCase());
}

/** What v1 shows of an object and a v2 document has no place for, as the stored form keeps it. */
function internalOf(kind: HcnObjectKind, v1: JsonObject): { readonly internal?: JsonObject } {
  const text = (field: string): string => {
    return textOf(v1[field]);
  };
  const activityId = parseGuid(text("ActivityId"));
  const drMac = kind === "Network" ? parseMac(text("DrMacAddress")) : undefined;
  if (activityId === undefined && drMac === undefined) return {};
  return {
    internal: { ...(activityId !== undefined && { activityId }), ...(drMac !== undefined && { drMac }) },
  };
}

function itemOf(object: DumpedObject, networkId: (name: string) => string | undefined): DumpItem {
  const { kind, dialect, document: given, cut, internal, v1 } = object;
  const { ID: id } = given;
  assert(typeof id === "string", "readers give objects with ids");
  const whole = withoutCut(given, cut);
  const guid = parseGuid(id) ?? id;
  if (dialect === "v1" && kind !== "Globals") {
    const converted = documentFromV1(kind, whole, networkId);
    return { kind, id: guid, document: converted, v1: whole, ...internalOf(kind, whole) };
  }
  return {
    kind,
    id: guid,
    document: whole,
    ...(internal !== undefined && { internal }),
    ...(v1 !== undefined && { v1 }),
  };
}

/** hnsdiag's tables show with a namespace which endpoints are in it, and not with the endpoints. */
function attachMembers(items: readonly DumpItem[]): readonly DumpItem[] {
  const namespaces = new Map<string, string>();
  for (const { kind, id, document } of items) {
    const { Resources: resources } = document;
    if (kind !== "Namespace" || !Array.isArray(resources)) continue;
    for (const resource of (resources as readonly JsonValue[]).filter(isJsonObject)) {
      const member = resource["Type"] === "Endpoint" ? valueAt(resource, ["Data", "Id"]) : undefined;
      if (typeof member === "string") namespaces.set(member.toLowerCase(), id);
    }
  }
  return items.map((item) => {
    const namespace = item.kind === "Endpoint" ? namespaces.get(item.id) : undefined;
    if (namespace === undefined || item.document["HostComputeNamespace"] !== undefined) return item;
    return { ...item, document: { ...item.document, HostComputeNamespace: namespace } };
  });
}

/** One dump of what was read from all files. */
export function dumpItems(objects: readonly DumpedObject[]): readonly DumpItem[] {
  const networkId = networkIds(objects);
  const items = new Map<string, DumpItem>();
  for (const object of objects) {
    const { kind } = object;
    const item = itemOf(object, networkId);
    const key = `${kind}/${item.id}`;
    const same = items.get(key);
    items.set(key, same === undefined ? item : join(same, item));
  }
  const all = attachMembers([...items.values()]);
  return DUMP_KINDS.flatMap((kind) => all.filter((item) => item.kind === kind));
}
