/** Ports that a guest asks of the host, so that both can listen without meeting (hcn.md §1.2, §1.3). */
import { type Guid, ZERO_GUID } from "../guid.ts";
import { JsonReader } from "../description/json.ts";
import type { JsonValue } from "#core/base/json.ts";

/** `HCN_PORT_PROTOCOL`. */
export const PORT_PROTOCOLS = { TCP: 1, UDP: 2, BOTH: 3 } as const;
/** `HCN_PORT_ACCESS`. */
export const PORT_ACCESS = { EXCLUSIVE: 1, SHARED: 2 } as const;

/** One port, as `HcnReserveGuestNetworkServicePort` is asked for. */
export interface SinglePortRequest {
  /** One of `PORT_PROTOCOLS`. */
  readonly protocol: number;
  /** One of `PORT_ACCESS`. */
  readonly access: number;
  /** 1 to 65535. */
  readonly port: number;
}

/** Any ports in a row, as `HcnReserveGuestNetworkServicePortRange` is asked for. */
export interface PortRangeRequest {
  /** The last port is so many behind the first (hcn.md §1.3). */
  readonly portCount: number;
}

export type PortRequest = SinglePortRequest | PortRangeRequest;

/** `HCN_PORT_RANGE_RESERVATION`, and the handle that releases it. */
export interface PortRangeReservation {
  readonly reservation: Guid;
  /** Both are inclusive. */
  readonly startingPort: number;
  readonly endingPort: number;
}

/** `HCN_PORT_RANGE_ENTRY`. */
export interface PortRangeEntry {
  readonly OwningPartitionId: Guid;
  readonly TargetPartitionId: Guid;
  readonly Protocol: number;
  readonly Priority: number;
  readonly ReservationType: number;
  readonly SharingFlags: number;
  readonly DeliveryMode: number;
  readonly StartingPort: number;
  readonly EndingPort: number;
}

/** @throws HcnError HCN_E_INVALID_JSON. */
export function parsePortRangeReservation(value: JsonValue): PortRangeReservation {
  const reader = JsonReader.of(value, "reservation", "HCN_E_INVALID_JSON");
  return {
    reservation: reader.guid("reservation") ?? ZERO_GUID,
    startingPort: reader.u16("startingPort") ?? 0,
    endingPort: reader.u16("endingPort") ?? 0,
  };
}

/** @throws HcnError HCN_E_INVALID_JSON. */
export function parsePortRangeEntry(value: JsonValue): PortRangeEntry {
  const reader = JsonReader.of(value, "reservation", "HCN_E_INVALID_JSON");
  return {
    OwningPartitionId: reader.guid("OwningPartitionId") ?? ZERO_GUID,
    TargetPartitionId: reader.guid("TargetPartitionId") ?? ZERO_GUID,
    Protocol: reader.u32("Protocol") ?? 0,
    Priority: reader.number("Priority") ?? 0,
    ReservationType: reader.u32("ReservationType") ?? 0,
    SharingFlags: reader.u32("SharingFlags") ?? 0,
    DeliveryMode: reader.u32("DeliveryMode") ?? 0,
    StartingPort: reader.u16("StartingPort") ?? 0,
    EndingPort: reader.u16("EndingPort") ?? 0,
  };
}
