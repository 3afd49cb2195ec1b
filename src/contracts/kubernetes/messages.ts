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

/** Messages by their names, `apps/v1.Deployment`. The rows of one are read when it is asked for. */
export class Messages {
  private readonly table = CheckedFields.ofTable(kubeProtobuf());
  private readonly known = new Map<string, readonly MessageField[]>();

  names(): readonly string[] {
    return this.table.names();
  }

  has(message: string): boolean {
    return this.table.has(message);
  }

  /** None of a message that there is not. */
  fieldsOf(message: string): readonly MessageField[] {
    const known = this.known.get(message);
    if (known !== undefined) return known;
    const rows = this.has(message) ? this.table.text(message) : "";
    const fields = rows === "" ? [] : rows.split(", ").map(fieldOf);
    this.known.set(message, fields);
    return fields;
  }
}
