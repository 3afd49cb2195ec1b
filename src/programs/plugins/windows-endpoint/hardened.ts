/** Endpoints that are looked at before they are made, and reported as runtimes want it (cni.md §2.1). */
import type { StoredHnsNetwork, StoredHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { type StoredNetwork, namespaceOf } from "#contracts/hcn/operations.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { readPrevResult } from "#contracts/cni/plugin-input.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { type EnsuredEndpoint, HcnApi } from "./hcn-api.ts";
import { hardenedHcnResult, hardenedResult } from "./hcn-endpoint.ts";
import {
  type EndpointTarget,
  type NetworkView,
  type PluginCall,
  type WindowsConfiguration,
  isNamespaceGuid,
} from "./plugin-call.ts";
import { HnsApi, dnsOfHnsEndpoint, ipOfHnsEndpoint } from "./hns-api.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export class HardenedHcnApi<C extends WindowsConfiguration> extends HcnApi<C> {
  /**
   * Looks before it makes. An endpoint that is in the namespace already is the result (row 42). Inferred
   * (row 44 leaves it open): one whose old namespace is gone moves to the new one, one in another living namespace
   * is refused.
   */
  protected override async ensure(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<EnsuredEndpoint> {
    const { endpointName, netns } = target;
    if (!isNamespaceGuid(netns)) {
      throw new CniError(
        CNI_CODES.internal,
        `failed to add HostComputeEndpoint ${endpointName} to HostComputeNamespace ${netns}: invalid namespace ID`,
        { knowledge: "cni-namespace-not-guid" },
      );
    }
    let existing = await this.endpoints.find(endpointName);
    if (existing !== undefined && !equalGuids(existing.HostComputeNetwork, target.networkId)) {
      await this.endpoints.remove(existing);
      // Its address is still reserved, and would be refused as a duplicate.
      await call.ipam.del();
      existing = undefined;
    }
    if (existing === undefined) return this.make(call, target, view);
    if (this.endpoints.isAttachedTo(existing, netns)) return { endpoint: existing, isNew: false };
    if (await this.endpoints.isAttached(existing)) {
      const namespace = namespaceOf(existing) ?? "";
      const message = WORDS.endpointInOtherNamespace({ endpointName, namespace, netns });
      throw new CniError(CNI_CODES.internal, message);
    }
    await this.endpoints.attach(target, existing);
    return { endpoint: existing, isNew: false };
  }

  private async make(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<EnsuredEndpoint> {
    const endpoint = await this.endpoints.create(target, await this.plan(call, view));
    try {
      await this.endpoints.attach(target, endpoint);
      return { endpoint, isNew: true };
    } catch (error) {
      await this.endpoints.removeQuietly(endpoint);
      throw error;
    }
  }

  protected override resultOf(
    { request }: PluginCall<C>,
    network: StoredNetwork,
    endpoint: StoredEndpoint,
  ): CniResult {
    return hardenedHcnResult(request, network, endpoint);
  }

  protected override async couldNotTell({ endpoint, isNew }: EnsuredEndpoint): Promise<void> {
    if (isNew) await this.endpoints.removeQuietly(endpoint);
  }
}

export class HardenedHnsApi<C extends WindowsConfiguration> extends HnsApi<C> {
  protected override removeSandbox(endpoint: StoredHnsEndpoint, containerId: string): Promise<void> {
    return this.endpoints.removeSandboxOrFail(endpoint, containerId);
  }

  protected override resultOf(
    { request }: PluginCall<C>,
    network: StoredHnsNetwork,
    endpoint: StoredHnsEndpoint,
  ): CniResult {
    const parts = {
      mac: endpoint.MacAddress ?? "",
      ips: [ipOfHnsEndpoint(network, endpoint)],
      dns: dnsOfHnsEndpoint(endpoint, (list) => (list === "" ? [] : list.split(","))),
    };
    return hardenedResult(request, parts, readPrevResult(request.configuration));
  }
}
