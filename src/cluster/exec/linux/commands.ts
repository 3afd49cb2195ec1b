/** The commands of Linux, in the order in which `mullion exec --list` shows them. */
import type { ListedCommand } from "../command.ts";
import { DIG } from "./dig.ts";
import { IP } from "./ip.ts";
import { NSLOOKUP } from "./nslookup.ts";
import { PING } from "./ping.ts";
import { SS } from "./ss.ts";
import { WGET } from "./wget.ts";

export const LINUX_COMMANDS: readonly ListedCommand[] = [IP, SS, PING, DIG, NSLOOKUP, WGET];
