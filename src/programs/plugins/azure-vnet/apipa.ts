/** The endpoint between a container and its host: CNS makes it, azure-vnet puts it into the pod (cni.md §5.3, §5.7). */
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  deleteEndpoint,
  getEndpointByName,
  getNamespaceById,
} from "#contracts/hcn/operations.ts";
import { isMissing, namespaceCall } from "../windows-endpoint/failure.ts";
import type { AzureCaller } from "./caller.ts";
import { cnsFailure } from "./cns-failure.ts";
import type { AzureCall } from "./plan.ts";

export function apipaEndpointName(networkContainerId: string): string {
  return `HostNCApipaEndpoint-${networkContainerId}`;
}

/** @returns the endpoint's ID in HNS. @throws CniError; nothing is left then */
export async function createApipaEndpoint(
  { caller, cns, request, compat }: AzureCall,
  networkContainerId: string,
): Promise<string> {
  const { netns } = request;
  try {
    await caller.hcn("hcnOpenNamespace", (client) => getNamespaceById(client, netns));
  } catch (error) {
    const text = `Failed to retrieve namespace with GetNamespaceByID for NetNsPath: ${netns} due to error: ${describeError(error)}`;
    throw new CniError(CNI_CODES.internal, text, { cause: error });
  }
  let id: string;
  try {
    id = await cns.createApipaEndpoint(networkContainerId);
  } catch (error) {
    throw cnsFailure("CNS made no HostNCApipaEndpoint", error, cns, compat);
  }
  try {
    await caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, id));
    return id;
  } catch (error) {
    try {
      await deleteApipaEndpoint(caller, networkContainerId);
    } catch {
      // The failure that is being reported is the one that led here.
    }
    const text = `Failed to add HostNCApipaEndpoint: ${id} to namespace: ${netns} due to error: ${describeError(error)}`;
    throw new CniError(CNI_CODES.internal, text, { cause: error });
  }
}

/** What is gone already is no error. @throws CniError */
export async function deleteApipaEndpoint(caller: AzureCaller, networkContainerId: string): Promise<void> {
  const name = apipaEndpointName(networkContainerId);
  let endpoint: HostComputeEndpoint;
  try {
    endpoint = await caller.hcn("hcnEnumerateEndpoints", (client) => getEndpointByName(client, name));
  } catch (error) {
    if (isMissing(error)) return;
    const text = `deleteEndpointByNameHnsV2 failed due to error with GetEndpointByName: ${describeError(error)}`;
    throw new CniError(CNI_CODES.internal, text, { cause: error });
  }
  const { ID = "" } = endpoint;
  try {
    await caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, ID));
  } catch (error) {
    if (isMissing(error)) return;
    const text = `failed to delete HostNCApipa endpoint: ${name}: ${describeError(error)}`;
    throw new CniError(CNI_CODES.internal, text, { cause: error });
  }
}
