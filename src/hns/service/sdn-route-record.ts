/** An SDN route object as the service keeps it: checked values, frozen, replaced as a whole on each change (hcn.md §2.8). */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { SdnRoutePolicySetting } from "#contracts/hcn/documents/sdn-route.ts";
import type { RecordBase } from "./network/network-record.ts";

export interface SdnRouteRecord extends RecordBase {
  /** That of its endpoints. */
  readonly networkId: Guid;
  /** In the order of the request. Inferred: one that was deleted stays named, as in load balancers (hcn.md §11.9). */
  readonly endpointIds: readonly Guid[];
  readonly routes: readonly SdnRoutePolicySetting[];
}
