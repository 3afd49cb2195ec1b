/** Which load balancers name an endpoint as a back end, whether it still exists or not. Plain data. */
import { SharedMap } from "../base/shared-map.ts";
import type { Guid } from "../hcn/client.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";

type References = Pick<LoadBalancerRecord, "id" | "endpointIds">;

/** Pieces of a list, so that a change copies and freezes one piece of it, however long it is. */
type Pieces = readonly (readonly Guid[])[];

const PIECE_MAX = 64;
const NONE: readonly Guid[] = Object.freeze([]);
const NO_PIECES: Pieces = Object.freeze([]);

function withAdded(pieces: Pieces, id: Guid): Pieces {
  const last = pieces.at(-1);
  const copy = [...pieces];
  if (last === undefined || last.length >= PIECE_MAX) copy.push(Object.freeze([id]));
  else copy[copy.length - 1] = Object.freeze([...last, id]);
  return Object.freeze(copy);
}

function withoutRemoved(pieces: Pieces, id: Guid): Pieces {
  const index = pieces.findIndex((piece) => piece.includes(id));
  if (index < 0) return pieces;
  const left = (pieces[index] ?? NONE).filter((other) => other !== id);
  const copy = [...pieces];
  if (left.length === 0) copy.splice(index, 1);
  else copy[index] = Object.freeze(left);
  return Object.freeze(copy);
}

export class BackEndReferences {
  /** Most endpoints are named once, and a big cluster has many: only several get a list, in order. */
  private readonly referring = new SharedMap<Guid, Guid | Pieces>();

  add({ id, endpointIds }: References): void {
    for (const endpointId of new Set(endpointIds)) this.link(endpointId, id);
  }

  remove({ id, endpointIds }: References): void {
    for (const endpointId of new Set(endpointIds)) this.unlink(endpointId, id);
  }

  /** A load balancer names others: what it named before and still does is left alone. */
  replace(before: References, after: References): void {
    const [old, young] = [new Set(before.endpointIds), new Set(after.endpointIds)];
    for (const endpointId of old) if (!young.has(endpointId)) this.unlink(endpointId, before.id);
    for (const endpointId of young) if (!old.has(endpointId)) this.link(endpointId, after.id);
  }

  /** Makes forks cheap. */
  settle(): void {
    this.referring.settle();
  }

  /** Identifiers of the load balancers, in the order in which they came. */
  to(endpointId: Guid): readonly Guid[] {
    const known = this.referring.get(endpointId);
    if (known === undefined) return NONE;
    return typeof known === "string" ? [known] : known.flat();
  }

  private piecesOf(endpointId: Guid): Pieces {
    const known = this.referring.get(endpointId);
    if (known === undefined) return NO_PIECES;
    return typeof known === "string" ? [[known]] : known;
  }

  private link(endpointId: Guid, id: Guid): void {
    const known = this.referring.get(endpointId);
    this.referring.set(endpointId, known === undefined ? id : withAdded(this.piecesOf(endpointId), id));
  }

  private unlink(endpointId: Guid, id: Guid): void {
    const left = withoutRemoved(this.piecesOf(endpointId), id);
    const [first] = left;
    if (first === undefined) this.referring.delete(endpointId);
    else if (left.length === 1 && first.length === 1) this.referring.set(endpointId, first[0] ?? "");
    else this.referring.set(endpointId, left);
  }
}
