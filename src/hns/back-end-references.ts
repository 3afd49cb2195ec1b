/** Which load balancers name an endpoint as a back end, whether it still exists or not. Plain data. */
import { SharedMap } from "../base/shared-map.ts";
import type { Guid } from "../hcn/client.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";

type References = Pick<LoadBalancerRecord, "id" | "endpointIds">;

const NONE: readonly Guid[] = Object.freeze([]);

export class BackEndReferences {
  /** Most endpoints are named once, and a big cluster has many: only several get a list, in order. */
  private readonly referring = new SharedMap<Guid, Guid | readonly Guid[]>();

  add({ id, endpointIds }: References): void {
    for (const endpointId of endpointIds) {
      const known = this.to(endpointId);
      if (known.length === 0) this.referring.set(endpointId, id);
      else if (!known.includes(id)) this.referring.set(endpointId, Object.freeze([...known, id]));
    }
  }

  remove({ id, endpointIds }: References): void {
    for (const endpointId of endpointIds) {
      const left = this.to(endpointId).filter((other) => other !== id);
      const [only] = left;
      if (only === undefined) this.referring.delete(endpointId);
      else this.referring.set(endpointId, left.length === 1 ? only : Object.freeze(left));
    }
  }

  /** Makes forks cheap. */
  settle(): void {
    this.referring.settle();
  }

  /** Identifiers of the load balancers, in the order in which they came. */
  to(endpointId: Guid): readonly Guid[] {
    const known = this.referring.get(endpointId);
    if (known === undefined) return NONE;
    return typeof known === "string" ? [known] : known;
  }
}
