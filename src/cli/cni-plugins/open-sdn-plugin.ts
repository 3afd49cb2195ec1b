/** The plugins for Windows that Microsoft's SDN and containerd bring along, as programs. */
import { SdnPlugin } from "#programs/plugins/sdn/plugin.ts";
import { openWindowsPlugin } from "./open-windows-plugin.ts";
import { runPluginProcess } from "./plugin-process.ts";

function start(name: "nat" | "sdnbridge" | "sdnoverlay"): Promise<void> {
  return runPluginProcess((mode) =>
    openWindowsPlugin((options) => new SdnPlugin({ ...options, name }), mode),
  );
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
