/** Results of CNI as tables: a part of docs/reference/reports.md. */
import { formatMarkdownTable } from "./markdown-table.ts";
import { describeField } from "#contracts/cni/result-schema.ts";
import { RESULT_MEMBERS, type ResultField } from "#contracts/cni/result.ts";

const NOUNS: Readonly<Record<ResultField["is"], string>> = {
  text: "text",
  integer: "integer",
  address: "address with a prefix length",
  ip: "address",
  texts: "list: text",
  family: "text",
};

function rowOf(place: string, field: ResultField): readonly string[] {
  const { is, key, oldKey } = field;
  const older = oldKey === undefined ? "" : ` Up to 0.2.0 \`${oldKey}\`.`;
  return [`\`${place}.${key}\``, NOUNS[is], `${describeField(field)}${older}`];
}

/** One row for each field. */
export function formatCniResult(): string {
  const rows = Object.entries(RESULT_MEMBERS).flatMap(([member, fields]) =>
    Object.values(fields).map((field) => rowOf(member === "dns" ? member : `${member}[]`, field)),
  );
  return formatMarkdownTable([["Field", "Value", "Meaning"], ...rows]);
}
