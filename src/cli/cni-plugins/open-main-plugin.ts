/** The main plugins for Windows of this installation: as programs, and as delegates of meta plugins. */
import type { Compat } from "#core/base/compat.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import { openWindowsPlugin } from "./open-windows-plugin.ts";
import { type OpenPlugin, runPluginProcess } from "./plugin-process.ts";

function openWinBridge(compat: Compat): OpenPlugin {
  return openWindowsPlugin((options) => new WinBridge(options), compat);
}

function openWinOverlay(compat: Compat): OpenPlugin {
  return openWindowsPlugin((options) => new WinOverlay(options), compat);
}

/** Undefined for a name that is none of them. */
export async function openMainPlugin(name: string, compat: Compat): Promise<OpenPlugin | undefined> {
  if (name === "win-bridge") return openWinBridge(compat);
  return name === "win-overlay" ? openWinOverlay(compat) : undefined;
}

/** The executable `win-bridge`. */
export function startWinBridge(): Promise<void> {
  return runPluginProcess(openWinBridge);
}

/** The executable `win-overlay`. */
export function startWinOverlay(): Promise<void> {
  return runPluginProcess(openWinOverlay);
}
