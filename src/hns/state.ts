/**
 * All objects of one node's service, and what has to be found fast. Plain data: a fork copies it, and the records in
 * it are frozen, so forks share them.
 */
import type { Guid } from "../hcn/client.ts";
import { AddressPool } from "./address-pool.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { MacPool } from "./mac-pool.ts";
import type { NamespaceRecord } from "./namespace-record.ts";
import type { NetworkRecord } from "./network-record.ts";
import { PortMappingTable } from "./port-mapping-table.ts";

export class ServiceState {
  /** In order of creation. */
  readonly networks: Map<Guid, NetworkRecord> = new Map();
  readonly endpoints: Map<Guid, EndpointRecord> = new Map();
  readonly namespaces: Map<Guid, NamespaceRecord> = new Map();
  /** MAC addresses are unique on the node, because networks share switches. */
  readonly macs: MacPool = new MacPool();
  readonly portMappings: PortMappingTable = new PortMappingTable();
  private readonly pools = new Map<Guid, AddressPool>();
  private readonly members = new Map<Guid, Set<Guid>>();

  addNetwork(network: NetworkRecord, pool: AddressPool): void {
    this.networks.set(network.id, network);
    this.pools.set(network.id, pool);
    this.members.set(network.id, new Set());
  }

  /** Its endpoints have to be gone before. */
  removeNetwork(id: Guid): void {
    this.networks.delete(id);
    this.pools.delete(id);
    this.members.delete(id);
  }

  poolOf(networkId: Guid): AddressPool {
    return this.pools.get(networkId) ?? new AddressPool([]);
  }

  /** Endpoints of a network in order of creation. */
  endpointsOf(networkId: Guid): readonly EndpointRecord[] {
    const found: EndpointRecord[] = [];
    for (const id of this.members.get(networkId) ?? []) {
      const endpoint = this.endpoints.get(id);
      if (endpoint !== undefined) found.push(endpoint);
    }
    return found;
  }

  /** Endpoints of a network whose vNIC is on the switch. */
  attachedOf(networkId: Guid): readonly EndpointRecord[] {
    return this.endpointsOf(networkId).filter((endpoint) => endpoint.attachment?.portId !== undefined);
  }

  /** Enters a new endpoint with its address, MAC and mapped ports. */
  addEndpoint(endpoint: EndpointRecord): void {
    this.endpoints.set(endpoint.id, endpoint);
    this.members.get(endpoint.networkId)?.add(endpoint.id);
    for (const config of endpoint.ipConfigs) this.poolOf(endpoint.networkId).take(config.ip, endpoint.id);
    this.macs.take(endpoint.mac, endpoint.id);
    this.addMappings(endpoint);
  }

  /** Replaces the record of an endpoint; address and MAC do not change. */
  replaceEndpoint(endpoint: EndpointRecord): void {
    const before = this.endpoints.get(endpoint.id);
    this.endpoints.set(endpoint.id, endpoint);
    if (before === undefined || before.policies === endpoint.policies) return;
    this.removeMappings(before);
    this.addMappings(endpoint);
  }

  removeEndpoint(endpoint: EndpointRecord): void {
    this.endpoints.delete(endpoint.id);
    this.members.get(endpoint.networkId)?.delete(endpoint.id);
    for (const config of endpoint.ipConfigs) this.poolOf(endpoint.networkId).release(config.ip);
    this.macs.release(endpoint.mac);
    this.removeMappings(endpoint);
  }

  private addMappings(endpoint: EndpointRecord): void {
    for (const policy of endpoint.policies)
      if (policy.Type === "PortMapping") this.portMappings.add(policy.Settings, endpoint.id);
  }

  private removeMappings(endpoint: EndpointRecord): void {
    for (const policy of endpoint.policies)
      if (policy.Type === "PortMapping") this.portMappings.remove(policy.Settings, endpoint.id);
  }
}
