/**
 * `Test-NetConnection`. Its form is that of PowerShell/PowerShell#25818 (a port that answers, and what the object has besides) and of
 * printed outputs of a port that does not, of one whose host answers, and of an address without a port: warnings, then a list.
 * `Detailed` is as in kubernetes-sigs/sig-windows-tools#340 (in a pod) and, without a port, on Microsoft's page of the cmdlet.
 *
 * A connection is opened and closed again; when it fails, one echo request is sent. Inferred: warnings stand on stdout, and of a
 * name that nobody knows the values of the network are empty.
 */
import type { Task, Timer } from "#core/base/clock.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { FailureReason } from "#dataplane/host/delivery-failure.ts";
import { Ping, type PingOutcome } from "#dataplane/host/probes/ping.ts";
import type { Route } from "#dataplane/host/stack.ts";
import type { TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import type { Machine } from "../../machine.ts";
import { notBuilt } from "../../command.ts";
import { findTarget, isTarget } from "../../target.ts";
import type { Cmdlet, CmdletOutput, Given } from "../powershell/cmdlet.ts";
import { type ObjectKind, type Property, makeObject } from "../powershell/objects.ts";

/** Longer than Windows tries to connect. */
const PATIENCE_MS = 60_000;
const COMMON_PORTS: Readonly<Record<string, number>> = { http: 80, rdp: 3_389, smb: 445, winrm: 5_985 };
/** As .NET's `IPStatus` calls them. */
const STATUS: Readonly<Partial<Record<FailureReason, string>>> = {
  "net-unreachable": "DestinationNetworkUnreachable",
  "host-unreachable": "DestinationHostUnreachable",
  "protocol-unreachable": "DestinationProtocolUnreachable",
  "port-unreachable": "DestinationPortUnreachable",
  "fragmentation-needed": "PacketTooBig",
  "ttl-expired": "TtlExpired",
};

const LEVELS: readonly string[] = ["standard", "detailed", "quiet"];

/** Opens a connection and closes it. */
class Knock implements TcpOwner, Task {
  isOpened: boolean | undefined;
  private readonly machine: Machine;
  private connection: TcpConnection | undefined;
  private timer: Timer | undefined;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  start(destination: Ip, port: number): void {
    const { compartment } = this.machine;
    this.timer = compartment.env.clock.schedule(PATIENCE_MS, this);
    const connection = compartment.tcp.connect({ destination, port, owner: this });
    if (typeof connection === "string") this.end(false);
    else this.connection = connection;
  }

  run(): void {
    this.timer = undefined;
    this.connection?.abort();
    this.end(false);
  }

  tcpConnected(connection: TcpConnection): void {
    this.end(true);
    connection.close();
  }

  tcpData(): void {
    // Nothing is asked.
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(): void {
    this.end(false);
  }

  private end(isOpened: boolean): void {
    if (this.timer !== undefined) this.machine.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
    this.isOpened ??= isOpened;
  }
}

function knock(machine: Machine, ip: Ip, port: number): boolean {
  const attempt = new Knock(machine);
  attempt.start(ip, port);
  while (attempt.isOpened === undefined && machine.cluster.clock.step());
  return attempt.isOpened === true;
}

function pingOnce({ cluster, compartment }: Machine, destination: Ip): PingOutcome | undefined {
  const run = new Ping({ compartment, destination, count: 1 });
  run.start();
  while (!run.isDone && cluster.clock.step());
  return run.results[0];
}

function statusOf(outcome: PingOutcome | undefined): string {
  if (outcome?.kind === "failure") return STATUS[outcome.failure.reason] ?? "DestinationHostUnreachable";
  return outcome?.kind === "not-sent" ? "DestinationHostUnreachable" : "TimedOut";
}

interface Connection {
  readonly name: string;
  readonly ip: Ip | undefined;
  readonly port: number | undefined;
  readonly alias: string;
  readonly source: string;
  readonly nextHop: string;
  readonly isOpened: boolean | undefined;
  /** Undefined when nobody was pinged. */
  readonly ping: { readonly isAnswered: boolean; readonly rttMs: number } | undefined;
}

function addressText({ ip }: Connection): string {
  return ip === undefined ? "" : formatIp(ip);
}

/** What came of it, at the end of each list. */
const RESULTS: readonly Property<Connection>[] = [
  { name: "PingSucceeded", read: ({ ping }) => ping?.isAnswered },
  {
    name: "PingReplyDetails (RTT)",
    read: ({ ip, ping }) =>
      ping === undefined || ip === undefined ? undefined : `${Math.floor(ping.rttMs)} ms`,
  },
  { name: "TcpTestSucceeded", read: ({ isOpened }) => isOpened },
];

const CONNECTION: ObjectKind<Connection> = {
  properties: [
    { name: "ComputerName", read: ({ name }) => name },
    { name: "RemoteAddress", read: addressText },
    { name: "RemotePort", read: ({ port }) => port ?? 0 },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "SourceAddress", read: ({ source }) => source },
    { name: "PingSucceeded", read: ({ ping }) => ping?.isAnswered ?? false },
    { name: "TcpTestSucceeded", read: ({ isOpened }) => isOpened ?? false },
  ],
  list: [
    { name: "ComputerName", read: ({ name }) => name },
    { name: "RemoteAddress", read: addressText },
    { name: "RemotePort", read: ({ port }) => port },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "SourceAddress", read: ({ source }) => source },
    ...RESULTS,
  ],
};

/** Inferred: pods have no rules of IPsec, no network profile, and an administrator. */
const DETAILED: ObjectKind<Connection> = {
  properties: CONNECTION.properties,
  list: [
    { name: "ComputerName", read: ({ name }) => name },
    { name: "RemoteAddress", read: addressText },
    { name: "RemotePort", read: ({ port }) => port },
    { name: "NameResolutionResults", read: addressText },
    { name: "MatchingIPsecRules", read: ({ port }) => (port === undefined ? undefined : "") },
    { name: "NetworkIsolationContext", read: ({ port }) => (port === undefined ? undefined : "") },
    { name: "InterfaceAlias", read: ({ alias }) => alias },
    { name: "SourceAddress", read: ({ source }) => source },
    { name: "NetRoute (NextHop)", read: ({ nextHop }) => nextHop },
    ...RESULTS,
  ],
};

function portOf(given: Given): number | undefined {
  const text = given.get("Port");
  const common = given.get("CommonTCPPort");
  if (text === undefined && common === undefined) return undefined;
  const port = text === undefined ? COMMON_PORTS[(common ?? "").toLowerCase()] : Number(text);
  if (port === undefined || !/^\d{1,5}$/.test(String(port)) || port < 1 || port > 65_535)
    return notBuilt(TEST_NET_CONNECTION, `-Port ${text ?? common ?? ""}`);
  return port;
}

/** As it stands in the table of routes; nothing where no route is needed. */
function nextHopOf(route: Route | undefined): string {
  if (route === undefined) return "";
  if (route.nextHop !== undefined) return formatIp(route.nextHop);
  return typeof route.prefix.address === "number" ? "0.0.0.0" : "::";
}

function test(machine: Machine, given: Given): CmdletOutput {
  const name = given.get("ComputerName");
  if (name === undefined) return notBuilt(TEST_NET_CONNECTION, "without a name");
  const level = (given.get("InformationLevel") ?? "Standard").toLowerCase();
  if (!LEVELS.includes(level)) return notBuilt(TEST_NET_CONNECTION, `-InformationLevel ${level}`);
  const port = portOf(given);
  const target = findTarget(machine, name, false);
  const ip = isTarget(target) ? target.ip : undefined;
  const path = ip === undefined ? undefined : machine.compartment.output.findPath(ip);
  const isOpened = port === undefined ? undefined : ip !== undefined && knock(machine, ip, port);
  const outcome = isOpened === true || ip === undefined ? undefined : pingOnce(machine, ip);
  const isAnswered = outcome?.kind === "reply";
  const connection: Connection = {
    name,
    ip,
    port,
    alias: path?.route?.interface.name ?? "",
    source: path === undefined ? "" : formatIp(path.source),
    nextHop: nextHopOf(path?.route),
    isOpened,
    ping:
      isOpened === true
        ? undefined
        : { isAnswered, rttMs: outcome?.kind === "reply" ? outcome.reply.rttMs : 0 },
  };
  const warnings = [
    ...(ip === undefined ? [`WARNING: Name resolution of ${name} failed`] : []),
    ...(ip !== undefined && isOpened === false
      ? [`WARNING: TCP connect to (${formatIp(ip)} : ${port}) failed`]
      : []),
    ...(ip === undefined || isOpened === true || isAnswered
      ? []
      : [`WARNING: Ping to ${formatIp(ip)} failed with status: ${statusOf(outcome)}`]),
  ];
  if (level === "quiet") return { objects: [], values: [isOpened ?? isAnswered], warnings };
  const kind = level === "detailed" ? DETAILED : CONNECTION;
  return { objects: [makeObject(kind, connection)], warnings };
}

export const TEST_NET_CONNECTION: Cmdlet = {
  name: "Test-NetConnection",
  aliases: ["tnc"],
  usages: [
    "Test-NetConnection [-ComputerName] NAME [-Port PORT | -CommonTCPPort HTTP|RDP|SMB|WINRM] [-InformationLevel Quiet|Detailed]",
  ],
  parameters: ["ComputerName", "CommonTCPPort", "Port", "InformationLevel"],
  positions: 2,
  switches: [],
  others: ["TraceRoute", "Hops", "ConstrainInterface", "ConstrainSourceAddress", "DiagnoseRouting"],
  run: test,
};
