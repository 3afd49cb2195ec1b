/** The executable `mullion-netns`. */
import { openMullionNetns } from "../cni-plugins/open-mullion-netns.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openMullionNetns);
