/** The executable `host-local`. */
import { openHostLocal } from "../cni-plugins/open-host-local.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openHostLocal);
