/** Helm templates: what stands in double braces before Helm has rendered it. */

const EXPRESSION =
  /\{\{-?\s*(?:\.|\$|\/\*|(?:if|else|end|with|range|define|template|include|block|toYaml|printf|default|required|tpl|lookup)\b)/;

/** The offset of the first template expression of a text; undefined without one. */
export function findTemplate(text: string): number | undefined {
  const at = text.search(EXPRESSION);
  return at < 0 ? undefined : at;
}

export function holdsTemplate(text: string): boolean {
  return EXPRESSION.test(text);
}

/** What only charts of Helm have: other programs fill Go's templates, too. */
export function isOfHelm(text: string): boolean {
  return /\{\{[^{}\n]*(?:\.(?:Values|Release|Chart|Capabilities|Files)\b|\binclude\b)/.test(text);
}
