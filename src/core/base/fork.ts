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

/**
 * An object with the properties of `source`. Node keeps an object fast whose properties it gets at once; of one that gets
 * them one by one, under names that are not in the code, it makes a table when they are many, as each access is then.
 */
function shapedLike(source: object, prototype: object | null): object {
  const copy = { ...source };
  return prototype === Object.prototype ? copy : (Object.setPrototypeOf(copy, prototype) as object);
}

/** What no copy can reach; undefined: nothing of it. */
function obstacleIn(value: unknown): "a closure" | "something opaque" | undefined {
  if (typeof value === "function") return "a closure";
  const isOpaque =
    typeof value === "object" && value !== null && OPAQUE.has(Object.getPrototypeOf(value) as object | null);
  return isOpaque ? "something opaque" : undefined;
}

/** A value that no copy can reach, before it is known where it is. */
class Unreachable extends Error {}

/** True for what copies share with the original. */
function isShared(value: object): boolean {
  return Object.isFrozen(value) || value instanceof Error;
}

/** One copy under way: copies of what was met, and objects whose contents are still to come. */
class Forking {
  private readonly copies: Copies;
  /** Originals, each followed by its copy. */
  private readonly work: object[] = [];

  constructor(replace: ReadonlyMap<object, object>) {
    this.copies = new Map(replace);
  }

  run(root: object): object {
    const { work } = this;
    const copy = this.copyOf(root) as object;
    for (let to = work.pop(); to !== undefined; to = work.pop()) {
      const from = work.pop();
      if (from !== undefined) this.fill(from, to);
    }
    return copy;
  }

  private copyOf(value: unknown): unknown {
    if (typeof value !== "object" || value === null) {
      if (typeof value === "function") throw new Unreachable();
      return value;
    }
    const known = this.copies.get(value);
    if (known !== undefined) return known;
    if (isShared(value)) return value;
    const copy = this.shellOf(value);
    this.copies.set(value, copy);
    if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) this.work.push(value, copy);
    return copy;
  }

  /** Makes the copy of `source` that nothing in it is a copy of yet; that follows in `fill`. */
  private shellOf(source: object): object {
    const prototype = Object.getPrototypeOf(source) as object | null;
    if (OPAQUE.has(prototype)) throw new Unreachable();
    const copy = builtIn(source, this.copies);
    if (copy === undefined) return shapedLike(source, prototype);
    if (Object.getPrototypeOf(copy) !== prototype) Object.setPrototypeOf(copy, prototype);
    return copy;
  }

  private fill(from: object, to: object): void {
    if (from instanceof Map) {
      const target = to as Map<unknown, unknown>;
      for (const [key, value] of from) target.set(this.copyOf(key), this.copyOf(value));
    } else if (from instanceof Set) {
      const target = to as Set<unknown>;
      for (const value of from) target.add(this.copyOf(value));
    }
    const source = from as Record<string, unknown>;
    const target = to as Record<string, unknown>;
    // The copy of an object has all that the original has (`shapedLike`), and most of it stays: a store costs more than a look.
    const isEmpty = Array.isArray(from) || from instanceof Map || from instanceof Set;
    for (const key of Object.keys(from)) {
      const given = source[key];
      const value = this.copyOf(given);
      if (value === given && !isEmpty) continue;
      if (key === "__proto__") {
        // Documents from outside may have a property of this name; assigning it would set the prototype.
        Object.defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true });
      } else {
        target[key] = value;
      }
    }
    if (Array.isArray(from)) (to as unknown[]).length = from.length;
  }
}

/** What an object holds, each with the way to it. */
function* contentsOf(from: object, path: string): Generator<readonly [value: unknown, path: string]> {
  if (from instanceof Map)
    for (const [key, value] of from) {
      yield [key, `${path}(key)`];
      yield [value, `${path}(value)`];
    }
  else if (from instanceof Set) for (const value of from) yield [value, `${path}(member)`];
  if (ArrayBuffer.isView(from)) return;
  for (const key of Object.keys(from)) yield [(from as Record<string, unknown>)[key], `${path}.${key}`];
}

/** Says what keeps a world from being copied, and where. Asked when a copy has failed: most never keep their ways. */
function describeObstacle(root: object, replace: ReadonlyMap<object, object>): string {
  const seen = new Set<unknown>(replace.keys());
  const work: (readonly [object, string])[] = [[root, "world"]];
  for (let item = work.pop(); item !== undefined; item = work.pop())
    for (const [value, path] of contentsOf(...item)) {
      if (seen.has(value)) continue;
      const obstacle = obstacleIn(value);
      if (obstacle !== undefined) return `a forked state holds ${obstacle} at ${path}`;
      if (typeof value !== "object" || value === null || isShared(value)) continue;
      seen.add(value);
      work.push([value, path]);
    }
  return "a forked state is something opaque";
}

/**
 * Returns an independent copy of everything reachable from `root`.
 * `replace` maps objects of the old world to those that take their place in the new one (a clock, a recorder).
 * @throws AssertionError when the state holds a closure or something opaque.
 */
export function fork<T extends object>(root: T, replace: ReadonlyMap<object, object> = new Map()): T {
  try {
    return new Forking(replace).run(root) as T;
  } catch (error) {
    if (error instanceof Unreachable) throw new AssertionError(describeObstacle(root, replace));
    throw error;
  }
}
