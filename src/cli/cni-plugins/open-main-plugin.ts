/** The main plugins for Windows of this installation: as programs, and as delegates of meta plugins. */
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import { openWindowsPlugin } from "./own-plugin-runner.ts";
import { type OpenPlugin, type PluginOpener, type PluginPlace, runPluginProcess } from "./plugin-process.ts";

/** win-bridge. */
export const openWinBridge: PluginOpener = (place) =>
  openWindowsPlugin((options) => new WinBridge(options), place);

/** win-overlay. */
export const openWinOverlay: PluginOpener = (place) =>
  openWindowsPlugin((options) => new WinOverlay(options), place);

/** Undefined for a name that is none of them. */
export async function openMainPlugin(name: string, place: PluginPlace): Promise<OpenPlugin | undefined> {
  if (name === "win-bridge") return openWinBridge(place);
  return name === "win-overlay" ? openWinOverlay(place) : undefined;
}

/** The executable `win-bridge`. */
export function startWinBridge(): Promise<void> {
  return runPluginProcess(openWinBridge);
}

/** The executable `win-overlay`. */
export function startWinOverlay(): Promise<void> {
  return runPluginProcess(openWinOverlay);
}
