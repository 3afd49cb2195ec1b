/** What the service keeps of guest network services: their records, and the ports that they have reserved. */
import type { Guid } from "#contracts/hcn/guid.ts";
import type {
  GnsRpcServerInformation,
  GuestNetworkServiceState,
  GuestInterfaceState,
} from "#contracts/hcn/documents/guest-network-service.ts";
import type { RecordBase } from "../network/network-record.ts";
import { PORT_ACCESS } from "#contracts/hcn/documents/port-reservation.ts";

/** An endpoint of a mirrored network, as the guest has it. */
export interface MirroredInterfaceRecord {
  readonly endpointId: Guid;
  readonly state: GuestInterfaceState;
}

export interface GuestNetworkServiceRecord extends RecordBase {
  readonly virtualMachineId: Guid;
  readonly mirrorsHost: boolean;
  readonly rpcServer: GnsRpcServerInformation | undefined;
  readonly flags: number;
  readonly state: GuestNetworkServiceState;
  readonly interfaces: readonly MirroredInterfaceRecord[];
}

export interface Reservation {
  readonly handle: Guid;
  readonly serviceId: Guid;
  readonly protocol: number;
  readonly access: number;
  readonly startingPort: number;
  readonly endingPort: number;
  readonly isRange: boolean;
}

function overlap(a: Reservation, b: Reservation): boolean {
  if ((a.protocol & b.protocol) === 0) return false;
  return a.startingPort <= b.endingPort && b.startingPort <= a.endingPort;
}

function isShared(reservation: Reservation): boolean {
  return reservation.access === PORT_ACCESS.SHARED;
}

export class PortReservationTable {
  private readonly reservations = new Map<Guid, Reservation>();

  /** The reservation that stands in the way; those that share meet each other. */
  conflictWith(wanted: Reservation): Reservation | undefined {
    for (const present of this.reservations.values())
      if (overlap(wanted, present) && !(isShared(wanted) && isShared(present))) return present;
    return undefined;
  }

  add(reservation: Reservation): void {
    this.reservations.set(reservation.handle, reservation);
  }

  /** @returns false when there is no such reservation. */
  release(handle: Guid): boolean {
    return this.reservations.delete(handle);
  }

  releaseAllOf(serviceId: Guid): void {
    for (const { handle, serviceId: owner } of this.list()) if (owner === serviceId) this.release(handle);
  }

  list(): readonly Reservation[] {
    return [...this.reservations.values()];
  }
}
