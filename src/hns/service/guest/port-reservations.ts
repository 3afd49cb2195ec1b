/**
 * Ports that guest network services have reserved (hcn.md §1.3). They live with the service's process: handles do not
 * outlive it.
 */
import { type Guid, ZERO_GUID } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  PORT_ACCESS,
  PORT_PROTOCOLS,
  type PortRangeEntry,
  type PortRangeReservation,
  type PortRequest,
  type SinglePortRequest,
} from "#contracts/hcn/documents/port-reservation.ts";
import { requireGuestNetworkService } from "./guest-network-services.ts";
import type { GuestNetworkServiceRecord } from "../records.ts";
import type { Reservation } from "../object-tables.ts";
import type { ServiceContext } from "../service-context.ts";
import { hns } from "#data/words.js";

const WORDS = hns();

/** The dynamic ports of Windows, where ranges are taken from. */
const DYNAMIC_PORTS = { first: 49_152, last: 65_535 } as const;
const PORT_MAX = 65_535;

function invalid(detail: string): HcnError {
  return new HcnError("ERROR_INVALID_PARAMETER", { detail });
}

/** Inferred: the code of a port that is taken, and of ranges that are used up, is the one of port mappings. */
function taken(detail: string): HcnError {
  return new HcnError("HCN_E_PORT_ALREADY_EXISTS", { detail });
}

function checkPortRequest({ protocol, access, port }: SinglePortRequest): void {
  if (!Object.values(PORT_PROTOCOLS).some((known) => known === protocol))
    throw invalid(`protocol is ${protocol}; it must be 1 (TCP), 2 (UDP) or 3 (both)`);
  if (!Object.values(PORT_ACCESS).some((known) => known === access))
    throw invalid(`access is ${access}; it must be 1 (exclusive) or 2 (shared)`);
  if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
    throw invalid(WORDS.portInvalid({ port, portMax: PORT_MAX }));
}

function reservePort(
  context: ServiceContext,
  service: GuestNetworkServiceRecord,
  request: SinglePortRequest,
): Reservation {
  checkPortRequest(request);
  const reservation: Reservation = Object.freeze({
    handle: context.prng.guid(),
    serviceId: service.id,
    protocol: request.protocol,
    access: request.access,
    startingPort: request.port,
    endingPort: request.port,
    isRange: false,
  });
  const other = context.state.portReservations.conflictWith(reservation);
  if (other === undefined) return reservation;
  throw taken(WORDS.portReserved({ port: request.port, serviceId: other.serviceId }));
}

/** The first start at or behind the dynamic ports' first where no port of the range is taken. */
function findRange(context: ServiceContext, wanted: Reservation, span: number): Reservation | undefined {
  let start: number = DYNAMIC_PORTS.first;
  while (start + span <= DYNAMIC_PORTS.last) {
    const candidate = { ...wanted, startingPort: start, endingPort: start + span };
    const other = context.state.portReservations.conflictWith(candidate);
    if (other === undefined) return candidate;
    start = other.endingPort + 1;
  }
  return undefined;
}

/**
 * A range for both protocols. A count of 4095 gives ports whose last is 4095 behind the first, because that is what
 * WSL checks (hcn.md §1.3). Inferred: ranges are exclusive, and the lowest free dynamic ports are taken.
 */
function reservePortRange(
  context: ServiceContext,
  service: GuestNetworkServiceRecord,
  portCount: number,
): Reservation {
  if (!Number.isInteger(portCount) || portCount < 1 || portCount > PORT_MAX)
    throw invalid(WORDS.portCountInvalid({ portCount, portMax: PORT_MAX }));
  const wanted: Reservation = {
    handle: context.prng.guid(),
    serviceId: service.id,
    protocol: PORT_PROTOCOLS.BOTH,
    access: PORT_ACCESS.EXCLUSIVE,
    startingPort: 0,
    endingPort: 0,
    isRange: true,
  };
  const found = findRange(context, wanted, portCount);
  if (found !== undefined) return Object.freeze(found);
  throw taken(WORDS.dynamicPortsExhausted({ portCount }));
}

/**
 * Reserves one port, or a range.
 * @throws HcnError ERROR_INVALID_PARAMETER, HCN_E_PORT_ALREADY_EXISTS when the port is taken or no range is left,
 * ERROR_NOT_FOUND for an unknown service.
 */
export function reservePorts(
  context: ServiceContext,
  serviceId: Guid,
  request: PortRequest,
): PortRangeReservation {
  const service = requireGuestNetworkService(context, serviceId);
  const reservation =
    "portCount" in request
      ? reservePortRange(context, service, request.portCount)
      : reservePort(context, service, request);
  context.state.portReservations.add(reservation);
  return Object.freeze({
    reservation: reservation.handle,
    startingPort: reservation.startingPort,
    endingPort: reservation.endingPort,
  });
}

/** @throws HcnError ERROR_INVALID_PARAMETER: a handle that is none, or is released already. */
export function releasePorts(context: ServiceContext, handle: Guid): void {
  if (!context.state.portReservations.release(handle)) throw invalid(WORDS.reservationUnknown({ handle }));
}

function entryOf(service: GuestNetworkServiceRecord | undefined, reservation: Reservation): PortRangeEntry {
  return {
    OwningPartitionId: ZERO_GUID,
    TargetPartitionId: service?.virtualMachineId ?? ZERO_GUID,
    Protocol: reservation.protocol,
    Priority: 0,
    ReservationType: reservation.isRange ? 1 : 0,
    SharingFlags: reservation.access,
    DeliveryMode: 0,
    StartingPort: reservation.startingPort,
    EndingPort: reservation.endingPort,
  };
}

/**
 * All reservations, oldest first. Inferred: the meaning of all fields but protocol and ports; the owner is the host,
 * whose partition has the zero GUID, and the target is the service's virtual machine.
 */
export function listPortReservations(context: ServiceContext): readonly PortRangeEntry[] {
  return context.state.portReservations
    .list()
    .map((each) => entryOf(context.state.guestNetworkServices.get(each.serviceId), each));
}
