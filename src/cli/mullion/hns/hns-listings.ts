/** Objects of one service as tables. */
import type { HnsItem } from "#cluster/api/documents.ts";
import { type JsonObject, type JsonValue, isJsonObject, textOf } from "#core/base/json.ts";
import { hnsListing } from "../get/listings-hns.ts";
import type { Column, Listing } from "../table.ts";
import { type HnsKindNames, HNS_OBJECT_KINDS } from "./hns-kinds.ts";

type AnyListing = Listing<JsonObject>;

function listOf(document: JsonObject, field: string): readonly JsonValue[] {
  const value = document[field];
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function texts(values: readonly JsonValue[], field: string): string {
  return values
    .filter(isJsonObject)
    .map((value) => textOf(value[field]))
    .join(",");
}

function words(values: readonly JsonValue[]): string {
  return values.filter((value) => typeof value === "string").join(",");
}

const ID: Column<JsonObject> = { title: "ID", text: (row) => textOf(row["ID"]) };

const ROUTE_COLUMNS: readonly Column<JsonObject>[] = [
  { title: "DESTINATION", text: (row) => texts(listOf(row, "Routes"), "DestinationPrefix") },
  { title: "NEXT HOP", text: (row) => texts(listOf(row, "Routes"), "NextHop") },
  { title: "HNS ENDPOINTS", text: (row) => words(listOf(row, "HostComputeEndpoints")) },
  { ...ID, isWide: true },
];

const GUEST_COLUMNS: readonly Column<JsonObject>[] = [
  ID,
  { title: "VIRTUAL MACHINE", text: (row) => textOf(row["VirtualMachineId"]) },
  {
    title: "INTERFACES",
    isRightAligned: true,
    text: (row) => String(listOf(row, "MirroredInterfaces").length),
  },
];

const NAMESPACE_COLUMNS: readonly Column<JsonObject>[] = [
  ID,
  { title: "TYPE", text: (row) => textOf(row["Type"]) },
  {
    title: "COMPARTMENT",
    isRightAligned: true,
    text: (row) => (typeof row["NamespaceId"] === "number" ? String(row["NamespaceId"]) : ""),
  },
  { title: "ENDPOINTS", text: (row) => members(row, "Endpoint") },
  { title: "CONTAINERS", isWide: true, text: (row) => members(row, "Container") },
];

/** Ids of the resources of a type. */
function members(namespace: JsonObject, type: string): string {
  const resources = listOf(namespace, "Resources").filter(isJsonObject);
  return resources
    .filter((resource) => resource["Type"] === type)
    .map(({ Data: data }) => (isJsonObject(data) ? textOf(data["Id"]) : ""))
    .join(",");
}

/** The addresses of the back ends, by the endpoints that there are. */
export function withBackEnds(
  loadBalancers: readonly JsonObject[],
  endpoints: readonly JsonObject[],
): readonly JsonObject[] {
  const addresses = new Map(
    endpoints.map((endpoint) => [
      textOf(endpoint["ID"]).toLowerCase(),
      texts(listOf(endpoint, "IpConfigurations"), "IpAddress").replaceAll(",", "+"),
    ]),
  );
  return loadBalancers.map((loadBalancer) => ({
    ...loadBalancer,
    BackEnds: listOf(loadBalancer, "HostComputeEndpoints")
      .filter((id) => typeof id === "string")
      .map((id) => addresses.get(id.toLowerCase()) || id),
  }));
}

/** A service is one node's, so the column that names nodes says nothing. */
function onOneNode(listing: Listing<HnsItem>): readonly Column<JsonObject>[] {
  const columns = listing.columns.filter(({ title }) => title !== "NODE");
  return columns as unknown as readonly Column<JsonObject>[];
}

function columnsOf({ kind }: HnsKindNames): readonly Column<JsonObject>[] {
  switch (kind) {
    case "Network":
      return onOneNode(hnsListing("networks", []));
    case "Endpoint":
      return onOneNode(hnsListing("endpoints", []));
    case "Namespace":
      return NAMESPACE_COLUMNS;
    case "LoadBalancer":
      return onOneNode(hnsListing("loadbalancers", []));
    case "SdnRoute":
      return ROUTE_COLUMNS;
    case "GuestNetworkService":
      return GUEST_COLUMNS;
  }
}

/** The name of an object as verbs take it: its own, or its id. */
export function nameOf(document: JsonObject): string {
  return textOf(document["Name"]) || textOf(document["ID"]);
}

/** v1 documents have other fields, so their tables show names and ids only. */
function columnsV1(): readonly Column<JsonObject>[] {
  return [
    { title: "NAME", text: (row) => textOf(row["Name"]) },
    { title: "TYPE", text: (row) => textOf(row["Type"]) },
    ID,
  ];
}

export function objectListing(names: HnsKindNames, rows: readonly JsonObject[], isV1: boolean): AnyListing {
  return {
    singular: names.singular,
    plural: names.noun,
    rows,
    name: nameOf,
    data: ({ BackEnds: _worked, ...document }) => document,
    columns: isV1 ? columnsV1() : columnsOf(names),
  };
}

/** For help texts. */
export const HNS_KIND_HELP: string = HNS_OBJECT_KINDS.map(
  ({ plural, aliases }) => `${plural} (${aliases[0] ?? ""})`,
).join(", ");
