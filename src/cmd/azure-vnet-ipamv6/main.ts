/** The executable `azure-vnet-ipamv6`. */
import { runAzureProcess } from "../cni-plugins/azure-process.ts";
import { openAzureVnetIpamV6 } from "../cni-plugins/open-azure-vnet.ts";

void runAzureProcess(openAzureVnetIpamV6);
