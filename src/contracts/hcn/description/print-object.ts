/** Prints described objects as results show them: fields in order, defaults left out (hcn.md §1.6). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type Field, type ObjectDescription, type ValueOf, fieldsOf, referredObject } from "./description.ts";

/** True for what results leave out: undefined, empty text, zero, and an empty list. */
export function isDefault(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0) return true;
  return Array.isArray(value) && value.length === 0;
}

/** Undefined: the value stands as it is. */
type PrintField = ((value: object) => JsonValue | undefined) | undefined;

interface PrintableField {
  readonly name: string;
  readonly print: PrintField;
}

function fieldPrinter(field: Field): PrintField {
  if (field.is === "object") {
    const inner = new ObjectPrinter<unknown>(referredObject(field.of));
    return (value) => {
      const printed = inner.print(value);
      return Object.keys(printed).length === 0 ? undefined : printed;
    };
  }
  if (field.is !== "list") return undefined;
  const entry = new ObjectPrinter<unknown>(referredObject(field.of));
  return (value) => (value as readonly object[]).map((each) => entry.print(each));
}

/** A printer of a described object. */
export class ObjectPrinter<T> {
  private readonly fields: readonly PrintableField[];

  constructor(description: ObjectDescription) {
    this.fields = fieldsOf(description).map(([name, field]) => ({ name, print: fieldPrinter(field) }));
  }

  print(values: T): JsonObject {
    const given = values as Readonly<Record<string, JsonValue | undefined>>;
    const printed: Record<string, JsonValue> = {};
    for (const { name, print } of this.fields) {
      const value = given[name];
      if (value === undefined || isDefault(value)) continue;
      const shown = print === undefined ? value : print(value as object);
      if (shown !== undefined) printed[name] = shown;
    }
    return printed;
  }
}

type PrintableValue<F> = F extends { readonly is: "object"; readonly of: infer O }
  ? PrintableOf<O>
  : F extends { readonly is: "list" | "policies"; readonly of: infer O }
    ? readonly PrintableOf<O>[]
    : ValueOf<F>;
type PrintableBase<D> = D extends { base(): infer B } ? PrintableOf<B> : unknown;

/** Values of all or some fields, to be printed. An undefined one counts as absent. */
export type PrintableOf<D> = D extends () => infer R
  ? PrintableOf<R>
  : D extends { readonly fields: infer F }
    ? PrintableBase<D> & { readonly [K in keyof F]?: PrintableValue<F[K]> | undefined }
    : never;

/** The printer of objects that `description` describes. */
export function printerOf<const D extends ObjectDescription>(description: D): ObjectPrinter<PrintableOf<D>> {
  return new ObjectPrinter<PrintableOf<D>>(description);
}
