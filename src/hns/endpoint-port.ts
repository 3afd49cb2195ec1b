/** What requests do to an endpoint's port: a virtual machine's adapter, refresh, reset, and breaking down (hcn.md §5.2). */
import type { Guid } from "../hcn/client.ts";
import { HcnError } from "../hcn/error.ts";
import { JsonReader } from "../hcn/json-reader.ts";
import type { ModifyRequest } from "../hcn/modify.ts";
import { renewVnic, updateEndpoint } from "./attachment.ts";
import {
  addVirtualMachinePort,
  readVirtualMachinePort,
  removeVirtualMachinePort,
} from "./compute-systems/virtual-machine-port.ts";
import { type EndpointRecord, isRemoteEndpoint } from "./endpoint-record.ts";
import type { ServiceContext } from "./service-context.ts";

/** Carries out a request on the resource `Port`: `VmEndpointRequest` on Add, nothing on Remove. */
export function modifyPort(
  context: ServiceContext,
  endpoint: EndpointRecord,
  request: ModifyRequest<"Endpoint">,
): void {
  if (request.requestType === "Remove") {
    removeVirtualMachinePort(context, endpoint);
    return;
  }
  const reader = new JsonReader(request.settings, "Settings", "HCN_E_INVALID_JSON");
  addVirtualMachinePort(context, endpoint, readVirtualMachinePort(context, reader));
}

function heal(context: ServiceContext, endpoint: EndpointRecord): EndpointRecord {
  // What contradicts other objects since it was restored still does.
  if (endpoint.errorCode === 0) return endpoint;
  return updateEndpoint(context, endpoint, { degraded: undefined, errorCode: 0 });
}

/**
 * Brings the port in line with what the endpoint says. Inferred (hcn.md §11.7): a degraded endpoint is whole again then;
 * that the request needs no settings and succeeds is what WSL relies on.
 */
export function refreshEndpoint(context: ServiceContext, endpoint: EndpointRecord): void {
  const healed = heal(context, endpoint);
  context.ports.reprogram(healed.networkId);
}

/**
 * Inferred (hcn.md §11.7): reset makes the vNIC anew with the same port. Flows and counters begin from nothing;
 * addresses, policies and the place of the endpoint stay.
 */
export function resetEndpoint(context: ServiceContext, endpoint: EndpointRecord): void {
  if (isRemoteEndpoint(endpoint)) {
    throw new HcnError("HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION", {
      detail: `Endpoint ${endpoint.id} stands for one on another machine (Flags 1) and has no vNIC to reset`,
    });
  }
  const healed = heal(context, endpoint);
  renewVnic(context, healed);
  context.ports.reprogram(healed.networkId);
}

/**
 * Marks an endpoint as broken, as HNS does when an operation on its port failed: State 5, and what is asked of it is
 * HCN_E_DEGRADED_OPERATION until it is refreshed or deleted (hcn.md §4.5).
 * @throws HcnError HCN_E_ENDPOINT_NOT_FOUND.
 */
export function degradeEndpoint(context: ServiceContext, id: Guid, errorCode: number): void {
  const endpoint = context.state.endpoints.get(id);
  if (endpoint === undefined)
    throw new HcnError("HCN_E_ENDPOINT_NOT_FOUND", { detail: `There is no endpoint ${id}` });
  const degraded = `an operation on its port failed with 0x${errorCode.toString(16)}`;
  updateEndpoint(context, endpoint, { degraded, errorCode });
}
