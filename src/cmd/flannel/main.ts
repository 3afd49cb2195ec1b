/** The executable `flannel`. */
import { openFlannel } from "../cni-plugins/open-flannel.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openFlannel);
