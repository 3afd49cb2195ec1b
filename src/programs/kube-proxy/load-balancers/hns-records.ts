/**
 * What kube-proxy knows of the endpoints and load balancers of HNS. Upstream reads every object in each sync
 * (kube-proxy.md §3.3, steps 6 and 7; §9.2 counts the calls). With `reads: "new"` identifiers are listed each time,
 * without a filter that HNS would have to try on every object, and only objects that were never read are asked for:
 * what is read here changes in neither kind, unless kube-proxy itself changes it. Where HNS reports its revision, not even
 * identifiers are listed as long as no other program has changed anything.
 */
import { DEFAULT_QUERY, type HcnClient, type HcnObjectKind } from "#contracts/hcn/client.ts";
import { type JsonObject, mappingOf } from "#core/base/json.ts";
import { type Guid } from "#contracts/hcn/guid.ts";
import { ENDPOINT_FLAGS, parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { parseLoadBalancer } from "#contracts/hcn/documents/load-balancer.ts";
import { queryBy } from "#contracts/hcn/operations.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { Behaviour, IdentityRule } from "../behaviour.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { type HnsFailure, attempt, isNotFound, isUnanswered } from "./hns-failure.ts";
import { type LoadBalancerIdentity, identityOf, readFrontEnd } from "./load-balancer-identity.ts";
import type { ReadMode } from "../options.ts";
import { QueriedEndpoints } from "./hns-endpoints.ts";

/**
 * Whether HNS is still as a proxier knows it. Upstream reads all endpoints and load balancers in each sync; where HNS
 * reports its revision, what was read stays known until another program changes something. Plain data.
 */
export class OwnCalls {
  private readonly client: HcnClient;
  /** HNS's revision that is known; undefined: HNS has to be read. */
  private known: number | undefined;

  constructor(client: HcnClient) {
    this.client = client;
  }

  /** True when only calls that `make` made have changed HNS since it was read. */
  get areAll(): boolean {
    return this.known !== undefined && this.known === this.client.revision;
  }

  /** What HNS's revision is, to be given to `read` when everything has been read. */
  get revision(): number | undefined {
    return this.client.revision;
  }

  /** HNS was read, and was at this revision before. */
  read(revision: number | undefined): void {
    this.known = revision;
  }

  /** What is known has got lost. */
  forget(): void {
    this.known = undefined;
  }

  /** Makes a call whose effect the caller takes over into what is known. */
  make<T>(call: () => Promise<T>): Promise<T> {
    const wereAll = this.areAll;
    const result = call();
    if (wereAll) this.known = this.client.revision;
    return result;
  }
}

export interface EndpointRecord {
  readonly isLocal: boolean;
  /** None: kube-proxy passes it by, as it does endpoints of other networks. */
  readonly addresses: readonly string[];
  /** The node that a remote endpoint of an overlay network is on; absent: none is said. */
  readonly providerAddress?: string;
}

/** What was known and is not there any more, although this proxier has not deleted it. */
export interface GoneObjects {
  readonly endpoints: Map<Guid, EndpointRecord>;
  readonly loadBalancers: Set<Guid>;
}

/** What reading an object again came to. */
export type Reread = "as-known" | "changed" | "gone" | HnsFailure;

/** What of HNS could not be read, and why. */
export interface Unreadable {
  readonly what: "endpoints" | "load balancers";
  readonly failure: HnsFailure;
}

function providerAddressIn(policies: readonly PolicyDocument[]): string | undefined {
  const policy = policies.find(({ Type }) => Type === "ProviderAddress");
  const settings = policy?.Settings;
  const address = mappingOf(settings)["ProviderAddress"];
  return typeof address === "string" ? address : undefined;
}

function readEndpoint(document: JsonObject, network: Guid | undefined): EndpointRecord {
  const { Flags, IpConfigurations, HostComputeNetwork, Policies } = parseEndpoint(document);
  const isOfNetwork = network !== undefined && HostComputeNetwork === network;
  const configurations = isOfNetwork ? (IpConfigurations ?? []) : [];
  const isLocal = ((Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) === 0;
  const providerAddress = isLocal ? undefined : providerAddressIn(Policies ?? []);
  return {
    isLocal,
    addresses: configurations.flatMap(({ IpAddress }) => IpAddress ?? []),
    ...(providerAddress !== undefined && { providerAddress }),
  };
}

function isSameEndpoint(one: EndpointRecord, other: EndpointRecord): boolean {
  return (
    one.isLocal === other.isLocal &&
    (one.providerAddress ?? "") === (other.providerAddress ?? "") &&
    one.addresses.join() === other.addresses.join()
  );
}

function readLoadBalancer(document: JsonObject, rule: IdentityRule): LoadBalancerIdentity | undefined {
  const frontEnd = readFrontEnd(parseLoadBalancer(document));
  return frontEnd && identityOf(frontEnd, rule);
}

/** After so many calls without an answer the rest of a sync is left to the next one. */
const UNANSWERED_MAX = 2;

export class HnsRecords {
  readonly endpoints: Map<Guid, EndpointRecord> = new Map();
  /** Undefined for what kube-proxy cannot have made. */
  readonly loadBalancers: Map<Guid, LoadBalancerIdentity | undefined> = new Map();
  private readonly client: HcnClient;
  private readonly mode: ReadMode;
  private readonly own: OwnCalls;
  private network: Guid | undefined;
  /** The endpoints in view of the latest sync; undefined: they have changed by more than own calls. */
  private view: QueriedEndpoints | undefined;
  /** Undefined: what is gone is not remembered. */
  private readonly gone: GoneObjects | undefined;
  /** Changing calls in a row without an answer. */
  private unanswered = 0;
  /** Goes up with each reading of load balancers. */
  reading = 0;

  constructor(client: HcnClient, mode: ReadMode, remembersGone: boolean) {
    this.client = client;
    this.mode = mode;
    this.own = new OwnCalls(client);
    this.gone = remembersGone ? { endpoints: new Map(), loadBalancers: new Set() } : undefined;
  }

  /** Only calls of this proxier have changed HNS since it was read. */
  get isUndisturbed(): boolean {
    return this.own.areAll;
  }

  /** HNS does not answer: one call may have been lost, several have not. */
  get isSilent(): boolean {
    return this.unanswered >= UNANSWERED_MAX;
  }

  /** What has gone since this was asked last. */
  takeGone(): GoneObjects {
    const taken: GoneObjects = {
      endpoints: new Map(this.gone?.endpoints),
      loadBalancers: new Set(this.gone?.loadBalancers),
    };
    this.gone?.endpoints.clear();
    this.gone?.loadBalancers.clear();
    return taken;
  }

  /** Reads what HNS has for a network, as far as it is not known. @returns what could not be read, and why. */
  async read(network: Guid, rule: IdentityRule): Promise<Unreadable | undefined> {
    this.unanswered = 0;
    if (this.mode === "new" && this.network === network && this.own.areAll) return undefined;
    const { revision } = this.own;
    this.own.forget();
    const noEndpoints = await this.readEndpoints(network);
    if (noEndpoints !== undefined) return { what: "endpoints", failure: noEndpoints };
    const failure = await this.readLoadBalancers(rule);
    if (failure !== undefined) return { what: "load balancers", failure };
    this.own.read(revision);
    return undefined;
  }

  /** Reads the endpoints of a network and no load balancer, as far as they are not known. @returns why it could not. */
  async readEndpointsAlone(network: Guid): Promise<HnsFailure | undefined> {
    return this.mode === "new" && this.network === network && this.own.areAll
      ? undefined
      : this.readEndpoints(network);
  }

  /** The endpoints as a sync looks at them. */
  queried(behaviour: Behaviour, family: IpFamily): QueriedEndpoints {
    if (this.view?.isExact !== true) this.view = QueriedEndpoints.of(this.endpoints, behaviour, family);
    return this.view;
  }

  /** Makes a call whose effect is entered here afterwards, so that it need not be read. */
  async make<T>(call: () => Promise<T>): Promise<T> {
    try {
      const result = await this.own.make(call);
      this.unanswered = 0;
      return result;
    } catch (error) {
      this.unanswered = isUnanswered(error) ? this.unanswered + 1 : 0;
      throw error;
    }
  }

  /** Reads a load balancer again, whatever is known of it. */
  async rereadLoadBalancer(id: Guid, rule: IdentityRule): Promise<Reread> {
    const known = this.loadBalancers.get(id);
    const found = await attempt(async () =>
      readLoadBalancer(await this.client.query("LoadBalancer", id, DEFAULT_QUERY), rule),
    );
    if (!found.ok) return this.notReread(found.failure, () => this.loadBalancers.delete(id));
    if (found.value === known) return "as-known";
    this.loadBalancers.set(id, found.value);
    this.reading++;
    return "changed";
  }

  /** Reads an endpoint again, whatever is known of it. */
  async rereadEndpoint(id: Guid): Promise<Reread> {
    const known = this.endpoints.get(id);
    const found = await attempt(async () =>
      readEndpoint(await this.client.query("Endpoint", id, DEFAULT_QUERY), this.network),
    );
    if (!found.ok) return this.notReread(found.failure, () => this.endpointDeleted(id));
    return known !== undefined && isSameEndpoint(known, found.value) ? "as-known" : "changed";
  }

  /** This proxier made an endpoint. */
  endpointMade(id: Guid, record: EndpointRecord): void {
    this.endpoints.set(id, record);
    this.view?.add(id, record);
  }

  /** This proxier deleted an endpoint. */
  endpointDeleted(id: Guid): void {
    const record = this.endpoints.get(id);
    this.endpoints.delete(id);
    if (record !== undefined) this.view?.remove(id, record);
  }

  /** It is unknown what a load balancer is now: it has to be read again. */
  loadBalancerUnclear(id: Guid): void {
    this.loadBalancers.delete(id);
    this.own.forget();
  }

  /** A call may have been carried out although it failed: what there is has to be listed again. */
  effectUnclear(): void {
    if (this.gone !== undefined) this.own.forget();
  }

  private notReread(failure: HnsFailure, forget: () => void): Reread {
    if (!isNotFound(failure)) return failure;
    forget();
    return "gone";
  }

  /** Reads the endpoints of a network. @returns why it could not. */
  private async readEndpoints(network: Guid): Promise<HnsFailure | undefined> {
    if (network !== this.network) this.endpoints.clear();
    this.network = network;
    const query = this.mode === "all" ? queryBy({ VirtualNetwork: network }) : DEFAULT_QUERY;
    this.view = undefined;
    const before = this.gone === undefined ? undefined : new Map(this.endpoints);
    const parse = (document: JsonObject): EndpointRecord => readEndpoint(document, network);
    const failure = await this.readKind("Endpoint", query, this.endpoints, parse);
    for (const [id, record] of before ?? [])
      if (!this.endpoints.has(id)) this.gone?.endpoints.set(id, record);
    return failure;
  }

  /** Reads all load balancers of the machine, other owners' too. @returns why it could not. */
  async readLoadBalancers(rule: IdentityRule): Promise<HnsFailure | undefined> {
    this.reading++;
    const before = this.gone === undefined ? [] : [...this.loadBalancers.keys()];
    const parse = (document: JsonObject): LoadBalancerIdentity | undefined =>
      readLoadBalancer(document, rule);
    const failure = await this.readKind("LoadBalancer", DEFAULT_QUERY, this.loadBalancers, parse);
    for (const id of before) if (!this.loadBalancers.has(id)) this.gone?.loadBalancers.add(id);
    return failure;
  }

  private async readKind<T>(
    kind: HcnObjectKind,
    query: typeof DEFAULT_QUERY,
    known: Map<Guid, T>,
    parse: (document: JsonObject) => T,
  ): Promise<HnsFailure | undefined> {
    const listed = await attempt(() => this.client.enumerate(kind, query));
    if (!listed.ok) return listed.failure;
    // Which of two equal addresses counts may hang on the order of the list.
    if (this.mode === "all" && this.gone === undefined) known.clear();
    const present = new Set(listed.value);
    for (const id of known.keys()) if (!present.has(id)) known.delete(id);
    for (const id of listed.value) {
      if (this.mode === "new" && known.has(id)) continue;
      const found = await attempt(async () => parse(await this.client.query(kind, id, query)));
      if (found.ok) known.set(id, found.value);
      // Gone since it was listed.
      else if (!isNotFound(found.failure)) return found.failure;
    }
    return undefined;
  }
}
