/**
 * How much a world holds, by path: each collection on the way with its size, where keys of maps and indexes of arrays count
 * as one path. Walked as `fork` walks it, and also through what is frozen, so that state that is added later is counted
 * without a word here. Two censuses of a world that did the same work twice show what only grows.
 */

/** Entries by path, such as `.cluster.nodes[].switch.flows{}`. */
export type HeapCensus = ReadonlyMap<string, number>;

/** Deep documents repeat their structure; what grows does so far above. */
const DEPTH_MAX = 40;

/** A path, with the paths that go on from it: a world of a million objects has some hundred of them. */
class Place {
  readonly path: string;
  readonly depth: number;
  size: number | undefined;
  private readonly steps = new Map<string, Place>();

  constructor(path: string, depth: number) {
    this.path = path;
    this.depth = depth;
  }

  to(step: string): Place {
    const known = this.steps.get(step);
    if (known !== undefined) return known;
    const place = new Place(this.path + step, this.depth + 1);
    this.steps.set(step, place);
    return place;
  }
}

function sizeOf(value: object): number | undefined {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map || value instanceof Set) return value.size;
  return undefined;
}

/** Calls `visit` with each child and its place. */
function visitChildren(value: object, place: Place, visit: (child: unknown, place: Place) => void): void {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return;
  if (Array.isArray(value)) {
    const each = place.to("[]");
    for (const child of value) visit(child, each);
  } else if (value instanceof Map) {
    const [keys, values] = [place.to("{key}"), place.to("{}")];
    for (const [key, child] of value) {
      visit(key, keys);
      visit(child, values);
    }
  } else if (value instanceof Set) {
    const each = place.to("{}");
    for (const child of value) visit(child, each);
  } else {
    for (const name of Object.keys(value)) {
      const child = (value as Record<string, unknown>)[name];
      if (typeof child === "object" && child !== null) visit(child, place.to(`.${name}`));
    }
  }
}

/** Counts everything that can be reached from `root`; an object that is met twice counts once, where it is met first. */
export function takeCensus(root: object): HeapCensus {
  const counted: Place[] = [];
  const seen = new Set<object>([root]);
  const values: object[] = [root];
  const places: Place[] = [new Place("", 0)];
  const visit = (child: unknown, place: Place): void => {
    if (typeof child !== "object" || child === null || seen.has(child)) return;
    seen.add(child);
    values.push(child);
    places.push(place);
  };
  for (const [next, value] of values.entries()) {
    const place = places[next];
    if (place === undefined) continue;
    const size = sizeOf(value);
    if (size !== undefined) {
      if (place.size === undefined) counted.push(place);
      place.size = (place.size ?? 0) + size;
    }
    if (place.depth < DEPTH_MAX) visitChildren(value, place, visit);
  }
  const census = new Map<string, number>();
  for (const { path, size = 0 } of counted) census.set(path, (census.get(path) ?? 0) + size);
  return census;
}

/** Paths that hold more in `after` than in `before`: `path: 3 → 9`. */
export function grown(before: HeapCensus, after: HeapCensus): readonly string[] {
  return [...after].flatMap(([path, size]) => {
    const former = before.get(path) ?? 0;
    return size > former ? [`${path}: ${former} → ${size}`] : [];
  });
}
