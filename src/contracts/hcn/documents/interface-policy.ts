/** The policies about an endpoint's interface and port, and those that tie a network to one (hcn.md §3.1–3.3). */
import type { JsonReader } from "../description/json.ts";
import { type ReadSettings, type SettingsOf, settingsReader } from "../description/settings.ts";

export const INTERFACE_CONSTRAINT = {
  InterfaceGuid: "guid",
  // The type of interface is in the upper sixteen bits: Wi-Fi has more than a safe integer.
  InterfaceLuid: "u64",
  InterfaceIndex: "u32",
  InterfaceMediaType: "u32",
  InterfaceAlias: "text",
  InterfaceDescription: "text",
} as const;
export type InterfaceConstraintPolicySetting = SettingsOf<typeof INTERFACE_CONSTRAINT>;

export interface IsolationPolicySetting {
  /** VLAN id or VXLAN network identifier. */
  readonly IsolationId: number;
}

/** 802.1Q has twelve bits for it. */
export const VLAN_ID_MAX = 4_095;

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

const IOV = {
  IovOffloadWeight: "u32",
  QueuePairsRequested: "u32",
  /** On the wire its number. */
  InterruptModeration: "u32",
} as const;
export type IovPolicySetting = SettingsOf<typeof IOV>;

export const readIov: ReadSettings<IovPolicySetting> = settingsReader(IOV, {
  InterruptModeration: readInterruptModeration,
});
