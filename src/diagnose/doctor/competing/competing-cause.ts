/** What a competing cause is: what else would break the traffic of a finding, and which evidence excludes it. */
import { mappingOf } from "#core/base/json.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type EvidenceLine, shows } from "../check.ts";
import { type HnsRecord } from "../evidence.ts";
import type { NodeBooks } from "./node-books.ts";

/** A cause that would break the same as a finding. */
export interface CompetingCause<Asked = void> {
  readonly code: KnowledgeCode;
  /** It compares HNS with objects of the cluster: from files of different times it excludes nothing. */
  readonly comparesBoth?: true;
  /** The lines that exclude it; empty where nothing that was read does. Silence of a check is no evidence. */
  readonly excludes: (books: NodeBooks, asked: Asked) => readonly EvidenceLine[];
}

/** The state that an object of HNS shows; undefined where the file does not show it. */
export function shownState({ document, v1 }: Pick<HnsRecord, "document" | "v1">): number | undefined {
  const state = v1["State"] ?? mappingOf(document)["State"];
  return typeof state === "number" ? state : undefined;
}

/** A line of evidence where there is a value, else none. */
export function showsIf<Value extends { readonly place: Parameters<typeof shows>[0] }>(
  value: Value | undefined,
  says: (value: Value) => string,
): readonly EvidenceLine[] {
  return value === undefined ? [] : [shows(value.place, says(value))];
}
