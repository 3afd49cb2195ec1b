/** Kubernetes' messages and their fields: `data/facts/kube-protobuf.yaml`, which says how a field is written. */
import { kubeProtobuf } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";

/** A field of a message. */
export interface MessageField {
  /** In protobuf. */
  readonly number: number;
  /** In JSON. */
  readonly name: string;
  /** A scalar, or a message. */
  readonly type: string;
  /** `inline`: the fields of the type stand in the message itself, in JSON. */
  readonly form: "single" | "list" | "mapping" | "inline";
}

const FORMS = { "": "single", "*": "list", "%": "mapping", "^": "inline" } as const;

function fieldOf(row: string): MessageField {
  const [, number, name = "", mark = "", type = ""] = /^(\d+) (\S+) ([*%^]?)(\S+)$/.exec(row) ?? [];
  return { number: Number(number), name, type, form: FORMS[mark as keyof typeof FORMS] };
}

/** The fields of each message by its name, `apps/v1.Deployment`. Reads the table anew. */
export function readMessages(): ReadonlyMap<string, readonly MessageField[]> {
  const table = CheckedFields.ofTable(kubeProtobuf());
  return new Map(
    table.names().map((name) => {
      const rows = table.text(name);
      return [name, rows === "" ? [] : rows.split(", ").map(fieldOf)] as const;
    }),
  );
}
