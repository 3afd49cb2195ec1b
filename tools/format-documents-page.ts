/** Described documents as tables: a part of docs/reference/hcn-documents.md. */
import { describe } from "#core/base/shape.ts";
import { formatMarkdownTable } from "./markdown-table.ts";
import { BASE } from "#contracts/hcn/documents/base-document.ts";
import {
  type Field,
  type ObjectDescription,
  type Referred,
  type ScalarKind,
  type V1Name,
  referredObject,
} from "#contracts/hcn/description/description.ts";
import { ENDPOINT } from "#contracts/hcn/documents/endpoint.ts";
import { GUEST_NETWORK_SERVICE } from "#contracts/hcn/documents/guest-network-service.ts";
import { LOAD_BALANCER } from "#contracts/hcn/documents/load-balancer.ts";
import { NAMESPACE } from "#contracts/hcn/documents/namespace.ts";
import { NETWORK } from "#contracts/hcn/documents/network.ts";
import { SDN_ROUTE } from "#contracts/hcn/documents/sdn-route.ts";

const SCALAR_NOUNS: Readonly<Record<ScalarKind, string>> = {
  text: "text",
  address: "address",
  prefix: "prefix or address",
  guid: "GUID",
  boolean: "true or false",
  u16: "0 to 65535",
  u32: "number",
  protocol: "number of a protocol, or its name",
  flags: "number",
  prefixLength: "0 to 128",
  serviceVersion: "number",
  schemaVersion: "`{Major, Minor}`",
  texts: "list of texts",
  json: "any JSON",
  jsonObject: "object",
};

function nameOf(of: Referred, path: string): string {
  return referredObject(of).name ?? `\`${path}\``;
}

function nounOf(field: Field, path: string): string {
  if (field.is === "numbered") return field.names.map((name, number) => `${number} ${name ?? ""}`).join(", ");
  if (field.is === "enumeration") return field.names.filter((name) => name !== undefined).join(", ");
  if (field.is === "object") return nameOf(field.of, path);
  if (field.is === "list" || field.is === "policies") return `list of ${nameOf(field.of, `${path}[]`)}`;
  return SCALAR_NOUNS[field.is];
}

/** A name that only dumps hold is in no request. */
function spokenName(name: V1Name): readonly string[] {
  if (typeof name === "string") return [`\`${name}\``];
  return "answer" in name ? [`\`${name.answer}\` (answers)`] : [];
}

function v1NamesOf(field: Field): string {
  if (field.is === "object" || field.v1 === undefined) return "";
  return v1NameListOf(field).flatMap(spokenName).join(", ");
}

function v1NameListOf(field: Exclude<Field, { readonly is: "object" }>): readonly V1Name[] {
  const { v1 } = field;
  if (v1 === undefined) return [];
  if (typeof v1 === "string") return [v1];
  if (field.is === "flags") return Object.keys(v1);
  if (Array.isArray(v1)) return v1 as readonly V1Name[];
  if ("defaultRoutes" in v1) return v1.defaultRoutes as readonly string[];
  if ("policies" in v1) return [v1.policies];
  if ("joined" in v1) return [v1.joined];
  if ("list" in v1) return [v1.list];
  return "perFamilyOf" in v1 ? [] : [v1 as V1Name];
}

function bitsOf(field: Field): string {
  if (field.is !== "flags") return "";
  const bits = Object.entries(field.bits).map(([name, bit]) => `${bit} ${name}`);
  return ` Bits: ${bits.join(", ")}.`;
}

function versionsOf({ since, until }: Field): string {
  const from = since === undefined ? "" : `from ${since}`;
  return until === undefined ? from : `${from} up to ${until}`.trim();
}

function absentOf(name: string, field: Field, description: ObjectDescription): string {
  if (description.needs?.includes(name) === true) return "**required**";
  return describe(field.absent ?? (field.by === "service" ? "set by the service" : ""));
}

const TITLES = ["Field", "Value", "Schema", "In HNS v1", "When absent", "Meaning"];

function rowOf(name: string, field: Field, path: string, description: ObjectDescription): readonly string[] {
  const unit = field.unit === undefined ? "" : ` ${field.unit}`;
  return [
    `\`${name}\``,
    `${nounOf(field, path)}${unit}`,
    versionsOf(field),
    v1NamesOf(field),
    absentOf(name, field, description),
    `${describe(field.text)}${bitsOf(field)}`,
  ];
}

function formatTable(path: string, description: ObjectDescription): string {
  const rows = Object.entries(description.fields).map(([name, field]) =>
    rowOf(name, field, path === "" ? name : `${path}.${name}`, description),
  );
  return formatMarkdownTable([TITLES, ...rows]);
}

interface Section {
  readonly title: string;
  readonly path: string;
  readonly description: ObjectDescription;
}

/** The objects inside, at each place, or once when they have a name. */
function sectionsInside(path: string, description: ObjectDescription): readonly Section[] {
  return Object.entries(description.fields).flatMap(([name, field]) => {
    if (!("of" in field)) return [];
    const inner = referredObject(field.of);
    const at = `${path === "" ? name : `${path}.${name}`}${field.is === "object" ? "" : "[]"}`;
    const innerPath = inner.name === undefined ? at : "";
    const title = inner.name ?? `\`${at}\``;
    return [{ title, path: innerPath, description: inner }, ...sectionsInside(innerPath, inner)];
  });
}

function formatV1Only({ v1Only }: ObjectDescription): string {
  if (v1Only === undefined) return "";
  const rows = Object.entries(v1Only).map(([name, field]) => {
    const unit = field.unit === undefined ? "" : ` ${field.unit}`;
    return [
      `\`${name}\``,
      `${field.is === "list" ? "list" : SCALAR_NOUNS[field.is]}${unit}`,
      describe(field.text),
    ];
  });
  return `\n\nOnly in HNS v1:\n\n${formatMarkdownTable([["Field", "Value", "Meaning"], ...rows])}`;
}

/** The tables of a document and of the objects inside it. The fields of its base stand in a table of their own. */
export function formatDocument(description: ObjectDescription): string {
  const sections = sectionsInside("", description).map(
    ({ title, path, description: inner }) => `### ${title}\n\n${formatTable(path, inner)}`,
  );
  const heading = description.name === undefined ? "" : `## ${description.name}\n\n`;
  const own = `${heading}${describe(description.text)}\n\n${formatTable("", description)}${formatV1Only(description)}`;
  return [own, ...sections].join("\n\n");
}

/** Objects of the same name stand with the first document that has one. */
function onlyOnce(documents: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return documents.map((document) =>
    document
      .split("\n\n### ")
      .filter((section) => section.startsWith("`") || (!seen.has(section) && seen.add(section)))
      .join("\n\n### "),
  );
}

/** All described documents. */
export function formatDocumentsPage(): string {
  const documents = [NETWORK, ENDPOINT, NAMESPACE, LOAD_BALANCER, SDN_ROUTE, GUEST_NETWORK_SERVICE].map(
    formatDocument,
  );
  return [`## Every document\n\n${formatDocument(BASE)}`, ...onlyOnce(documents)].join("\n\n");
}
