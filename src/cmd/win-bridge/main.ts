/** The executable `win-bridge`. */
import { WinBridge } from "../../plugins/win-bridge/plugin.ts";
import { openWindowsPlugin } from "../cni-plugins/open-windows-plugin.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess((compat) => openWindowsPlugin((options) => new WinBridge(options), compat));
