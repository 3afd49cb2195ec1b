/** win-bridge over HCN, `apiVersion` 2 (cni.md §2.1, v2 algorithms). */
import { CNI_CODES, CniError, PluginPanic, annotate } from "../../cni/error.ts";
import { type GcAttachment, readPrevResult } from "../../cni/configuration.ts";
import type { Compat } from "../../cni/parameters.ts";
import { type CniResult, EMPTY_DNS } from "../../cni/result.ts";
import type { PolicyDocument } from "../../hcn/base-document.ts";
import { ENDPOINT_FLAGS, type HostComputeEndpoint } from "../../hcn/endpoint.ts";
import { equalGuids } from "../../hcn/guid.ts";
import type { HostComputeNetwork } from "../../hcn/network.ts";
import { getNetworkByName, listEndpointsOfNetwork, namespaceOf } from "../../hcn/operations.ts";
import type { EndpointPlan } from "../windows-endpoint/endpoint-plan.ts";
import type { HnsCaller } from "../windows-endpoint/failure.ts";
import { compareHcnEndpoint, failOnDifferences } from "../windows-endpoint/hcn-check.ts";
import {
  HcnEndpoints,
  type HcnTarget,
  hcnEndpointDocument,
  networkLookUpError,
} from "../windows-endpoint/hcn-endpoint.ts";
import {
  betterResult,
  dnsOfEndpoint,
  ipsOfHcnEndpoint,
  referenceHcnResult,
} from "../windows-endpoint/hcn-result.ts";
import { endpointNameOf, isNamespaceGuid } from "../windows-endpoint/sandbox.ts";
import { bridgePolicies, hasLoopbackDsr, planBridgeEndpoint } from "./plan.ts";
import { type Bridge, type BridgeCall, collectGarbage, requireNetwork } from "./bridge.ts";

/** The endpoint of a call, and whether the call made it. */
interface EnsuredEndpoint {
  readonly endpoint: HostComputeEndpoint;
  readonly isNew: boolean;
}

export class HcnBridge implements Bridge {
  private readonly caller: HnsCaller;
  private readonly compat: Compat;
  private readonly endpoints: HcnEndpoints;

  constructor(caller: HnsCaller, compat: Compat) {
    this.caller = caller;
    this.compat = compat;
    this.endpoints = new HcnEndpoints({ caller, compat });
  }

  async add(call: BridgeCall): Promise<CniResult> {
    const network = await this.findNetwork(call.configuration.name);
    const target = this.targetOf(call, network);
    let ensured: EnsuredEndpoint;
    try {
      ensured =
        this.compat === "better"
          ? await this.ensure(call, target)
          : await this.ensureAsReference(call, target);
    } catch (error) {
      throw annotate(error, "error while adding HostComputeEndpoint");
    }
    try {
      return this.resultOf(call, network, ensured.endpoint);
    } catch (error) {
      if (error instanceof PluginPanic) throw error;
      if (this.compat === "better" && ensured.isNew) await this.endpoints.removeQuietly(ensured.endpoint);
      throw annotate(error, "error while constructing HostComputeEndpoint addition result");
    }
  }

  async remove(call: BridgeCall): Promise<void> {
    const endpoint = await this.endpoints.find(this.nameOf(call));
    if (endpoint !== undefined) await this.endpoints.remove(endpoint);
  }

  async check(call: BridgeCall, previous: CniResult): Promise<void> {
    const network = await this.findNetwork(call.configuration.name);
    const endpointName = this.nameOf(call);
    const endpoint = await this.endpoints.find(endpointName);
    if (endpoint === undefined) {
      throw new CniError(CNI_CODES.internal, `endpoint ${endpointName} is gone; recreate the pod`);
    }
    const policies = await this.wantedPolicies(call, this.targetOf(call, network), endpoint);
    const expected = { result: previous, networkId: network.ID ?? "", policies };
    failOnDifferences(endpointName, compareHcnEndpoint(call.request, endpoint, expected));
  }

  async status(call: BridgeCall): Promise<void> {
    await requireNetwork(() => this.findNetwork(call.configuration.name));
  }

  async gc(call: BridgeCall, valid: readonly GcAttachment[] | undefined): Promise<readonly string[]> {
    const networkName = call.configuration.name;
    return collectGarbage<HostComputeEndpoint>({
      networkName,
      valid,
      list: async () => {
        const network = await this.findNetwork(networkName);
        return this.caller.hcn("hcnEnumerateEndpoints", (client) =>
          listEndpointsOfNetwork(client, network.ID ?? ""),
        );
      },
      describe: ({ Name, Flags }) => ({
        name: Name ?? "",
        isRemote: ((Flags ?? 0) & ENDPOINT_FLAGS.RemoteEndpoint) !== 0,
      }),
      remove: (endpoint) => this.endpoints.remove(endpoint),
    });
  }

  private nameOf({ request, configuration }: BridgeCall): string {
    return endpointNameOf(request.containerId, request.netns, configuration.name);
  }

  private targetOf(call: BridgeCall, network: HostComputeNetwork): HcnTarget {
    return { endpointName: this.nameOf(call), networkId: network.ID ?? "", netns: call.request.netns };
  }

  /** @throws CniError when there is none of that name, or it is of another type. */
  private async findNetwork(name: string): Promise<HostComputeNetwork> {
    let network: HostComputeNetwork;
    try {
      network = await this.caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, name));
    } catch (error) {
      throw networkLookUpError(error, name);
    }
    // Inferred: HNS prints types in one spelling, so the reference's exact comparison is this one.
    if (network.Type === "L2Bridge" || network.Type === "L2Tunnel") return network;
    throw new CniError(CNI_CODES.internal, `network ${name} is of unexpected type: ${network.Type ?? "NAT"}`);
  }

  private async plan(call: BridgeCall): Promise<EndpointPlan> {
    try {
      return await planBridgeEndpoint(call, this.caller, this.compat);
    } catch (error) {
      throw annotate(error, "failed to make a new HostComputeEndpoint");
    }
  }

  /** Finds or creates, then attaches, always; a new endpoint that cannot be attached is removed. */
  private async ensureAsReference(call: BridgeCall, target: HcnTarget): Promise<EnsuredEndpoint> {
    let existing = await this.endpoints.find(target.endpointName);
    if (existing !== undefined && !equalGuids(existing.HostComputeNetwork ?? "", target.networkId)) {
      await this.endpoints.deleteCorrupted(existing);
      existing = undefined;
    }
    const endpoint = existing ?? (await this.endpoints.create(target, await this.plan(call)));
    try {
      await this.endpoints.attach(target, endpoint);
    } catch (error) {
      if (existing === undefined) await this.removeAfterFailure(target);
      throw error;
    }
    return { endpoint, isNew: existing === undefined };
  }

  private async removeAfterFailure({ endpointName, netns }: HcnTarget): Promise<void> {
    try {
      const endpoint = await this.endpoints.find(endpointName);
      if (endpoint !== undefined) await this.endpoints.remove(endpoint);
    } catch (error) {
      throw annotate(
        error,
        `failed to remove the new HostComputeEndpoint ${endpointName} after adding HostComputeNamespace ${netns} failure`,
      );
    }
  }

  /**
   * Better: looks before it makes. An endpoint that is in the namespace already is the result (row 42). Inferred
   * (row 44 leaves it open): one whose old namespace is gone moves to the new one, one in another living namespace
   * is refused.
   */
  private async ensure(call: BridgeCall, target: HcnTarget): Promise<EnsuredEndpoint> {
    const { endpointName, netns } = target;
    if (!isNamespaceGuid(netns)) {
      throw new CniError(
        CNI_CODES.internal,
        `failed to add HostComputeEndpoint ${endpointName} to HostComputeNamespace ${netns}: invalid namespace ID`,
        { knowledge: "cni-namespace-not-guid" },
      );
    }
    let existing = await this.endpoints.find(endpointName);
    if (existing !== undefined && !equalGuids(existing.HostComputeNetwork ?? "", target.networkId)) {
      await this.endpoints.remove(existing);
      // Its address is still reserved, and would be refused as a duplicate.
      await call.ipam.del();
      existing = undefined;
    }
    if (existing === undefined) return this.make(call, target);
    if (this.endpoints.isAttachedTo(existing, netns)) return { endpoint: existing, isNew: false };
    if (await this.endpoints.isAttached(existing)) {
      const namespace = namespaceOf(existing) ?? "";
      const message = `endpoint ${endpointName} is in namespace ${namespace} already; call DEL before ADD with ${netns}`;
      throw new CniError(CNI_CODES.internal, message);
    }
    await this.endpoints.attach(target, existing);
    return { endpoint: existing, isNew: false };
  }

  private async make(call: BridgeCall, target: HcnTarget): Promise<EnsuredEndpoint> {
    const endpoint = await this.endpoints.create(target, await this.plan(call));
    try {
      await this.endpoints.attach(target, endpoint);
      return { endpoint, isNew: true };
    } catch (error) {
      await this.endpoints.removeQuietly(endpoint);
      throw error;
    }
  }

  /** @throws CniError, PluginPanic when the endpoint has nothing to tell. */
  private resultOf(call: BridgeCall, network: HostComputeNetwork, endpoint: HostComputeEndpoint): CniResult {
    if (this.compat === "reference") return referenceHcnResult(network, endpoint);
    const ips = ipsOfHcnEndpoint(network, endpoint);
    const parts = { mac: endpoint.MacAddress ?? "", ips, dns: dnsOfEndpoint(endpoint) };
    return betterResult(call.request, parts, readPrevResult(call.request.configuration));
  }

  /** The policies that the endpoint should have, loopback DSR for the addresses it has. */
  private async wantedPolicies(
    call: BridgeCall,
    target: HcnTarget,
    endpoint: HostComputeEndpoint,
  ): Promise<readonly PolicyDocument[]> {
    const { configuration, request } = call;
    const silent = { ...request, warn: () => undefined };
    const plan: EndpointPlan = {
      addresses: [],
      policies: bridgePolicies(configuration, silent, this.compat),
      dns: EMPTY_DNS,
      hasLoopbackDsr: false,
    };
    const policies = hcnEndpointDocument(target, plan, this.compat).Policies ?? [];
    if (!(await hasLoopbackDsr({ ...call, request: silent }, this.caller, this.compat))) return policies;
    const ips = (endpoint.IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []);
    return [...policies, ...ips.map((ip) => ({ Type: "OutBoundNAT", Settings: { Destinations: [ip] } }))];
  }
}
