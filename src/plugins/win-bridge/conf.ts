/** The configuration of win-bridge (cni.md §2.2). */
import { StructReader } from "../../cni/decode.ts";
import type { JsonObject } from "../../cni/json.ts";
import type { Compat } from "../../cni/parameters.ts";
import { type WindowsConfiguration, readWindowsConfiguration } from "../windows-endpoint/conf.ts";

export interface WinBridgeConfiguration extends WindowsConfiguration {
  /**
   * A network that pods reach with their own address: an exception of OutBoundNAT. Nothing is masqueraded by
   * it, but its presence alone makes an OutBoundNAT policy. Empty: none.
   */
  readonly ipMasqNetwork: string;
}

/** Reads the configuration. @throws DecodeError, CniError */
export function readWinBridgeConfiguration(document: JsonObject, compat: Compat): WinBridgeConfiguration {
  return {
    ...readWindowsConfiguration(document, compat),
    ipMasqNetwork: new StructReader(document).text("ipMasqNetwork"),
  };
}
