/** Objects of a northbound database, found by what logical flows say of them: the first digits of their UUID (`stage-hint`). */
import { textOf } from "#core/base/json.ts";
import type { OvsdbTables, Row } from "./ovsdb-tables.ts";

function mapIn(row: Row, column: string): ReadonlyMap<string, string> {
  const value = row.get(column);
  const pairs = Array.isArray(value) ? value.filter((pair): pair is unknown[] => Array.isArray(pair)) : [];
  return new Map(pairs.map(([key, text]) => [String(key), String(text)]));
}

function textIn(row: Row, column: string): string {
  return textOf(row.get(column));
}

/** The object of Kubernetes that ovn-kubernetes made a row for, in its external_ids. */
function ownerOf(row: Row): string {
  const ids = mapIn(row, "external_ids");
  const kind = ids.get("k8s.ovn.org/kind") ?? ids.get("k8s.ovn.org/owner-type") ?? "";
  const name = ids.get("k8s.ovn.org/owner") ?? ids.get("k8s.ovn.org/name") ?? "";
  const namespace = ids.get("namespace") ?? "";
  // A pod's port is called NAMESPACE_POD (control-planes.md §4.2, "Names").
  const own = textIn(row, "name").slice(namespace.length + 1);
  const pod = ids.get("pod") === "true" ? `Pod ${namespace}/${own}` : "";
  return kind === "" && name === "" ? pod : `${kind} ${name}`.trim();
}

/** `Logical_Switch_Port default_web, Pod default/web`. */
export function describeRow(table: string, row: Row): string {
  const named = ["name", "logical_port", "external_ip", "ip_prefix"].map((column) => textIn(row, column));
  const name = named.find((text) => text !== "") ?? "";
  const rule =
    table === "ACL"
      ? `${textIn(row, "direction")} ${String(row.get("priority"))} ${textIn(row, "action")}`
      : "";
  return [`${table} ${name}`.trim(), rule, ownerOf(row)].filter((part) => part !== "").join(", ");
}

export class NorthboundObjects {
  private readonly rows = new Map<string, string>();

  constructor(databases: readonly OvsdbTables[]) {
    for (const tables of databases)
      for (const [table, rows] of tables)
        for (const row of rows) this.rows.set(textIn(row, "_uuid").slice(0, 8), describeRow(table, row));
  }

  /** `ACL NP:default:web:Ingress:0, to-lport 1001 allow-related, NetworkPolicy default:web`; undefined for what is not there. */
  describe(hint: string): string | undefined {
    return hint === "" ? undefined : this.rows.get(hint);
  }
}
