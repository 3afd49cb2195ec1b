/** Why a row of the table of expectations does not apply, in words. */
import { expectations } from "#data/facts.js";
import { CheckedFields } from "#core/catalogue/checked-fields.ts";

const ROWS = CheckedFields.ofTable(expectations()).within("rows").rows();
const TEXTS: ReadonlyMap<string, string | undefined> = new Map(
  ROWS.map(([id, row]) => [id, row.optionalText("notApplicable")]),
);

/** Why the row `id` does not apply; undefined for rows that do. */
export function whyNotApplicable(id: string): string | undefined {
  return TEXTS.get(id);
}
