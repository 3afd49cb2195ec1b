/** `mullion hns get`: what a service holds. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { JsonObject } from "#core/base/json.ts";
import { Failure } from "../failure.ts";
import { formatDocument } from "../print-document.ts";
import { formatListing } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { withHns } from "./connect.ts";
import type { HnsKindNames } from "./hns-kinds.ts";
import { nameOf, objectListing, withBackEnds } from "./hns-listings.ts";
import { QUERY_V1, QUERY_V2, listObjects, textOf } from "./list-objects.ts";
import type { HnsGetRequest } from "./verbs.ts";

interface Found {
  readonly names: HnsKindNames;
  readonly documents: readonly JsonObject[];
}

async function list(client: HcnClient, names: HnsKindNames, isV1: boolean): Promise<readonly JsonObject[]> {
  const documents = await listObjects(client, names.kind, isV1 ? QUERY_V1 : QUERY_V2);
  if (names.kind !== "LoadBalancer" || isV1 || documents.length === 0) return documents;
  return withBackEnds(documents, await listObjects(client, "Endpoint", QUERY_V2));
}

/** An object by its name, its id, or the beginning of its id. */
function isMeant(document: JsonObject, wanted: string): boolean {
  const text = wanted.toLowerCase();
  const id = textOf(document, "ID").toLowerCase();
  return nameOf(document).toLowerCase() === text || id === text || (text.length >= 4 && id.startsWith(text));
}

function printData(found: readonly Found[], request: HnsGetRequest, terminal: Terminal): void {
  const items = found.flatMap(({ names, documents }) => {
    const { data } = objectListing(names, documents, request.isV1);
    return documents.map(data);
  });
  const isSingle = request.objects.length === 1 && items.length === 1;
  const value = isSingle ? items[0] : { items };
  terminal.stdout(formatDocument(value, request.output === "json" ? "json" : "yaml"));
}

function printTables(found: readonly Found[], request: HnsGetRequest, terminal: Terminal): void {
  const { output, isV1 } = request;
  const shown = found.filter(({ documents }) => documents.length > 0);
  for (const [index, { names, documents }] of shown.entries()) {
    const isTable = output === "table" || output === "wide";
    if (index > 0 && isTable) terminal.stdout("\n");
    if (isTable && found.length > 1) terminal.stdout(`${terminal.bold(names.plural)}\n`);
    terminal.stdout(formatListing(objectListing(names, documents, isV1), output));
  }
  if (shown.length > 0) return;
  const nouns = found.map(({ names }) => names.noun);
  const what = found.length > 1 ? "no objects of these kinds" : `no ${nouns[0] ?? "objects"}`;
  // Nothing is no result: it goes to where people look and programs do not.
  terminal.stderr(`There are ${what}.\n`);
}

/** @throws Failure when an object that was named is not there. */
function checkMissing(found: readonly Found[], objects: readonly string[], where: string): void {
  const documents = found.flatMap((each) => each.documents);
  const missing = objects.filter((name) => !documents.some((document) => isMeant(document, name)));
  if (missing.length === 0) return;
  const [kind] = found;
  const singular = found.length === 1 && kind !== undefined ? kind.names.singular : "object";
  throw new Failure(
    "unknown-object",
    `there is no ${singular} ${missing.map((name) => JSON.stringify(name)).join(", ")} at ${where}`,
    `See what there is: mullion hns get ${kind?.names.plural ?? "all"}`,
  );
}

export async function get(request: HnsGetRequest, terminal: Terminal): Promise<ExitCode> {
  const { kinds, objects, output, isV1 } = request;
  return withHns<ExitCode>(request.target, terminal, async ({ client, where }) => {
    const found: Found[] = [];
    for (const names of kinds) {
      const all = await list(client, names, isV1);
      const wanted =
        objects.length === 0 ? all : all.filter((each) => objects.some((name) => isMeant(each, name)));
      found.push({ names, documents: wanted });
    }
    const isMissing = objects.length > 0 && found.every(({ documents }) => documents.length === 0);
    if (!isMissing) {
      if (output === "json" || output === "yaml") printData(found, request, terminal);
      else printTables(found, request, terminal);
    }
    checkMissing(found, objects, where);
    return 0;
  });
}
