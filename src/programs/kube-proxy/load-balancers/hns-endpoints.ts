/**
 * The endpoints that HNS has on the network, as read once in each sync (kube-proxy.md §3.3, step 6), and the documents of
 * those that kube-proxy itself makes there, with the MAC address that it makes up (§3.1) and what is known of them then.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import { type IpFamily, familyOf, parseIp } from "#core/net/ip.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { keepJson } from "#contracts/hcn/description/json.ts";
import type { Behaviour, EqualAddressRule } from "../behaviour.ts";

interface EndpointRecord {
  readonly isLocal: boolean;
  /** None: kube-proxy passes it by, as it does endpoints of other networks. */
  readonly addresses: readonly string[];
  /** The node that a remote endpoint of an overlay network is on; absent: none is said. */
  readonly providerAddress?: string;
}

/** An endpoint of HNS as kube-proxy sees it. */
export interface HnsEndpoint {
  readonly id: Guid;
  readonly isLocal: boolean;
}

export class QueriedEndpoints {
  /** Remote endpoints in whose place a local one is used. */
  readonly duplicates: HnsEndpoint[] = [];
  /** Endpoints that are passed by for another one with their address, and so not found by identifier. */
  private readonly hidden: Set<Guid> = new Set();
  /** What is known of HNS: this adds who is found by an address. */
  private readonly records: ReadonlyMap<Guid, EndpointRecord>;
  private readonly byIp: Map<string, Guid> = new Map();
  /** Addresses that more than one endpoint had. */
  private readonly contended: Set<string> = new Set();
  private readonly rule: EqualAddressRule;
  private readonly addressesMax: number;
  /** The family whose duplicates are looked for; undefined: both. */
  private readonly family: IpFamily | undefined;
  private isOutdated = false;

  private constructor(
    records: ReadonlyMap<Guid, EndpointRecord>,
    { equalAddress, knowsSecondAddress, duplicateRemoval }: Behaviour,
    family: IpFamily,
  ) {
    this.records = records;
    this.rule = equalAddress;
    this.addressesMax = knowsSecondAddress ? 2 : 1;
    this.family = duplicateRemoval === "unreferenced" ? family : undefined;
  }

  static of(
    records: ReadonlyMap<Guid, EndpointRecord>,
    behaviour: Behaviour,
    family: IpFamily,
  ): QueriedEndpoints {
    const endpoints = new QueriedEndpoints(records, behaviour, family);
    for (const [id, record] of records) endpoints.add(id, record);
    return endpoints;
  }

  /** True when looking at all records anew would find the same. */
  get isExact(): boolean {
    return !this.isOutdated && this.duplicates.length === 0;
  }

  /** By identifier, else by address. */
  find(id: Guid | undefined, ip: string): HnsEndpoint | undefined {
    const isHidden = id !== undefined && this.hidden.has(id);
    return (isHidden ? undefined : this.endpointOf(id)) ?? this.endpointOf(this.byIp.get(ip));
  }

  /** Enters an endpoint that has come to the records. */
  add(id: Guid, { isLocal, addresses }: EndpointRecord): void {
    const own = addresses.length > this.addressesMax ? addresses.slice(0, this.addressesMax) : addresses;
    let isFound = own.length === 0;
    for (const ip of own) {
      const known = this.endpointOf(this.byIp.get(ip));
      if (known !== undefined) this.contended.add(ip);
      const chosen = known === undefined ? id : this.preferred(ip, known, { id, isLocal }).id;
      this.byIp.set(ip, chosen);
      isFound ||= chosen === id;
      if (known !== undefined && chosen !== known.id && this.rule === "local") this.hidden.add(known.id);
    }
    if (!isFound) this.hidden.add(id);
  }

  /** Takes out an endpoint that is gone from the records. Another one with its address may come to light. */
  remove(id: Guid, { addresses }: EndpointRecord): void {
    for (const ip of addresses) {
      if (this.contended.has(ip)) this.isOutdated = true;
      else if (this.byIp.get(ip) === id) this.byIp.delete(ip);
    }
  }

  private endpointOf(id: Guid | undefined): HnsEndpoint | undefined {
    const record = id === undefined ? undefined : this.records.get(id);
    if (id === undefined || record === undefined || record.addresses.length === 0) return undefined;
    return { id, isLocal: record.isLocal };
  }

  private preferred(text: string, known: HnsEndpoint, endpoint: HnsEndpoint): HnsEndpoint {
    if (this.rule === "last") return endpoint;
    if (this.rule === "remote") return endpoint.isLocal ? known : endpoint;
    if (known.isLocal === endpoint.isLocal) return known;
    const [local, remote] = known.isLocal ? [known, endpoint] : [endpoint, known];
    const ip = parseIp(text);
    if (this.family === undefined || (ip !== undefined && familyOf(ip) === this.family))
      this.duplicates.push(remote);
    return local;
  }
}

const PREFIX = "02-11";
/** For what is no address. */
const FALLBACK = `${PREFIX}-22-33-44-55`;

function formatBytes(bytes: readonly number[]): string {
  return [PREFIX, ...bytes.map((byte) => byte.toString(16).padStart(2, "0"))].join("-");
}

/** Four bytes of IPv4, or the last four of IPv6 from the end. */
export function deriveMac(address: string): string {
  const ip = parseIp(address);
  if (ip === undefined) return FALLBACK;
  if (typeof ip === "number") return formatBytes([24, 16, 8, 0].map((shift) => (ip >>> shift) & 0xff));
  return formatBytes([0n, 8n, 16n, 24n].map((shift) => Number((ip >> shift) & 0xffn)));
}

interface NewEndpoint {
  readonly ip: string;
  readonly mac: string;
  /** Empty: no policy. */
  readonly providerAddress: string;
  readonly isLocal: boolean;
}

/** What HNS is asked for, and what is known of it then. Frozen: all nodes that need the same have one. */
export interface ProxyEndpoint {
  readonly document: HostComputeEndpoint;
  readonly record: EndpointRecord;
}

/** The document has no prefix length and no name (kube-proxy.md §3.5, wire shapes). */
export function proxyEndpoint({ ip, mac, providerAddress, isLocal }: NewEndpoint): ProxyEndpoint {
  const policy = { Type: "ProviderAddress", Settings: { ProviderAddress: providerAddress } };
  const document = Object.freeze({
    IpConfigurations: keepJson([{ IpAddress: ip }]),
    MacAddress: mac,
    ...(providerAddress === "" ? {} : { Policies: [policy] }),
    ...(isLocal ? {} : { Flags: ENDPOINT_FLAGS.RemoteEndpoint }),
  });
  const record: EndpointRecord = {
    isLocal,
    addresses: Object.freeze([ip]),
    ...(providerAddress === "" ? {} : { providerAddress }),
  };
  return Object.freeze({ document, record: Object.freeze(record) });
}

/** What stands for `ip` on every node whose network is no overlay. */
export function remoteEndpointFor(ip: string): ProxyEndpoint {
  return proxyEndpoint({ ip, mac: deriveMac(ip), providerAddress: "", isLocal: false });
}
