/**
 * How much a world holds, by path: each collection on the way with its size, where keys of maps and indexes of arrays count
 * as one path. Walked as `fork` walks it, and also through what is frozen, so that state that is added later is counted
 * without a word here. Two censuses of a world that did the same work twice show what only grows.
 */

/** Entries by path, such as `.cluster.nodes[].switch.flows{}`. */
export type HeapCensus = ReadonlyMap<string, number>;

/** Deep documents repeat their structure; what grows does so far above. */
const DEPTH_MAX = 40;

function childrenOf(value: object): readonly (readonly [step: string, child: unknown])[] {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return [];
  if (Array.isArray(value)) return Array.from(value, (child: unknown) => ["[]", child] as const);
  if (value instanceof Map)
    return [...value].flatMap(([key, child]) => [["{key}", key] as const, ["{}", child] as const]);
  if (value instanceof Set) return [...value].map((child: unknown) => ["{}", child] as const);
  return Object.entries(value).map(([name, child]) => [`.${name}`, child] as const);
}

function sizeOf(value: object): number | undefined {
  if (ArrayBuffer.isView(value)) return value.byteLength;
  if (Array.isArray(value)) return value.length;
  if (value instanceof Map || value instanceof Set) return value.size;
  return undefined;
}

/** Counts everything that can be reached from `root`; an object that is met twice counts once, where it is met first. */
export function takeCensus(root: object): HeapCensus {
  const census = new Map<string, number>();
  const seen = new Set<object>([root]);
  const queue: { readonly value: object; readonly path: string; readonly depth: number }[] = [
    { value: root, path: "", depth: 0 },
  ];
  for (let next = 0; next < queue.length; next++) {
    const item = queue[next];
    if (item === undefined) continue;
    const size = sizeOf(item.value);
    if (size !== undefined) census.set(item.path, (census.get(item.path) ?? 0) + size);
    if (item.depth === DEPTH_MAX) continue;
    for (const [step, child] of childrenOf(item.value)) {
      if (typeof child !== "object" || child === null || seen.has(child)) continue;
      seen.add(child);
      queue.push({ value: child, path: item.path + step, depth: item.depth + 1 });
    }
  }
  return census;
}

/** Paths that hold more in `after` than in `before`: `path: 3 → 9`. */
export function grown(before: HeapCensus, after: HeapCensus): readonly string[] {
  return [...after].flatMap(([path, size]) => {
    const former = before.get(path) ?? 0;
    return size > former ? [`${path}: ${former} → ${size}`] : [];
  });
}
