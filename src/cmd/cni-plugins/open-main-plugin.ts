/** The main plugins for Windows of this installation, as delegates of meta plugins. */
import type { Compat } from "../../cni/parameters.ts";
import type { OpenPlugin } from "./plugin-process.ts";

/** Undefined for a name that is none of them. */
export async function openMainPlugin(name: string, compat: Compat): Promise<OpenPlugin | undefined> {
  if (name !== "win-bridge" && name !== "win-overlay") return undefined;
  const { openWindowsPlugin } = await import("./open-windows-plugin.ts");
  if (name === "win-bridge") {
    const { WinBridge } = await import("../../plugins/win-bridge/plugin.ts");
    return openWindowsPlugin((options) => new WinBridge(options), compat);
  }
  const { WinOverlay } = await import("../../plugins/win-overlay/plugin.ts");
  return openWindowsPlugin((options) => new WinOverlay(options), compat);
}
