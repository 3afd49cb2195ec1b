/** Schema versions: which dialect a document is written in (hcn.md §1.6). */
import type { JsonReader } from "../description/json-reader.ts";
import { keepJson } from "../description/json-value.ts";

export type SchemaVersion = { readonly Major: number; readonly Minor: number };

/** What hcsshim and the CNI plugins send. */
export const SCHEMA_V2_0: SchemaVersion = keepJson({ Major: 2, Minor: 0 });

/** `v1`: `Subnets`, `VirtualNetwork`, `IPAddress` …; `v2`: the `HostCompute…` documents. */
export type Dialect = "v1" | "v2";

/**
 * A document or query without a schema version, or with a major below 2, is v1 (hcn.md §1.6). Minors above the
 * service's own have not been seen to fail, so every minor is taken.
 */
export function dialectOf(version: SchemaVersion | undefined): Dialect {
  return version !== undefined && version.Major >= 2 ? "v2" : "v1";
}

export function readSchemaVersion(reader: JsonReader): SchemaVersion | undefined {
  const given: unknown = reader.raw("SchemaVersion");
  if (given === SCHEMA_V2_0) return SCHEMA_V2_0;
  const version = reader.object("SchemaVersion");
  if (version === undefined) return undefined;
  return Object.freeze({ Major: version.u32("Major") ?? 0, Minor: version.u32("Minor") ?? 0 });
}
