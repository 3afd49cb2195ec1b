/**
 * Copies a whole simulated world, so that a trace or a check can run on the copy and change nothing.
 *
 * The world is data: objects with prototypes, arrays, maps, sets and typed arrays, joined in any shape.
 * `fork` keeps the shape (an object met twice is copied once) and the prototypes. Frozen objects are shared,
 * because nothing can change them: compiled rule groups, parsed manifests. State must hold no closures and
 * no `#private` fields, which no copy can reach; a closure met on the way is a bug and says where it is.
 */
import { AssertionError } from "./assert.ts";

type Copies = Map<object, object>;
type Work = { readonly from: object; readonly to: object; readonly path: string };

function copyTypedArray(source: ArrayBufferView, copies: Copies): object {
  const known = copies.get(source.buffer);
  const buffer = (known ?? source.buffer.slice(0)) as ArrayBuffer;
  copies.set(source.buffer, buffer);
  const make = source.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => object;
  const length = "length" in source ? (source.length as number) : source.byteLength;
  return new make(buffer, source.byteOffset, length);
}

/** Makes the empty copy of `source`; its contents follow in `fill`. */
function shell(source: object, copies: Copies): object {
  if (Array.isArray(source)) return [];
  if (source instanceof Map) return new Map();
  if (source instanceof Set) return new Set();
  if (ArrayBuffer.isView(source)) return copyTypedArray(source, copies);
  if (source instanceof ArrayBuffer) return source.slice(0);
  return Object.create(Object.getPrototypeOf(source) as object | null) as object;
}

function copyValue(value: unknown, path: string, copies: Copies, work: Work[]): unknown {
  if (typeof value === "function") throw new AssertionError(`a forked state holds a closure at ${path}`);
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const copy = shell(value, copies);
  copies.set(value, copy);
  if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer))
    work.push({ from: value, to: copy, path });
  return copy;
}

function fill({ from, to, path }: Work, copies: Copies, work: Work[]): void {
  if (from instanceof Map) {
    const target = to as Map<unknown, unknown>;
    for (const [key, value] of from) {
      target.set(
        copyValue(key, `${path}(key)`, copies, work),
        copyValue(value, `${path}(value)`, copies, work),
      );
    }
    return;
  }
  if (from instanceof Set) {
    const target = to as Set<unknown>;
    for (const value of from) target.add(copyValue(value, `${path}(member)`, copies, work));
    return;
  }
  const source = from as Record<string, unknown>;
  const target = to as Record<string, unknown>;
  for (const key of Object.keys(from)) target[key] = copyValue(source[key], `${path}.${key}`, copies, work);
}

/**
 * Returns an independent copy of everything reachable from `root`.
 * `replace` maps objects of the old world to those that take their place in the new one (a clock, a recorder).
 * @throws AssertionError when the state holds a closure.
 */
export function fork<T extends object>(root: T, replace: ReadonlyMap<object, object> = new Map()): T {
  const copies: Copies = new Map(replace);
  const work: Work[] = [];
  const copy = copyValue(root, "world", copies, work) as T;
  for (let item = work.pop(); item !== undefined; item = work.pop()) fill(item, copies, work);
  return copy;
}
