/** `CNI_ARGS`: `K=V;K2=V2`, read as the Go plugins read it (cni.md §1.3). */
import { CNI_CODES, CniError } from "./error.ts";

/** Names that every reader of `CNI_ARGS` knows. */
const COMMON_ARGUMENTS: readonly string[] = ["IgnoreUnknown"];

function parseIgnoreUnknown(pair: string, value: string): boolean {
  const folded = value.toLowerCase();
  if (folded === "1" || folded === "true") return true;
  if (folded === "0" || folded === "false") return false;
  throw new CniError(
    CNI_CODES.internal,
    `ARGS: error parsing value of pair ${JSON.stringify(pair)}: boolean unmarshal error: invalid input ${folded}`,
  );
}

/**
 * Parses `CNI_ARGS`. Only the names in `known` are returned, spelled exactly so; names match with case.
 * The empty text means no arguments.
 * @throws CniError (999) for a pair without exactly one `=`, and for unknown names unless `IgnoreUnknown` is
 *   `1` or `true`.
 */
export function parseCniArguments(text: string, known: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (text === "") return values;
  const unknown: string[] = [];
  let isIgnoringUnknown = false;
  for (const pair of text.split(";")) {
    const [name, value, ...more] = pair.split("=");
    if (name === undefined || value === undefined || more.length > 0) {
      throw new CniError(CNI_CODES.internal, `ARGS: invalid pair ${JSON.stringify(pair)}`);
    }
    if (known.includes(name)) values.set(name, value);
    else if (COMMON_ARGUMENTS.includes(name)) isIgnoringUnknown = parseIgnoreUnknown(pair, value);
    else unknown.push(pair);
  }
  if (unknown.length > 0 && !isIgnoringUnknown) {
    const list = unknown.map((pair) => JSON.stringify(pair)).join(" ");
    throw new CniError(CNI_CODES.internal, `ARGS: unknown args [${list}]`);
  }
  return values;
}

/** Joins pairs as runtimes do. */
export function formatCniArguments(pairs: readonly (readonly [name: string, value: string])[]): string {
  return pairs.map(([name, value]) => `${name}=${value}`).join(";");
}
