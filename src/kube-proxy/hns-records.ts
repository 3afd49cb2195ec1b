/**
 * What kube-proxy knows of the endpoints and load balancers of HNS. Upstream reads every object in each sync
 * (kube-proxy.md §3.3, steps 6 and 7; §9.2 counts the calls). With `reads: "new"` identifiers are listed each time,
 * without a filter that HNS would have to try on every object, and only objects that were never read are asked for:
 * what is read here changes in neither kind, unless kube-proxy itself changes it. Where HNS tells its revision, not even
 * identifiers are listed as long as nobody else has changed anything.
 */
import {
  DEFAULT_QUERY,
  type Guid,
  type HcnClient,
  type HcnObjectKind,
  type JsonObject,
} from "../hcn/client.ts";
import { ENDPOINT_FLAGS, parseEndpoint } from "../hcn/endpoint.ts";
import { parseLoadBalancer } from "../hcn/load-balancer.ts";
import { queryBy } from "../hcn/operations.ts";
import type { IpFamily } from "../net/ip.ts";
import type { Behaviour, IdentityRule } from "./behaviour.ts";
import { type HnsFailure, attempt, isNotFound } from "./hns-failure.ts";
import { type LoadBalancerIdentity, identityOf, readFrontEnd } from "./load-balancer-identity.ts";
import type { ReadMode } from "./options.ts";
import { OwnCalls } from "./own-calls.ts";
import { QueriedEndpoints } from "./queried-endpoints.ts";

export interface EndpointRecord {
  readonly isLocal: boolean;
  /** None: kube-proxy passes it by, as it does endpoints of other networks. */
  readonly addresses: readonly string[];
}

/** What of HNS could not be read, and why. */
export interface Unreadable {
  readonly what: "endpoints" | "load balancers";
  readonly failure: HnsFailure;
}

function readEndpoint(document: JsonObject, network: Guid): EndpointRecord {
  const { Flags, IpConfigurations, HostComputeNetwork } = parseEndpoint(document);
  const configurations = HostComputeNetwork === network ? (IpConfigurations ?? []) : [];
  return {
    isLocal: ((Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) === 0,
    addresses: configurations.flatMap(({ IpAddress }) => IpAddress ?? []),
  };
}

export class HnsRecords {
  readonly endpoints: Map<Guid, EndpointRecord> = new Map();
  /** Undefined for what kube-proxy cannot have made. */
  readonly loadBalancers: Map<Guid, LoadBalancerIdentity | undefined> = new Map();
  private readonly client: HcnClient;
  private readonly mode: ReadMode;
  private readonly own: OwnCalls;
  private network: Guid = "";
  /** The endpoints in view of the latest sync; undefined: they have changed by more than own calls. */
  private view: QueriedEndpoints | undefined;

  constructor(client: HcnClient, mode: ReadMode) {
    this.client = client;
    this.mode = mode;
    this.own = new OwnCalls(client);
  }

  /** Reads what HNS has for a network, as far as it is not known. @returns what could not be read, and why. */
  async read(network: Guid, rule: IdentityRule): Promise<Unreadable | undefined> {
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

  /** The endpoints as a sync looks at them. */
  queried(behaviour: Behaviour, family: IpFamily): QueriedEndpoints {
    if (this.view?.isExact !== true) this.view = QueriedEndpoints.of(this.endpoints, behaviour, family);
    return this.view;
  }

  /** Makes a call whose effect is entered here afterwards, so that nobody has to read it. */
  make<T>(call: () => Promise<T>): Promise<T> {
    return this.own.make(call);
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

  /** Nobody knows what a load balancer is now: it has to be read again. */
  loadBalancerUnclear(id: Guid): void {
    this.loadBalancers.delete(id);
    this.own.forget();
  }

  /** Reads the endpoints of a network. @returns why it could not. */
  private async readEndpoints(network: Guid): Promise<HnsFailure | undefined> {
    if (network !== this.network) this.endpoints.clear();
    this.network = network;
    const query = this.mode === "all" ? queryBy({ VirtualNetwork: network }) : DEFAULT_QUERY;
    this.view = undefined;
    return this.readKind("Endpoint", query, this.endpoints, (document) => readEndpoint(document, network));
  }

  /** Reads all load balancers of the machine, other owners' too. @returns why it could not. */
  private async readLoadBalancers(rule: IdentityRule): Promise<HnsFailure | undefined> {
    return this.readKind("LoadBalancer", DEFAULT_QUERY, this.loadBalancers, (document) => {
      const frontEnd = readFrontEnd(parseLoadBalancer(document));
      return frontEnd && identityOf(frontEnd, rule);
    });
  }

  private async readKind<T>(
    kind: HcnObjectKind,
    query: typeof DEFAULT_QUERY,
    known: Map<Guid, T>,
    parse: (document: JsonObject) => T,
  ): Promise<HnsFailure | undefined> {
    const listed = await attempt(() => this.client.enumerate(kind, query));
    if (!listed.ok) return listed.failure;
    if (this.mode === "all") known.clear();
    const present = new Set(listed.value);
    for (const id of known.keys()) if (!present.has(id)) known.delete(id);
    for (const id of listed.value) {
      if (known.has(id)) continue;
      const found = await attempt(async () => parse(await this.client.query(kind, id, query)));
      if (found.ok) known.set(id, found.value);
      // Gone since it was listed.
      else if (!isNotFound(found.failure)) return found.failure;
    }
    return undefined;
  }
}
