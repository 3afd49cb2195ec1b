/** The endpoint of a pod in HNS v1: made and attached to the container, removed (cni.md §5.4 step 6). */
import { describeError } from "#contracts/cni/error.ts";
import type { HnsEndpoint } from "#contracts/hcn/documents/v1-documents.ts";
import { attachHnsEndpoint, createHnsEndpoint, deleteHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import { isMissing } from "../windows-endpoint/failure.ts";
import type { AzureCaller } from "./caller.ts";
import { azureHnsEndpointDocument } from "./endpoint-documents.ts";
import type { HostShell } from "./host.ts";
import { addGatewayNeighbor } from "./host-routes.ts";
import { type MadeEndpoint, creationFailure, policyOptionsOf, undo } from "./made-endpoint.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import type { AzureNetworkRecord } from "./state.ts";

/** @throws CniError; nothing is left then */
export async function createAttachedEndpoint(
  call: AzureCall,
  network: AzureNetworkRecord,
  plan: AzurePlan,
  shell: HostShell,
): Promise<MadeEndpoint> {
  const { caller, request, configuration, compat } = call;
  const options = await policyOptionsOf(call, plan, compat);
  let endpoint: HnsEndpoint;
  try {
    const document = azureHnsEndpointDocument(network, plan, options);
    endpoint = await caller.hns((client) => createHnsEndpoint(client, document));
  } catch (error) {
    throw creationFailure(describeError(error), error);
  }
  const { ID: id = "", MacAddress: mac = "", GatewayAddress: gateway = "" } = endpoint;
  try {
    const container = { SystemType: "Container", ContainerId: request.containerId } as const;
    await caller.hns((client) => attachHnsEndpoint(client, id, container));
    await addGatewayNeighbor(shell, network.subnets, plan.endpointName, configuration.ipv6Mode);
  } catch (error) {
    await undo(() => caller.hns((client) => deleteHnsEndpoint(client, id)));
    throw creationFailure(describeError(error), error);
  }
  return { name: plan.endpointName, ifName: plan.ifName, id, mac, gateway };
}

/** What is gone already is no error. @throws CniError */
export async function removeAttachedEndpoint(caller: AzureCaller, id: string): Promise<void> {
  try {
    await caller.hns((client) => deleteHnsEndpoint(client, id));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
