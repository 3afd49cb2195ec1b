/**
 * The names of a cluster: an index of its Services and of the endpoints that are ready. It is kept up object by object;
 * a change costs that object. What it says about a name stands in cluster-answer.ts.
 */
import { assert } from "#core/base/assert.ts";
import type { EndpointSlice, Namespace, Service } from "#contracts/kubernetes/objects.ts";
import type { Ip } from "#core/net/ip.ts";
import type { DnsQuestion } from "#core/wire/dns/dns.ts";
import { isDnsName } from "#core/wire/dns/dns-structure.ts";
import { type NameAnswer, type NameSource, comparableName } from "./answer.ts";
import { type ZoneIndex, answerInCluster } from "./cluster-answer.ts";
import { type ServiceRecord, type SliceRecord, serviceRecordOf, sliceRecordOf } from "./service-record.ts";

export interface ClusterZoneOptions {
  /** Default `cluster.local`. */
  readonly zone?: string;
  /** Time to live of all records. Default 30, as kubeadm's Corefile says; CoreDNS' own default is 5. */
  readonly ttlSeconds?: number;
}

/** The kinds of objects that names come from. */
export type NamedObject = Namespace | Service | EndpointSlice;

/** kubeadm's Corefile: `ttl 30` in the kubernetes plugin. */
const TTL_SECONDS = 30;
/** The longest labels of a Service's names must fit in front of it: 63 and 63 and 63 of 253 characters. */
const ZONE_LENGTH_MAX = 50;
/** Shorter lists of slices are frozen, so that copies of a world share them; longer ones grow in place. */
const SHARED_LENGTH_MAX = 64;

interface NamespaceTable {
  /** A Namespace object exists. */
  isDeclared: boolean;
  readonly services: Map<string, ServiceRecord>;
  /** By Service. */
  readonly slices: Map<string, SliceRecord[]>;
}

function keyOf(record: { readonly namespace: string; readonly name: string }): string {
  return `${record.namespace}/${record.name}`;
}

export class ClusterZone implements NameSource, ZoneIndex {
  /** Comparable: lower case, no final dot. */
  readonly zone: string;
  readonly ttlSeconds: number;
  /**
   * Serial number of the zone: grows with each change. CoreDNS writes the time of the last one, which no copy of a world
   * could repeat.
   */
  serial = 1;
  private readonly namespaces = new Map<string, NamespaceTable>();
  private readonly servicesByIp = new Map<Ip, ServiceRecord>();
  /** The slices that name an endpoint with this address. */
  private readonly slicesByIp = new Map<Ip, SliceRecord[]>();
  /** Slices may change the Service they belong to. */
  private readonly slicesByName = new Map<string, SliceRecord>();

  constructor(options: ClusterZoneOptions = {}) {
    const zone = comparableName(options.zone ?? "cluster.local");
    assert(isDnsName(zone) && zone.length <= ZONE_LENGTH_MAX, "a cluster's domain is a short DNS name");
    this.zone = zone;
    this.ttlSeconds = options.ttlSeconds ?? TTL_SECONDS;
  }

  /** What a server without an address answers: it names no server of the zone. */
  answer(question: DnsQuestion): NameAnswer | undefined {
    return answerInCluster(this, question, []);
  }

  /** The same zone at a server with these addresses, which are how it finds its own Services. */
  servedAt(addresses: readonly Ip[]): NameSource {
    return new ServedZone(this, addresses);
  }

  /** Takes a new or changed object in. */
  apply(object: NamedObject): void {
    this.serial++;
    switch (object.kind) {
      case "Namespace":
        this.tableOf(object.metadata.name.toLowerCase()).isDeclared = true;
        return;
      case "Service":
        this.removeService(object);
        this.addService(serviceRecordOf(object));
        return;
      case "EndpointSlice":
        this.removeSlice(object);
        this.addSlice(sliceRecordOf(object));
    }
  }

  /** Takes an object out; one that is not there is ignored. */
  remove(object: NamedObject): void {
    this.serial++;
    switch (object.kind) {
      case "Namespace":
        this.removeNamespace(object.metadata.name.toLowerCase());
        return;
      case "Service":
        this.removeService(object);
        return;
      case "EndpointSlice":
        this.removeSlice(object);
    }
  }

  /** True for a namespace that exists: it has an object of its own, or a Service. */
  hasNamespace(namespace: string): boolean {
    const table = this.namespaces.get(namespace);
    return table !== undefined && (table.isDeclared || table.services.size > 0);
  }

  /** `namespace` and `name` in lower case. */
  getService(namespace: string, name: string): ServiceRecord | undefined {
    return this.namespaces.get(namespace)?.services.get(name);
  }

  /** Namespaces that have an object of their own. */
  listNamespaces(): readonly string[] {
    return [...this.namespaces].flatMap(([name, { isDeclared }]) => (isDeclared ? name : []));
  }

  /** Every Service, by namespace. */
  listServices(): readonly ServiceRecord[] {
    return [...this.namespaces.values()].flatMap(({ services }) => [...services.values()]);
  }

  /** The slices of a Service, in the order in which they came. */
  listSlices(service: ServiceRecord): readonly SliceRecord[] {
    return this.namespaces.get(service.namespace)?.slices.get(service.name) ?? [];
  }

  /** The Service with that cluster address. */
  getServiceByIp(ip: Ip): ServiceRecord | undefined {
    return this.servicesByIp.get(ip);
  }

  /** The slices with a named endpoint of that address. */
  listSlicesByIp(ip: Ip): readonly SliceRecord[] {
    return this.slicesByIp.get(ip) ?? [];
  }

  /** Looked for among all of them: servers are asked for their own names seldom. */
  findSlicesWith(ip: Ip): readonly SliceRecord[] {
    return [...this.slicesByName.values()].filter((slice) =>
      slice.endpoints.some((endpoint) => endpoint.ip === ip),
    );
  }

  private tableOf(namespace: string): NamespaceTable {
    let table = this.namespaces.get(namespace);
    if (table === undefined) {
      table = { isDeclared: false, services: new Map(), slices: new Map() };
      this.namespaces.set(namespace, table);
    }
    return table;
  }

  private forgetIfEmpty(namespace: string, table: NamespaceTable): void {
    if (!table.isDeclared && table.services.size === 0 && table.slices.size === 0)
      this.namespaces.delete(namespace);
  }

  private removeNamespace(namespace: string): void {
    const table = this.namespaces.get(namespace);
    if (table === undefined) return;
    table.isDeclared = false;
    this.forgetIfEmpty(namespace, table);
  }

  private addService(record: ServiceRecord | undefined): void {
    if (record === undefined) return;
    this.tableOf(record.namespace).services.set(record.name, record);
    // An address of two Services, which Kubernetes does not allow, stays with the first.
    for (const ip of record.ips) if (!this.servicesByIp.has(ip)) this.servicesByIp.set(ip, record);
  }

  private removeService({ metadata }: Service): void {
    const namespace = metadata.namespace.toLowerCase();
    const name = metadata.name.toLowerCase();
    const table = this.namespaces.get(namespace);
    const record = table?.services.get(name);
    if (table === undefined || record === undefined) return;
    table.services.delete(name);
    for (const ip of record.ips) if (this.servicesByIp.get(ip) === record) this.servicesByIp.delete(ip);
    this.forgetIfEmpty(namespace, table);
  }

  private addSlice(record: SliceRecord | undefined): void {
    if (record === undefined) return;
    addTo(this.tableOf(record.namespace).slices, record.service, record);
    this.slicesByName.set(keyOf(record), record);
    for (const ip of namedAddressesOf(record)) addTo(this.slicesByIp, ip, record);
  }

  private removeSlice({ metadata }: EndpointSlice): void {
    const namespace = metadata.namespace.toLowerCase();
    const record = this.slicesByName.get(keyOf({ namespace, name: metadata.name }));
    const table = this.namespaces.get(namespace);
    if (record === undefined || table === undefined) return;
    this.slicesByName.delete(keyOf(record));
    removeFrom(table.slices, record.service, record);
    for (const ip of namedAddressesOf(record)) removeFrom(this.slicesByIp, ip, record);
    this.forgetIfEmpty(namespace, table);
  }
}

/** A zone as one of its servers answers. */
class ServedZone implements NameSource {
  private readonly zone: ClusterZone;
  private readonly addresses: readonly Ip[];

  constructor(zone: ClusterZone, addresses: readonly Ip[]) {
    this.zone = zone;
    this.addresses = addresses;
  }

  answer(question: DnsQuestion): NameAnswer | undefined {
    return answerInCluster(this.zone, question, this.addresses);
  }
}

/** Appends to a list of a map: frozen while it is short, in place then. */
function addTo<Key>(lists: Map<Key, SliceRecord[]>, key: Key, record: SliceRecord): void {
  const list = lists.get(key) ?? [];
  if (list.length >= SHARED_LENGTH_MAX) list.push(record);
  else lists.set(key, frozenIfShort([...list, record]));
}

function frozenIfShort(list: SliceRecord[]): SliceRecord[] {
  if (list.length < SHARED_LENGTH_MAX) Object.freeze(list);
  return list;
}

/** Takes out of a list of a map; an empty one goes. */
function removeFrom<Key>(lists: Map<Key, SliceRecord[]>, key: Key, record: SliceRecord): void {
  const rest = (lists.get(key) ?? []).filter((other) => other !== record);
  if (rest.length === 0) lists.delete(key);
  else lists.set(key, frozenIfShort(rest));
}

/** The addresses that a PTR record may be asked for: those of endpoints with a host name. */
function namedAddressesOf(record: SliceRecord): ReadonlySet<Ip> {
  return new Set(record.endpoints.filter(({ isNamed }) => isNamed).map(({ ip }) => ip));
}
