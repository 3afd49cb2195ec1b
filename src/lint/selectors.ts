/** Label selectors on values whose shape nobody has checked. */
import { type Fields, fieldsAt, isFields, listAt, textAt } from "./fields.ts";

function meets(expression: unknown, labels: Fields): boolean {
  const key = textAt(expression, "key") ?? "";
  const value = labels[key];
  const values = listAt(expression, "values");
  switch (textAt(expression, "operator") ?? "") {
    case "In":
      return values.includes(value);
    case "NotIn":
      return !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

/** True when a LabelSelector selects these labels. An empty one selects everything, an absent one nothing. */
export function selects(selector: unknown, labels: Fields): boolean {
  if (!isFields(selector)) return false;
  const isEqual = Object.entries(fieldsAt(selector, "matchLabels")).every(
    ([key, value]) => labels[key] === value,
  );
  return isEqual && listAt(selector, "matchExpressions").every((expression) => meets(expression, labels));
}
