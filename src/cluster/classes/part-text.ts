/** What a part of a machine says by itself, so that parts of two machines find each other where their order says nothing. */
import type { Prefix } from "#core/net/ip.ts";
import { SharedMap } from "#core/base/shared-map.ts";
import { isDrawnMac, withoutIds } from "./drawn-ids.ts";
import { comparedFields, isLeftOut } from "./left-out.ts";
import type { Renaming } from "./renaming.ts";

/** How one side is read: its names become the other's, and what nobody can know yet is left open. */
export interface Reading {
  readonly renaming: Renaming;
  /** An id in the words of the other side; undefined while it has no partner. */
  readonly idOf: (id: string) => string | undefined;
  /** True for a MAC that an interface has: nobody else draws it. */
  readonly isKnownMac: (mac: number) => boolean;
}

/** Far enough to tell a record from the next, and an end to circles. */
const DEPTH_MAX = 4;

function textOf(text: string, { renaming, idOf }: Reading): string {
  const { plain, ids } = withoutIds(text);
  return [renaming.ofText(plain), ...ids.map((id) => idOf(id) ?? "*")].join("\u0001");
}

function numberOf(value: number | bigint, { renaming, isKnownMac }: Reading): string {
  const renamed = renaming.ofNumber(value);
  return isDrawnMac(renamed) && !isKnownMac(renamed) ? "*" : String(renamed);
}

/** A prefix or a range as the other side has it; undefined for anything else. */
export function rangeText(value: object, renaming: Renaming): string | undefined {
  const names = Object.keys(value);
  if (names.length !== 2) return undefined;
  if (names[0] === "address" && names[1] === "length") {
    const { address, length } = renaming.ofPrefix(value as Prefix);
    return `${address}/${length}`;
  }
  if (names[0] !== "first" || names[1] !== "last") return undefined;
  const { first, last } = value as { readonly first: unknown; readonly last: unknown };
  if (typeof first !== "number" || typeof last !== "number") return undefined;
  // MACs that a network gives out lie anywhere.
  if (isDrawnMac(first)) return `${last - first + 1} MACs`;
  return [first, last].map((each) => renaming.ofPlace(each)).join("-");
}

function objectOf(value: object, reading: Reading, depth: number): string {
  const part = (each: unknown): string => partText(each, reading, depth - 1);
  if (value instanceof Map) {
    const entries = Array.from(value as Map<unknown, unknown>, ([key, each]) => `${part(key)}=${part(each)}`);
    return `{${entries.toSorted().join()}}`;
  }
  if (value instanceof SharedMap) return objectOf(new Map(value.entries()), reading, depth);
  if (value instanceof Set)
    return `{${Array.from(value as Set<unknown>, part)
      .toSorted()
      .join()}}`;
  // Lists of back ends come in any order.
  if (Array.isArray(value)) return `[${value.map(part).toSorted().join()}]`;
  const range = rangeText(value, reading.renaming);
  if (range !== undefined) return range;
  const names = comparedFields(value);
  return `(${names.map((name) => `${name}=${part((value as Record<string, unknown>)[name])}`).join()})`;
}

export function partText(value: unknown, reading: Reading, depth: number = DEPTH_MAX): string {
  if (typeof value === "string") return textOf(value, reading);
  if (typeof value === "number" || typeof value === "bigint") return numberOf(value, reading);
  if (typeof value === "function") return value.name;
  if (typeof value !== "object" || value === null) return String(value);
  if (depth === 0 || isLeftOut(value)) return "…";
  if (ArrayBuffer.isView(value)) return Array.from(value as never as ArrayLike<unknown>, String).join();
  return objectOf(value, reading, depth);
}
