/**
 * `ss`. Its form is that of iproute2 6.1 whose output goes into a pipe (misc/ss.c, `render`): columns as wide as they must be, no
 * blank between the peer's port and `Process`.
 *
 * Inferred: a server that takes any address listens on `*`, as servers of Go do, with a backlog of 4096; ports of one protocol stand
 * in the order of their numbers.
 */
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { TcpState } from "#dataplane/host/tcp/tcp-connection.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import { type GivenOptions, type OptionTable, readOptions } from "../getopt.ts";
import type { Machine } from "../machine.ts";

const OPTIONS: OptionTable = {
  "-t": "tcp",
  "--tcp": "tcp",
  "-u": "udp",
  "--udp": "udp",
  "-l": "listening",
  "--listening": "listening",
  "-a": "all",
  "--all": "all",
  "-n": "numeric",
  "--numeric": "numeric",
  "-H": "no-header",
  "--no-header": "no-header",
  "-4": "ipv4",
  "--ipv4": "ipv4",
  "-6": "ipv6",
  "--ipv6": "ipv6",
};
const BACKLOG = "4096";
const STATES: Readonly<Partial<Record<TcpState, string>>> = {
  established: "ESTAB",
  "syn-received": "SYN-RECV",
};

interface Socket {
  readonly protocol: "tcp" | "udp";
  readonly state: string;
  readonly sendQueue: string;
  readonly local: readonly [Ip | undefined, number];
  readonly peer: readonly [Ip, number] | undefined;
}

function addressText(ip: Ip | undefined): string {
  if (ip === undefined) return "*:";
  return typeof ip === "number" ? `${formatIp(ip)}:` : `[${formatIp(ip)}]:`;
}

/** Where nothing is connected yet the peer is any of the same family. */
function peerCells({ local: [ip], peer }: Socket): readonly [string, string] {
  if (peer !== undefined) return [addressText(peer[0]), String(peer[1])];
  if (ip === undefined) return ["*:", "*"];
  return [typeof ip === "number" ? "0.0.0.0:" : "[::]:", "*"];
}

function allSockets({ compartment: { tcp, udp } }: Machine): readonly Socket[] {
  return [
    ...udp.listSockets().map(
      ({ ip, port }): Socket => ({
        protocol: "udp",
        state: "UNCONN",
        sendQueue: "0",
        local: [ip, port],
        peer: undefined,
      }),
    ),
    ...tcp.listListeners().map(
      ({ ip, port }): Socket => ({
        protocol: "tcp",
        state: "LISTEN",
        sendQueue: BACKLOG,
        local: [ip, port],
        peer: undefined,
      }),
    ),
    ...tcp.listConnections().map(
      (each): Socket => ({
        protocol: "tcp",
        state: STATES[each.state] ?? each.state.toUpperCase(),
        sendQueue: "0",
        local: [each.localIp, each.localPort],
        peer: [each.remoteIp, each.remotePort],
      }),
    ),
  ];
}

function isWanted({ flags }: GivenOptions, { protocol, state, local: [ip] }: Socket): boolean {
  const isAnyProtocol = !flags.has("tcp") && !flags.has("udp");
  if (!isAnyProtocol && !flags.has(protocol)) return false;
  // A socket of any address is one of IPv6, which takes IPv4 as well.
  const isIpv4 = typeof ip === "number";
  if (flags.has("ipv4") !== flags.has("ipv6") && flags.has("ipv4") !== isIpv4) return false;
  const isOpen = state === "LISTEN" || state === "UNCONN";
  if (flags.has("all")) return true;
  if (flags.has("listening")) return isOpen;
  return !isOpen && state !== "TIME-WAIT" && state !== "SYN-RECV";
}

/** What stands before a column, whether its texts end together, and its title. */
const COLUMNS: readonly { readonly before: string; readonly isRight?: true; readonly title: string }[] = [
  { before: "", title: "Netid" },
  { before: " ", title: "State" },
  { before: " ", title: "Recv-Q" },
  { before: " ", title: "Send-Q" },
  { before: " ", isRight: true, title: "Local Address:" },
  { before: "", title: "Port" },
  { before: " ", isRight: true, title: "Peer Address:" },
  { before: "", title: "Port" },
  { before: "", title: "Process" },
];

function render(
  rows: readonly (readonly string[])[],
  hasNetId: boolean,
  hasTitles: boolean,
): readonly string[] {
  const titles = COLUMNS.map(({ title }) => title);
  const all = hasTitles ? [titles, ...rows] : rows;
  const first = hasNetId ? 0 : 1;
  return all.map((cells) =>
    COLUMNS.map(({ before, isRight }, index) => {
      if (index < first) return "";
      const width = Math.max(...all.map((each) => (each[index] ?? "").length));
      const cell = cells[index] ?? "";
      return (index === first ? "" : before) + (isRight === true ? cell.padStart(width) : cell.padEnd(width));
    }).join(""),
  );
}

function show(machine: Machine, given: GivenOptions): CommandOutput {
  const sockets = allSockets(machine)
    .filter((each) => isWanted(given, each))
    .toSorted(
      (a, b) => Number(a.protocol === "tcp") - Number(b.protocol === "tcp") || a.local[1] - b.local[1],
    );
  const rows = sockets.map((each) => {
    const { protocol, state, sendQueue, local } = each;
    return [protocol, state, "0", sendQueue, addressText(local[0]), String(local[1]), ...peerCells(each), ""];
  });
  // The kind is left out where only one was asked for.
  const hasNetId = given.flags.has("tcp") === given.flags.has("udp");
  return { stdout: render(rows, hasNetId, !given.flags.has("no-header")), exitCode: 0 };
}

export const SS: ListedCommand = {
  name: "ss",
  os: "linux",
  usages: ["ss -n -t|-u [-l|-a] [-4|-6] [-H]"],
  run: (machine, args) => {
    const given = readOptions(OPTIONS, args);
    const { flags, operands, unknown } = given;
    if (unknown !== undefined || operands.length > 0) return notBuilt(SS, args.join(" "));
    // Without them the real program shows sockets of the machine itself, and looks names of ports up.
    if (!flags.has("tcp") && !flags.has("udp"))
      return notBuilt(SS, `${args.join(" ")} without -t and -u`.trim());
    if (!flags.has("numeric")) return notBuilt(SS, `${args.join(" ")} without -n`.trim());
    return show(machine, given);
  },
};
