/** The description of a cluster file for others: a JSON schema for editors, tables for the reference page. */
import { formatMarkdownTable } from "./markdown-table.ts";
import type { JsonObject } from "#core/base/json.ts";
import { CLUSTER_FILE_VERSION, CLUSTER } from "#cluster/file/description.ts";
import type { FieldDescription, ShapePart } from "#cluster/file/shape.ts";

/** JSON schema, draft 7, of a cluster file: schemas/cluster.v1alpha1.json. */
export function clusterSchema(): JsonObject {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: `Mullion cluster file, ${CLUSTER_FILE_VERSION}`,
    description: "A cluster: its nodes, its network and its pods. See docs/reference/cluster-file.md.",
    ...CLUSTER.schema(),
  };
}

function cellsOf(field: FieldDescription): readonly string[] {
  const noun = field.noun.replaceAll("|", "\\|");
  return [`\`${field.name}\``, noun, field.absent ?? "**required**", field.text];
}

const TITLES = ["Field", "Value", "When absent", "Meaning"];

function formatPart(part: ShapePart): string {
  const heading = `### ${part.path === "" ? "The file" : `\`${part.path}\``}`;
  return `${heading}\n\n${formatMarkdownTable([TITLES, ...part.fields.map(cellsOf)])}`;
}

/** The tables of all fields in Markdown, for docs/reference/cluster-file.md. */
export function formatFieldTables(): string {
  return CLUSTER.parts("").map(formatPart).join("\n\n");
}
