/** The executable `azure-vnet-ipam`. */
import { runAzureProcess } from "../cni-plugins/azure-process.ts";
import { openAzureVnetIpam } from "../cni-plugins/open-azure-vnet.ts";

void runAzureProcess(openAzureVnetIpam);
