/**
 * A main plugin for Windows over HNS v1, every `apiVersion` but 2 (cni.md §2.1, v1 algorithms): the call, and the
 * endpoint of sandboxes without a namespace, whose containers are attached to one shared endpoint.
 *
 * On Windows a running container gets its endpoint through its compute system (HCS), not through HNS.
 * Inferred: here the HNS call `attach` stands for it, which has the same effect on HNS' objects.
 */
import type { EndpointDifferences } from "./differences.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { equalFold } from "#contracts/cni/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { CniError, CNI_CODES, annotate, annotated } from "#contracts/cni/error.ts";
import type { CniDns, CniIp, CniResult } from "#contracts/cni/result.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import {
  type StoredHnsEndpoint,
  type StoredHnsNetwork,
  createHnsEndpoint,
  deleteHnsEndpoint,
  detachHnsEndpoint,
  getHnsEndpointByName,
  hotAttachEndpoint,
  hotDetachEndpoint,
  listHnsEndpoints,
  getHnsNetworkByName,
} from "#contracts/hcn/v1-operations.ts";
import { formatIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import {
  type WindowsConfiguration,
  type EndpointApi,
  type NetworkView,
  type PluginCall,
  type PluginTraits,
  type EndpointTarget,
  targetOf,
  collectGarbage,
  requireNetwork,
  NO_NAMESPACE,
  isNamespaceGuid,
  sandboxIdOf,
} from "./plugin-call.ts";
import {
  quietly,
  requireFound,
  unlessMissing,
  type HnsCaller,
  hasHcnCode,
  isMissing,
  withKnowledge,
} from "./hns-caller.ts";
import { type EndpointPlan, planEndpoint, toHnsPolicies } from "./endpoint-plan.ts";
import { failOnDifferences, ownIps } from "./hcn-api.ts";
import { applyForeignMask, withGateway } from "./hcn-endpoint.ts";

/** The body to POST; members without content are left out. */
export function hnsEndpointBody(target: EndpointTarget, plan: EndpointPlan): JsonObject {
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

/** The DNS of a v1 endpoint: two comma lists. */
export function dnsOfHnsEndpoint(
  endpoint: StoredHnsEndpoint,
  split: (list: string) => readonly string[],
): CniDns {
  return {
    nameservers: split(endpoint.DNSServerList ?? ""),
    domain: "",
    search: split(endpoint.DNSSuffix ?? ""),
    options: [],
  };
}

/** The address of a v1 endpoint with the mask of the network's first subnet. @throws CniError, PluginPanic */
export function ipOfHnsEndpoint(network: StoredHnsNetwork, endpoint: StoredHnsEndpoint): CniIp {
  const text = network.Subnets?.[0]?.AddressPrefix ?? "";
  const prefix = parseInterfaceAddress(text);
  const ip = parseIp(endpoint.IPAddress ?? "");
  if (ip === undefined || prefix === undefined) {
    const what = prefix === undefined ? text : (endpoint.IPAddress ?? "<nil>");
    const cause = new CniError(CNI_CODES.internal, `invalid CIDR address: ${what}`);
    throw annotate(cause, `failed to parse CIDR from ${text}`);
  }
  return withGateway(applyForeignMask(ip, prefix), parseIp(endpoint.GatewayAddress ?? ""));
}

/** Finds, creates, attaches and removes v1 endpoints. */
export class HnsEndpoints {
  private readonly caller: HnsCaller;
  private readonly differences: EndpointDifferences;

  constructor(caller: HnsCaller, differences: EndpointDifferences) {
    this.caller = caller;
    this.differences = differences;
  }

  /**
   * The endpoint of the sandbox; undefined when there is none. Only a sandbox (`none`) may be without:
   * @throws CniError for a container whose sandbox has none, and for a namespace GUID, which needs HCN.
   */
  async find(target: EndpointTarget): Promise<StoredHnsEndpoint | undefined> {
    const { endpointName, netns } = target;
    try {
      return await this.caller.hns((client) => getHnsEndpointByName(client, endpointName));
    } catch (error) {
      if (netns === NO_NAMESPACE && isMissing(error)) return undefined;
      const failure = annotate(error, `failed to find HNSEndpoint ${endpointName}`);
      throw isNamespaceGuid(netns) ? withKnowledge(failure, "cni-api-version-missing") : failure;
    }
  }

  /**
   * Upstream looks once more before it creates: another call may have been faster. @throws CniError, around which stands
   * what was being made.
   */
  lookAgain(target: EndpointTarget): Promise<void> {
    const { endpointName, networkId } = target;
    return annotated("failed to make a new HNSEndpoint: error while generating HNSEndpoint", async () => {
      const other = await this.find({ ...target, netns: NO_NAMESPACE });
      if (other === undefined) return;
      if (!equalGuids(other.VirtualNetwork, networkId)) return this.deleteCorrupted(other);
      throw new CniError(CNI_CODES.internal, `HNSEndpoint ${endpointName} is already existed`);
    });
  }

  /** Endpoints of one network. */
  async listOfNetwork(networkId: string): Promise<readonly StoredHnsEndpoint[]> {
    const all = await this.caller.hns(listHnsEndpoints);
    return all.filter((endpoint) => equalGuids(endpoint.VirtualNetwork, networkId));
  }

  create(target: EndpointTarget, plan: EndpointPlan): Promise<StoredHnsEndpoint> {
    const body = hnsEndpointBody(target, plan);
    return annotated("failed to create the new HNSEndpoint", () =>
      this.caller.hns((client) => createHnsEndpoint(client, body)),
    );
  }

  /** Deletes an endpoint of the right name on another network. */
  deleteCorrupted(endpoint: StoredHnsEndpoint): Promise<void> {
    const action = `failed to delete corrupted HNSEndpoint ${endpoint.Name ?? ""}`;
    return annotated(action, () => this.delete(endpoint));
  }

  delete(endpoint: StoredHnsEndpoint): Promise<void> {
    return this.caller.hns((client) => deleteHnsEndpoint(client, endpoint.ID));
  }

  /**
   * Attaches the container of the call. A new endpoint is removed when that fails; an old one stays, and a
   * container that does not run any more is then no error.
   */
  async attach(target: EndpointTarget, endpoint: StoredHnsEndpoint, isNew: boolean): Promise<void> {
    const { containerId } = target;
    const id = endpoint.ID;
    try {
      await this.caller.hns((client) => hotAttachEndpoint(client, id, containerId));
    } catch (error) {
      if (isNew) await this.removeNew(target, endpoint);
      else if (hasHcnCode(error, "HCS_E_SYSTEM_NOT_FOUND")) return;
      throw annotate(error, `failed to attach container ${containerId} to HNSEndpoint ${id}`);
    }
  }

  /** As DEL: upstream leaves what it has made for a workload's container. */
  private async removeNew(
    { netns, containerId }: EndpointTarget,
    endpoint: StoredHnsEndpoint,
  ): Promise<void> {
    if (netns === NO_NAMESPACE || this.differences.removesWhatItMade)
      await this.removeSandbox(endpoint, containerId);
    else await this.detachContainer(endpoint, containerId);
  }

  /** Detaches one container; failures are ignored, as in upstream. */
  detachContainer(endpoint: StoredHnsEndpoint, containerId: string): Promise<void> {
    const request = { SystemType: "Container", ContainerId: containerId } as const;
    return quietly(() => this.caller.hns((client) => detachHnsEndpoint(client, endpoint.ID, request)));
  }

  /** Takes the endpoint from the running container; failures are ignored, as in upstream. */
  private hotDetach(endpoint: StoredHnsEndpoint, containerId: string): Promise<void> {
    return quietly(() => this.caller.hns((client) => hotDetachEndpoint(client, endpoint.ID, containerId)));
  }

  /** Detaches the sandbox' container and deletes the endpoint; failures are ignored, as in upstream. */
  async removeSandbox(endpoint: StoredHnsEndpoint, containerId: string): Promise<void> {
    await this.hotDetach(endpoint, containerId);
    await quietly(() => this.delete(endpoint));
  }

  /** As `removeSandbox`, but a failure to delete is reported. What is gone already is none. */
  async removeSandboxOrFail(endpoint: StoredHnsEndpoint, containerId: string): Promise<void> {
    await this.hotDetach(endpoint, containerId);
    await annotated(`failed to remove HNSEndpoint ${endpoint.Name ?? ""}`, () =>
      unlessMissing(() => this.delete(endpoint)),
    );
  }
}

interface FoundNetwork {
  readonly network: StoredHnsNetwork;
  readonly view: NetworkView | undefined;
}

/** What both ways share; `upstream.ts` and `hardened.ts` say how an endpoint is removed, and what is told of it. */
export abstract class HnsApi<C extends WindowsConfiguration> implements EndpointApi<C> {
  private readonly traits: PluginTraits<C>;
  private readonly caller: HnsCaller;
  private readonly differences: EndpointDifferences;
  protected readonly endpoints: HnsEndpoints;

  constructor(traits: PluginTraits<C>, caller: HnsCaller, differences: EndpointDifferences) {
    this.traits = traits;
    this.caller = caller;
    this.differences = differences;
    this.endpoints = new HnsEndpoints(caller, differences);
  }

  async add(call: PluginCall<C>): Promise<CniResult> {
    const { network, view } = await this.findNetwork(call);
    const target = targetOf(call, network.ID);
    const sentences = this.traits.sentences.hns;
    const endpoint = await annotated(sentences.add(target), () => this.ensure(call, target, view));
    return annotated(sentences.result, async () => this.resultOf(call, network, endpoint));
  }

  /** A workload container is detached; with the sandbox the endpoint goes (rows 73, 37). */
  async remove(call: PluginCall<C>): Promise<void> {
    const { containerId, netns } = call.request;
    const target: EndpointTarget = { ...targetOf(call, ""), netns: NO_NAMESPACE };
    const endpoint = await this.endpoints.find(target);
    if (endpoint === undefined) return;
    if (netns !== NO_NAMESPACE && netns !== "") await this.endpoints.detachContainer(endpoint, containerId);
    else await this.removeSandbox(endpoint, containerId);
  }

  protected abstract removeSandbox(endpoint: StoredHnsEndpoint, containerId: string): Promise<void>;

  /** @throws CniError, PluginPanic when the endpoint has nothing to report. */
  protected abstract resultOf(
    call: PluginCall<C>,
    network: StoredHnsNetwork,
    endpoint: StoredHnsEndpoint,
  ): CniResult;

  async check(call: PluginCall<C>, previous: CniResult): Promise<void> {
    const { network } = await this.findNetwork(call);
    const target = targetOf(call, network.ID);
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
    return collectGarbage<StoredHnsEndpoint>({
      networkName,
      valid,
      list: async () => this.endpoints.listOfNetwork((await this.findNetwork(call)).network.ID),
      describe: ({ Name, IsRemoteEndpoint }) => ({ name: Name ?? "", isRemote: IsRemoteEndpoint === true }),
      remove: (endpoint) => this.endpoints.removeSandboxOrFail(endpoint, call.request.containerId),
    });
  }

  private async findNetwork(call: PluginCall<C>): Promise<FoundNetwork> {
    const { traits } = this;
    const { name } = call.configuration;
    const sentences = traits.sentences.hns;
    const network = await requireFound(sentences.networkLookUp(name), () =>
      this.caller.hns((client) => getHnsNetworkByName(client, name)),
    );
    const type = network.Type ?? "";
    if (!traits.networkTypes.some((each) => equalFold(each, type)))
      throw new CniError(CNI_CODES.internal, sentences.unexpectedType(name, type));
    return { network, view: traits.viewOf(network) };
  }

  private async ensure(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<StoredHnsEndpoint> {
    let existing = await this.endpoints.find(target);
    if (existing !== undefined && !equalGuids(existing.VirtualNetwork, target.networkId)) {
      await this.endpoints.deleteCorrupted(existing);
      if (this.differences.releasesCorrupted) await call.ipam.del();
      existing = undefined;
    }
    const endpoint = existing ?? (await this.make(call, target, view));
    await this.endpoints.attach(target, endpoint, existing === undefined);
    return endpoint;
  }

  private async make(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<StoredHnsEndpoint> {
    const plan = await annotated("failed to make a new HNSEndpoint", () =>
      planEndpoint(call, this.traits, view),
    );
    if (this.differences.looksAgain && this.traits.looksAgainOverHns) await this.endpoints.lookAgain(target);
    return this.endpoints.create(target, plan);
  }
}

/** What differs, one sentence each. */
function compareHnsEndpoint<C extends WindowsConfiguration>(
  { request, configuration }: PluginCall<C>,
  endpoint: StoredHnsEndpoint,
  network: StoredHnsNetwork,
  previous: CniResult,
): readonly string[] {
  const differences: string[] = [];
  const { containerId, netns } = request;
  if (!equalGuids(endpoint.VirtualNetwork, network.ID)) {
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
