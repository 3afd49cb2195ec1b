/** Which objects of a large HNS are drawn: a picture of thousands says nothing. */

/** So many are drawn whole. */
export const DRAWN_MAX = 220;
/** Of more, so many are drawn at most: that picture is laid out anew with each choice, at about a quarter of a ms a box. */
const PART_MAX = 120;
/** What a text finds is listed so far. */
export const LISTED_MAX = 300;

/** What of an object decides whether it is drawn. */
export interface DrawnObject {
  readonly kind: "networks" | "endpoints" | "namespaces" | "loadbalancers";
  readonly id: string;
  readonly name: string;
  readonly detail: string;
  /** Ids of objects that it belongs to, or leads to. */
  readonly links: readonly string[];
}

/** Those that a text names, by name, address or id. */
export function findObjects<T extends DrawnObject>(objects: readonly T[], text: string): readonly T[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return objects;
  return objects.filter(
    ({ id, name, detail }) =>
      id.includes(wanted) || name.toLowerCase().includes(wanted) || detail.toLowerCase().includes(wanted),
  );
}

/** Own objects of the node before what it knows of other nodes. */
function rankOf({ kind, links }: DrawnObject): number {
  if (kind === "networks") return 0;
  // An endpoint of a pod has its network and a namespace; one of another node has its network alone.
  if (kind === "endpoints") return links.length > 1 ? 1 : 4;
  return kind === "namespaces" ? 2 : 3;
}

function byRank<T extends DrawnObject>(objects: readonly T[]): readonly T[] {
  return objects.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** Objects by what is asked of them, made once: HNS of a large cluster has tens of thousands. */
export interface ObjectIndex<T> {
  readonly byId: ReadonlyMap<string, T>;
  /** By the id of an object: those that lead to it. */
  readonly leading: ReadonlyMap<string, readonly T[]>;
  /** What is drawn when nothing is chosen. */
  readonly first: readonly T[];
}

export function indexObjects<T extends DrawnObject>(objects: readonly T[]): ObjectIndex<T> {
  const leading = new Map<string, T[]>();
  for (const object of objects)
    for (const link of object.links) {
      const list = leading.get(link);
      if (list === undefined) leading.set(link, [object]);
      else list.push(object);
    }
  // Everything, where that is a picture; else the node's own.
  const first = objects.length <= DRAWN_MAX ? objects : byRank(objects).slice(0, PART_MAX);
  return { byId: new Map(objects.map((object) => [object.id, object])), leading, first };
}

/** An object with all that it leads to and that leads to it, and what these belong to. */
function around<T extends DrawnObject>({ byId, leading }: ObjectIndex<T>, chosen: T): readonly T[] {
  const of = (ids: readonly string[]): readonly T[] => ids.flatMap((id) => byId.get(id) ?? []);
  const near = [...of(chosen.links), ...(leading.get(chosen.id) ?? [])];
  const further = near.slice(0, PART_MAX).flatMap(({ links }) => of(links));
  return [...new Set([chosen, ...byRank(near), ...further])].slice(0, PART_MAX);
}

/** What is drawn: everything, where that is a picture; else the surroundings of the chosen object, or the node's own. */
export function drawnOf<T extends DrawnObject>(index: ObjectIndex<T>, chosen: T | undefined): readonly T[] {
  const { byId, first } = index;
  if (chosen === undefined || byId.size <= DRAWN_MAX) return first;
  return around(index, chosen);
}
