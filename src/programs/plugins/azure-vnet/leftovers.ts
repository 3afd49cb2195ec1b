/**
 * Endpoints that HNS has and the state does not: the plugin was killed between the two. They are known by their names, which
 * only azure-vnet gives; hardened removes them.
 */
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import {
  deleteEndpoint,
  listEndpointsOfNetwork,
  listNamespaces,
  namespaceOf,
  listEndpoints,
  queryBy,
} from "#contracts/hcn/operations.ts";
import { deleteHnsEndpoint, listHnsEndpoints } from "#contracts/hcn/v1-operations.ts";
import { isMissing } from "../windows-endpoint/failure.ts";
import { isNamespaceGuid } from "../windows-endpoint/sandbox.ts";
import type { AzureCaller } from "./caller.ts";
import type { AzureCall } from "./plan.ts";

/** Removes an endpoint of that name, unless it is in a namespace that is there and not the request's. @throws CniError */
export async function removeLeftover({ caller, request }: AzureCall, name: string): Promise<void> {
  if (request.netns !== "" && !isNamespaceGuid(request.netns))
    return removeHns(caller, request.containerId, name);
  const found = await caller.hcn("hcnEnumerateEndpoints", (client) =>
    listEndpoints(client, queryBy({ Name: name })),
  );
  for (const endpoint of found.filter((each) => each.Name === name)) {
    const namespace = namespaceOf(endpoint);
    const isOurs = namespace === undefined || equalGuids(namespace, request.netns);
    if (isOurs || !(await isThere(caller, namespace))) await removeHcn(caller, endpoint);
  }
}

async function isThere(caller: AzureCaller, namespace: string): Promise<boolean> {
  const all = await caller.hcn("hcnEnumerateNamespaces", (client) => listNamespaces(client));
  return all.some(({ ID }) => equalGuids(ID ?? "", namespace));
}

async function removeHcn(caller: AzureCaller, { ID: id = "" }: HostComputeEndpoint): Promise<void> {
  try {
    await caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, id));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** HNS v1 says which containers an endpoint is attached to. */
async function removeHns(caller: AzureCaller, containerId: string, name: string): Promise<void> {
  const all = await caller.hns(listHnsEndpoints);
  for (const { ID: id = "", Name, SharedContainers: containers = [] } of all) {
    if (Name !== name || containers.some((other) => other !== containerId)) continue;
    try {
      await caller.hns((client) => deleteHnsEndpoint(client, id));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
}

/** How names end that azure-vnet gives. */
const OWN_NAME = /^(.+)-[^-]+$/;

/**
 * Removes from one network what no container of `valid` can have and no record names: GC, when the plugin was killed.
 * @returns what went wrong. @throws CniError when HNS does not answer
 */
export async function collectLeftovers(
  caller: AzureCaller,
  networkId: string,
  kept: { readonly names: ReadonlySet<string>; readonly containers: readonly string[] },
): Promise<void> {
  const all = await caller.hcn("hcnEnumerateEndpoints", (client) =>
    listEndpointsOfNetwork(client, networkId),
  );
  for (const endpoint of all) {
    const { Name: name = "", Flags: flags = 0 } = endpoint;
    const start = OWN_NAME.exec(name)?.[1];
    if (start === undefined || kept.names.has(name) || (flags & ENDPOINT_FLAGS.RemoteEndpoint) !== 0)
      continue;
    if (kept.containers.some((id) => id.startsWith(start))) continue;
    const namespace = namespaceOf(endpoint);
    if (namespace === undefined || !(await isThere(caller, namespace))) await removeHcn(caller, endpoint);
  }
}
