/** `HCN_PORT_RANGE_ENTRY` (hcn.md §1.3) as a 64-bit build has it in memory. */
import type { PortRangeEntry } from "../documents/port-reservation.ts";
import { parseNativeGuid } from "./native-guid.ts";

export const PORT_ENTRY_BYTES = 64;

const AT = {
  targetPartition: 16,
  protocol: 32,
  /** Eight bytes, and so at a multiple of eight. */
  priority: 40,
  reservationType: 48,
  sharingFlags: 52,
  deliveryMode: 56,
  startingPort: 60,
  endingPort: 62,
} as const;

export function parsePortEntry(bytes: Buffer): PortRangeEntry {
  return {
    OwningPartitionId: parseNativeGuid(bytes),
    TargetPartitionId: parseNativeGuid(bytes.subarray(AT.targetPartition)),
    Protocol: bytes.readUInt32LE(AT.protocol),
    Priority: Number(bytes.readBigUInt64LE(AT.priority)),
    ReservationType: bytes.readUInt32LE(AT.reservationType),
    SharingFlags: bytes.readUInt32LE(AT.sharingFlags),
    DeliveryMode: bytes.readUInt32LE(AT.deliveryMode),
    StartingPort: bytes.readUInt16LE(AT.startingPort),
    EndingPort: bytes.readUInt16LE(AT.endingPort),
  };
}
