/** Where a field stands inside its object. */

/** A way to a field: names and list positions, innermost last. */
export interface FieldPath {
  readonly parent: FieldPath | undefined;
  /** A field's name, or a position in a list. */
  readonly step: string | number;
}

/** The path one step below `parent`; undefined stands for the object itself. */
export function below(parent: FieldPath | undefined, ...steps: readonly (string | number)[]): FieldPath {
  let path = parent;
  for (const step of steps) path = { parent: path, step };
  return path as FieldPath;
}

/** From the outermost step to the innermost. */
export function stepsOf(path: FieldPath | undefined): (string | number)[] {
  const steps: (string | number)[] = [];
  for (let at = path; at !== undefined; at = at.parent) steps.push(at.step);
  return steps.toReversed();
}

/** As the API server writes it: `spec.ports[0].nodePort`; keys with dots stand in brackets. */
export function formatPath(path: FieldPath | undefined): string {
  let text = "";
  for (const step of stepsOf(path)) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_$][\w-]*$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${step.length > 60 ? `${step.slice(0, 60)}…` : step}]`;
  }
  return text;
}
