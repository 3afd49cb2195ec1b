/** `mullion hns create`, `modify` and `delete`: single objects of a running HNS, from documents of Windows. */
import { type Fields, type JsonObject, isFields, textOf } from "#core/base/json.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { type Guid, parseGuid } from "#contracts/hcn/guid.ts";
import { readAnyYaml } from "#contracts/kubernetes/text/yaml-value.ts";
import { Failure, describeSystemError } from "../failure.ts";
import { formatDocument, isDocumentFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { withHns } from "./connect.ts";
import { type HnsKindNames, parseHnsKinds } from "./hns-kinds.ts";
import { nameOf } from "./hns-listings.ts";
import { QUERY_V1, QUERY_V2, listObjects } from "./list-objects.ts";
import type { HnsChangeRequest, HnsCreateRequest, HnsDeleteRequest } from "./verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

/** What hcsshim writes for this version of the documents; without it HNS takes a document for one of v1 (hcn.md §5). */
const SCHEMA_VERSION = { Major: 2, Minor: 0 };

/** Kinds that HNS makes of an empty document; the sandbox of a container is a namespace of the host. */
const EMPTY: Partial<Record<HnsKindNames["kind"], JsonObject>> = { Namespace: { Type: "Host" } };

/** One object of JSON or YAML. @throws Failure when the file cannot be read or is not one. */
async function readDocument(path: string, terminal: Terminal): Promise<JsonObject> {
  let text: string;
  try {
    text = await terminal.readFile(path);
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot read ${JSON.stringify(path)}: ${describeSystemError(error)}`,
      "The path is relative to the folder you are in.",
    );
  }
  const reading = readAnyYaml(text, "1.2");
  if ("faults" in reading) {
    const first = reading.faults[0]?.message ?? "";
    throw new Failure("bad-usage", `${path} is neither JSON nor YAML: ${first}`, "Correct the file.");
  }
  const [value] = reading.values;
  if (isFields(value) && reading.values.length === 1) return asJson(value);
  throw new Failure("bad-usage", `${path} does not hold one object`, WORDS.adviceHnsDocument);
}

/** YAML may have dates and other things that JSON does not. */
function asJson(fields: Fields): JsonObject {
  return JSON.parse(JSON.stringify(fields)) as JsonObject;
}

/** The object that a name, an id, or the beginning of an id means. @throws Failure for none and for several. */
async function findObject(client: HcnClient, names: HnsKindNames, wanted: string): Promise<Guid> {
  const guid = parseGuid(wanted);
  if (guid !== undefined) return guid;
  const text = wanted.toLowerCase();
  const isBeginning = (id: string): boolean => text.length >= 4 && id.toLowerCase().startsWith(text);
  const all = await listObjects(client, names.kind, QUERY_V2);
  const byName = all.filter((each) => nameOf(each).toLowerCase() === text);
  const found = byName.length > 0 ? byName : all.filter((each) => isBeginning(textOf(each["ID"])));
  const [first] = found;
  if (first !== undefined && found.length === 1) return textOf(first["ID"]).toLowerCase();
  const ids = found.map((each) => textOf(each["ID"])).join(", ");
  throw new Failure(
    "unknown-object",
    found.length === 0
      ? `there is no ${names.singular} ${JSON.stringify(wanted)}`
      : `${found.length} ${names.noun} are called ${JSON.stringify(wanted)}: ${ids}`,
    found.length === 0 ? `See what there is: mullion hns get ${names.plural}` : "Name one of them by its id.",
  );
}

function printObject(
  names: HnsKindNames,
  document: JsonObject,
  output: HnsCreateRequest["output"],
  terminal: Terminal,
): void {
  if (isDocumentFormat(output)) terminal.stdout(formatDocument(document, output));
  else if (output === "name") terminal.stdout(`${names.singular}/${textOf(document["ID"]).toLowerCase()}\n`);
  else {
    const name = textOf(document["Name"]);
    terminal.stdout(
      `${names.singular}/${name === "" ? textOf(document["ID"]).toLowerCase() : name} created\n`,
    );
  }
}

export async function create(request: HnsCreateRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, kind, file, id, network, isV1, output } = request;
  const empty = EMPTY[kind.kind];
  if (file === undefined && empty === undefined)
    throw new Failure(
      "bad-usage",
      `a ${kind.singular} needs a document`,
      "Name its file with -f; - reads standard input.",
    );
  const given = file === undefined ? (empty ?? {}) : await readDocument(file, terminal);
  const settings = isV1 ? given : { SchemaVersion: SCHEMA_VERSION, ...given };
  return withHns<ExitCode>(target, terminal, async ({ client }) => {
    const [networks] = parseHnsKinds("network");
    const ofNetwork =
      network === undefined || networks === undefined
        ? {}
        : { network: await findObject(client, networks, network) };
    const made = await client.create(kind.kind, settings, {
      ...(id === undefined ? {} : { id }),
      ...ofNetwork,
    });
    printObject(kind, await client.query(kind.kind, made, isV1 ? QUERY_V1 : QUERY_V2), output, terminal);
    return 0;
  });
}

export async function modify(request: HnsChangeRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, kind, object, file } = request;
  const settings = await readDocument(file, terminal);
  return withHns<ExitCode>(target, terminal, async ({ client }) => {
    await client.modify(kind.kind, await findObject(client, kind, object), settings);
    terminal.stdout(`${kind.singular}/${object} modified\n`);
    return 0;
  });
}

/** Each in its turn; what HNS refuses ends it. */
export async function deleteObjects(request: HnsDeleteRequest, terminal: Terminal): Promise<ExitCode> {
  const { target, kind, objects } = request;
  return withHns<ExitCode>(target, terminal, async ({ client }) => {
    for (const object of objects) {
      await client.delete(kind.kind, await findObject(client, kind, object));
      terminal.stdout(`${kind.singular}/${object} deleted\n`);
    }
    return 0;
  });
}
