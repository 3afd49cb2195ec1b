/** GET_ENDPOINT_STATE: what CNS asks for when it starts and has forgotten who holds which address (cni.md §5.2). */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { formatGoAddress } from "#contracts/cni/go-json.ts";
import { formatJson } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";
import type { AzureContext } from "./context.ts";
import { findNetwork } from "./state.ts";

/** The only network that is looked at. */
const NETWORK = "azure";
const INDENT = 4;

/** @throws CniError */
export async function listEndpoints(context: AzureContext): Promise<string> {
  const state = await context.readState();
  const network = findNetwork(state, NETWORK);
  if (network === undefined && state.size > 0 && context.compat === "upstream")
    throw new CniError(CNI_CODES.internal, "Get all endpoints error: Network not found");
  const endpoints = [...(network?.endpoints ?? [])].map(([id, endpoint]) => [
    id,
    {
      PodName: endpoint.podName,
      PodNamespace: endpoint.podNamespace,
      PodEndpointId: endpoint.id,
      ContainerID: endpoint.containerId,
      IPAddresses: endpoint.addresses.map(formatGoAddress),
    },
  ]);
  const interfaces = Object.fromEntries(endpoints) as JsonObject;
  return formatJson({ ContainerInterfaces: interfaces }, INDENT);
}
