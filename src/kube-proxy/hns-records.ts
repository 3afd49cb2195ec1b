/**
 * What kube-proxy knows of the endpoints and load balancers of HNS. Upstream reads every object in each sync
 * (kube-proxy.md §3.3, steps 6 and 7; §9.2 counts the calls). With `reads: "new"` identifiers are listed each time,
 * without a filter that HNS would have to try on every object, and only objects that were never read are asked for:
 * what is read here changes in neither kind, unless kube-proxy itself changes it.
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
import type { IdentityRule } from "./behaviour.ts";
import { type HnsFailure, attempt, isNotFound } from "./hns-failure.ts";
import { type LoadBalancerIdentity, identityOf, readFrontEnd } from "./load-balancer-identity.ts";
import type { ReadMode } from "./options.ts";

export interface EndpointRecord {
  readonly isLocal: boolean;
  /** None: kube-proxy passes it by, as it does endpoints of other networks. */
  readonly addresses: readonly string[];
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
  private network: Guid = "";

  constructor(client: HcnClient, mode: ReadMode) {
    this.client = client;
    this.mode = mode;
  }

  /** Reads the endpoints of a network. @returns why it could not. */
  async readEndpoints(network: Guid): Promise<HnsFailure | undefined> {
    if (network !== this.network) this.endpoints.clear();
    this.network = network;
    const query = this.mode === "all" ? queryBy({ VirtualNetwork: network }) : DEFAULT_QUERY;
    return this.read("Endpoint", query, this.endpoints, (document) => readEndpoint(document, network));
  }

  /** Reads all load balancers of the machine, other owners' too. @returns why it could not. */
  async readLoadBalancers(rule: IdentityRule): Promise<HnsFailure | undefined> {
    return this.read("LoadBalancer", DEFAULT_QUERY, this.loadBalancers, (document) => {
      const frontEnd = readFrontEnd(parseLoadBalancer(document));
      return frontEnd && identityOf(frontEnd, rule);
    });
  }

  private async read<T>(
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
