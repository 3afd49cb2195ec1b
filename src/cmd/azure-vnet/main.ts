/** The executable `azure-vnet`. */
import { runAzureProcess } from "../cni-plugins/azure-process.ts";
import { openAzureVnet } from "../cni-plugins/open-azure-vnet.ts";

void runAzureProcess(openAzureVnet);
