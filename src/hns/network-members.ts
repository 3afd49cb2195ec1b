/** What belongs to one network, by order of creation. Plain data, part of the service's state. */
import { assert } from "../base/assert.ts";
import type { Guid } from "../hcn/client.ts";
import { type EndpointRecord, isRemoteEndpoint } from "./endpoint-record.ts";
import type { LoadBalancerRecord } from "./load-balancer-record.ts";

export class NetworkMembers {
  /** All endpoints, remote ones too. */
  readonly endpoints: Map<Guid, EndpointRecord> = new Map();
  /** Without remote ones, of which a big cluster has many. */
  readonly local: Map<Guid, EndpointRecord> = new Map();
  /** Replaced on each change, so that who compiled it can tell by identity that nothing changed. */
  loadBalancers: readonly LoadBalancerRecord[] = Object.freeze([]);

  /** Enters an endpoint, or its new record in the place of the old. */
  setEndpoint(endpoint: EndpointRecord): void {
    this.endpoints.set(endpoint.id, endpoint);
    if (!isRemoteEndpoint(endpoint)) this.local.set(endpoint.id, endpoint);
  }

  removeEndpoint(id: Guid): void {
    this.endpoints.delete(id);
    this.local.delete(id);
  }

  addLoadBalancer(loadBalancer: LoadBalancerRecord): void {
    this.loadBalancers = Object.freeze([...this.loadBalancers, loadBalancer]);
  }

  replaceLoadBalancer(loadBalancer: LoadBalancerRecord): void {
    const index = this.loadBalancers.findIndex((each) => each.id === loadBalancer.id);
    assert(index >= 0, "a load balancer keeps its network");
    this.loadBalancers = Object.freeze(this.loadBalancers.with(index, loadBalancer));
  }

  removeLoadBalancer(id: Guid): void {
    this.loadBalancers = Object.freeze(this.loadBalancers.filter((each) => each.id !== id));
  }
}
