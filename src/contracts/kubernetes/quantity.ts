/** Amounts of resources as Kubernetes writes them: `500m`, `1Gi`, `1e3` (Kubernetes documentation: API concepts, "Quantity"). */

const QUANTITY = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/;
/** Powers of ten, or of two, have no suffix behind them. */
const BOTH = /[eE][+-]?\d+[numkKMGTPE]/;

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
  const text = String(quantity).trim();
  const [, digits, suffix] = QUANTITY.exec(text) ?? [];
  if (digits === undefined || BOTH.test(text)) return undefined;
  return Number(digits) * (suffix === undefined ? 1 : (MULTIPLES[suffix] ?? 1));
}
