/** What win-bridge does, over either API of HNS. */
import type { GcAttachment } from "../../cni/configuration.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import type { CniResult } from "../../cni/result.ts";
import type { IpamSession } from "../windows-endpoint/addresses.ts";
import type { WinBridgeConfiguration } from "./conf.ts";

/** One call with what was read for it. */
export interface BridgeCall {
  readonly request: PluginRequest;
  readonly configuration: WinBridgeConfiguration;
  readonly ipam: IpamSession;
}

/** One API of HNS: the same verbs over other objects. */
export interface Bridge {
  add(call: BridgeCall): Promise<CniResult>;
  /** Removes the endpoint, not the address. */
  remove(call: BridgeCall): Promise<void>;
  /** @throws CniError that lists what differs from `previous`. */
  check(call: BridgeCall, previous: CniResult): Promise<void>;
  /** @throws CniError with code 50. */
  status(call: BridgeCall): Promise<void>;
  /** Removes the endpoints of containers that are not valid; without a list, none. @returns what failed. */
  gc(call: BridgeCall, valid: readonly GcAttachment[] | undefined): Promise<readonly string[]>;
}
