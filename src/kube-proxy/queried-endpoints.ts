/** The endpoints that HNS has on the network, as read at the start of a sync (kube-proxy.md §3.3, step 6). */
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
  private readonly byIp: Map<string, HnsEndpoint> = new Map();
  /** All endpoints of addresses that several have, or whose endpoint has several. */
  private readonly contenders: Map<string, HnsEndpoint[]> = new Map();
  private readonly rule: EqualAddressRule;
  private isOutdated = false;

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

  /** True when a new reading would find the same, as long as HNS is the same. */
  get isExact(): boolean {
    return !this.isOutdated && this.duplicates.length === 0;
  }

  /** By identifier, else by address. An endpoint keeps its address, so only contenders have to be told apart. */
  find(id: Guid | undefined, ip: string): HnsEndpoint | undefined {
    const found = id === undefined ? undefined : this.contenders.get(ip)?.find((each) => each.id === id);
    return found ?? this.byIp.get(ip);
  }

  add(endpoint: HnsEndpoint, addresses: readonly string[]): void {
    for (const ip of addresses) {
      const known = this.byIp.get(ip);
      if (known !== undefined || addresses.length > 1) {
        const others = this.contenders.get(ip) ?? (known === undefined ? [] : [known]);
        this.contenders.set(ip, [...others, endpoint]);
      }
      this.byIp.set(ip, known === undefined ? endpoint : this.preferred(known, endpoint));
    }
  }

  /** An endpoint is gone. Without its address, or when it had contenders, everything has to be read again. */
  remove(ip: string | undefined): void {
    if (ip === undefined || this.contenders.has(ip)) this.isOutdated = true;
    else this.byIp.delete(ip);
  }

  private preferred(known: HnsEndpoint, endpoint: HnsEndpoint): HnsEndpoint {
    if (known.isLocal === endpoint.isLocal || this.rule === "last") return endpoint;
    const [local, remote] = known.isLocal ? [known, endpoint] : [endpoint, known];
    if (this.rule === "remote") return remote;
    this.duplicates.push(remote);
    return local;
  }
}
