import { expect, it } from "vitest";
import { kubeColumns } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";
import { Messages } from "#contracts/kubernetes/messages.ts";
import { kubectlColumns } from "./columns.ts";
import { SERVED_RESOURCES, apiVersionOf } from "./served-resources.ts";

const MESSAGES = new Messages();

/** The type at the end of a path in a message; undefined where it leaves what Kubernetes has. */
function typeAt(message: string, path: string): string | undefined {
  return path.split(".").reduce<string | undefined>((type, name) => {
    if (type === undefined) return undefined;
    return MESSAGES.fieldsOf(type).find((field) => field.name === name)?.type;
  }, message);
}

it.each(SERVED_RESOURCES.filter(({ kind }) => kind !== "Event"))(
  "paths of columns lead to fields of $kind",
  (resource) => {
    const rows = CheckedFields.ofTable(kubeColumns()).items(resource.kind);
    expect(kubectlColumns(resource.kind).length).toBeGreaterThan(1);
    const paths = rows.flatMap((row) =>
      [row.optionalText("path") ?? [], row.optionalText("of") ?? []].flat(),
    );
    const message = `${apiVersionOf(resource)}.${resource.kind}`;
    expect(paths.filter((path) => typeAt(message, path) === undefined)).toEqual([]);
  },
);
