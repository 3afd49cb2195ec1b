/** Which back ends a front end had before its load balancer was deleted: for `front-end-keeps-back-ends`. */
import type { Guid } from "../../hcn/client.ts";
import { formatIp } from "../../net/ip.ts";
import type { LoadBalancerRecord } from "../load-balancer-record.ts";

/** What a front end is known by. */
type FrontEndFields = Pick<LoadBalancerRecord, "networkId" | "frontendVips" | "portMappings">;

const FRONT_ENDS_MAX = 4_096;

function keyOf({ networkId, frontendVips, portMappings }: FrontEndFields): string {
  const ports = portMappings.map(({ protocol, externalPort }) => `${protocol}/${externalPort}`);
  return [networkId, ...frontendVips.map(formatIp), ...ports].join(" ");
}

/** Plain data, part of the service's state. */
export class FormerBackEnds {
  /** The oldest first. */
  private readonly known = new Map<string, readonly Guid[]>();

  note(loadBalancer: LoadBalancerRecord): void {
    const key = keyOf(loadBalancer);
    this.known.delete(key);
    this.known.set(key, loadBalancer.endpointIds);
    if (this.known.size <= FRONT_ENDS_MAX) return;
    const oldest = this.known.keys().next();
    if (oldest.done !== true) this.known.delete(oldest.value);
  }

  of(fields: FrontEndFields): readonly Guid[] | undefined {
    return this.known.size === 0 ? undefined : this.known.get(keyOf(fields));
  }

  clear(): void {
    this.known.clear();
  }
}
