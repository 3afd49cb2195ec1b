/** An SDN route object as the service keeps it: checked values, frozen, replaced as a whole on each change (hcn.md §2.8). */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/endpoint-policy.ts";
import type { RecordBase } from "./network/network-record.ts";

export interface SdnRouteRecord extends RecordBase {
  /** That of its endpoints. */
  readonly networkId: Guid;
  /** In the order of the request. Inferred: one that was deleted stays named, as in load balancers (hcn.md §11.9). */
  readonly endpointIds: readonly Guid[];
  readonly routes: readonly SdnRoutePolicySetting[];
}

// The node's SDN routes, and which of them each endpoint has. Plain data, part of the service's state.

export class SdnRouteTable {
  /** In order of creation. */
  private readonly routes = new Map<Guid, SdnRouteRecord>();
  /** Lists are replaced as a whole, so that whoever compares them sees a change. */
  private readonly ofEndpoints = new Map<Guid, readonly SdnRouteRecord[]>();

  get(id: Guid): SdnRouteRecord | undefined {
    return this.routes.get(id);
  }

  has(id: Guid): boolean {
    return this.routes.has(id);
  }

  keys(): Iterable<Guid> {
    return this.routes.keys();
  }

  values(): Iterable<SdnRouteRecord> {
    return this.routes.values();
  }

  /** Enters a route, or its new record in the place of the old. */
  set(route: SdnRouteRecord): void {
    const before = this.routes.get(route.id);
    if (before !== undefined) this.unlink(before);
    this.routes.set(route.id, route);
    for (const endpointId of new Set(route.endpointIds))
      this.ofEndpoints.set(endpointId, Object.freeze([...(this.ofEndpoint(endpointId) ?? []), route]));
  }

  remove(route: SdnRouteRecord): void {
    this.routes.delete(route.id);
    this.unlink(route);
  }

  /** The routes that name an endpoint, in the order in which they came; undefined: none. */
  ofEndpoint(endpointId: Guid): readonly SdnRouteRecord[] | undefined {
    return this.ofEndpoints.get(endpointId);
  }

  private unlink({ id, endpointIds }: SdnRouteRecord): void {
    for (const endpointId of endpointIds) {
      const left = this.ofEndpoint(endpointId)?.filter((other) => other.id !== id) ?? [];
      if (left.length === 0) this.ofEndpoints.delete(endpointId);
      else this.ofEndpoints.set(endpointId, Object.freeze(left));
    }
  }
}
