/**
 * Dumps of a whole service: all its objects as data, and a service made from them. Windows has no such call; a served HNS
 * offers it beside the HCN line, for people and their tools (`mullion hns dump`, `mullion hns restore`).
 */
import { type JsonSchema, type Leaf, type ValueOf, documentSchema } from "#core/base/shape.ts";
import type { HcnObjectKind } from "./client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "./guid.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const DUMP_VERSION = "mullion/v1alpha1";

/** What a dump has entries of: objects, and `Globals`, which belongs to none of them. */
export type DumpKind = HcnObjectKind | "Globals";

/** Kinds in the order in which a dump lists them: what stands below refers to what stands above. */
export const DUMP_KINDS: readonly DumpKind[] = Object.freeze([
  "Network",
  "Namespace",
  "Endpoint",
  "LoadBalancer",
  "SdnRoute",
  "GuestNetworkService",
  "Globals",
]);

const KIND: Leaf<DumpKind> = { schema: { enum: DUMP_KINDS } };
const ID: Leaf<Guid> = {
  schema: { type: "string", pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" },
};
const DOCUMENT: Leaf<JsonObject> = { schema: { type: "object" } };

/** An object as a dump holds it. Fields of later versions are ignored. */
export const DUMP_ITEM = {
  text: (): string => WORDS.dumpItem,
  others: "ignored",
  fields: {
    kind: (): Leaf<DumpKind> => KIND,
    id: (): Leaf<Guid> => ID,
    document: {
      is: (): Leaf<JsonObject> => DOCUMENT,
      text: "The object as an HCN query with schema 2.0 returns it.",
    },
  },
  optional: {
    internal: {
      is: (): Leaf<JsonObject> => DOCUMENT,
      text: (): string => WORDS.dumpItemInternal,
    },
    v1: {
      is: (): Leaf<JsonObject> => DOCUMENT,
      text: (): string => WORDS.dumpItemV1,
    },
  },
} as const;
export type DumpItem = ValueOf<typeof DUMP_ITEM>;

/** A dump as a file holds it (schemas/hns-dump.v1alpha1.json). */
export const HNS_DUMP = {
  text: "What mullion hns dump writes and mullion hns restore reads.",
  document: "HnsDump",
  others: "ignored",
  fields: {
    objects: {
      list: (): typeof DUMP_ITEM => DUMP_ITEM,
      text: "Networks first, then what refers to them.",
    },
  },
  optional: {
    service: {
      text: (): string => WORDS.hnsDumpService,
      others: "ignored",
      fields: {},
      optional: {
        node: "text",
        version: {
          text: "Of HNS, as GET /globals/version returns it.",
          others: "ignored",
          fields: { Major: "count", Minor: "count" },
        },
      },
    },
  },
} as const;
export type HnsDump = ValueOf<typeof HNS_DUMP>;

/** JSON schema, draft 7. */
export function dumpSchema(): JsonSchema {
  return documentSchema("Mullion dump of HNS", HNS_DUMP, "draft-07");
}

/** Something of a restored object that contradicts the rest, and what became of it. Nothing is refused for it. */
export interface RestoreNote {
  readonly kind: DumpKind;
  readonly id: Guid;
  readonly text: string;
}

export interface RestoreRequest {
  readonly objects: readonly DumpItem[];
  /** Objects that the service has may go. Otherwise a service with objects refuses. */
  readonly isReplacing: boolean;
}

/** Failing calls reject with `HcnError`. */
export interface HnsDumps {
  dump(): Promise<HnsDump>;
  /** Puts these objects in the place of all that the service has, without checking them as requests. */
  restore(request: RestoreRequest): Promise<readonly RestoreNote[]>;
}
