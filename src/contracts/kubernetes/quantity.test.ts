// Kubernetes documentation: API concepts, "Quantity"; apimachinery's quantity_test.go has the same forms.
import { expect, it } from "vitest";
import { parseQuantity } from "./quantity.ts";

it.each([
  ["0", 0],
  ["2", 2],
  [1.5, 1.5],
  ["500m", 0.5],
  ["250u", 0.000_25],
  ["100n", 1e-7],
  ["1k", 1_000],
  ["1Ki", 1_024],
  ["1.5Gi", 1.5 * 2 ** 30],
  ["1e3", 1_000],
  ["1E3", 1_000],
  ["1E", 1e18],
  ["2E-1", 0.2],
  [".5", 0.5],
  ["1.", 1],
  ["-1Mi", -(2 ** 20)],
  ["+3", 3],
  [" 4 ", 4],
])("%j is %d", (text, amount) => expect(parseQuantity(text)).toBeCloseTo(amount, 9));

it.each(["", "m", "1 Gi", "1K", "1KI", "1mi", "1e3Ki", "1e3k", "0x10", "1gigabyte", "--1", true, null, {}])(
  "%j is none",
  (text) => expect(parseQuantity(text)).toBeUndefined(),
);
