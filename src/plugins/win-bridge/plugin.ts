/**
 * The plugin win-bridge: an endpoint on an HNS network of type L2Bridge or L2Tunnel for every pod (cni.md §2.2).
 *
 * The network, and the bridge endpoint at network + 2 that is the pods' gateway, are made by others (flanneld,
 * scripts).
 */
import { WindowsPlugin, type WindowsPluginOptions } from "../windows-endpoint/windows-plugin.ts";
import type { WinBridgeConfiguration } from "./conf.ts";
import { WIN_BRIDGE } from "./traits.ts";

export class WinBridge extends WindowsPlugin<WinBridgeConfiguration> {
  constructor(options: WindowsPluginOptions) {
    super(WIN_BRIDGE, options);
  }
}
