/** Readers of what all HCN documents share, for documents that are not described yet. */
import { BASE, type BaseDocument, DNS, type Dns, ROUTE, type Route } from "./base-document.ts";
import type { JsonReader } from "../description/json-reader.ts";
import { type ObjectReader, readerOf } from "../description/read-object.ts";

export const BASE_READER: ObjectReader<BaseDocument> = readerOf(BASE);
const DNS_READER = readerOf(DNS);
const ROUTE_READER = readerOf(ROUTE);

/** The fields of `BaseDocument` that are there, in the order in which results list them. */
export function readBase(reader: JsonReader): BaseDocument {
  return BASE_READER.read(reader);
}

export function readDns(reader: JsonReader): Dns | undefined {
  const dns = reader.object("Dns");
  return dns && DNS_READER.read(dns);
}

export function readRoutes(reader: JsonReader): readonly Route[] | undefined {
  return reader.list("Routes", (route) => ROUTE_READER.read(route));
}
