/** flannel's `net-conf.json` from its description: tables of a page, and the schema. */
import { describe } from "#core/base/shape.ts";
import { formatMarkdownTable } from "./markdown-table.ts";
import type { JsonSchema } from "#core/base/shape.ts";
import type { ConfigDescription } from "#programs/flannel/config-fields.ts";
import {
  LINUX_HOST_GW,
  LINUX_VXLAN,
  NET_CONF,
  WINDOWS_HOST_GW,
  WINDOWS_VXLAN,
} from "#programs/flannel/net-conf.ts";

type Field = ConfigDescription["fields"][string];

const NOUNS: Readonly<Record<Field["is"], string>> = {
  text: "text",
  boolean: "true or false",
  integer: "number",
  ipv4Prefix: "range of IPv4 addresses",
  ipv6Prefix: "range of IPv6 addresses",
  ipv4: "IPv4 address",
  ipv6: "IPv6 address",
  object: "object",
};

function nounOf({ is, min, max }: Field): string {
  return min === undefined || max === undefined ? NOUNS[is] : `${min} to ${max}`;
}

function formatTable({ text, fields }: ConfigDescription): string {
  const rows = Object.entries(fields).map(([name, field]) => [
    `\`${name}\``,
    nounOf(field),
    describe(field.absent ?? ""),
    describe(field.text),
  ]);
  return `${text}\n\n${formatMarkdownTable([["Field", "Value", "When absent", "Meaning"], ...rows])}`;
}

const BACKENDS: readonly ConfigDescription[] = [LINUX_VXLAN, LINUX_HOST_GW, WINDOWS_VXLAN, WINDOWS_HOST_GW];

/** All tables: of the file, and of `Backend` by type and system. */
export function formatNetConf(netConf: ConfigDescription = NET_CONF): string {
  return [netConf, ...BACKENDS].map(formatTable).join("\n\n");
}

const TYPES: Readonly<Record<Field["is"], "string" | "boolean" | "integer" | "object">> = {
  text: "string",
  boolean: "boolean",
  integer: "integer",
  ipv4Prefix: "string",
  ipv6Prefix: "string",
  ipv4: "string",
  ipv6: "string",
  object: "object",
};

function fieldSchema({ is, text, min, max }: Field): JsonSchema {
  return {
    type: TYPES[is],
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
    description: describe(text),
  };
}

function propertiesOf({ fields }: ConfigDescription): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldSchema(field)]));
}

/**
 * The schema of the file. Other fields are allowed: flanneld passes them by, and reads those here in any letter case. What a
 * field of a backend may hold is told as Linux takes it, where both systems have it.
 */
export function netConfSchema(netConf: ConfigDescription = NET_CONF): JsonSchema {
  const backend = Object.assign({}, ...BACKENDS.map(propertiesOf).toReversed()) as JsonSchema;
  const properties = propertiesOf(netConf);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "flannel's net-conf.json",
    type: "object",
    description: netConf.text,
    properties: { ...properties, Backend: { ...properties["Backend"], properties: backend } },
  };
}
