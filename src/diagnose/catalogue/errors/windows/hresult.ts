/** Error numbers of Windows: their spellings, and what an HRESULT is made of. */
import { stripEnd } from "#core/base/text-edges.ts";

/** A number that somebody wrote. */
export interface WrittenNumber {
  /** As 32 bits, unsigned. */
  readonly value: number;
  /** True when it has few digits: a Win32 error (its HRESULT is 0x8007….), or a code of the CNI specification. */
  readonly isShort: boolean;
  readonly isHex: boolean;
}

const UINT32_COUNT = 0x1_0000_0000n;
const SHORT_MAX = 0xffff;

/** `hr=`, `HRESULT:`, `(`, `error code`: what stands in front of numbers. */
const LEAD =
  /^[([{"'\s]*(?:(?:exception from|win32|errorcode|error|code|exit|hresult|hr|cni)[\s:=#]*)*[([{"'\s]*/i;
const TAIL = /[)\]}"'.,;:\s]/;
const NUMBER = /^([+-]?)(0x)?([0-9a-f]{1,20})[lu]{0,2}$/i;
/** Eight digits that begin like a failing HRESULT need no 0x. */
const BARE_HEX = /^[8c][0-9a-f]{7}$/i;

/** A number as 32 bits; undefined when it needs more. Numbers of 64 bits may be sign-extended ones of 32. */
function to32Bits(number: bigint): number | undefined {
  const value = ((number % UINT32_COUNT) + UINT32_COUNT) % UINT32_COUNT;
  const high = number >= UINT32_COUNT ? number / UINT32_COUNT : 0n;
  const isExtended = high === 0n || high === UINT32_COUNT - 1n;
  return isExtended && number > -UINT32_COUNT ? Number(value) : undefined;
}

/**
 * Reads a number in any spelling that tools of Windows use: `0x803b0013`, `803B0013`, `-2143617005`, `2151350291`,
 * `hr=0x803B0013`, `(0x490)`, `1168`. Undefined for what is none.
 */
export function parseErrorNumber(text: string): WrittenNumber | undefined {
  const [, sign = "", prefix, digits = ""] = NUMBER.exec(stripEnd(text.replace(LEAD, ""), TAIL)) ?? [];
  if (digits === "") return undefined;
  const isHex = prefix !== undefined || BARE_HEX.test(digits);
  if (!isHex && !/^\d+$/.test(digits)) return undefined;
  const magnitude = BigInt(isHex ? `0x${digits}` : digits);
  const value = to32Bits(sign === "-" ? -magnitude : magnitude);
  if (value === undefined) return undefined;
  return { value, isShort: value <= SHORT_MAX, isHex };
}

export interface DecodedHresult {
  readonly value: number;
  readonly severity: "success" | "failure";
  readonly facility: number;
  /** As winerror.h calls it; undefined for one that is not among the usual ones. */
  readonly facilityName: string | undefined;
  readonly code: number;
}

/** Facilities met on nodes (winerror.h). */
const FACILITIES: Readonly<Record<number, string>> = {
  0: "FACILITY_NULL",
  1: "FACILITY_RPC",
  2: "FACILITY_DISPATCH",
  3: "FACILITY_STORAGE",
  4: "FACILITY_ITF",
  7: "FACILITY_WIN32",
  8: "FACILITY_WINDOWS",
  9: "FACILITY_SECURITY",
  10: "FACILITY_CONTROL",
  11: "FACILITY_CERT",
  12: "FACILITY_INTERNET",
  15: "FACILITY_SETUPAPI",
  25: "FACILITY_HTTP",
  50: "FACILITY_FWP (filtering platform)",
  51: "FACILITY_WINRM",
  52: "FACILITY_NDIS (network drivers)",
  53: "FACILITY_USERMODE_HYPERVISOR",
  55: "FACILITY_USERMODE_VIRTUALIZATION (Host Compute Service)",
  58: "FACILITY_USERMODE_VHD",
  59: "FACILITY_USERMODE_HNS (Host Networking Service)",
};

export const FACILITY_WIN32 = 7;

/** Takes an HRESULT apart. */
export function decodeHresult(value: number): DecodedHresult {
  // Bit 29 marks codes of customers, bit 28 the ones mapped from NTSTATUS; what is left is the facility.
  const facility = (value >>> 16) & 0x1fff & ~0x1000;
  return {
    value: value >>> 0,
    severity: value >>> 31 === 1 ? "failure" : "success",
    facility,
    facilityName: FACILITIES[facility],
    code: value & 0xffff,
  };
}

/** `0x803b0013`. */
export function formatNumber(value: number): string {
  return `0x${(value >>> 0).toString(16).padStart(8, "0")}`;
}

/** The HRESULT that holds a Win32 error. */
export function hresultOfWin32(code: number): number {
  return (0x8007_0000 | (code & SHORT_MAX)) >>> 0;
}
