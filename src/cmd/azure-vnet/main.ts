/** The executable `azure-vnet`. */
import { openAzureVnet } from "../cni-plugins/open-azure-vnet.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openAzureVnet);
