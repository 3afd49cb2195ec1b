/**
 * An HNS in memory that notes every call and echoes what it is sent, for golden tests of programs above the HCN
 * line. It validates nothing; `#hns` is the service that does.
 */
import type { HcnClient, HcnCreateOptions, HcnObjectKind, HostComputeQuery } from "#contracts/hcn/client.ts";
import type { ComputeSystems } from "#contracts/hcn/compute-systems.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsVersion } from "#contracts/hcn/features.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { isJsonObject } from "#core/base/json.ts";

/** One noted call that changes something. */
export interface NotedCall {
  /** `create Endpoint`, `modify Namespace`, `delete Endpoint`, `POST /endpoints/`. */
  readonly call: string;
  readonly id?: Guid;
  readonly body?: JsonValue;
}

/** How many back ends this service takes in a load balancer. */
const BACK_ENDS_MAX = 1_024;

/** The MAC address that this service gives to every endpoint. */
export const FAKE_MAC = "00-15-5D-AA-BB-CC";

/** `State` of a load balancer that is programmed (hcn.md §2.10). */
const LOAD_BALANCER_APPLIED = 2;

type Document = Record<string, JsonValue | undefined>;

/** Fields by which the service's filters look into endpoints (hcn.md §5.1). */
const FILTER_ALIASES: Readonly<Record<string, string>> = { VirtualNetwork: "HostComputeNetwork" };

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** Address, protocol, port and family that a load balancer answers at, as a text. */
function frontEndOf(loadBalancer: JsonObject): string {
  const mapping = object(list(loadBalancer["PortMappings"])[0]);
  const isIpv6 = (Number(loadBalancer["Flags"] ?? 0) & 2) !== 0;
  return JSON.stringify([
    list(loadBalancer["FrontendVIPs"]),
    mapping["Protocol"],
    mapping["ExternalPort"],
    isIpv6,
  ]);
}

function isRemote(endpoint: JsonObject): boolean {
  const flags = endpoint["Flags"];
  return typeof flags === "number" && (flags & ENDPOINT_FLAGS.RemoteEndpoint) !== 0;
}

function policyListOf(loadBalancer: JsonObject): JsonObject {
  return {
    ID: textOf(loadBalancer["ID"]).toUpperCase(),
    References: list(loadBalancer["HostComputeEndpoints"]).map((id) => `/endpoints/${textOf(id)}`),
    State: LOAD_BALANCER_APPLIED,
  };
}

export class FakeHcnClient implements HcnClient {
  /** What was asked for, changes only. */
  readonly calls: NotedCall[] = [];
  version: HnsVersion = { Major: 13, Minor: 3 };
  /** Addresses that HNS chooses when it is asked to, in turn. */
  chosenAddresses: string[] = [];
  /** Addresses in use by endpoints that nobody sees. */
  readonly usedAddresses: Set<string> = new Set();
  /**
   * First groups of the identifiers that objects of a kind get: such kinds are numbered on their own, from 1. Empty: all
   * kinds are numbered together.
   */
  idGroups: Partial<Record<HcnObjectKind, string>> = {};
  /** Asked before every call: an error that it returns is the answer. */
  refuse: ((noted: NotedCall) => Error | undefined) | undefined = undefined;
  /** What each noted creation was answered with. */
  readonly createdIds: Map<NotedCall, Guid> = new Map();
  /** True: as a service that is at hand, it says how many changes it has seen. */
  tellsRevision = false;
  private changes = 0;
  private readonly objects: Map<string, Map<Guid, Document>> = new Map();
  private readonly failures: { call: string; error: Error }[] = [];
  private readonly counters: Map<string, number> = new Map();

  /** Undefined unless `tellsRevision`. */
  get revision(): number | undefined {
    return this.tellsRevision ? this.changes : undefined;
  }

  /** Puts an object there without noting it. */
  put(kind: HcnObjectKind, document: JsonObject & { readonly ID: Guid }): void {
    this.changes++;
    this.table(kind).set(document.ID, { ...document });
  }

  /** The next call of that name fails. */
  failNext(call: string, error: Error): void {
    this.failures.push({ call, error });
  }

  /** All objects of a kind. */
  list(kind: HcnObjectKind): readonly JsonObject[] {
    return [...this.table(kind).values()];
  }

  /** Bodies of the calls of that name. */
  bodiesOf(call: string): readonly (JsonValue | undefined)[] {
    return this.calls.filter((noted) => noted.call === call).map((noted) => noted.body);
  }

  async enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    this.step({ call: `enumerate ${kind}` }, false);
    const filter = Object.entries(object(JSON.parse(query?.Filter ?? "{}") as JsonValue));
    const matches = (document: Document): boolean =>
      filter.every(([field, wanted]) => document[FILTER_ALIASES[field] ?? field] === wanted);
    return [...this.table(kind)].filter(([, document]) => matches(document)).map(([id]) => id);
  }

  async create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    const noted: NotedCall = { call: `create ${kind}`, body: settings };
    this.step(noted, true);
    if (kind === "LoadBalancer") this.checkLoadBalancer(settings);
    const id = options?.id ?? this.nextId(kind);
    const document: Document = { ...settings, ID: id };
    if (kind === "Endpoint") this.completeEndpoint(document);
    if (kind === "LoadBalancer") document["State"] = LOAD_BALANCER_APPLIED;
    this.table(kind).set(id, document);
    this.createdIds.set(noted, id);
    return id;
  }

  async query(kind: HcnObjectKind, id: Guid): Promise<JsonObject> {
    this.step({ call: `query ${kind}` }, false);
    return { ...this.require(kind, id) };
  }

  async modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    this.step({ call: `modify ${kind}`, id, body: settings }, true);
    const document = this.require(kind, id);
    // The request is the whole document (hcn.md §5.2).
    if (kind === "LoadBalancer") {
      this.table(kind).set(id, { ...settings, ID: id, State: LOAD_BALANCER_APPLIED });
      return;
    }
    const body = object(settings["Settings"]);
    if (kind === "Endpoint") {
      document["Policies"] = [...list(document["Policies"]), ...list(body["Policies"])];
      return;
    }
    const endpoint = this.require("Endpoint", textOf(body["EndpointId"]));
    if (settings["RequestType"] === "Remove") delete endpoint["HostComputeNamespace"];
    else if (!this.table(kind).has(textOf(endpoint["HostComputeNamespace"])))
      endpoint["HostComputeNamespace"] = id;
    else throw new HcnError("HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS");
  }

  async delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    this.step({ call: `delete ${kind}`, id }, true);
    this.require(kind, id);
    this.table(kind).delete(id);
  }

  /** Nothing passes here. */
  async queryEndpointStats(id: Guid): Promise<JsonObject> {
    this.step({ call: "query EndpointStats" }, false);
    this.require("Endpoint", id);
    return { EndpointId: id.toUpperCase(), PacketsReceived: 0, PacketsSent: 0 };
  }

  async queryEndpointAddresses(id: Guid): Promise<JsonObject> {
    this.step({ call: "query EndpointAddresses" }, false);
    return {
      EndpointId: id.toUpperCase(),
      IpConfigurations: list(this.require("Endpoint", id)["IpConfigurations"]),
    };
  }

  /** Guests have no ports here. */
  async reservePorts(): Promise<never> {
    throw new HcnError("E_NOTIMPL");
  }

  async releasePorts(): Promise<never> {
    throw new HcnError("E_NOTIMPL");
  }

  async listPortReservations(): Promise<readonly []> {
    return [];
  }

  async queryService(): Promise<JsonObject> {
    return { Version: { ...this.version } };
  }

  /** Takes every container for one that runs; only what changes adapters is noted. */
  get computeSystems(): ComputeSystems {
    return {
      list: async () => [],
      create: async () => undefined,
      terminate: async () => undefined,
      modify: async (id, request) => {
        this.step({ call: "modify ComputeSystem", id, body: request }, true);
        this.attach(textOf(request["Settings"]), id, request["RequestType"] === "Add" ? "attach" : "detach");
      },
    };
  }

  /** The part of HNS v1 that plugins use, over the same objects. */
  async call(method: string, path: string, body: string): Promise<JsonObject> {
    const parsed = body === "" ? undefined : (JSON.parse(body) as JsonValue);
    const noted =
      parsed === undefined ? { call: `${method} ${path}` } : { call: `${method} ${path}`, body: parsed };
    try {
      this.step(noted, method !== "GET");
      const output = this.answer(method, path, object(parsed));
      return output === undefined ? { Success: true } : { Success: true, Output: output };
    } catch (error) {
      if (!(error instanceof HcnError)) throw error;
      const { Error: text, ErrorCode } = error.toRecord();
      return { Error: text, ErrorCode, Success: false };
    }
  }

  subscribe(): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private answer(method: string, path: string, body: JsonObject): JsonValue | undefined {
    const [, kind, id = "", verb = ""] = path.split("/");
    if (kind === "globals") return { ...this.version };
    if (kind === "policylists") return this.answerPolicyList(method, id);
    if (kind === "networks" && method === "POST") return this.createNetworkV1(body);
    if (kind === "networks") return this.list("Network").map((network) => this.networkV1(network));
    if (verb !== "") return this.attach(id, textOf(body["ContainerId"]), verb);
    if (id === "" && method === "GET") return this.list("Endpoint");
    if (id === "") return this.createV1(body);
    if (method === "GET") return this.require("Endpoint", id);
    this.require("Endpoint", id);
    this.table("Endpoint").delete(id);
    return undefined;
  }

  /** Load balancers as v1 lists them, with what a proxy reads: the id and the references. */
  private answerPolicyList(method: string, id: Guid): JsonValue | undefined {
    if (id === "") return this.list("LoadBalancer").map(policyListOf);
    const known = this.list("LoadBalancer").find((each) => equalGuids(textOf(each["ID"]), id));
    const document = known ?? this.require("LoadBalancer", id);
    if (method === "DELETE") this.table("LoadBalancer").delete(textOf(document["ID"]));
    return policyListOf(document);
  }

  private networkV1(network: JsonObject): JsonObject {
    const subnets = list(network["Ipams"]).flatMap((ipam) => list(object(ipam)["Subnets"]));
    return {
      ID: network["ID"],
      Name: network["Name"],
      Type: network["Type"] ?? "NAT",
      ...(network["ManagementIP"] !== undefined && { ManagementIP: network["ManagementIP"] }),
      Subnets: subnets.map((subnet) => ({
        AddressPrefix: object(subnet)["IpAddressPrefix"],
        GatewayAddress: object(list(object(subnet)["Routes"])[0])["NextHop"],
      })),
    };
  }

  private createNetworkV1(body: JsonObject): JsonObject {
    const document: Document = { ...body, ID: this.nextId("Network") };
    const subnets = list(body["Subnets"]).map(object);
    document["Ipams"] = [
      {
        Subnets: subnets.map(({ AddressPrefix, GatewayAddress }) => ({
          IpAddressPrefix: AddressPrefix,
          Routes: [{ NextHop: GatewayAddress, DestinationPrefix: "0.0.0.0/0" }],
        })),
      },
    ];
    this.table("Network").set(textOf(document["ID"]), document);
    return this.networkV1(document);
  }

  private createV1(body: JsonObject): JsonObject {
    const id = this.nextId("Endpoint");
    const document: Document = { MacAddress: FAKE_MAC, ...body, ID: id, SharedContainers: [] };
    document["IPAddress"] ??= this.chosenAddresses.shift();
    document["GatewayAddress"] ??= this.gatewayOf(textOf(body["VirtualNetwork"]));
    this.table("Endpoint").set(id, document);
    return { ...document };
  }

  /** Back ends have to be some and not too many, and a front end is given once. */
  private checkLoadBalancer(settings: JsonObject): void {
    const backEnds = list(settings["HostComputeEndpoints"]).length;
    if (backEnds === 0) throw new HcnError("HCN_E_INVALID_POLICY");
    if (backEnds > BACK_ENDS_MAX) throw new HcnError("ERROR_INVALID_PARAMETER");
    const frontEnd = frontEndOf(settings);
    if (this.list("LoadBalancer").some((other) => frontEndOf(other) === frontEnd))
      throw new HcnError("HCN_E_PORT_ALREADY_EXISTS");
  }

  private nextId(kind: HcnObjectKind): Guid {
    const group = this.idGroups[kind];
    const counter = group === undefined ? "" : kind;
    const number = (this.counters.get(counter) ?? 0) + 1;
    this.counters.set(counter, number);
    return `${group ?? "00000000"}-0000-4000-8000-${String(number).padStart(12, "0")}`;
  }

  private attach(id: Guid, containerId: string, verb: string): undefined {
    const endpoint = this.require("Endpoint", id);
    const others = list(endpoint["SharedContainers"]).filter((shared) => shared !== containerId);
    endpoint["SharedContainers"] = verb === "attach" ? [...others, containerId] : others;
  }

  private gatewayOf(network: Guid): JsonValue | undefined {
    const subnets = list(object(list(this.require("Network", network)["Ipams"])[0])["Subnets"]);
    return object(list(object(subnets[0])["Routes"])[0])["NextHop"];
  }

  /** Echoes, and fills in what HNS fills in: MAC, chosen address, next hop of a default route. */
  private completeEndpoint(document: Document): void {
    document["MacAddress"] ??= FAKE_MAC;
    if (isRemote(document)) {
      document["Name"] ??= "Ethernet";
      return;
    }
    const configs = list(document["IpConfigurations"]).map(object);
    for (const { IpAddress } of configs) {
      if (typeof IpAddress === "string" && this.isUsed(IpAddress)) {
        throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS");
      }
    }
    if (configs.every((config) => config["IpAddress"] === undefined)) {
      document["IpConfigurations"] = this.chosenAddresses.splice(0, 1).map((IpAddress) => ({ IpAddress }));
      const NextHop = this.gatewayOf(textOf(document["HostComputeNetwork"]));
      // A next hop that was asked for stays.
      if (list(document["Routes"]).some((route) => object(route)["NextHop"] !== undefined)) return;
      document["Routes"] = NextHop === undefined ? [] : [{ NextHop, DestinationPrefix: "0.0.0.0/0" }];
    }
  }

  private isUsed(ip: string): boolean {
    if (this.usedAddresses.has(ip)) return true;
    const local = this.list("Endpoint").filter((endpoint) => !isRemote(endpoint));
    return local.some((endpoint) =>
      list(endpoint["IpConfigurations"]).some((config) => object(config)["IpAddress"] === ip),
    );
  }

  private step(noted: NotedCall, isChange: boolean): void {
    if (isChange) this.calls.push(noted);
    const refusal = this.refuse?.(noted);
    if (refusal !== undefined) throw refusal;
    const index = this.failures.findIndex(({ call }) => call === noted.call);
    const [failure] = index < 0 ? [] : this.failures.splice(index, 1);
    if (failure !== undefined) throw failure.error;
    if (isChange) this.changes++;
  }

  private table(kind: string): Map<Guid, Document> {
    const known = this.objects.get(kind);
    if (known !== undefined) return known;
    const made = new Map<Guid, Document>();
    this.objects.set(kind, made);
    return made;
  }

  private require(kind: HcnObjectKind, id: Guid): Document {
    const document = this.table(kind).get(id);
    if (document !== undefined) return document;
    if (kind === "Network") throw new HcnError("HCN_E_NETWORK_NOT_FOUND");
    throw new HcnError(kind === "Endpoint" ? "HCN_E_ENDPOINT_NOT_FOUND" : "ERROR_NOT_FOUND");
  }
}
