/** The executable `azure-vnet-stateless`: azure-vnet without a file of its own. */
import { openAzureVnetStateless } from "../cni-plugins/open-azure-vnet.ts";
import { runPluginProcess } from "../cni-plugins/plugin-process.ts";

void runPluginProcess(openAzureVnetStateless);
