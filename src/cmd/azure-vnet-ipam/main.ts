/** The executable `azure-vnet-ipam`. */
import { openAzureVnetIpam } from "../cni-plugins/open-azure-vnet.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openAzureVnetIpam);
