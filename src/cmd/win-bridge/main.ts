/** The executable `win-bridge`. */
import { openWinBridge } from "../cni-plugins/open-win-bridge.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openWinBridge);
