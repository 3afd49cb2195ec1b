/** The endpoint of a pod in HCN and in HNS v1: made, found, compared, removed (cni.md §5.4 step 6, §5.6). */
import { CNI_CODES, CniError, describeError } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniResult } from "../../cni/result.ts";
import type { HostComputeEndpoint } from "../../hcn/endpoint.ts";
import { hasFeature } from "../../hcn/features.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  deleteEndpoint,
  getEndpointById,
  getNamespaceById,
  namespaceOf,
  removeNamespaceEndpoint,
} from "../../hcn/operations.ts";
import type { HnsEndpoint } from "../../hcn/v1-documents.ts";
import {
  attachHnsEndpoint,
  createHnsEndpoint,
  deleteHnsEndpoint,
  getHnsEndpoint,
  getHnsVersion,
} from "../../hcn/v1-operations.ts";
import { formatIp, parseIp } from "../../net/ip.ts";
import type { AzureCaller } from "./caller.ts";
import { isMissing, namespaceCall } from "../windows-endpoint/failure.ts";
import { compareHcnEndpoint, failOnDifferences } from "../windows-endpoint/hcn-check.ts";
import { isNamespaceGuid } from "../windows-endpoint/sandbox.ts";
import { azureEndpointDocument, azureHnsEndpointDocument } from "./endpoint-documents.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import { type PolicyOptions, toAzureHcnPolicies } from "./policies.ts";
import type { AzureEndpointRecord, AzureNetworkRecord } from "./state.ts";

/** What HNS says of an endpoint that was made. */
interface MadeEndpoint {
  readonly id: string;
  readonly mac: string;
  readonly gateway: string;
}

function fail(text: string, error: unknown): CniError {
  const knowledge = error instanceof CniError ? error.knowledge : undefined;
  const message = `failed to create endpoint: ${text}`;
  return new CniError(CNI_CODES.internal, message, { knowledge, cause: error });
}

/** Without routes from IPAM the endpoint has none of its own: HNS uses the network's gateway. */
function withoutGateways(previous: CniResult, { routes }: AzureEndpointRecord): CniResult {
  if (routes.length > 0) return previous;
  return { ...previous, ips: previous.ips.map(({ gateway: _gateway, ...ip }) => ip) };
}

export class AzureEndpoints {
  private readonly compat: Compat;

  constructor(compat: Compat) {
    this.compat = compat;
  }

  /** Makes the endpoint and gives it to the pod; undone when the second fails. @throws CniError */
  async create(call: AzureCall, network: AzureNetworkRecord, plan: AzurePlan): Promise<AzureEndpointRecord> {
    const options = await this.policyOptions(call);
    const made = isNamespaceGuid(call.request.netns)
      ? await this.createHcn(call, network, plan, options)
      : await this.createHns(call, network, plan, options);
    const gateway = parseIp(made.gateway);
    return {
      id: plan.endpointName,
      hnsId: made.id,
      ifName: call.request.ifName,
      mac: made.mac,
      addresses: plan.ipamResult.ips.map(({ address }) => address),
      gateways: gateway === undefined ? [] : [gateway],
      dns: plan.dns,
      routes: plan.ipamResult.routes,
      containerId: call.request.containerId,
      netns: call.request.netns,
      podName: plan.pod.name,
      podNamespace: plan.pod.namespace,
    };
  }

  /** What is gone already is no error. @throws CniError */
  async remove(caller: AzureCaller, { hnsId, netns }: AzureEndpointRecord): Promise<void> {
    if (hnsId === "") return;
    if (isNamespaceGuid(netns)) return this.removeHcn(caller, hnsId);
    try {
      await caller.hns((client) => deleteHnsEndpoint(client, hnsId));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  /** True when the endpoint is in HNS, and in the pod's namespace if it has one. */
  async isThere({ caller }: AzureCall, { hnsId, netns }: AzureEndpointRecord): Promise<boolean> {
    try {
      if (!isNamespaceGuid(netns)) {
        await caller.hns((client) => getHnsEndpoint(client, hnsId));
        return true;
      }
      const endpoint = await caller.hcn("hcnOpenEndpoint", (client) => getEndpointById(client, hnsId));
      return namespaceOf(endpoint)?.toLowerCase() === netns.toLowerCase();
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** @throws CniError that lists what differs from `previous` */
  async check(
    call: AzureCall,
    network: AzureNetworkRecord,
    record: AzureEndpointRecord,
    expected: { readonly previous: CniResult; readonly policies: AzurePlan["policies"] },
  ): Promise<void> {
    const { caller, request } = call;
    const options = await this.policyOptions(call);
    try {
      if (isNamespaceGuid(record.netns)) {
        const endpoint = await caller.hcn("hcnOpenEndpoint", (client) =>
          getEndpointById(client, record.hnsId),
        );
        const policies = toAzureHcnPolicies(expected.policies, options);
        const result = withoutGateways(expected.previous, record);
        const wanted = { result, networkId: network.hnsId, policies };
        failOnDifferences(record.id, compareHcnEndpoint(request, endpoint, wanted));
        return;
      }
      const endpoint = await caller.hns((client) => getHnsEndpoint(client, record.hnsId));
      const held = [endpoint.IPAddress, endpoint.IPv6Address].map((text) => parseIp(text ?? ""));
      const lost = expected.previous.ips.filter(({ address }) => !held.includes(address.ip));
      failOnDifferences(
        record.id,
        lost.map(({ address }) => `the address ${formatIp(address.ip)} is missing`),
      );
    } catch (error) {
      if (!isMissing(error)) throw error;
      const text = `endpoint ${record.id} is gone; recreate the container`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }

  private async policyOptions({ caller, configuration }: AzureCall): Promise<PolicyOptions> {
    const hasDsr = configuration.hasLoopbackDsr && hasFeature(await caller.hns(getHnsVersion), "DSR");
    return { compat: this.compat, hasDsr };
  }

  private async createHcn(
    { caller, request }: AzureCall,
    network: AzureNetworkRecord,
    plan: AzurePlan,
    options: PolicyOptions,
  ): Promise<MadeEndpoint> {
    let document: HostComputeEndpoint;
    try {
      document = azureEndpointDocument(network, plan, options);
    } catch (error) {
      throw fail(describeError(error), error);
    }
    let endpoint: HostComputeEndpoint;
    try {
      endpoint = await caller.hcn("hcnCreateEndpoint", (client) =>
        createEndpoint(client, network.hnsId, document),
      );
    } catch (error) {
      throw fail(
        `Failed to create endpoint: ${plan.endpointName} due to error: ${describeError(error)}`,
        error,
      );
    }
    try {
      await this.attach(caller, request.netns, endpoint.ID ?? "");
    } catch (error) {
      await this.undo(() => this.removeHcn(caller, endpoint.ID ?? ""));
      throw error;
    }
    return {
      id: endpoint.ID ?? "",
      mac: endpoint.MacAddress ?? "",
      gateway: endpoint.Routes?.[0]?.NextHop ?? "",
    };
  }

  private async attach(caller: AzureCaller, netns: string, id: string): Promise<void> {
    try {
      await caller.hcn("hcnOpenNamespace", (client) => getNamespaceById(client, netns));
    } catch (error) {
      throw fail(`Failed to get hcn namespace: ${netns} due to error: ${describeError(error)}`, error);
    }
    try {
      await caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, id));
    } catch (error) {
      const text = `Failed to add endpoint: ${id} to hcn namespace: ${netns} due to error:`;
      throw fail(`${text} ${describeError(error)}`, error);
    }
  }

  private async createHns(
    { caller, request }: AzureCall,
    network: AzureNetworkRecord,
    plan: AzurePlan,
    options: PolicyOptions,
  ): Promise<MadeEndpoint> {
    let endpoint: HnsEndpoint;
    try {
      const document = azureHnsEndpointDocument(network, plan, options);
      endpoint = await caller.hns((client) => createHnsEndpoint(client, document));
    } catch (error) {
      throw fail(describeError(error), error);
    }
    const id = endpoint.ID ?? "";
    try {
      const container = { SystemType: "Container", ContainerId: request.containerId } as const;
      await caller.hns((client) => attachHnsEndpoint(client, id, container));
    } catch (error) {
      await this.undo(() => caller.hns((client) => deleteHnsEndpoint(client, id)));
      throw fail(describeError(error), error);
    }
    return { id, mac: endpoint.MacAddress ?? "", gateway: endpoint.GatewayAddress ?? "" };
  }

  private async undo(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch {
      // The failure that is being reported is the one that led here.
    }
  }

  private async removeHcn(caller: AzureCaller, id: string): Promise<void> {
    let endpoint: HostComputeEndpoint;
    try {
      endpoint = await caller.hcn("hcnOpenEndpoint", (client) => getEndpointById(client, id));
    } catch (error) {
      if (isMissing(error)) return;
      const text = `Failed to get hcn endpoint with id: ${id} due to err: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
    const namespace = namespaceOf(endpoint);
    // A namespace that does not let go hinders nothing.
    if (namespace !== undefined)
      await this.undo(() =>
        caller.hcn(namespaceCall, (client) => removeNamespaceEndpoint(client, namespace, id)),
      );
    try {
      await caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, id));
    } catch (error) {
      if (this.compat === "better" && isMissing(error)) return;
      const text = `Failed to delete hcn endpoint: ${id} due to error: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }
}
