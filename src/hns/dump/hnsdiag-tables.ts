/**
 * What `hnsdiag list` prints (dataplane.md §7.13): tables of names and ids, and with `-d` the v1 documents one after the
 * other, without anything between them.
 */
import { type JsonObject, type JsonValue, isJsonObject, listOf, textOf } from "#core/base/json.ts";
import type { HcnObjectKind } from "#contracts/hcn/client.ts";

/** Objects of one kind, in v1 form. */
export interface ListedKind {
  /** As hnsdiag names the kind: `networks`. */
  readonly plural: string;
  readonly documents: readonly JsonObject[];
}

const NAME_WIDTH = 16;
const ID_WIDTH = 36;
const INDENT = "    ";

function textsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value) => typeof value === "string");
}

function row(...cells: readonly string[]): string {
  return cells.join(" ").trimEnd();
}

function networkRows(documents: readonly JsonObject[]): readonly string[] {
  return [
    row("Name".padEnd(NAME_WIDTH), "ID"),
    ...documents.map((each) =>
      row(textOf(each["Name"]).padEnd(NAME_WIDTH), textOf(each["ID"]).toUpperCase()),
    ),
  ];
}

function endpointRows(documents: readonly JsonObject[]): readonly string[] {
  return [
    row("Name".padEnd(NAME_WIDTH), "ID".padEnd(ID_WIDTH), "Virtual Network Name"),
    ...documents.map((each) =>
      row(
        textOf(each["Name"]).padEnd(NAME_WIDTH),
        textOf(each["ID"]).toLowerCase(),
        textOf(each["VirtualNetworkName"]),
      ),
    ),
  ];
}

function endpointsOfNamespace(namespace: JsonObject): readonly string[] {
  return listOf(namespace["ResourceList"])
    .filter(isJsonObject)
    .filter((resource) => resource["Type"] === "Endpoint")
    .map(({ Data: data }) => (isJsonObject(data) ? textOf(data["Id"]).toLowerCase() : ""));
}

/**
 * Inferred from a published list of a node without any row, where the host's own namespace always exists (hcn.md §2.4):
 * it is left out as long as nothing is in it. Inferred: ids are written as those of load balancers.
 */
function namespaceRows(documents: readonly JsonObject[]): readonly string[] {
  const shown = documents.filter(
    (each) => each["IsDefault"] !== true || endpointsOfNamespace(each).length > 0,
  );
  return [
    row("ID".padEnd(ID_WIDTH), "|", "Endpoint IDs"),
    ...shown.map((each) => row(textOf(each["ID"]).toLowerCase(), "|", endpointsOfNamespace(each).join(" "))),
  ];
}

function vipsOf(policyList: JsonObject): readonly string[] {
  const policies = listOf(policyList["Policies"]).filter(isJsonObject);
  return [...new Set(policies.flatMap((policy) => textsOf(listOf(policy["VIPs"]))))];
}

function loadBalancerRows(documents: readonly JsonObject[]): readonly string[] {
  return [
    row("ID".padEnd(ID_WIDTH), "|", "Virtual IPs".padEnd(NAME_WIDTH), "|", "Direct IP IDs"),
    ...documents.map((each) => {
      const vips = vipsOf(each)
        .map((vip) => ` ${vip}`)
        .join("");
      const ids = textsOf(listOf(each["References"])).map((reference) => reference.split("/").at(-1) ?? "");
      return row(
        textOf(each["ID"]).toLowerCase(),
        "|",
        vips.padEnd(NAME_WIDTH),
        "|",
        ids.join(" ").toLowerCase(),
      );
    }),
  ];
}

interface HnsdiagKind {
  readonly plural: string;
  readonly kind: HcnObjectKind;
  readonly heading: string;
  readonly rows: (documents: readonly JsonObject[]) => readonly string[];
}

/** The kinds that hnsdiag knows, in the order in which `list all` prints them. */
export const HNSDIAG_KINDS: readonly HnsdiagKind[] = [
  { plural: "networks", kind: "Network", heading: "Networks:", rows: networkRows },
  { plural: "endpoints", kind: "Endpoint", heading: "Endpoints:", rows: endpointRows },
  { plural: "namespaces", kind: "Namespace", heading: "Namespaces:", rows: namespaceRows },
  { plural: "loadbalancers", kind: "LoadBalancer", heading: "LoadBalancers:", rows: loadBalancerRows },
];

/** Tables; with headings and an empty line between them when there are several. */
export function formatTables(kinds: readonly ListedKind[]): string {
  const isSeveral = kinds.length > 1;
  return kinds
    .map(({ plural, documents }) => {
      const table = HNSDIAG_KINDS.find((each) => each.plural === plural);
      const lines = table === undefined ? [] : table.rows(documents);
      return [...(isSeveral && table !== undefined ? [table.heading] : []), ...lines]
        .map((line) => `${line}\n`)
        .join("");
    })
    .join("\n");
}

/** JSON as hnsdiag prints it: no blank behind a colon, an empty line inside what is empty. */
function formatValue(value: JsonValue, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = indent + INDENT;
  const isList = Array.isArray(value);
  const items = isList
    ? (value as readonly JsonValue[]).map((item) => inner + formatValue(item, inner))
    : Object.entries(value as JsonObject)
        .filter(([, item]) => item !== undefined)
        .map(([field, item]) => `${inner}${JSON.stringify(field)}:${formatValue(item ?? null, inner)}`);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  return `${open}\n${items.join(",\n")}\n${indent}${close}`;
}

/** The documents, one after the other. */
export function formatDetails(kinds: readonly ListedKind[]): string {
  return kinds.flatMap(({ documents }) => documents.map((each) => `${formatValue(each, "")}\n`)).join("");
}
