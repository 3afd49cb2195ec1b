/**
 * The plugin win-overlay: an endpoint on an HNS network of type Overlay for every pod (cni.md §2.3).
 *
 * The network is made by flanneld, OVN or scripts. The MAC of the endpoint is made of the pod's address, because the
 * other nodes derive it in the same way.
 */
import { WindowsPlugin, type WindowsPluginOptions } from "../windows-endpoint/windows-plugin.ts";
import type { WinOverlayConfiguration } from "./conf.ts";
import { WIN_OVERLAY } from "./traits.ts";

export class WinOverlay extends WindowsPlugin<WinOverlayConfiguration> {
  constructor(options: WindowsPluginOptions) {
    super(WIN_OVERLAY, options);
  }
}
