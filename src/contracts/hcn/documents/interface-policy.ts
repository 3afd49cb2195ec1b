/** The policies about an endpoint's interface and port, and those that tie a network to one (hcn.md §3.1–3.3). */
import type { Guid } from "../guid.ts";
import { type JsonReader, present } from "../description/json.ts";
import { readOptionalIp } from "./address-list.ts";

export interface ProviderAddressPolicySetting {
  readonly ProviderAddress?: string;
}

export interface InterfaceConstraintPolicySetting {
  readonly InterfaceGuid?: Guid;
  readonly InterfaceLuid?: number;
  readonly InterfaceIndex?: number;
  readonly InterfaceMediaType?: number;
  readonly InterfaceAlias?: string;
  readonly InterfaceDescription?: string;
}

export interface IsolationPolicySetting {
  /** VLAN id or VXLAN network identifier. */
  readonly IsolationId: number;
}

export interface IovPolicySetting {
  readonly IovOffloadWeight?: number;
  readonly QueuePairsRequested?: number;
  /** On the wire its number. */
  readonly InterruptModeration?: number;
}

/** The greatest whole number of 64 bits that a JavaScript number next to it stands for; above it no u64 fits. */
export const U64_MAX: number = 0xffff_ffff_ffff_f800;
/** 802.1Q has twelve bits for it. */
export const VLAN_ID_MAX = 4_095;

export function readProviderAddress(reader: JsonReader): ProviderAddressPolicySetting {
  return present<ProviderAddressPolicySetting>({
    ProviderAddress: readOptionalIp(reader, "ProviderAddress"),
  });
}

export function readInterfaceConstraint(reader: JsonReader): InterfaceConstraintPolicySetting {
  return present<InterfaceConstraintPolicySetting>({
    InterfaceGuid: reader.guid("InterfaceGuid"),
    // The type of interface is in the upper sixteen bits: Wi-Fi has more than a safe integer.
    InterfaceLuid: reader.number("InterfaceLuid", U64_MAX),
    InterfaceIndex: reader.u32("InterfaceIndex"),
    InterfaceMediaType: reader.u32("InterfaceMediaType"),
    InterfaceAlias: reader.text("InterfaceAlias"),
    InterfaceDescription: reader.text("InterfaceDescription"),
  });
}

/** Reads a policy whose only field is `IsolationId`, at most `max`. */
export function readIsolation(reader: JsonReader, max: number): IsolationPolicySetting {
  const id = reader.number("IsolationId", max);
  return Object.freeze({ IsolationId: reader.needed("IsolationId", id, `a number from 0 to ${max}`) });
}

/**
 * Names of `InterruptModeration` with their numbers, which go out. Inferred: those of Low, Medium and High, which are
 * Hyper-V's (hcn.md §3.3).
 */
const INTERRUPT_MODERATIONS: Readonly<Record<string, number>> = {
  default: 0,
  adaptive: 1,
  off: 2,
  low: 100,
  medium: 200,
  high: 300,
};

function readInterruptModeration(reader: JsonReader): number | undefined {
  const value = reader.raw("InterruptModeration");
  const named = typeof value === "string" ? INTERRUPT_MODERATIONS[value.trim().toLowerCase()] : undefined;
  const number = named ?? reader.u32("InterruptModeration");
  if (number === undefined || Object.values(INTERRUPT_MODERATIONS).includes(number)) return number;
  throw reader.fail("InterruptModeration", "Default, Adaptive, Off, Low, Medium, High or its number");
}

export function readIov(reader: JsonReader): IovPolicySetting {
  return present<IovPolicySetting>({
    IovOffloadWeight: reader.u32("IovOffloadWeight"),
    QueuePairsRequested: reader.u32("QueuePairsRequested"),
    InterruptModeration: readInterruptModeration(reader),
  });
}
