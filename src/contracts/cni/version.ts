/** Versions of the CNI specification and of its library, and how plugins and configurations are matched (cni.md §1.4). */
import { CNI_CODES, CniError } from "./error.ts";

/** Every version of the specification, oldest first. */
export const SPEC_VERSIONS: readonly string[] = Object.freeze([
  "0.1.0",
  "0.2.0",
  "0.3.0",
  "0.3.1",
  "0.4.0",
  "1.0.0",
  "1.1.0",
]);

/** The version a configuration without `cniVersion` has. */
export const OLDEST_VERSION = "0.1.0";
/** The version of the `VERSION` answer. */
export const NEWEST_VERSION = "1.1.0";

/** A version as numbers; missing parts are 0. */
export type VersionNumbers = readonly [major: number, minor: number, micro: number];

const PART_NAMES = ["major", "minor", "micro"] as const;

function parsePart(part: string, name: string): number {
  const why = /^[+-]?\d+$/.test(part) ? "value out of range" : "invalid syntax";
  const value = Number(part);
  if (why === "invalid syntax" || !Number.isSafeInteger(value)) {
    const quoted = JSON.stringify(part);
    throw new CniError(
      CNI_CODES.decodingFailure,
      `failed to convert ${name} version part ${quoted}: strconv.Atoi: parsing ${quoted}: ${why}`,
    );
  }
  return value;
}

/**
 * Parses `1`, `1.0` or `1.0.0`; the empty text is 0.1.0.
 * @throws CniError with code 6 and the text of the Go library.
 */
export function parseVersion(text: string): VersionNumbers {
  if (text === "") return [0, 1, 0];
  const parts = text.split(".");
  if (parts.length > 3) {
    const message = `invalid version ${JSON.stringify(text)}: too many parts`;
    throw new CniError(CNI_CODES.decodingFailure, message);
  }
  const [major = 0, minor = 0, micro = 0] = parts.map((part, i) => parsePart(part, PART_NAMES[i] ?? "micro"));
  return [major, minor, micro];
}

/** Negative when `a` is older than `b`, 0 when equal. @throws CniError as `parseVersion`. */
export function compareVersions(a: string, b: string): number {
  const left = parseVersion(a);
  const right = parseVersion(b);
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

/** What versions brought (cni.md §1.4): lists of addresses in results, the result of ADD for DEL, commands. */
export const SINCE = {
  addressLists: "0.3.0",
  prevResultOfDel: "0.4.0",
  CHECK: "0.4.0",
  GC: "1.1.0",
  STATUS: "1.1.0",
} as const;

/** True when `version` is `other` or newer. */
export function isAtLeast(version: string, other: string): boolean {
  return compareVersions(version, other) >= 0;
}

/**
 * A release of upstream's library (containernetworking/cni) that plugins are built with, as far as a runtime sees which one
 * it is. Source: pkg/skel, pkg/version and pkg/types/100 of cni 1.1.2 and 1.3.0.
 */
export interface CniLibrary {
  /** The newest version of the specification that it knows: `cniVersion` of the VERSION answer. */
  readonly newestVersion: string;
  /** Every other command is unknown to it. */
  readonly commands: ReadonlySet<string>;
  /**
   * Container ID and interface name are looked at after the configuration, for every command that reads one, known or
   * not; else before it, where they are required.
   */
  readonly checksNamesLast: boolean;
  /** How results from 1.0.0 on are printed: sorted and without an empty `dns`, or in the order of the specification. */
  readonly sortsResults: boolean;
}

/** Of win-bridge, win-overlay, host-local (plugins 1.9), flannel and azure-vnet. */
export const CNI_LIBRARY_1_3: CniLibrary = Object.freeze({
  newestVersion: NEWEST_VERSION,
  commands: new Set(["ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"]),
  checksNamesLast: false,
  sortsResults: true,
});

/** Of nat, sdnbridge and sdnoverlay: before GC and STATUS. */
export const CNI_LIBRARY_1_1: CniLibrary = Object.freeze({
  newestVersion: "1.0.0",
  commands: new Set(["ADD", "DEL", "CHECK", "VERSION"]),
  checksNamesLast: true,
  sortsResults: false,
});
