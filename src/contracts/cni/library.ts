/**
 * The releases of upstream's library (containernetworking/cni) that plugins are built with, as far as a runtime sees
 * which one it is. Source: pkg/skel, pkg/version and pkg/types/100 of cni 1.1.2 and 1.3.0.
 */
import { NEWEST_VERSION } from "./version.ts";

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
