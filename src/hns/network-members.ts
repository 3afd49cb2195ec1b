/** What belongs to one network, by order of creation. Plain data, part of the service's state. */
import type { Guid } from "../hcn/client.ts";
import { isMapped } from "./compile/overlay-plan.ts";
import { LoadBalancerTable } from "./compile/load-balancer-table.ts";
import { type EndpointRecord, isRemoteEndpoint } from "./endpoint-record.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";

export class NetworkMembers {
  /** Endpoints without remote ones, of which a big cluster has many. */
  readonly local: Map<Guid, EndpointRecord> = new Map();
  /** Those remote endpoints of an overlay network that have rules of their own. */
  readonly mapped: Map<Guid, EndpointRecord> = new Map();
  /** In order of creation. */
  readonly loadBalancers: Map<Guid, LoadBalancerRecord> = new Map();
  /** The rules that they come to. */
  readonly services: LoadBalancerTable = new LoadBalancerTable();
  /** Endpoints, remote ones among them. */
  endpointCount = 0;
  /** The most that there were at once, and all that there ever were, since the service started. */
  endpointCountMax = 0;
  endpointCountTotal = 0;
  /** Goes up with every change of a local or mapped endpoint, or of what belongs to one. */
  localRevision = 0;
  /** Goes up with every change of a mapped endpoint. */
  mappedRevision = 0;
  /** Load balancers whose rules are out of date: they changed, or a back end did. Undefined: gone. */
  private outdated = new Map<Guid, LoadBalancerRecord | undefined>();

  /** Puts the new record of an endpoint in the place of the old. */
  setEndpoint(endpoint: EndpointRecord): void {
    if (isRemoteEndpoint(endpoint)) {
      this.setRemote(endpoint);
      return;
    }
    this.local.set(endpoint.id, endpoint);
    this.localRevision++;
  }

  /** Enters a new endpoint. */
  addEndpoint(endpoint: EndpointRecord): void {
    this.endpointCount++;
    this.endpointCountTotal++;
    this.endpointCountMax = Math.max(this.endpointCountMax, this.endpointCount);
    this.setEndpoint(endpoint);
  }

  removeEndpoint({ id }: EndpointRecord): void {
    this.endpointCount--;
    if (this.local.delete(id)) this.localRevision++;
    else if (this.mapped.delete(id)) this.mappedChanged();
  }

  private setRemote(endpoint: EndpointRecord): void {
    if (isMapped(endpoint)) this.mapped.set(endpoint.id, endpoint);
    else if (!this.mapped.delete(endpoint.id)) return;
    this.mappedChanged();
  }

  private mappedChanged(): void {
    this.mappedRevision++;
    this.localRevision++;
  }

  /** Notes that something changed which belongs to local endpoints: their SDN routes. */
  touch(): void {
    this.localRevision++;
  }

  /** Enters a load balancer, or its new record in the place of the old. */
  setLoadBalancer(loadBalancer: LoadBalancerRecord): void {
    this.loadBalancers.set(loadBalancer.id, loadBalancer);
    this.outdated.set(loadBalancer.id, loadBalancer);
  }

  removeLoadBalancer(id: Guid): void {
    this.loadBalancers.delete(id);
    this.outdated.set(id, undefined);
  }

  /** Rules that nobody owns any more go. */
  dropLeftRules(): void {
    for (const id of this.services.left) this.outdated.set(id, undefined);
  }

  /** A back end of this load balancer changed. */
  markOutdated(loadBalancer: LoadBalancerRecord): void {
    this.outdated.set(loadBalancer.id, loadBalancer);
  }

  /** What to compile anew, once. */
  takeOutdated(): ReadonlyMap<Guid, LoadBalancerRecord | undefined> {
    const taken = this.outdated;
    this.outdated = new Map();
    return taken;
  }
}
