/** The main plugins for Windows of this installation: as programs, and as delegates of meta plugins. */
import type { PluginMode } from "#contracts/cni/plugin.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import { openWindowsPlugin } from "./open-windows-plugin.ts";
import { type OpenPlugin, type PluginOpener, runPluginProcess } from "./plugin-process.ts";

const openWinBridge: PluginOpener = (mode) => openWindowsPlugin((options) => new WinBridge(options), mode);

const openWinOverlay: PluginOpener = (mode) => openWindowsPlugin((options) => new WinOverlay(options), mode);

/** Undefined for a name that is none of them. */
export async function openMainPlugin(name: string, mode: PluginMode): Promise<OpenPlugin | undefined> {
  if (name === "win-bridge") return openWinBridge(mode);
  return name === "win-overlay" ? openWinOverlay(mode) : undefined;
}

/** The executable `win-bridge`. */
export function startWinBridge(): Promise<void> {
  return runPluginProcess(openWinBridge);
}

/** The executable `win-overlay`. */
export function startWinOverlay(): Promise<void> {
  return runPluginProcess(openWinOverlay);
}
