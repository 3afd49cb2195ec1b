/** The executable `azure-vnet-stateless`: azure-vnet without a file of its own. */
import { runAzureProcess } from "../cni-plugins/azure-process.ts";
import { openAzureVnetStateless } from "../cni-plugins/open-azure-vnet.ts";

void runAzureProcess(openAzureVnetStateless);
