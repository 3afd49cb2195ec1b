/**
 * Copies a whole simulated world, so that a trace or a check can run on the copy and change nothing.
 *
 * The world is data: objects with prototypes, arrays, maps, sets and typed arrays, joined in any shape.
 * `fork` keeps the shape (an object met twice is copied once), the prototypes and the enumerable properties. Frozen
 * objects are shared with all they hold, because freezing one promises that nothing in it changes: compiled rule
 * groups, parsed manifests. Errors are shared, too. State must hold no closures and no `#private` fields, which no copy
 * can reach; a closure, date, promise or weak collection met on the way is a bug and says where it is.
 */
import { AssertionError } from "./assert.ts";

type Copies = Map<object, object>;
type Work = { readonly from: object; readonly to: object; readonly path: string };

/** Objects whose contents lie where no copy can reach them. */
const OPAQUE: ReadonlySet<object | null> = new Set<object | null>([
  Date.prototype,
  RegExp.prototype,
  Promise.prototype,
  WeakMap.prototype,
  WeakSet.prototype,
  WeakRef.prototype,
]);

function copyView(source: ArrayBufferView, copies: Copies): object {
  const known = copies.get(source.buffer);
  const buffer = (known ?? source.buffer.slice(0)) as ArrayBuffer;
  copies.set(source.buffer, buffer);
  // Platform buffers are byte arrays with another prototype, and a constructor that is not to be called.
  if (source instanceof Uint8Array) return new Uint8Array(buffer, source.byteOffset, source.length);
  const make = source.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => object;
  const length = "length" in source ? (source.length as number) : source.byteLength;
  return new make(buffer, source.byteOffset, length);
}

/** The empty copy of a built-in; undefined for plain objects and class instances. */
function builtIn(source: object, copies: Copies): object | undefined {
  if (Array.isArray(source)) return [];
  if (source instanceof Map) return new Map();
  if (source instanceof Set) return new Set();
  if (ArrayBuffer.isView(source)) return copyView(source, copies);
  if (source instanceof ArrayBuffer) return source.slice(0);
  return undefined;
}

/** Makes the empty copy of `source`; its contents follow in `fill`. */
function shell(source: object, path: string, copies: Copies): object {
  const prototype = Object.getPrototypeOf(source) as object | null;
  if (OPAQUE.has(prototype)) throw new AssertionError(`a forked state holds something opaque at ${path}`);
  const copy = builtIn(source, copies);
  if (copy === undefined) return Object.create(prototype) as object;
  if (Object.getPrototypeOf(copy) !== prototype) Object.setPrototypeOf(copy, prototype);
  return copy;
}

function copyValue(value: unknown, path: string, copies: Copies, work: Work[]): unknown {
  if (typeof value === "function") throw new AssertionError(`a forked state holds a closure at ${path}`);
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (Object.isFrozen(value) || value instanceof Error) return value;
  const copy = shell(value, path, copies);
  copies.set(value, copy);
  if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer))
    work.push({ from: value, to: copy, path });
  return copy;
}

/** Copies what a map or a set holds. */
function fillCollection({ from, to, path }: Work, copies: Copies, work: Work[]): void {
  if (from instanceof Map) {
    const target = to as Map<unknown, unknown>;
    for (const [key, value] of from) {
      target.set(
        copyValue(key, `${path}(key)`, copies, work),
        copyValue(value, `${path}(value)`, copies, work),
      );
    }
  } else if (from instanceof Set) {
    const target = to as Set<unknown>;
    for (const value of from) target.add(copyValue(value, `${path}(member)`, copies, work));
  }
}

function fill(item: Work, copies: Copies, work: Work[]): void {
  const { from, to, path } = item;
  fillCollection(item, copies, work);
  const source = from as Record<string, unknown>;
  const target = to as Record<string, unknown>;
  for (const key of Object.keys(from)) {
    const value = copyValue(source[key], `${path}.${key}`, copies, work);
    if (key === "__proto__") {
      // Documents from outside may have a property of this name; assigning it would set the prototype.
      Object.defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true });
    } else {
      target[key] = value;
    }
  }
  if (Array.isArray(from)) (to as unknown[]).length = from.length;
}

/**
 * Returns an independent copy of everything reachable from `root`.
 * `replace` maps objects of the old world to those that take their place in the new one (a clock, a recorder).
 * @throws AssertionError when the state holds a closure or something opaque.
 */
export function fork<T extends object>(root: T, replace: ReadonlyMap<object, object> = new Map()): T {
  const copies: Copies = new Map(replace);
  const work: Work[] = [];
  const copy = copyValue(root, "world", copies, work) as T;
  for (let item = work.pop(); item !== undefined; item = work.pop()) fill(item, copies, work);
  return copy;
}
