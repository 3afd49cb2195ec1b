/** Which load balancers name an endpoint as a back end, whether it still exists or not. Plain data. */
import { SharedMap } from "../base/shared-map.ts";
import type { Guid } from "../hcn/client.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";

type References = Pick<LoadBalancerRecord, "id" | "endpointIds">;

const NONE: readonly Guid[] = Object.freeze([]);

/** A list is made anew with each entry; endpoints that more load balancers name have a set. */
const LIST_MAX = 32;

export class BackEndReferences {
  /** Most endpoints are named once, and a big cluster has many: only several get a list, in order. */
  private readonly referring = new SharedMap<Guid, Guid | readonly Guid[]>();
  /** The few that many name. */
  private readonly crowded = new Map<Guid, Set<Guid>>();

  add({ id, endpointIds }: References): void {
    for (const endpointId of endpointIds) {
      const crowd = this.crowded.get(endpointId);
      if (crowd === undefined) this.addToList(endpointId, id);
      else crowd.add(id);
    }
  }

  remove({ id, endpointIds }: References): void {
    for (const endpointId of endpointIds) {
      const crowd = this.crowded.get(endpointId);
      if (crowd === undefined) this.removeFromList(endpointId, id);
      else if (crowd.delete(id) && crowd.size === 0) this.crowded.delete(endpointId);
    }
  }

  /** Makes forks cheap. */
  settle(): void {
    this.referring.settle();
  }

  /** Identifiers of the load balancers, in the order in which they came. */
  to(endpointId: Guid): readonly Guid[] {
    const crowd = this.crowded.get(endpointId);
    return crowd === undefined ? this.listOf(endpointId) : [...crowd];
  }

  private listOf(endpointId: Guid): readonly Guid[] {
    const known = this.referring.get(endpointId);
    if (known === undefined) return NONE;
    return typeof known === "string" ? [known] : known;
  }

  private addToList(endpointId: Guid, id: Guid): void {
    const known = this.listOf(endpointId);
    if (known.includes(id)) return;
    if (known.length >= LIST_MAX) {
      this.referring.delete(endpointId);
      this.crowded.set(endpointId, new Set([...known, id]));
      return;
    }
    this.referring.set(endpointId, known.length === 0 ? id : Object.freeze([...known, id]));
  }

  private removeFromList(endpointId: Guid, id: Guid): void {
    const left = this.listOf(endpointId).filter((other) => other !== id);
    const [only] = left;
    if (only === undefined) this.referring.delete(endpointId);
    else this.referring.set(endpointId, left.length === 1 ? only : Object.freeze(left));
  }
}
