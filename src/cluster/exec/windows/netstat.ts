/**
 * `netstat`. Its form is that of printed outputs of Server 2016 to 2022: TCP before UDP, IPv4 before IPv6, columns that give way to
 * longer addresses.
 *
 * Inferred: a server that takes any address listens on both families where the machine has IPv6; ports of one protocol stand in the
 * order of their numbers. Inferred, with `-o`: each port has a process of its own, with a number that only tells it apart on this
 * machine, and a connection that waits for its end has none (0). Inferred, with `-b`: the programs behind ports have no files here, so it
 * says of each what Windows says where it does not learn the file; who types it may ask, which ContainerUser may not.
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

const FIRST_PROCESS = 1_200;
/** Numbers of processes are multiples of four. */
const PROCESS_STEP = 4;
const PROCESSES_PER_COMPARTMENT = 100;

/** Numbers of the processes behind ports. */
function processesOf(machine: Machine): ReadonlyMap<number, number> {
  const first = (machine.compartment.id - 1) * PROCESSES_PER_COMPARTMENT;
  const ports = new Set(rowsOf(machine, true).map(({ port }) => port));
  return new Map(
    [...ports]
      .toSorted((a, b) => a - b)
      .map((port, index) => [port, FIRST_PROCESS + PROCESS_STEP * (first + index)]),
  );
}

const WAITS_FOR_ITS_END = "TIME_WAIT";
const NO_OWNER = " Can not obtain ownership information";

interface Shown {
  readonly isAll: boolean;
  readonly hasProcesses: boolean;
  readonly hasOwners: boolean;
}

function show(machine: Machine, { isAll, hasProcesses, hasOwners }: Shown): CommandOutput {
  const line = (protocol: string, local: string, remote: string, state: string, process: string): string => {
    const ends = `  ${protocol.padEnd(6)} ${local.padEnd(22)} ${remote.padEnd(22)}`;
    return `${ends} ${hasProcesses ? `${state.padEnd(15)} ${process}` : state}`.trimEnd();
  };
  const processes = processesOf(machine);
  return {
    stdout: [
      "",
      "Active Connections",
      "",
      line("Proto", "Local Address", "Foreign Address", "State", "PID"),
      ...rowsOf(machine, isAll).flatMap(({ protocol, local, remote, state, port }) => {
        const isEnding = state === WAITS_FOR_ITS_END;
        const process = isEnding ? 0 : (processes.get(port) ?? 0);
        const shown = line(protocol, local, remote, state, `${process}`);
        return hasOwners && !isEnding ? [shown, NO_OWNER] : [shown];
      }),
    ],
    exitCode: 0,
  };
}

export const NETSTAT: ListedCommand = {
  name: "netstat",
  os: "windows",
  usages: ["netstat -n", "netstat -an", "netstat -ano", "netstat -abno", "netstat -r"],
  run: (machine, args) => {
    const options = args.map((arg) => optionOf(arg) ?? arg).join("");
    const letters = new Set(options);
    const isKnown = [...letters].every((each) => "abnor".includes(each));
    if (!isKnown || args.some((arg) => optionOf(arg) === undefined)) return notBuilt(NETSTAT, args.join(" "));
    if (letters.has("r")) return printRoutes(machine, [4, 6]);
    // Without it the real program looks every address up.
    if (!letters.has("n"))
      return notBuilt(NETSTAT, args.length === 0 ? "without -n" : `${args.join(" ")} without -n`);
    return show(machine, {
      isAll: letters.has("a"),
      hasProcesses: letters.has("o"),
      hasOwners: letters.has("b"),
    });
  },
};
