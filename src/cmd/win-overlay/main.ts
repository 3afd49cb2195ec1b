/** The executable `win-overlay`. */
import { WinOverlay } from "../../plugins/win-overlay/plugin.ts";
import { openWindowsPlugin } from "../cni-plugins/open-windows-plugin.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess((compat) => openWindowsPlugin((options) => new WinOverlay(options), compat));
