/**
 * Dumps of a whole service: all its objects as data, and a service made from them. Windows has no such call; a served HNS
 * offers it beside the HCN line, for people and their tools (`mullion hns dump`, `mullion hns restore`).
 */
import type { HcnObjectKind } from "./client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "./guid.ts";
import type { HnsVersion } from "./features.ts";

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

/** An object as a dump holds it. */
export interface DumpItem {
  readonly kind: DumpKind;
  readonly id: Guid;
  /** In v2 form. */
  readonly document: JsonObject;
  /** What the service knows beyond the document: in dumps of our own. */
  readonly internal?: JsonObject;
  /** The object in v1 form, where the dump of a node showed it so: the document was made from it. */
  readonly v1?: JsonObject;
}

/** A dump as a file holds it (schemas/hns-dump.v1alpha1.json). */
export interface HnsDump {
  readonly apiVersion: typeof DUMP_VERSION;
  readonly kind: "HnsDump";
  /** The service that it comes from; absent for a file that was converted. */
  readonly service?: {
    readonly node?: string;
    /** Of HNS, as `GET /globals/version` tells it. */
    readonly version?: HnsVersion;
  };
  readonly objects: readonly DumpItem[];
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
