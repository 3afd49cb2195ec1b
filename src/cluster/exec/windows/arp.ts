/**
 * `arp -a`. Its form is that of Windows' own help (yaox023/Blog#6): a block for each interface with its address and index,
 * and its neighbours below; groups and the broadcast address are static.
 */
import { type Ipv4, formatIp, parseIpv4 } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import type { Adapter, Machine } from "../machine.ts";
import { neighboursOf } from "./neighbours.ts";

interface Entry {
  readonly ip: Ipv4;
  readonly mac: Mac;
  readonly type: "dynamic" | "static";
}

function entriesOf({ link }: Adapter): readonly Entry[] {
  const entries = neighboursOf(link).flatMap(({ ip, mac, state }): readonly Entry[] => {
    if (typeof ip !== "number" || mac === undefined) return [];
    return [{ ip, mac, type: state === "permanent" ? "static" : "dynamic" }];
  });
  return entries.toSorted((a, b) => a.ip - b.ip);
}

function show({ adapters }: Machine, only: Ipv4 | undefined): CommandOutput {
  const lines = adapters.flatMap((adapter) => {
    const own = adapter.link.addresses.find(({ ip }) => typeof ip === "number");
    const entries = entriesOf(adapter).filter(({ ip }) => only === undefined || ip === only);
    if (own === undefined || entries.length === 0) return [];
    return [
      "",
      `Interface: ${formatIp(own.ip)} --- 0x${adapter.index.toString(16)}`,
      "  Internet Address      Physical Address      Type",
      ...entries.map(
        ({ ip, mac, type }) =>
          `  ${formatIp(ip).padEnd(22)}${formatMac(mac).toLowerCase().padEnd(22)}${type.padEnd(11)}`,
      ),
    ];
  });
  return lines.length > 0
    ? { stdout: lines, exitCode: 0 }
    : { stdout: ["No ARP Entries Found."], exitCode: 1 };
}

export const ARP: ListedCommand = {
  name: "arp",
  os: "windows",
  usages: ["arp -a [ADDRESS]"],
  run: (machine, args) => {
    const [verb = "", address, ...others] = args;
    if (!/^[-/][ag]$/i.test(verb) || others.length > 0) return notBuilt(ARP, args.join(" "));
    const only = address === undefined ? undefined : parseIpv4(address);
    if (address !== undefined && only === undefined)
      return { stdout: [`ARP: bad IP address: ${address}`], exitCode: 1 };
    return show(machine, only);
  },
};
