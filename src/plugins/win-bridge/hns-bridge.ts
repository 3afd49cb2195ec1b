/** win-bridge over HNS v1, every `apiVersion` but 2 (cni.md §2.1, v1 algorithms). */
import { readPrevResult, type GcAttachment } from "../../cni/configuration.ts";
import { equalFold } from "../../cni/decode.ts";
import { CNI_CODES, CniError, annotate } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniResult } from "../../cni/result.ts";
import { equalGuids } from "../../hcn/guid.ts";
import type { HnsEndpoint, HnsNetwork } from "../../hcn/v1-documents.ts";
import { getHnsNetworkByName } from "../../hcn/v1-operations.ts";
import { formatIp, parseIp } from "../../net/ip.ts";
import type { EndpointPlan } from "../windows-endpoint/endpoint-plan.ts";
import { type HnsCaller, isMissing, withKnowledge } from "../windows-endpoint/failure.ts";
import { failOnDifferences, ownIps } from "../windows-endpoint/hcn-check.ts";
import { betterResult } from "../windows-endpoint/hcn-result.ts";
import {
  HnsEndpoints,
  type HnsTarget,
  dnsOfHnsEndpoint,
  ipOfHnsEndpoint,
  referenceHnsResult,
} from "../windows-endpoint/hns-endpoint.ts";
import { NO_NAMESPACE, endpointNameOf, sandboxIdOf } from "../windows-endpoint/sandbox.ts";
import { planBridgeEndpoint } from "./plan.ts";
import { type Bridge, type BridgeCall, collectGarbage, requireNetwork } from "./bridge.ts";

export class HnsBridge implements Bridge {
  private readonly caller: HnsCaller;
  private readonly compat: Compat;
  private readonly endpoints: HnsEndpoints;

  constructor(caller: HnsCaller, compat: Compat) {
    this.caller = caller;
    this.compat = compat;
    this.endpoints = new HnsEndpoints(caller);
  }

  async add(call: BridgeCall): Promise<CniResult> {
    const network = await this.findNetwork(call.configuration.name);
    const target = this.targetOf(call, network);
    let endpoint: HnsEndpoint;
    try {
      endpoint = await this.ensure(call, target);
    } catch (error) {
      throw annotate(error, "error while adding HNSEndpoint");
    }
    try {
      return this.resultOf(call, network, endpoint);
    } catch (error) {
      throw error instanceof CniError
        ? annotate(error, "error while constructing HNSEndpoint addition result")
        : error;
    }
  }

  /** The reference does nothing without a netns, detaches a workload container, and never fails (rows 73, 37). */
  async remove(call: BridgeCall): Promise<void> {
    const { containerId, netns } = call.request;
    if (netns === "" && this.compat === "reference") return;
    const target: HnsTarget = { ...this.targetOf(call, {}), netns: NO_NAMESPACE };
    const endpoint = await this.endpoints.find(target);
    if (endpoint === undefined) return;
    if (netns !== NO_NAMESPACE && netns !== "") await this.endpoints.detachContainer(endpoint, containerId);
    else if (this.compat === "reference") await this.endpoints.removeSandbox(endpoint, containerId);
    else await this.endpoints.removeSandboxOrFail(endpoint, containerId);
  }

  async check(call: BridgeCall, previous: CniResult): Promise<void> {
    const network = await this.findNetwork(call.configuration.name);
    const target = this.targetOf(call, network);
    const endpoint = await this.endpoints.find({ ...target, netns: NO_NAMESPACE });
    if (endpoint === undefined) {
      throw new CniError(CNI_CODES.internal, `endpoint ${target.endpointName} is gone; recreate the pod`);
    }
    failOnDifferences(target.endpointName, compareHnsEndpoint(call, endpoint, network, previous));
  }

  async status(call: BridgeCall): Promise<void> {
    await requireNetwork(() => this.findNetwork(call.configuration.name));
  }

  async gc(call: BridgeCall, valid: readonly GcAttachment[] | undefined): Promise<readonly string[]> {
    const networkName = call.configuration.name;
    return collectGarbage<HnsEndpoint>({
      networkName,
      valid,
      list: async () => this.endpoints.listOfNetwork((await this.findNetwork(networkName)).ID ?? ""),
      describe: ({ Name, IsRemoteEndpoint }) => ({ name: Name ?? "", isRemote: IsRemoteEndpoint === true }),
      remove: (endpoint) => this.endpoints.removeSandboxOrFail(endpoint, call.request.containerId),
    });
  }

  private targetOf({ request, configuration }: BridgeCall, network: HnsNetwork): HnsTarget {
    const { containerId, netns } = request;
    const endpointName = endpointNameOf(containerId, netns, configuration.name);
    return { endpointName, networkId: network.ID ?? "", containerId, netns };
  }

  private async findNetwork(name: string): Promise<HnsNetwork> {
    let network: HnsNetwork;
    try {
      network = await this.caller.hns((client) => getHnsNetworkByName(client, name));
    } catch (error) {
      const annotated = annotate(error, `error while getting network ${name}`);
      throw isMissing(error) ? withKnowledge(annotated, "cni-network-not-found") : annotated;
    }
    const type = network.Type ?? "";
    if (equalFold(type, "L2Bridge") || equalFold(type, "L2Tunnel")) return network;
    throw new CniError(CNI_CODES.internal, `network ${name} is of unexpected type: ${type}`);
  }

  private async ensure(call: BridgeCall, target: HnsTarget): Promise<HnsEndpoint> {
    let existing = await this.endpoints.find(target);
    if (existing !== undefined && !equalGuids(existing.VirtualNetwork ?? "", target.networkId)) {
      await this.endpoints.deleteCorrupted(existing);
      if (this.compat === "better") await call.ipam.del();
      existing = undefined;
    }
    const endpoint = existing ?? (await this.make(call, target));
    await this.endpoints.attach(target, endpoint, existing === undefined);
    return endpoint;
  }

  private async make(call: BridgeCall, target: HnsTarget): Promise<HnsEndpoint> {
    let plan: EndpointPlan;
    try {
      plan = await planBridgeEndpoint(call, this.caller, this.compat);
    } catch (error) {
      throw annotate(error, "failed to make a new HNSEndpoint");
    }
    return this.endpoints.create(target, plan);
  }

  private resultOf(call: BridgeCall, network: HnsNetwork, endpoint: HnsEndpoint): CniResult {
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
function compareHnsEndpoint(
  { request, configuration }: BridgeCall,
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
