/** `mullion hns get`: what a service holds. */
import type { HcnObjectKind } from "#contracts/hcn/client.ts";
import { type JsonObject, textOf } from "#core/base/json.ts";
import { fromDump } from "#hns/dump/as-given.ts";
import { Failure } from "../failure.ts";
import { formatDocument } from "../print-document.ts";
import { dataOf, formatListing } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { type HnsConnection, withHns } from "./connect.ts";
import type { HnsKindNames } from "./hns-kinds.ts";
import { nameOf, objectListing, withBackEnds } from "./hns-listings.ts";
import { QUERY_V1, QUERY_V2, listObjects } from "./list-objects.ts";
import type { HnsGetRequest } from "./verbs.ts";

interface Found {
  readonly names: HnsKindNames;
  readonly documents: readonly JsonObject[];
}

async function list(
  { client, dumped }: HnsConnection,
  { kind }: HnsKindNames,
  request: HnsGetRequest,
): Promise<readonly JsonObject[]> {
  const { isV1, output } = request;
  const isAdding = output === "json" || output === "yaml";
  const all = async (of: HcnObjectKind): Promise<readonly JsonObject[]> => {
    const documents = await listObjects(client, of, isV1 ? QUERY_V1 : QUERY_V2);
    return dumped === undefined ? documents : fromDump(dumped, of, documents, { isV1, isAdding });
  };
  const documents = await all(kind);
  if (kind !== "LoadBalancer" || isV1 || documents.length === 0) return documents;
  return withBackEnds(documents, await all("Endpoint"));
}

/** An object by its name, its id, or the beginning of its id. */
function isMeant(document: JsonObject, wanted: string): boolean {
  const text = wanted.toLowerCase();
  const id = textOf(document["ID"]).toLowerCase();
  return nameOf(document).toLowerCase() === text || id === text || (text.length >= 4 && id.startsWith(text));
}

function printData(
  found: readonly Found[],
  request: HnsGetRequest,
  { asWritten }: HnsConnection,
  terminal: Terminal,
): void {
  const items = found.flatMap(({ names, documents }) =>
    dataOf(objectListing(names, documents, request.isV1)),
  );
  const isSingle = request.objects.length === 1 && items.length === 1;
  const value = isSingle ? items[0] : { items };
  terminal.stdout(asWritten(formatDocument(value, request.output === "json" ? "json" : "yaml")));
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
  const { kinds, objects, output } = request;
  return withHns<ExitCode>(request.target, terminal, async (connection) => {
    const found: Found[] = [];
    for (const names of kinds) {
      const all = await list(connection, names, request);
      const wanted =
        objects.length === 0 ? all : all.filter((each) => objects.some((name) => isMeant(each, name)));
      found.push({ names, documents: wanted });
    }
    const isMissing = objects.length > 0 && found.every(({ documents }) => documents.length === 0);
    if (!isMissing) {
      if (output === "json" || output === "yaml") printData(found, request, connection, terminal);
      else printTables(found, request, terminal);
    }
    checkMissing(found, objects, connection.where);
    return 0;
  });
}
