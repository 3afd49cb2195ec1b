/** The endpoint of a pod in HCN: made and put into the pod's namespace, removed (cni.md §5.4 step 6, §5.6). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  deleteEndpoint,
  getEndpointById,
  getNamespaceById,
  namespaceOf,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import { isMissing, namespaceCall } from "../windows-endpoint/failure.ts";
import { createApipaEndpoint } from "./apipa.ts";
import type { AzureCaller } from "./caller.ts";
import { azureEndpointDocument } from "./endpoint-documents.ts";
import { type MadeEndpoint, creationFailure, policyOptionsOf, undo } from "./made-endpoint.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import type { AzureNetworkRecord } from "./state.ts";

/** @throws CniError; nothing is left then */
export async function createHcnEndpoint(
  call: AzureCall,
  network: AzureNetworkRecord,
  plan: AzurePlan,
): Promise<MadeEndpoint> {
  const { caller, compat } = call;
  const endpoint = await create(call, network, plan);
  const { ID: id = "", MacAddress: mac = "", Routes: routes = [] } = endpoint;
  try {
    await attach(call, id);
    if (plan.nic.allowsHostToContainer || plan.nic.allowsContainerToHost)
      await joinHost(call, plan.nic.networkContainerId);
  } catch (error) {
    await undo(() => removeHcnEndpoint(caller, id, compat));
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
  const { caller, compat } = call;
  const options = await policyOptionsOf(call, plan, compat);
  let document: HostComputeEndpoint;
  try {
    document = azureEndpointDocument(network, plan, options);
  } catch (error) {
    throw creationFailure(describeError(error), error);
  }
  try {
    return await caller.hcn("hcnCreateEndpoint", (client) => createEndpoint(client, network.hnsId, document));
  } catch (error) {
    const text = `Failed to create endpoint: ${plan.endpointName} due to error: ${describeError(error)}`;
    throw creationFailure(text, error);
  }
}

async function attach({ caller, request: { netns } }: AzureCall, id: string): Promise<void> {
  try {
    await caller.hcn("hcnOpenNamespace", (client) => getNamespaceById(client, netns));
  } catch (error) {
    const text = `Failed to get hcn namespace: ${netns} due to error: ${describeError(error)}`;
    throw creationFailure(text, error);
  }
  try {
    await caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, id));
  } catch (error) {
    const text = `Failed to add endpoint: ${id} to hcn namespace: ${netns} due to error:`;
    throw creationFailure(`${text} ${describeError(error)}`, error);
  }
}

async function joinHost(call: AzureCall, networkContainerId: string): Promise<void> {
  try {
    await createApipaEndpoint(call, networkContainerId);
  } catch (error) {
    const text = `Failed to create HostNCApipaEndpoint due to error: ${describeError(error)}`;
    throw creationFailure(text, error);
  }
}

/** What is gone already is no error. @throws CniError */
export async function removeHcnEndpoint(caller: AzureCaller, id: string, compat: Compat): Promise<void> {
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
    await undo(() => caller.hcn(namespaceCall, (client) => removeNamespaceEndpoint(client, namespace, id)));
  try {
    await caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, id));
  } catch (error) {
    if (compat === "hardened" && isMissing(error)) return;
    const text = `Failed to delete hcn endpoint: ${id} due to error: ${describeError(error)}`;
    throw new CniError(CNI_CODES.internal, text, { cause: error });
  }
}
