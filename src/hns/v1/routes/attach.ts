/** `/endpoints/{id}/attach` and `/detach` (hcn.md §1.7): to the host, a container, a virtual machine. */
import { HcnError } from "#contracts/hcn/error.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import {
  type EndpointAttachDetachRequest,
  parseAttachRequest,
} from "#contracts/hcn/documents/v1-documents.ts";
import {
  attachToHost,
  checkLocal,
  checkUnattached,
  detachEndpoint,
} from "../../service/endpoint/attachment.ts";
import {
  addVirtualMachinePort,
  isPortOf,
  removeVirtualMachinePort,
  attachToContainer,
  detachFromContainer,
} from "../../service/compute-systems/container-attachment.ts";
import type { ComputeSystemRecord } from "../../service/object-tables.ts";
import { type EndpointRecord, type VirtualMachinePort, HOST_COMPARTMENT } from "../../service/records.ts";
import { requireEndpoint } from "../../service/endpoint/attachment.ts";
import { removeFromNamespace } from "../../service/namespace/namespaces.ts";
import type { ServiceContext } from "../../service/service-context.ts";
import { type V1Request, bodyOf } from "../route.ts";

/** What is attached, and to whom. */
interface Subject {
  readonly context: ServiceContext;
  readonly endpoint: EndpointRecord;
  readonly wanted: EndpointAttachDetachRequest;
}

type SystemType = NonNullable<EndpointAttachDetachRequest["SystemType"]>;

/** 1 is the host's default compartment, and the only one an endpoint of the host goes to. */
function checkHostCompartment({ wanted }: Subject): void {
  if ((wanted.CompartmentId ?? HOST_COMPARTMENT) === HOST_COMPARTMENT) return;
  throw new HcnError("ERROR_INVALID_PARAMETER", {
    detail: `CompartmentId is ${wanted.CompartmentId ?? 0}; the host's is ${HOST_COMPARTMENT}`,
  });
}

function attachHost(subject: Subject): void {
  checkHostCompartment(subject);
  checkUnattached(subject.endpoint, false);
  attachToHost(subject.context, subject.endpoint, undefined);
}

function detachHost(subject: Subject): void {
  checkHostCompartment(subject);
  const { context, endpoint } = subject;
  checkLocal(endpoint, false);
  const { attachment } = endpoint;
  if (attachment?.kind !== "host") {
    throw new HcnError("HCN_E_ENDPOINT_NOT_ATTACHED", {
      detail: `Endpoint ${endpoint.id} is not attached to the host`,
    });
  }
  detachEndpoint(context, endpoint);
  if (attachment.namespaceId !== undefined) removeFromNamespace(context, attachment.namespaceId, endpoint.id);
}

/** A NIC is called `<virtual machine>--<endpoint or adapter>`; undefined for another name. */
function partsOfNic(name: string): readonly [machine: string, port: string] | undefined {
  const dashes = name.indexOf("--", 1);
  return dashes < 0 ? undefined : [name.slice(0, dashes), name.slice(dashes + 2)];
}

/** The machine that a NIC's name begins with. @throws HcnError HCS_E_SYSTEM_INVALID_CONFIGURATION, …_NOT_FOUND. */
function machineOf({ context, wanted }: Subject): ComputeSystemRecord {
  const name = wanted.VirtualNicName ?? "";
  const id = partsOfNic(name)?.[0] ?? wanted.ContainerId;
  if (id === undefined || id === "") {
    throw new HcnError("HCS_E_SYSTEM_INVALID_CONFIGURATION", {
      detail: `VirtualNicName is ${JSON.stringify(name)}; it must be "<virtual machine>--<endpoint>"`,
    });
  }
  const machine = context.computeSystems.findVirtualMachine(id);
  if (machine !== undefined) return machine;
  throw new HcnError("HCS_E_SYSTEM_NOT_FOUND", {
    detail: `There is no virtual machine ${JSON.stringify(id)}`,
  });
}

function portOf(subject: Subject, machine: ComputeSystemRecord): VirtualMachinePort {
  const nicName = subject.wanted.VirtualNicName ?? "";
  const portId = parseGuid(partsOfNic(nicName)?.[1]) ?? subject.context.prng.guid();
  const virtualMachineId = machine.runtimeId;
  return { virtualMachineId, portId, nicName: nicName === "" ? `${virtualMachineId}--${portId}` : nicName };
}

function attachMachine(subject: Subject): void {
  addVirtualMachinePort(subject.context, subject.endpoint, portOf(subject, machineOf(subject)));
}

function detachMachine(subject: Subject): void {
  const { context, endpoint } = subject;
  const machine = machineOf(subject);
  if (endpoint.virtualMachine !== undefined && !isPortOf(endpoint, machine)) {
    throw new HcnError("HCN_E_ENDPOINT_NOT_ATTACHED", {
      detail: `Endpoint ${endpoint.id} is not attached to virtual machine ${machine.id}`,
    });
  }
  removeVirtualMachinePort(context, endpoint);
}

/** The container that the request names. @throws HcnError HCS_E_SYSTEM_NOT_FOUND where it names none. */
function containerOf({ wanted }: Subject): string {
  if (wanted.ContainerId !== undefined) return wanted.ContainerId;
  throw new HcnError("HCS_E_SYSTEM_NOT_FOUND", { detail: "The request names no ContainerId" });
}

const ATTACH: Readonly<Record<SystemType, (subject: Subject) => void>> = {
  Host: attachHost,
  Container: (subject) => attachToContainer(subject.context, subject.endpoint, containerOf(subject)),
  VirtualMachine: attachMachine,
};

const DETACH: Readonly<Record<SystemType, (subject: Subject) => void>> = {
  Host: detachHost,
  Container: (subject) => detachFromContainer(subject.context, subject.endpoint, containerOf(subject)),
  VirtualMachine: detachMachine,
};

function subjectOf(request: V1Request): Subject {
  const wanted = parseAttachRequest(bodyOf(request));
  return { context: request.context, endpoint: requireEndpoint(request.context, request.id), wanted };
}

/** Without a type it is a container's: that is what clients which leave it out attach. */
function typeOf({ wanted }: Subject): SystemType {
  return wanted.SystemType ?? "Container";
}

export function attach(request: V1Request): undefined {
  const subject = subjectOf(request);
  ATTACH[typeOf(subject)](subject);
  return undefined;
}

export function detach(request: V1Request): undefined {
  const subject = subjectOf(request);
  DETACH[typeOf(subject)](subject);
  return undefined;
}
