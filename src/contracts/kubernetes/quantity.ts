/** Amounts of resources as Kubernetes writes them: `500m`, `1Gi`, `1e3` (Kubernetes documentation: API concepts, "Quantity"). */
import { mappingOf } from "#core/base/json.ts";

/** A number, and an exponent or a suffix, not both. */
const QUANTITY = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/;

const MULTIPLES: Readonly<Record<string, number>> = Object.freeze({
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
});

/** The amount; undefined for what is no quantity. */
export function parseQuantity(quantity: unknown): number | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  const [, digits, exponent = "", suffix = ""] = QUANTITY.exec(String(quantity).trim()) ?? [];
  return digits === undefined ? undefined : Number(`${digits}${exponent}`) * (MULTIPLES[suffix] ?? 1);
}

/** Amounts by resource; what is no quantity is left out, and what is no list of resources has none. */
export function amountsOf(list: unknown): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(mappingOf(list)).flatMap(([name, quantity]) => {
      const amount = parseQuantity(quantity);
      return amount === undefined ? [] : [[name, amount] as const];
    }),
  );
}
