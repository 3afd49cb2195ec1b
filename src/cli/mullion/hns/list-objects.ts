/** Documents of a service, whole kinds at a time. */
import type { HcnClient, HcnObjectKind, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { isNotFoundError } from "#contracts/hcn/error.ts";

export const QUERY_V2: HostComputeQuery = { SchemaVersion: { Major: 2, Minor: 0 } };
export const QUERY_V1: HostComputeQuery = { SchemaVersion: { Major: 1, Minor: 0 } };

/** Questions that are under way at a time. */
const AT_ONCE = 32;

async function ask(
  client: HcnClient,
  kind: HcnObjectKind,
  id: Guid,
  query: HostComputeQuery,
): Promise<JsonObject | undefined> {
  try {
    return await client.query(kind, id, query);
  } catch (error) {
    // It went away after it was listed.
    if (isNotFoundError(error)) return undefined;
    throw error;
  }
}

/** All objects of a kind, in order of creation. */
export async function listObjects(
  client: HcnClient,
  kind: HcnObjectKind,
  query: HostComputeQuery,
): Promise<readonly JsonObject[]> {
  const ids = await client.enumerate(kind, query);
  const documents: JsonObject[] = [];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE).map((id) => ask(client, kind, id, query));
    for (const document of await Promise.all(some)) if (document !== undefined) documents.push(document);
  }
  return documents;
}
