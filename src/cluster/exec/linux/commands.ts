/** The commands of Linux, in the order in which `mullion exec --list` shows them. */
import { type ListedCommand, notBuilt } from "../command.ts";
import { CAT } from "./cat.ts";
import { DIG } from "./dig.ts";
import { IP } from "./ip.ts";
import { NSLOOKUP } from "./nslookup.ts";
import { PING } from "./ping.ts";
import { SS } from "./ss.ts";
import { WGET } from "./wget.ts";

const HOSTNAME: ListedCommand = {
  name: "hostname",
  os: "linux",
  usages: ["hostname"],
  run: ({ hostName }, args) =>
    args.length > 0 ? notBuilt(HOSTNAME, args.join(" ")) : { stdout: [hostName], exitCode: 0 },
};

export const LINUX_COMMANDS: readonly ListedCommand[] = [IP, SS, PING, DIG, NSLOOKUP, WGET, CAT, HOSTNAME];
