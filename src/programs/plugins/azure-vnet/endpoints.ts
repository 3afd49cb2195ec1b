/** The endpoint of an interface, of whatever kind: made, found, compared, removed. */
import type { AzureDifferences } from "./differences.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { getEndpointById, namespaceOf } from "#contracts/hcn/operations.ts";
import { getHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { formatIp, parseIp } from "#core/net/ip.ts";
import { isNamespaceGuid } from "../windows-endpoint/plugin-call.ts";
import { isMissing, unlessMissing } from "../windows-endpoint/hns-caller.ts";
import { compareHcnEndpoint, failOnDifferences } from "../windows-endpoint/hcn-api.ts";
import {
  apipaEndpointName,
  createApipaEndpoint,
  deleteApipaEndpoint,
  createHcnEndpoint,
  removeHcnEndpoint,
  createAttachedEndpoint,
  removeAttachedEndpoint,
  type MadeEndpoint,
  creating,
  policyOptionsOf,
} from "./hns-endpoint.ts";
import type { AzureCaller, AzureCall } from "./call.ts";
import { takeDevice, type AzureHost } from "./host.ts";
import type { AzurePlan } from "./planning.ts";
import { toAzureHcnPolicies } from "./policies.ts";
import type { AzureEndpointRecord, AzureNetworkRecord } from "./state.ts";

/** Without routes from IPAM the endpoint has none of its own: HNS uses the network's gateway. */
function withoutGateways(previous: CniResult, { routes }: AzureEndpointRecord): CniResult {
  if (routes.length > 0) return previous;
  return { ...previous, ips: previous.ips.map(({ gateway: _gateway, ...ip }) => ip) };
}

export class AzureEndpoints {
  private readonly host: AzureHost;
  private readonly differences: AzureDifferences;

  constructor(host: AzureHost, differences: AzureDifferences) {
    this.host = host;
    this.differences = differences;
  }

  /** Makes the endpoint and gives it to the pod; undone when the second fails. @throws CniError */
  async create(
    call: AzureCall,
    network: AzureNetworkRecord,
    plan: AzurePlan,
    isNewNetwork: boolean,
  ): Promise<{ readonly record: AzureEndpointRecord; readonly pciId: string | undefined }> {
    const { nic } = plan;
    const made = await this.make(call, network, plan);
    const gateway = parseIp(made.gateway);
    const record: AzureEndpointRecord = {
      id: made.name,
      hnsId: made.id,
      ifName: made.ifName,
      mac: made.mac,
      addresses: nic.ips.map(({ address }) => address),
      gateways: gateway === undefined ? [] : [gateway],
      dns: plan.dns,
      routes: plan.routes,
      containerId: call.request.containerId,
      netns: call.request.netns,
      podName: plan.pod.name,
      podNamespace: plan.pod.namespace,
      nicType: nic.type,
      vlanId: network.vlanId,
      hnsNetworkId: isNewNetwork ? network.hnsId : "",
      networkContainerId: nic.networkContainerId,
      allowsHostToContainer: nic.allowsHostToContainer,
      allowsContainerToHost: nic.allowsContainerToHost,
    };
    return { record, pciId: made.pciId };
  }

  /** What is gone already is no error. @throws CniError */
  async remove(caller: AzureCaller, record: AzureEndpointRecord): Promise<void> {
    const { hnsId, netns, nicType, networkContainerId } = record;
    if (nicType === "BackendNIC") return;
    if (nicType === "ApipaNIC") return deleteApipaEndpoint(caller, networkContainerId);
    if (hnsId === "") return;
    if (!isNamespaceGuid(netns)) return removeAttachedEndpoint(caller, hnsId);
    if (record.allowsHostToContainer || record.allowsContainerToHost)
      await deleteApipaEndpoint(caller, networkContainerId);
    await removeHcnEndpoint(caller, hnsId, this.differences);
  }

  /** True when the endpoint is in HNS, and in the pod's namespace if it has one. */
  async isThere({ caller }: AzureCall, { hnsId, netns, nicType }: AzureEndpointRecord): Promise<boolean> {
    if (nicType === "BackendNIC") return true;
    if (!isNamespaceGuid(netns)) {
      const found = await unlessMissing(() => caller.hns((client) => getHnsEndpoint(client, hnsId)));
      return found !== undefined;
    }
    const endpoint = await unlessMissing(() =>
      caller.hcn("hcnOpenEndpoint", (client) => getEndpointById(client, hnsId)),
    );
    return endpoint !== undefined && equalGuids(namespaceOf(endpoint), netns);
  }

  /** @throws CniError that lists what differs from `previous` */
  async check(
    call: AzureCall,
    network: AzureNetworkRecord,
    record: AzureEndpointRecord,
    expected: { readonly previous: CniResult; readonly policies: AzurePlan["policies"] },
  ): Promise<void> {
    const { caller, request } = call;
    const options = await policyOptionsOf(call, undefined, this.differences);
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

  private make(call: AzureCall, network: AzureNetworkRecord, plan: AzurePlan): Promise<MadeEndpoint> {
    const { type } = plan.nic;
    if (type === "BackendNIC") return this.takeDevice(plan);
    if (type === "ApipaNIC") return this.createApipa(call, plan);
    return isNamespaceGuid(call.request.netns)
      ? createHcnEndpoint(call, network, plan)
      : createAttachedEndpoint(call, network, plan, this.host.shell);
  }

  private async takeDevice({ nic, master }: AzurePlan): Promise<MadeEndpoint> {
    const pciId = await takeDevice(this.host.shell, nic.pnpId);
    return { name: master, ifName: master, id: "", mac: nic.mac, gateway: "", pciId };
  }

  private async createApipa(call: AzureCall, { nic }: AzurePlan): Promise<MadeEndpoint> {
    const name = apipaEndpointName(nic.networkContainerId);
    const id = await creating(() => createApipaEndpoint(call, nic.networkContainerId));
    return { name, ifName: name, id, mac: "", gateway: "" };
  }
}
