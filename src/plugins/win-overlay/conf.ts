/** The configuration of win-overlay (cni.md §2.3). */
import { StructReader } from "../../cni/decode.ts";
import type { JsonObject } from "../../cni/json.ts";
import type { Compat } from "../../cni/parameters.ts";
import { type WindowsConfiguration, readWindowsConfiguration } from "../windows-endpoint/conf.ts";

/** The MAC prefix that flanneld, too, takes without a word on it. */
const MAC_PREFIX_DEFAULT = "0E-2A";

export interface WinOverlayConfiguration extends WindowsConfiguration {
  /** The network's own subnet becomes an exception of OutBoundNAT. */
  readonly isMasqueraded: boolean;
  /** The first two octets of the endpoint's MAC; the address of the pod is the rest. */
  readonly macPrefix: string;
}

/** Reads the configuration. @throws DecodeError, CniError */
export function readWinOverlayConfiguration(document: JsonObject, compat: Compat): WinOverlayConfiguration {
  const reader = new StructReader(document);
  const macPrefix = reader.text("endpointMacPrefix");
  return {
    ...readWindowsConfiguration(document, compat),
    isMasqueraded: reader.boolean("ipMasq"),
    macPrefix: macPrefix === "" ? MAC_PREFIX_DEFAULT : macPrefix,
  };
}
