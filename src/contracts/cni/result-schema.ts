/** Results of ADD as a JSON schema, from their description: all versions in one, because a list says which it has. */
import { type JsonSchema, describe } from "#core/base/shape.ts";
import { RESULT_MEMBERS, type ResultField, type ResultFields, fieldsIn } from "./result.ts";

const TEXT: JsonSchema = { type: "string" };

const VALUES: Readonly<Record<ResultField["is"], JsonSchema>> = {
  text: TEXT,
  integer: { type: "integer" },
  address: TEXT,
  ip: TEXT,
  texts: { type: "array", items: TEXT },
  family: { enum: ["4", "6"] },
};

/** What a field is, and which versions have it. */
export function describeField({ text, since, until }: ResultField): string {
  const from = since === undefined ? "" : ` From ${since}${until === undefined ? "." : ` to ${until}.`}`;
  return `${describe(text)}${from}`;
}

type Described = readonly (readonly [key: string, field: ResultField])[];

function object(fields: Described, others: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const own = fields.map(
    ([key, field]) => [key, { ...VALUES[field.is], description: describeField(field) }] as const,
  );
  return { type: "object", properties: { ...Object.fromEntries(own), ...others } };
}

/** By the keys of the versions that have lists. */
function listed(fields: ResultFields): Described {
  return Object.values(fields).map((field) => [field.key, field]);
}

/** The last version without lists. */
const OLD_VERSION = "0.2.0";

/** A result of any version. */
export function resultSchema(): JsonSchema {
  const { interfaces, ips, routes, dns } = RESULT_MEMBERS;
  const list = (fields: ResultFields): JsonSchema => ({ type: "array", items: object(listed(fields)) });
  const old = fieldsIn(ips, OLD_VERSION).map(([, field, key]) => [key, field] as const);
  const description = `Up to ${OLD_VERSION}, in place of the lists.`;
  const family = { ...object(old, { routes: list(routes) }), description };
  const lists = { interfaces: list(interfaces), ips: list(ips), routes: list(routes) };
  const members = { cniVersion: TEXT, ...lists, ip4: family, ip6: family, dns: object(listed(dns)) };
  return object([], members);
}
