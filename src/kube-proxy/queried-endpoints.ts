/** The endpoints that HNS has on the network, as read once in each sync (kube-proxy.md §3.3, step 6). */
import type { Guid } from "../hcn/client.ts";
import { type IpFamily, familyOf, parseIp } from "../net/ip.ts";
import type { Behaviour, EqualAddressRule } from "./behaviour.ts";
import type { EndpointRecord } from "./hns-records.ts";

/** An endpoint of HNS as kube-proxy sees it. */
export interface HnsEndpoint {
  readonly id: Guid;
  readonly isLocal: boolean;
}

export class QueriedEndpoints {
  /**
   * Remote endpoints in whose place a local one is used. Inferred: each family looks at its own addresses alone; counts
   * are kept by family, and the other one's would always be zero.
   */
  readonly duplicates: HnsEndpoint[] = [];
  private readonly byId: Map<Guid, HnsEndpoint> = new Map();
  private readonly byIp: Map<string, HnsEndpoint> = new Map();
  private readonly rule: EqualAddressRule;
  private readonly family: IpFamily;

  constructor(rule: EqualAddressRule, family: IpFamily) {
    this.rule = rule;
    this.family = family;
  }

  static of(
    records: ReadonlyMap<Guid, EndpointRecord>,
    behaviour: Behaviour,
    family: IpFamily,
  ): QueriedEndpoints {
    const endpoints = new QueriedEndpoints(behaviour.equalAddress, family);
    for (const [id, { isLocal, addresses }] of records) {
      if (addresses.length > 0)
        endpoints.add({ id, isLocal }, addresses.slice(0, behaviour.knowsSecondAddress ? 2 : 1));
    }
    return endpoints;
  }

  /** By identifier, else by address. */
  find(id: Guid | undefined, ip: string): HnsEndpoint | undefined {
    return (id === undefined ? undefined : this.byId.get(id)) ?? this.byIp.get(ip);
  }

  add(endpoint: HnsEndpoint, addresses: readonly string[]): void {
    this.byId.set(endpoint.id, endpoint);
    for (const ip of addresses) this.byIp.set(ip, this.preferred(ip, this.byIp.get(ip), endpoint));
  }

  private preferred(text: string, known: HnsEndpoint | undefined, endpoint: HnsEndpoint): HnsEndpoint {
    if (known === undefined || known.isLocal === endpoint.isLocal || this.rule === "last") return endpoint;
    const [local, remote] = known.isLocal ? [known, endpoint] : [endpoint, known];
    if (this.rule === "remote") return remote;
    const ip = parseIp(text);
    if (ip !== undefined && familyOf(ip) === this.family) this.duplicates.push(remote);
    return local;
  }
}
