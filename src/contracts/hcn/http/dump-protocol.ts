/**
 * Dumps as they travel over HTTP (`http-protocol.ts` has the calls of the HCN line):
 *
 * ```
 * GET  /hcn/dump                                         → {"result": HnsDump}
 * POST /hcn/restore  {"objects": […], "replace"?: true}  → {"result": {"notes": [{"kind", "id", "text"}…]}}
 * ```
 */
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import {
  DUMP_KINDS,
  DUMP_VERSION,
  type DumpItem,
  type HnsDump,
  type HnsDumps,
  type RestoreNote,
  type RestoreRequest,
} from "../dumps.ts";
import { HcnError } from "../error.ts";
import { parseGuid } from "../guid.ts";
import { JsonReader } from "../description/json.ts";
import { contracts } from "#data/words.js";

const WORDS = contracts();

export const DUMP_PATH = "/hcn/dump";
export const RESTORE_PATH = "/hcn/restore";

/** Who asks: `HttpHcnClient` does. Rejects with `HcnError`. */
export interface PathRequester {
  request(method: "GET" | "POST" | "DELETE", path: string, body?: object): Promise<JsonValue>;
}

/** An item of a dump; undefined when it is none. */
export function parseDumpItem(value: JsonObject): DumpItem | undefined {
  const { kind, id, document, internal, v1 } = value;
  const known = DUMP_KINDS.find((name) => name === kind);
  const guid = typeof id === "string" ? parseGuid(id) : undefined;
  if (known === undefined || guid === undefined || !isJsonObject(document)) return undefined;
  return {
    kind: known,
    id: guid,
    document,
    ...(isJsonObject(internal) && { internal }),
    ...(isJsonObject(v1) && { v1 }),
  };
}

function requireItems(reader: JsonReader): readonly DumpItem[] {
  const items = reader.list("objects", (item) => {
    const parsed = parseDumpItem(item.whole());
    if (parsed !== undefined) return parsed;
    throw new HcnError("HCN_E_INVALID_JSON", {
      detail: WORDS.dumpObjectInvalid({ at: item.at("kind"), dumpKinds: DUMP_KINDS.join(", ") }),
    });
  });
  return reader.needed("objects", items, "a list of objects");
}

/** The body of a restore. @throws HcnError HCN_E_INVALID_JSON. */
export function parseRestoreRequest(body: JsonValue): {
  readonly objects: readonly DumpItem[];
  readonly isReplacing: boolean;
} {
  const reader = JsonReader.of(body, "request", "HCN_E_INVALID_JSON");
  return { objects: requireItems(reader), isReplacing: reader.boolean("replace") ?? false };
}

/** The answer of a dump. @throws HcnError HCN_E_INVALID_JSON. */
export function parseDump(result: JsonValue): HnsDump {
  const reader = JsonReader.of(result, "dump", "HCN_E_INVALID_JSON");
  const objects = requireItems(reader);
  const service = reader.object("service");
  const node = service?.text("node");
  const version = service?.object("version");
  const [major, minor] = [version?.number("Major"), version?.number("Minor")];
  return {
    apiVersion: DUMP_VERSION,
    kind: "HnsDump",
    service: {
      ...(node !== undefined && { node }),
      ...(major !== undefined && minor !== undefined && { version: { Major: major, Minor: minor } }),
    },
    objects,
  };
}

/** The answer of a restore. @throws HcnError HCN_E_INVALID_JSON. */
export function parseRestoreNotes(result: JsonValue): readonly RestoreNote[] {
  const reader = JsonReader.of(result, "result", "HCN_E_INVALID_JSON");
  const notes = reader.list("notes", (note) => {
    const kind = note.enumeration("kind", DUMP_KINDS);
    const [id, text] = [note.text("id"), note.text("text")];
    if (kind === undefined || id === undefined || text === undefined) throw note.fail("text", "a note");
    return { kind, id, text };
  });
  return notes ?? [];
}

/** Dumps of a service that is reached over HTTP. */
export class HttpHnsDumps implements HnsDumps {
  private readonly requester: PathRequester;

  constructor(requester: PathRequester) {
    this.requester = requester;
  }

  async dump(): Promise<HnsDump> {
    return parseDump(await this.requester.request("GET", DUMP_PATH));
  }

  async restore({ objects, isReplacing }: RestoreRequest): Promise<readonly RestoreNote[]> {
    const fields = { objects, ...(isReplacing && { replace: true }) };
    return parseRestoreNotes(await this.requester.request("POST", RESTORE_PATH, fields));
  }
}
