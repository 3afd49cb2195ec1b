/**
 * A main plugin for Windows over HNS v1, every `apiVersion` but 2 (cni.md §2.1, v1 algorithms): the call, and the
 * endpoint of sandboxes without a namespace, whose containers are attached to one shared endpoint.
 *
 * On Windows a running container gets its endpoint through its compute system (HCS), not through HNS.
 * Inferred: here the HNS call `attach` stands for it, which has the same effect on HNS' objects.
 */
import type { Compat } from "#core/base/compat.ts";
import { type GcAttachment, readPrevResult } from "#contracts/cni/plugin-input.ts";
import { equalFold } from "#contracts/cni/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { CniError, CNI_CODES, PluginPanic, annotate } from "#contracts/cni/error.ts";
import type { CniDns, CniIp, CniResult } from "#contracts/cni/result.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import {
  type HnsEndpoint,
  type HnsNetwork,
  parseHnsEndpoint,
} from "#contracts/hcn/documents/v1-documents.ts";
import {
  attachHnsEndpoint,
  deleteHnsEndpoint,
  detachHnsEndpoint,
  getHnsEndpoint,
  getHnsEndpointByName,
  listHnsEndpoints,
  requestHns,
  getHnsNetworkByName,
} from "#contracts/hcn/v1-operations.ts";
import { type Ip, formatIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import {
  type WindowsConfiguration,
  type EndpointApi,
  type NetworkView,
  type PluginCall,
  type PluginTraits,
  collectGarbage,
  requireNetwork,
  type HnsCaller,
  hasHcnCode,
  isMissing,
  withKnowledge,
  NO_NAMESPACE,
  isNamespaceGuid,
  endpointNameOf,
  sandboxIdOf,
} from "./plugin-call.ts";
import { type EndpointPlan, planEndpoint, toHnsPolicies } from "./endpoint-plan.ts";
import { failOnDifferences, ownIps } from "./hcn-api.ts";
import { applyForeignMask, hardenedResult } from "./hcn-endpoint.ts";

/** Which endpoint, of which container. */
export interface HnsTarget {
  readonly endpointName: string;
  readonly networkId: string;
  readonly containerId: string;
  /** `CNI_NETNS`: `none`, `container:ID`, or what does not belong here. */
  readonly netns: string;
}

/** The body to POST; members without content are left out. */
export function hnsEndpointBody(target: HnsTarget, plan: EndpointPlan): JsonObject {
  const [planned] = plan.addresses;
  const ip = planned === undefined ? "" : formatIp(planned.address.ip);
  const gateway = planned?.gateway === undefined ? "" : formatIp(planned.gateway);
  const members: readonly (readonly [string, JsonValue])[] = [
    ["Name", target.endpointName],
    ["VirtualNetwork", target.networkId],
    ["Policies", toHnsPolicies(plan.policies)],
    ["MacAddress", plan.mac ?? ""],
    ["IPAddress", ip],
    ["DNSSuffix", plan.dns.search.join(",")],
    ["DNSServerList", plan.dns.nameservers.join(",")],
    ["GatewayAddress", gateway],
  ];
  return Object.fromEntries(
    members.filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0)),
  );
}

function splitList(text: string, compat: Compat): readonly string[] {
  // Upstream makes a list with one empty text of nothing (row 61).
  return text === "" && compat === "hardened" ? [] : text.split(",");
}

/** The DNS of a v1 endpoint: two comma lists. */
export function dnsOfHnsEndpoint(endpoint: HnsEndpoint, compat: Compat): CniDns {
  return {
    nameservers: splitList(endpoint.DNSServerList ?? "", compat),
    domain: "",
    search: splitList(endpoint.DNSSuffix ?? "", compat),
    options: [],
  };
}

/** The address of a v1 endpoint with the mask of the network's first subnet. @throws CniError, PluginPanic */
export function ipOfHnsEndpoint(network: HnsNetwork, endpoint: HnsEndpoint, compat: Compat): CniIp {
  const subnet = network.Subnets?.[0];
  if (subnet === undefined && compat === "upstream") {
    throw new PluginPanic("runtime error: index out of range [0] with length 0");
  }
  const text = subnet?.AddressPrefix ?? "";
  const prefix = parseInterfaceAddress(text);
  const ip = parseIp(endpoint.IPAddress ?? "");
  if (ip === undefined || prefix === undefined) {
    const what = prefix === undefined ? text : (endpoint.IPAddress ?? "<nil>");
    const cause = new CniError(CNI_CODES.internal, `invalid CIDR address: ${what}`);
    throw annotate(cause, `failed to parse CIDR from ${text}`);
  }
  const gateway: Ip | undefined = parseIp(endpoint.GatewayAddress ?? "");
  const address = applyForeignMask(ip, prefix);
  return gateway === undefined ? { address } : { address, gateway };
}

/** The result as upstream prints it. */
export function upstreamHnsResult(network: HnsNetwork, endpoint: HnsEndpoint): CniResult {
  const ip = ipOfHnsEndpoint(network, endpoint, "upstream");
  const mac = endpoint.MacAddress ?? "";
  return {
    interfaces: [{ name: endpoint.Name ?? "", ...(mac !== "" && { mac }) }],
    ips: [ip],
    routes: [],
    dns: dnsOfHnsEndpoint(endpoint, "upstream"),
  };
}

/** Finds, creates, attaches and removes v1 endpoints. */
export class HnsEndpoints {
  private readonly caller: HnsCaller;

  constructor(caller: HnsCaller) {
    this.caller = caller;
  }

  /**
   * The endpoint of the sandbox; undefined when there is none. Only a sandbox (`none`) may be without:
   * @throws CniError for a container whose sandbox has none, and for a namespace GUID, which needs HCN.
   */
  async find(target: HnsTarget): Promise<HnsEndpoint | undefined> {
    const { endpointName, netns } = target;
    try {
      return await this.caller.hns((client) => getHnsEndpointByName(client, endpointName));
    } catch (error) {
      if (netns === NO_NAMESPACE && isMissing(error)) return undefined;
      const failure = annotate(error, `failed to find HNSEndpoint ${endpointName}`);
      throw isNamespaceGuid(netns) ? withKnowledge(failure, "cni-api-version-missing") : failure;
    }
  }

  /** Endpoints of one network. */
  async listOfNetwork(networkId: string): Promise<readonly HnsEndpoint[]> {
    const all = await this.caller.hns(listHnsEndpoints);
    return all.filter((endpoint) => equalGuids(endpoint.VirtualNetwork ?? "", networkId));
  }

  async create(target: HnsTarget, plan: EndpointPlan): Promise<HnsEndpoint> {
    const body = hnsEndpointBody(target, plan);
    try {
      return await this.caller.hns(async (client) =>
        parseHnsEndpoint((await requestHns(client, "POST", "/endpoints/", body)) ?? null),
      );
    } catch (error) {
      throw annotate(error, "failed to create the new HNSEndpoint");
    }
  }

  /** Deletes an endpoint of the right name on another network. */
  async deleteCorrupted(endpoint: HnsEndpoint): Promise<void> {
    try {
      await this.delete(endpoint);
    } catch (error) {
      throw annotate(error, `failed to delete corrupted HNSEndpoint ${endpoint.Name ?? ""}`);
    }
  }

  delete(endpoint: HnsEndpoint): Promise<void> {
    return this.caller.hns((client) => deleteHnsEndpoint(client, endpoint.ID ?? ""));
  }

  /** Attaches a container; one that is attached already stays so. */
  private async attachContainer(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    const id = endpoint.ID ?? "";
    await this.caller.hns(async (client) => {
      const current = await getHnsEndpoint(client, id);
      if (current.SharedContainers?.includes(containerId) === true) return;
      await attachHnsEndpoint(client, id, { SystemType: "Container", ContainerId: containerId });
    });
  }

  /**
   * Attaches the container of the call. A new endpoint is removed when that fails; an old one stays, and a
   * container that does not run any more is then no error.
   */
  async attach(target: HnsTarget, endpoint: HnsEndpoint, isNew: boolean): Promise<void> {
    const { containerId } = target;
    const id = endpoint.ID ?? "";
    try {
      await this.attachContainer(endpoint, containerId);
    } catch (error) {
      if (isNew) await this.removeSandbox(endpoint, containerId);
      else if (hasHcnCode(error, "HCS_E_SYSTEM_NOT_FOUND")) return;
      throw annotate(error, `failed to attach container ${containerId} to HNSEndpoint ${id}`);
    }
  }

  /** Detaches one container; failures are ignored, as in upstream. */
  async detachContainer(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    const request = { SystemType: "Container", ContainerId: containerId } as const;
    await ignoreFailure(this.caller.hns((client) => detachHnsEndpoint(client, endpoint.ID ?? "", request)));
  }

  /** Detaches the sandbox' container and deletes the endpoint; failures are ignored, as in upstream. */
  async removeSandbox(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    await this.detachContainer(endpoint, containerId);
    await ignoreFailure(this.delete(endpoint));
  }

  /** As `removeSandbox`, but a failure to delete is reported. What is gone already is none. */
  async removeSandboxOrFail(endpoint: HnsEndpoint, containerId: string): Promise<void> {
    await this.detachContainer(endpoint, containerId);
    try {
      await this.delete(endpoint);
    } catch (error) {
      if (!isMissing(error)) throw annotate(error, `failed to remove HNSEndpoint ${endpoint.Name ?? ""}`);
    }
  }
}

async function ignoreFailure(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch {
    // What could not be undone is found again by its name.
  }
}

interface FoundNetwork {
  readonly network: HnsNetwork;
  readonly view: NetworkView | undefined;
}

export class HnsApi<C extends WindowsConfiguration> implements EndpointApi<C> {
  private readonly traits: PluginTraits<C>;
  private readonly caller: HnsCaller;
  private readonly compat: Compat;
  private readonly endpoints: HnsEndpoints;

  constructor(traits: PluginTraits<C>, caller: HnsCaller, compat: Compat) {
    this.traits = traits;
    this.caller = caller;
    this.compat = compat;
    this.endpoints = new HnsEndpoints(caller);
  }

  async add(call: PluginCall<C>): Promise<CniResult> {
    const { network, view } = await this.findNetwork(call);
    const target = this.targetOf(call, network);
    const sentences = this.traits.sentences.hns;
    let endpoint: HnsEndpoint;
    try {
      endpoint = await this.ensure(call, target, view);
    } catch (error) {
      throw annotate(error, sentences.add(target));
    }
    try {
      return this.resultOf(call, network, endpoint);
    } catch (error) {
      throw annotate(error, sentences.result);
    }
  }

  /** Upstream does nothing without a netns, detaches a workload container, and never fails (rows 73, 37). */
  async remove(call: PluginCall<C>): Promise<void> {
    const { containerId, netns } = call.request;
    if (netns === "" && this.compat === "upstream") return;
    const target: HnsTarget = { ...this.targetOf(call, {}), netns: NO_NAMESPACE };
    const endpoint = await this.endpoints.find(target);
    if (endpoint === undefined) return;
    if (netns !== NO_NAMESPACE && netns !== "") await this.endpoints.detachContainer(endpoint, containerId);
    else if (this.compat === "upstream") await this.endpoints.removeSandbox(endpoint, containerId);
    else await this.endpoints.removeSandboxOrFail(endpoint, containerId);
  }

  async check(call: PluginCall<C>, previous: CniResult): Promise<void> {
    const { network } = await this.findNetwork(call);
    const target = this.targetOf(call, network);
    const endpoint = await this.endpoints.find({ ...target, netns: NO_NAMESPACE });
    if (endpoint === undefined) {
      throw new CniError(CNI_CODES.internal, `endpoint ${target.endpointName} is gone; recreate the pod`);
    }
    failOnDifferences(target.endpointName, compareHnsEndpoint(call, endpoint, network, previous));
  }

  async status(call: PluginCall<C>): Promise<void> {
    await requireNetwork(() => this.findNetwork(call));
  }

  async gc(call: PluginCall<C>, valid: readonly GcAttachment[] | undefined): Promise<readonly string[]> {
    const networkName = call.configuration.name;
    return collectGarbage<HnsEndpoint>({
      networkName,
      valid,
      list: async () => this.endpoints.listOfNetwork((await this.findNetwork(call)).network.ID ?? ""),
      describe: ({ Name, IsRemoteEndpoint }) => ({ name: Name ?? "", isRemote: IsRemoteEndpoint === true }),
      remove: (endpoint) => this.endpoints.removeSandboxOrFail(endpoint, call.request.containerId),
    });
  }

  private targetOf({ request, configuration }: PluginCall<C>, network: HnsNetwork): HnsTarget {
    const { containerId, netns } = request;
    const endpointName = endpointNameOf(containerId, netns, configuration.name);
    return { endpointName, networkId: network.ID ?? "", containerId, netns };
  }

  private async findNetwork(call: PluginCall<C>): Promise<FoundNetwork> {
    const { traits } = this;
    const { name } = call.configuration;
    const sentences = traits.sentences.hns;
    let network: HnsNetwork;
    try {
      network = await this.caller.hns((client) => getHnsNetworkByName(client, name));
    } catch (error) {
      const annotated = annotate(error, sentences.networkLookUp(name));
      throw isMissing(error) ? withKnowledge(annotated, "cni-network-not-found") : annotated;
    }
    const type = network.Type ?? "";
    if (!traits.networkTypes.some((each) => equalFold(each, type)))
      throw new CniError(CNI_CODES.internal, sentences.unexpectedType(name, type));
    return { network, view: await traits.viewNetwork(call) };
  }

  private async ensure(
    call: PluginCall<C>,
    target: HnsTarget,
    view: NetworkView | undefined,
  ): Promise<HnsEndpoint> {
    let existing = await this.endpoints.find(target);
    if (existing !== undefined && !equalGuids(existing.VirtualNetwork ?? "", target.networkId)) {
      await this.endpoints.deleteCorrupted(existing);
      if (this.compat === "hardened") await call.ipam.del();
      existing = undefined;
    }
    const endpoint = existing ?? (await this.make(call, target, view));
    await this.endpoints.attach(target, endpoint, existing === undefined);
    return endpoint;
  }

  private async make(
    call: PluginCall<C>,
    target: HnsTarget,
    view: NetworkView | undefined,
  ): Promise<HnsEndpoint> {
    let plan: EndpointPlan;
    try {
      plan = await planEndpoint(call, this.traits, view);
    } catch (error) {
      throw annotate(error, "failed to make a new HNSEndpoint");
    }
    return this.endpoints.create(target, plan);
  }

  private resultOf(call: PluginCall<C>, network: HnsNetwork, endpoint: HnsEndpoint): CniResult {
    if (this.compat === "upstream") return upstreamHnsResult(network, endpoint);
    const parts = {
      mac: endpoint.MacAddress ?? "",
      ips: [ipOfHnsEndpoint(network, endpoint, this.compat)],
      dns: dnsOfHnsEndpoint(endpoint, this.compat),
    };
    return hardenedResult(call.request, parts, readPrevResult(call.request.configuration));
  }
}

/** What differs, one sentence each. */
function compareHnsEndpoint<C extends WindowsConfiguration>(
  { request, configuration }: PluginCall<C>,
  endpoint: HnsEndpoint,
  network: HnsNetwork,
  previous: CniResult,
): readonly string[] {
  const differences: string[] = [];
  const { containerId, netns } = request;
  if (!equalGuids(endpoint.VirtualNetwork ?? "", network.ID ?? "")) {
    differences.push(`it is not on network ${configuration.name}`);
  }
  const isSandbox = sandboxIdOf(containerId, netns) === containerId;
  const shared = endpoint.SharedContainers;
  if (!isSandbox && shared !== undefined && !shared.includes(containerId)) {
    differences.push(`container ${containerId} is not attached`);
  }
  const held = [parseIp(endpoint.IPAddress ?? ""), parseIp(endpoint.IPv6Address ?? "")];
  for (const { address } of ownIps(request, previous, endpoint.Name ?? "")) {
    if (!held.includes(address.ip)) differences.push(`the address ${formatIp(address.ip)} is missing`);
  }
  return differences;
}
