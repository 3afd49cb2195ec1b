/**
 * `netstat`. Its form is that of printed outputs of Server 2016 to 2022: TCP before UDP, IPv4 before IPv6, columns that give way to
 * longer addresses.
 *
 * Inferred: a server that takes any address listens on both families where the machine has IPv6; ports of one protocol stand in the
 * order of their numbers. No process has an identifier here, so `-o` is refused.
 */
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import type { Machine } from "../machine.ts";
import { printRoutes } from "./route.ts";

/** A line, and what it is sorted by. */
interface Row {
  readonly protocol: "TCP" | "UDP";
  readonly family: 4 | 6;
  readonly local: string;
  readonly port: number;
  readonly remote: string;
  readonly state: string;
}

function endText(ip: Ip, port: number): string {
  return typeof ip === "number" ? `${formatIp(ip)}:${port}` : `[${formatIp(ip)}]:${port}`;
}

const ANY: Readonly<Record<4 | 6, string>> = { 4: "0.0.0.0", 6: "[::]" };

function familyOf(ip: Ip): 4 | 6 {
  return typeof ip === "number" ? 4 : 6;
}

/** Where a socket listens: its address, or every one. */
function openRows(
  machine: Machine,
  protocol: Row["protocol"],
  { ip, port }: { readonly ip: Ip | undefined; readonly port: number },
): readonly Row[] {
  const hasIpv6 = machine.adapters.some(({ link }) => link.addresses.some((each) => familyOf(each.ip) === 6));
  const families: readonly (4 | 6)[] = ip === undefined ? (hasIpv6 ? [4, 6] : [4]) : [familyOf(ip)];
  return families.map((family) => ({
    protocol,
    family,
    local: ip === undefined ? `${ANY[family]}:${port}` : endText(ip, port),
    port,
    remote: protocol === "TCP" ? `${ANY[family]}:0` : "*:*",
    state: protocol === "TCP" ? "LISTENING" : "",
  }));
}

function rowsOf(machine: Machine, isAll: boolean): readonly Row[] {
  const { tcp, udp } = machine.compartment;
  const connections = tcp.listConnections().map(
    (each): Row => ({
      protocol: "TCP",
      family: familyOf(each.localIp),
      local: endText(each.localIp, each.localPort),
      port: each.localPort,
      remote: endText(each.remoteIp, each.remotePort),
      state: each.state.replaceAll("-", "_").toUpperCase(),
    }),
  );
  const open = [
    ...tcp.listListeners().flatMap((each) => openRows(machine, "TCP", each)),
    ...udp.listSockets().flatMap((each) => openRows(machine, "UDP", each)),
  ];
  const order = ({ protocol, family, state }: Row): number =>
    (protocol === "UDP" ? 100 : 0) + family * 10 + (state === "LISTENING" ? 0 : 1);
  return [...(isAll ? open : []), ...connections].toSorted((a, b) => order(a) - order(b) || a.port - b.port);
}

function show(machine: Machine, isAll: boolean): CommandOutput {
  const line = (protocol: string, local: string, remote: string, state: string): string =>
    `  ${protocol.padEnd(6)} ${local.padEnd(22)} ${remote.padEnd(22)} ${state}`.trimEnd();
  return {
    stdout: [
      "",
      "Active Connections",
      "",
      line("Proto", "Local Address", "Foreign Address", "State"),
      ...rowsOf(machine, isAll).map(({ protocol, local, remote, state }) =>
        line(protocol, local, remote, state),
      ),
    ],
    exitCode: 0,
  };
}

export const NETSTAT: ListedCommand = {
  name: "netstat",
  os: "windows",
  usages: ["netstat -n", "netstat -an", "netstat -r"],
  run: (machine, args) => {
    const options = args.map((arg) => optionOf(arg) ?? arg).join("");
    const letters = new Set(options);
    const isKnown = [...letters].every((each) => "anr".includes(each));
    if (!isKnown || args.some((arg) => optionOf(arg) === undefined)) return notBuilt(NETSTAT, args.join(" "));
    if (letters.has("r")) return printRoutes(machine, [4, 6]);
    // Without it the real program looks every address up.
    if (!letters.has("n"))
      return notBuilt(NETSTAT, args.length === 0 ? "without -n" : `${args.join(" ")} without -n`);
    return show(machine, letters.has("a"));
  },
};
