/** The plugins for Windows that Microsoft's SDN and containerd bring along, as programs. */
import { SdnPlugin } from "#programs/plugins/sdn/plugin.ts";
import { openWindowsPlugin } from "./own-plugin-runner.ts";
import { type PluginOpener, runPluginProcess } from "./plugin-process.ts";

/** One of them. */
export function openSdnPlugin(name: "nat" | "sdnbridge" | "sdnoverlay"): PluginOpener {
  return (place) => openWindowsPlugin((options) => new SdnPlugin({ ...options, name }), place);
}

function start(name: "nat" | "sdnbridge" | "sdnoverlay"): Promise<void> {
  return runPluginProcess(openSdnPlugin(name));
}

/** The executable `nat`. */
export function startNat(): Promise<void> {
  return start("nat");
}

/** The executable `sdnbridge`. */
export function startSdnBridge(): Promise<void> {
  return start("sdnbridge");
}

/** The executable `sdnoverlay`. */
export function startSdnOverlay(): Promise<void> {
  return start("sdnoverlay");
}
