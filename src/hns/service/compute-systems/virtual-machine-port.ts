/** Endpoints behind network adapters of virtual machines (hcn.md §4.5, §9.21). */
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import type { JsonReader } from "#contracts/hcn/description/json.ts";
import { NOTIFICATION_TYPES } from "#contracts/hcn/notification.ts";
import { checkHealthy, checkLocal, notifyNetwork, updateEndpoint } from "../endpoint/attachment.ts";
import type { EndpointRecord, VirtualMachinePort } from "../endpoint/endpoint-record.ts";
import type { ServiceContext } from "../service-context.ts";
import type { ComputeSystemRecord } from "./registry.ts";

/** `VmEndpointRequest`. Inferred: the code for one that names no machine, and that a port without an id gets one. */
export function readVirtualMachinePort(context: ServiceContext, reader: JsonReader): VirtualMachinePort {
  const virtualMachineId = reader.guid("VirtualMachineId");
  if (virtualMachineId === undefined)
    throw reader.fail("VirtualMachineId", "the GUID of the virtual machine that the port is of");
  const portId = reader.guid("PortId") ?? context.prng.guid();
  const nicName = reader.text("VirtualNicName") ?? "";
  return Object.freeze({
    virtualMachineId,
    portId,
    nicName: nicName === "" ? `${virtualMachineId}--${portId}` : nicName,
  });
}

/**
 * Checks that an endpoint can get a port: a namespace of a guest may have it, and nothing else.
 * @throws HcnError HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION, HCN_E_DEGRADED_OPERATION, HCN_E_ENDPOINT_ALREADY_ATTACHED.
 */
export function checkPortFree(endpoint: EndpointRecord): void {
  checkLocal(endpoint, false);
  checkHealthy(endpoint);
  const isElsewhere = endpoint.attachment !== undefined && endpoint.attachment.kind !== "guest";
  if (endpoint.virtualMachine === undefined && !isElsewhere) return;
  throw new HcnError("HCN_E_ENDPOINT_ALREADY_ATTACHED", {
    detail: `Endpoint ${endpoint.id} is attached already; detach it first`,
  });
}

/** Puts an endpoint behind a port of a virtual machine. @throws HcnError as `checkPortFree`. */
export function addVirtualMachinePort(
  context: ServiceContext,
  endpoint: EndpointRecord,
  port: VirtualMachinePort,
): void {
  checkPortFree(endpoint);
  updateEndpoint(context, endpoint, { virtualMachine: Object.freeze(port), isPortGone: false });
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointAttached);
}

/** @throws HcnError HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION, HCN_E_ENDPOINT_NOT_ATTACHED. */
export function removeVirtualMachinePort(context: ServiceContext, endpoint: EndpointRecord): void {
  checkLocal(endpoint, false);
  if (endpoint.virtualMachine === undefined) {
    throw new HcnError("HCN_E_ENDPOINT_NOT_ATTACHED", {
      detail: `Endpoint ${endpoint.id} has no port of a virtual machine`,
    });
  }
  updateEndpoint(context, endpoint, { virtualMachine: undefined });
  notifyNetwork(context, endpoint, NOTIFICATION_TYPES.NetworkEndpointDetached);
}

/** True when the endpoint is behind a port of `machine`. */
export function isPortOf(endpoint: EndpointRecord, machine: ComputeSystemRecord): boolean {
  const id: Guid | undefined = endpoint.virtualMachine?.virtualMachineId;
  return id !== undefined && (equalGuids(id, machine.id) || equalGuids(id, machine.runtimeId));
}

/** Endpoints behind the ports of a machine. */
export function endpointsOfMachine(
  context: ServiceContext,
  machine: ComputeSystemRecord,
): readonly EndpointRecord[] {
  return context.state.localEndpoints().filter((endpoint) => isPortOf(endpoint, machine));
}
