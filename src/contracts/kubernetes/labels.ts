/** Labels and the selectors that ask for them (k8s.io/apimachinery, `pkg/labels`). */

/** The label by which an EndpointSlice names its Service. */
export const SERVICE_NAME_LABEL = "kubernetes.io/service-name";

export type Labels = Readonly<Record<string, string>>;

/** One requirement of a selector. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

export interface LabelSelector {
  readonly matchLabels?: Labels | null;
  readonly matchExpressions?: readonly LabelRequirement[] | null;
}

/** Gt and Lt compare whole numbers; what is none, or absent, is not matched. */
function compares(requirement: LabelRequirement, value: string | undefined): boolean {
  const [wanted = ""] = requirement.values ?? [];
  if (value === undefined || !/^-?\d+$/.test(value) || !/^-?\d+$/.test(wanted)) return false;
  return requirement.operator === "Gt" ? BigInt(value) > BigInt(wanted) : BigInt(value) < BigInt(wanted);
}

/** Whether a label's value (undefined when it is absent) answers a requirement. NotIn holds for what is absent. */
export function matchesRequirement(requirement: LabelRequirement, value: string | undefined): boolean {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt":
      return compares(requirement, value);
    default:
      return false;
  }
}

function valueOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Whether all pairs of `wanted` are among `labels`. An empty map asks for nothing and matches all. */
export function matchesLabels(wanted: Labels, labels: Labels): boolean {
  for (const key of Object.keys(wanted)) if (valueOf(labels, key) !== wanted[key]) return false;
  return true;
}

/** Whether `labels` answer a LabelSelector. An empty selector matches all. */
export function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  if (!matchesLabels(selector.matchLabels ?? {}, labels)) return false;
  const expressions = selector.matchExpressions ?? [];
  return expressions.every((item) => matchesRequirement(item, valueOf(labels, item.key)));
}
