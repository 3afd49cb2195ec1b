/** A main plugin for Windows over HNS v1, every `apiVersion` but 2 (cni.md §2.1, v1 algorithms). */
import { readPrevResult, type GcAttachment } from "../../cni/configuration.ts";
import { equalFold } from "../../cni/decode.ts";
import { CNI_CODES, CniError, annotate } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniResult } from "../../cni/result.ts";
import { equalGuids } from "../../hcn/guid.ts";
import type { HnsEndpoint, HnsNetwork } from "../../hcn/v1-documents.ts";
import { getHnsNetworkByName } from "../../hcn/v1-operations.ts";
import { formatIp, parseIp } from "../../net/ip.ts";
import { type EndpointPlan, planEndpoint } from "./endpoint-plan.ts";
import { type HnsCaller, isMissing, withKnowledge } from "./failure.ts";
import { failOnDifferences, ownIps } from "./hcn-check.ts";
import { betterResult } from "./hcn-result.ts";
import {
  HnsEndpoints,
  type HnsTarget,
  dnsOfHnsEndpoint,
  ipOfHnsEndpoint,
  referenceHnsResult,
} from "./hns-endpoint.ts";
import { NO_NAMESPACE, endpointNameOf, sandboxIdOf } from "./sandbox.ts";
import type { NetworkView, PluginCall, PluginTraits } from "./plugin-traits.ts";
import { type EndpointApi, collectGarbage, requireNetwork } from "./endpoint-api.ts";
import type { WindowsConfiguration } from "./conf.ts";

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

  /** The reference does nothing without a netns, detaches a workload container, and never fails (rows 73, 37). */
  async remove(call: PluginCall<C>): Promise<void> {
    const { containerId, netns } = call.request;
    if (netns === "" && this.compat === "reference") return;
    const target: HnsTarget = { ...this.targetOf(call, {}), netns: NO_NAMESPACE };
    const endpoint = await this.endpoints.find(target);
    if (endpoint === undefined) return;
    if (netns !== NO_NAMESPACE && netns !== "") await this.endpoints.detachContainer(endpoint, containerId);
    else if (this.compat === "reference") await this.endpoints.removeSandbox(endpoint, containerId);
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
      if (this.compat === "better") await call.ipam.del();
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
    if (this.compat === "reference") return referenceHnsResult(network, endpoint);
    const parts = {
      mac: endpoint.MacAddress ?? "",
      ips: [ipOfHnsEndpoint(network, endpoint, this.compat)],
      dns: dnsOfHnsEndpoint(endpoint, this.compat),
    };
    return betterResult(call.request, parts, readPrevResult(call.request.configuration));
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
