/**
 * Our own dump as a text: the objects in stored form, which is what the durable store keeps, so nothing is lost on the way
 * back.
 */
import type { JsonObject } from "../../hcn/client.ts";
import { parseDumpItem } from "../../hcn/dump-protocol.ts";
import { DUMP_VERSION, type DumpItem, type HnsDump } from "../../hcn/dumps.ts";
import type { DumpedObject } from "./dumped-object.ts";

export function formatDump(service: HnsDump["service"], objects: readonly DumpItem[]): string {
  const dump: HnsDump = {
    apiVersion: DUMP_VERSION,
    kind: "HnsDump",
    ...(service !== undefined && { service }),
    objects,
  };
  return `${JSON.stringify(dump, undefined, 2)}\n`;
}

/** An object of a dump; undefined when it is none. */
export function readStoredItem(value: JsonObject): Omit<DumpedObject, "where"> | undefined {
  const item = parseDumpItem(value);
  if (item === undefined) return undefined;
  return { ...item, dialect: "v2", document: { ID: item.id, ...item.document }, cut: [] };
}
