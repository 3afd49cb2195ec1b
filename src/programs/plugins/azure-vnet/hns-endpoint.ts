/**
 * The endpoint of a pod in HNS, over HCN or HNS v1: its document, made and put into the pod, removed (cni.md §5.4 step 6,
 * §5.6); and the one between a container and its host, which CNS makes and azure-vnet puts into the pod (§5.3, §5.7).
 */
import type { AzureDifferences } from "./differences.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type CniRoute, formatInterfaceAddress } from "#contracts/cni/result.ts";
import { CLIENT_MEMBERS, type PolicyDocument, type Route } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HnsEndpoint } from "#contracts/hcn/documents/v1-documents.ts";
import type { HnsPolicy } from "#contracts/hcn/description/description.ts";
import { familyOf, formatIp } from "#core/net/ip.ts";
import { CNI_CODES, CniError, describeError, reworded } from "#contracts/cni/error.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import {
  createHnsEndpoint,
  deleteHnsEndpoint,
  getHnsVersion,
  hotAttachEndpoint,
} from "#contracts/hcn/v1-operations.ts";
import {
  addNamespaceEndpoint,
  deleteEndpoint,
  getEndpointByName,
  getNamespaceById,
  createEndpoint,
  getEndpointById,
  namespaceOf,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import { namespaceCall, quietly, unlessMissing } from "../windows-endpoint/hns-caller.ts";
import type { AzurePlan } from "./planning.ts";
import { type PolicyOptions, toAzureHcnPolicies, toAzureHnsPolicies } from "./policies.ts";
import type { AzureDns, AzureNetworkRecord } from "./state.ts";
import type { AzureCall, AzureCaller } from "./call.ts";
import { cnsFailure } from "./cns-failure.ts";
import { type HostShell, addGatewayNeighbor } from "./host.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

function dnsDocument(dns: AzureDns, { leavesOutEmptySearch }: AzureDifferences): JsonObject {
  const search = dns.suffix === "" && leavesOutEmptySearch ? [] : dns.suffix.split(",");
  return {
    ...(search.length > 0 && { Search: search }),
    ...(dns.servers.length > 0 && { ServerList: dns.servers }),
    ...(dns.options.length > 0 && { Options: dns.options }),
  };
}

/** The device of the host works for the pod directly (network/policy/policy_windows.go, AddAccelnetPolicySetting). */
const ACCELERATED: PolicyDocument = {
  Type: "Iov",
  Settings: { IovOffloadWeight: 100, QueuePairsRequested: 1 },
};
/** Where another interface has the default routes, HNS is given one that leads nowhere. */
const DUMMY_ROUTE: Route = { NextHop: "0.0.0.0", DestinationPrefix: "0.0.0.0/0" };

function routeDocuments(routes: readonly CniRoute[], skipsDefaultRoutes: boolean): readonly Route[] {
  const own = routes.map(({ destination, gateway }) => ({
    NextHop: gateway === undefined ? "<nil>" : formatIp(gateway),
    DestinationPrefix: formatInterfaceAddress(destination),
  }));
  return skipsDefaultRoutes ? [...own, DUMMY_ROUTE] : own;
}

/** The document for HCN. @throws CniError */
function azureEndpointDocument(
  network: AzureNetworkRecord,
  plan: AzurePlan,
  options: PolicyOptions,
): HostComputeEndpoint {
  const policies = toAzureHcnPolicies(plan.policies, options);
  const { ips, mac, type, skipsDefaultRoutes } = plan.nic;
  const isOwn = type === "FrontendNIC";
  const all = isOwn ? [...policies, ACCELERATED] : policies;
  const routes = routeDocuments(plan.routes, skipsDefaultRoutes);
  return {
    Name: plan.endpointName,
    HostComputeNetwork: network.hnsId,
    ...(all.length > 0 && { Policies: all }),
    ...(ips.length > 0 && {
      IpConfigurations: ips.map(({ address }) => ({
        IpAddress: formatIp(address.ip),
        PrefixLength: address.length,
      })),
    }),
    Dns: dnsDocument(plan.dns, options.differences),
    ...(routes.length > 0 && { Routes: routes }),
    // HNS wants dashes.
    ...(isOwn && { MacAddress: mac.replaceAll(":", "-") }),
    ...CLIENT_MEMBERS,
  };
}

/** The document for HNS v1, which holds one address of each family and leaves the gateway to HNS. @throws CniError */
function azureHnsEndpointDocument(
  network: AzureNetworkRecord,
  plan: AzurePlan,
  options: PolicyOptions,
): HnsEndpoint {
  const policies = toAzureHnsPolicies(plan.policies, "EndpointPolicy", options);
  const last = (family: 4 | 6) =>
    plan.nic.ips.findLast(({ address }) => familyOf(address.ip) === family)?.address;
  const v4 = last(4);
  const v6 = last(6);
  const gateway6 = network.subnets[1]?.gateway;
  return {
    Name: plan.endpointName,
    VirtualNetwork: network.hnsId,
    ...(policies.length > 0 && { Policies: policies as readonly HnsPolicy[] }),
    ...(v4 !== undefined && { IPAddress: formatIp(v4.ip), PrefixLength: v4.length }),
    ...(v6 !== undefined && { IPv6Address: formatIp(v6.ip), IPv6PrefixLength: v6.length }),
    ...(v6 !== undefined && gateway6 !== undefined && { GatewayAddressV6: formatIp(gateway6) }),
    ...(plan.dns.suffix !== "" && { DNSSuffix: plan.dns.suffix }),
    ...(plan.dns.servers.length > 0 && { DNSServerList: plan.dns.servers.join(",") }),
  };
}

export interface MadeEndpoint {
  readonly name: string;
  readonly ifName: string;
  /** In HNS; empty: it has no endpoint. */
  readonly id: string;
  readonly mac: string;
  readonly gateway: string;
  /** A device as the runtime is to hand it to the pod. */
  readonly pciId?: string;
}

function creationFailure(text: string, error: unknown): CniError {
  const knowledge = error instanceof CniError ? error.knowledge : undefined;
  const message = `failed to create endpoint: ${text}`;
  return new CniError(CNI_CODES.internal, message, { knowledge, cause: error });
}

/** What `work` gives; a failure is one to create the endpoint, in upstream's words around its text. */
export async function creating<T>(
  work: () => Promise<T>,
  words: (error: string) => string = (error) => error,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw creationFailure(words(describeError(error)), error);
  }
}

/** Windows 1903, build 18362, came with it: the first that has source NAT for some destinations (cni.md §5.5). */
const HNS_MAJOR_1903 = 10;

/** How policies are converted here. Without a plan: what holds for every endpoint of the configuration. */
export async function policyOptionsOf(
  { caller, configuration }: AzureCall,
  plan: AzurePlan | undefined,
  differences: AzureDifferences,
): Promise<PolicyOptions> {
  const nat = plan?.nat ?? [];
  const isAsked = configuration.hasLoopbackDsr || nat.length > 0;
  const version = isAsked ? await caller.hns(getHnsVersion) : undefined;
  const isNew = version !== undefined && version.Major >= HNS_MAJOR_1903;
  return {
    differences,
    hasDsr: configuration.hasLoopbackDsr && version !== undefined && hasFeature(version, "DSR"),
    dropsOutboundNat: configuration.isMultiTenant && plan?.snat.forDns !== true,
    addressSpace: plan?.addressSpace ?? [],
    nat: isNew ? nat : [],
    addsNatToV1: configuration.isMultiTenant,
  };
}

export function apipaEndpointName(networkContainerId: string): string {
  return `HostNCApipaEndpoint-${networkContainerId}`;
}

/** @returns the endpoint's ID in HNS. @throws CniError; nothing is left then */
export async function createApipaEndpoint(
  { caller, cns, request, differences }: AzureCall,
  networkContainerId: string,
): Promise<string> {
  const { netns } = request;
  await reworded(
    (error) => WORDS.getNamespaceFailed({ netns, error }),
    () => caller.hcn("hcnOpenNamespace", (client) => getNamespaceById(client, netns)),
  );
  let id: string;
  try {
    id = await cns.createApipaEndpoint(networkContainerId);
  } catch (error) {
    throw cnsFailure("CNS made no HostNCApipaEndpoint", error, cns, differences);
  }
  try {
    await caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, id));
    return id;
  } catch (error) {
    await quietly(() => deleteApipaEndpoint(caller, networkContainerId));
    const text = WORDS.addApipaEndpointFailed({ id, netns, error: describeError(error) });
    throw new CniError(CNI_CODES.internal, text, { cause: error });
  }
}

/** What is gone already is no error. @throws CniError */
export async function deleteApipaEndpoint(caller: AzureCaller, networkContainerId: string): Promise<void> {
  const name = apipaEndpointName(networkContainerId);
  const endpoint = await reworded(
    (error) => `deleteEndpointByNameHnsV2 failed due to error with GetEndpointByName: ${error}`,
    () =>
      unlessMissing(() => caller.hcn("hcnEnumerateEndpoints", (client) => getEndpointByName(client, name))),
  );
  if (endpoint === undefined) return;
  await reworded(
    (error) => `failed to delete HostNCApipa endpoint: ${name}: ${error}`,
    () =>
      unlessMissing(() => caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, endpoint.ID))),
  );
}

/** @throws CniError; nothing is left then */
export async function createHcnEndpoint(
  call: AzureCall,
  network: AzureNetworkRecord,
  plan: AzurePlan,
): Promise<MadeEndpoint> {
  const { caller, differences } = call;
  const endpoint = await create(call, network, plan);
  const { ID: id = "", MacAddress: mac = "", Routes: routes = [] } = endpoint;
  try {
    await attach(call, id);
    if (plan.nic.allowsHostToContainer || plan.nic.allowsContainerToHost)
      await joinHost(call, plan.nic.networkContainerId);
  } catch (error) {
    await quietly(() => removeHcnEndpoint(caller, id, differences));
    throw error;
  }
  return {
    name: plan.endpointName,
    // Upstream keeps the host's name for interfaces of the pod's own.
    ifName: plan.nic.type === "InfraNIC" ? plan.ifName : plan.master,
    id,
    mac,
    gateway: routes[0]?.NextHop ?? "",
  };
}

async function create(
  call: AzureCall,
  network: AzureNetworkRecord,
  plan: AzurePlan,
): Promise<HostComputeEndpoint> {
  const { caller, differences } = call;
  const options = await policyOptionsOf(call, plan, differences);
  const document = await creating(async () => azureEndpointDocument(network, plan, options));
  return creating(
    () => caller.hcn("hcnCreateEndpoint", (client) => createEndpoint(client, network.hnsId, document)),
    (error) => `Failed to create endpoint: ${plan.endpointName} due to error: ${error}`,
  );
}

async function attach({ caller, request: { netns } }: AzureCall, id: string): Promise<void> {
  await creating(
    () => caller.hcn("hcnOpenNamespace", (client) => getNamespaceById(client, netns)),
    (error) => `Failed to get hcn namespace: ${netns} due to error: ${error}`,
  );
  await creating(
    () => caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, id)),
    (error) => `${WORDS.addEndpointFailed({ id, netns })} ${error}`,
  );
}

async function joinHost(call: AzureCall, networkContainerId: string): Promise<void> {
  await creating(
    () => createApipaEndpoint(call, networkContainerId),
    (error) => `Failed to create HostNCApipaEndpoint due to error: ${error}`,
  );
}

/** What is gone already is no error. @throws CniError */
export async function removeHcnEndpoint(
  caller: AzureCaller,
  id: string,
  { endpoints }: AzureDifferences,
): Promise<void> {
  const endpoint = await reworded(
    (error) => WORDS.getEndpointFailed({ id, error }),
    () => unlessMissing(() => caller.hcn("hcnOpenEndpoint", (client) => getEndpointById(client, id))),
  );
  if (endpoint === undefined) return;
  const namespace = namespaceOf(endpoint);
  // A namespace that does not let go hinders nothing.
  if (namespace !== undefined)
    await quietly(() =>
      caller.hcn(namespaceCall, (client) => removeNamespaceEndpoint(client, namespace, id)),
    );
  const remove = () => caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, id));
  await reworded(
    (error) => `Failed to delete hcn endpoint: ${id} due to error: ${error}`,
    () => (endpoints.forgivesVanished ? unlessMissing(remove) : remove()),
  );
}

/** @throws CniError; nothing is left then */
export async function createAttachedEndpoint(
  call: AzureCall,
  network: AzureNetworkRecord,
  plan: AzurePlan,
  shell: HostShell,
): Promise<MadeEndpoint> {
  const { caller, request, configuration, differences } = call;
  const options = await policyOptionsOf(call, plan, differences);
  const endpoint = await creating(async () => {
    const document = azureHnsEndpointDocument(network, plan, options);
    return caller.hns((client) => createHnsEndpoint(client, document));
  });
  const { ID: id, MacAddress: mac = "", GatewayAddress: gateway = "" } = endpoint;
  try {
    await caller.hns((client) => hotAttachEndpoint(client, id, request.containerId));
    await addGatewayNeighbor(shell, network.subnets, plan.endpointName, configuration.ipv6Mode);
  } catch (error) {
    await quietly(() => caller.hns((client) => deleteHnsEndpoint(client, id)));
    throw creationFailure(describeError(error), error);
  }
  return { name: plan.endpointName, ifName: plan.ifName, id, mac, gateway };
}

/** What is gone already is no error. @throws CniError */
export async function removeAttachedEndpoint(caller: AzureCaller, id: string): Promise<void> {
  await unlessMissing(() => caller.hns((client) => deleteHnsEndpoint(client, id)));
}
