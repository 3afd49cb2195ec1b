/** The endpoints that HNS has on the network, as read once in each sync (kube-proxy.md §3.3, step 6). */
import type { Guid } from "../hcn/client.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../hcn/endpoint.ts";
import type { Behaviour, EqualAddressRule } from "./behaviour.ts";

/** An endpoint of HNS as kube-proxy sees it. */
export interface HnsEndpoint {
  readonly id: Guid;
  readonly isLocal: boolean;
}

export class QueriedEndpoints {
  /** Remote endpoints in whose place a local one is used. */
  readonly duplicates: HnsEndpoint[] = [];
  private readonly byId: Map<Guid, HnsEndpoint> = new Map();
  private readonly byIp: Map<string, HnsEndpoint> = new Map();
  private readonly rule: EqualAddressRule;

  constructor(rule: EqualAddressRule) {
    this.rule = rule;
  }

  static read(documents: readonly HostComputeEndpoint[], behaviour: Behaviour): QueriedEndpoints {
    const endpoints = new QueriedEndpoints(behaviour.equalAddress);
    for (const { ID, Flags, IpConfigurations } of documents) {
      const addresses = (IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []);
      if (ID === undefined || addresses.length === 0) continue;
      const isLocal = ((Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) === 0;
      endpoints.add({ id: ID, isLocal }, addresses.slice(0, behaviour.knowsSecondAddress ? 2 : 1));
    }
    return endpoints;
  }

  /** By identifier, else by address. */
  find(id: Guid | undefined, ip: string): HnsEndpoint | undefined {
    return (id === undefined ? undefined : this.byId.get(id)) ?? this.byIp.get(ip);
  }

  add(endpoint: HnsEndpoint, addresses: readonly string[]): void {
    this.byId.set(endpoint.id, endpoint);
    for (const ip of addresses) this.byIp.set(ip, this.preferred(this.byIp.get(ip), endpoint));
  }

  private preferred(known: HnsEndpoint | undefined, endpoint: HnsEndpoint): HnsEndpoint {
    if (known === undefined || known.isLocal === endpoint.isLocal || this.rule === "last") return endpoint;
    const [local, remote] = known.isLocal ? [known, endpoint] : [endpoint, known];
    if (this.rule === "remote") return remote;
    this.duplicates.push(remote);
    return local;
  }
}
