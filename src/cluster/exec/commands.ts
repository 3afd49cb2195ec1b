/** The commands that there are. */
import type { ListedCommand } from "./command.ts";
import { IPCONFIG } from "./windows/ipconfig.ts";
import { ARP } from "./windows/arp.ts";
import { NSLOOKUP } from "./windows/nslookup.ts";
import { PING } from "./windows/ping.ts";
import { ROUTE } from "./windows/route.ts";

export const COMMANDS: readonly ListedCommand[] = [IPCONFIG, ROUTE, ARP, PING, NSLOOKUP];
