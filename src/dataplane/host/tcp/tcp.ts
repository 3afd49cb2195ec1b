/** TCP of one compartment: finds the connection of a segment, opens new ones, listens, refuses what belongs to none. */
import type { HookedStack } from "../hooked-stack.ts";
import { assert } from "#core/base/assert.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import { formatSocketAddress } from "#core/net/five-tuple.ts";
import type { Ip } from "#core/net/ip.ts";
import { buildTcpFrame } from "#core/wire/build-frame.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import type { SentPacket, DeliveryFailure, SocketFailure } from "../delivery-failure.ts";
import type { LocalPacket, Path } from "../stack.ts";
import { NO_LINK } from "../ip/ip-output.ts";
import { LocalPorts } from "../local-ports.ts";
import { TcpConnection, type TcpOwner, type Handshakes, type TcpAcceptor } from "./tcp-connection.ts";
import {
  type TcpSegment,
  type SegmentFields,
  type Ends,
  addSequence,
  isAfter,
  hasFlag,
  readSegment,
} from "./tcp-segment.ts";

const NO_BYTES = new Uint8Array(0);

export interface TcpConnectOptions {
  readonly destination: Ip;
  readonly port: number;
  readonly owner: TcpOwner;
  /** Default: chosen by the route. */
  readonly source?: Ip;
  /** Default: a port of the system's ephemeral range. */
  readonly sourcePort?: number;
  /** Of the SYN. Default 0. */
  readonly tag?: PacketTag;
  /** The SID of the user whose process connects. Default: any user that no policy names. */
  readonly user?: string;
}

export class Tcp {
  readonly ports: LocalPorts;
  readonly compartment: HookedStack;
  private readonly connections = new Map<string, TcpConnection>();
  private readonly listeners = new Map<number, TcpListener[]>();

  constructor(compartment: HookedStack) {
    this.compartment = compartment;
    this.ports = new LocalPorts(compartment.profile.ephemeralPorts, compartment.prng.derive("tcp-ports"));
  }

  listen(options: TcpListenOptions): TcpListener | SocketFailure {
    if (this.compartment.refusesSockets) return "access-denied";
    if (options.ip !== undefined && !this.compartment.isLocal(options.ip)) return "address-not-local";
    const others = this.listeners.get(options.port) ?? [];
    if (this.ports.isHeld(options.port) || others.some((other) => other.ip === options.ip))
      return "port-in-use";
    const listener = new TcpListener(this, options);
    this.listeners.set(options.port, [...others, listener]);
    this.ports.reserve(options.port);
    return listener;
  }

  /** Opens a connection; `options.owner` hears of everything that follows. @returns why no SYN could be sent. */
  connect(options: TcpConnectOptions): TcpConnection | SocketFailure {
    const { destination } = options;
    if (this.compartment.refusesSockets) return "access-denied";
    if (this.connections.size >= LIMITS.socketsPerCompartmentMax) return "too-many-sockets";
    if (options.source !== undefined && !this.compartment.isLocal(options.source)) return "address-not-local";
    const path = this.compartment.output.findPath(destination, options.source);
    if (path === undefined) return "no-route";
    return this.redirect(options, path) ?? this.connectAlong(options, path);
  }

  /** Gives the connection to a proxy of the compartment, when a policy says so. */
  private redirect(options: TcpConnectOptions, path: Path): TcpConnection | SocketFailure | undefined {
    const { filtering, output } = this.compartment;
    const netInterface = path.route?.interface;
    if (filtering === undefined || netInterface === undefined) return undefined;
    const { destination, port, source: _source, ...rest } = options;
    const ends = { localIp: path.source, remoteIp: destination, remotePort: port };
    const found = filtering.redirectConnect(netInterface, ends, options.user);
    const proxyPath = found && output.findPath(found.destination.ip);
    if (found === undefined || proxyPath === undefined) return undefined;
    const localPort = options.sourcePort ?? this.ports.reserveEphemeral();
    if (localPort === undefined) return "no-free-port";
    if (options.sourcePort === undefined) this.ports.release(localPort);
    filtering.noteRedirected(localPort, { ip: destination, port }, found.redirection);
    const proxied = {
      ...rest,
      destination: found.destination.ip,
      port: found.destination.port,
      sourcePort: localPort,
    };
    const connection = this.connectAlong(proxied, proxyPath);
    if (typeof connection === "string") filtering.forgetRedirected(localPort);
    return connection;
  }

  private connectAlong(options: TcpConnectOptions, path: Path): TcpConnection | SocketFailure {
    const { destination, port, owner } = options;
    if (options.sourcePort !== undefined) this.ports.reserve(options.sourcePort);
    const localPort = options.sourcePort ?? this.ports.reserveEphemeral();
    if (localPort === undefined) return "no-free-port";
    const ends = { localIp: path.source, localPort, remoteIp: destination, remotePort: port };
    if (this.connections.has(keyOf(ends))) {
      this.ports.release(localPort);
      return "port-in-use";
    }
    const connection = this.newConnection(ends, path, this.compartment.requestTag(options.tag));
    connection.open(owner);
    return connection;
  }

  /** In the order in which they began. */
  listConnections(): readonly TcpConnection[] {
    return [...this.connections.values()];
  }

  listListeners(): readonly TcpListener[] {
    return [...this.listeners.values()].flat();
  }

  /** Ends everything silently: the compartment goes. */
  close(): void {
    for (const connection of this.listConnections()) connection.discard();
    this.listeners.clear();
  }

  /** Called by a listener. */
  closeListener(listener: TcpListener): void {
    const others = this.listeners.get(listener.port)?.filter((other) => other !== listener) ?? [];
    if (others.length === 0) this.listeners.delete(listener.port);
    else this.listeners.set(listener.port, others);
    this.ports.release(listener.port);
  }

  /** Called by a connection that is over. */
  forget(connection: TcpConnection): void {
    if (this.connections.get(keyOf(connection)) !== connection) return;
    this.connections.delete(keyOf(connection));
    this.compartment.filtering?.forgetRedirected(connection.localPort);
    this.ports.release(connection.localPort);
  }

  receive(local: LocalPacket): void {
    const { packet } = local;
    if (local.isBroadcast) {
      this.compartment.drop(packet, "destination-not-local", "TCP does not speak to broadcast addresses");
      return;
    }
    const segment = readSegment(local);
    assert(segment !== undefined, "the headers of a delivered packet are parsed");
    const connection = this.find(segment);
    const isNew = connection === undefined || isReopened(connection, segment);
    if (!isNew) {
      if (packet.tag !== 0)
        this.compartment.record(packet, "deliver", `taken by the TCP connection ${connection.describe()}`);
      connection.take(segment);
      return;
    }
    const isSyn = (segment.flags & (TcpFlag.syn | TcpFlag.ack | TcpFlag.rst)) === TcpFlag.syn;
    const port = isSyn ? this.acceptingPort(local, segment) : segment.destinationPort;
    const listener = this.findListener(segment, port);
    if (listener !== undefined && isOdd(segment)) {
      this.refuse(local, segment, false, this.compartment.profile.tcp.oddSegments === "reset");
      return;
    }
    if (listener === undefined || !isSyn) {
      this.refuse(local, segment, listener === undefined);
      return;
    }
    this.accept(local, segment, listener);
  }

  /** Sends a segment of `connection`. @returns false when it is too long for the path. */
  emit(ends: Ends, fields: SegmentFields, payload: Uint8Array, tag: PacketTag): boolean {
    const path = this.compartment.output.findPath(ends.remoteIp, ends.localIp);
    // Without a route the segment is lost; the retransmission timer goes on, as when a cable is pulled.
    if (path === undefined) return true;
    const ip = this.compartment.output.header(path, { isDontFragment: true });
    const tcp = { ...fields, sourcePort: ends.localPort, destinationPort: ends.remotePort };
    const packet = buildTcpFrame({ link: NO_LINK, ip, tcp, payload });
    packet.tag = tag;
    if (tag !== 0) this.compartment.filtering?.recordRedirected(packet, ends.localPort);
    return this.compartment.output.send(packet, path, true);
  }

  /** The largest IP packet that is known to reach the peer. */
  pathMtu(ends: Ends): number {
    return this.compartment.output.findPath(ends.remoteIp, ends.localIp)?.mtuBytes ?? LIMITS.frameBytesMax;
  }

  /** Answers a segment that fits no connection with a reset (RFC 9293 §3.10.7.1). */
  reset(segment: TcpSegment): void {
    if (hasFlag(segment, TcpFlag.rst)) return;
    const hasAck = hasFlag(segment, TcpFlag.ack);
    const fields = {
      sequence: hasAck ? segment.acknowledgment : 0,
      acknowledgment: hasAck ? 0 : addSequence(segment.sequence, segment.length),
      flags: hasAck ? TcpFlag.rst : TcpFlag.rst | TcpFlag.ack,
      window: 0,
      options: [],
    };
    this.emit(endsOf(segment), fields, NO_BYTES, this.compartment.answerTag);
  }

  /** Tells the connection that sent a packet that it did not arrive. */
  fail(sent: SentPacket, failure: DeliveryFailure): void {
    const ends = {
      localIp: sent.source,
      localPort: sent.sourcePort,
      remoteIp: sent.destination,
      remotePort: sent.destinationPort,
    };
    this.connections.get(keyOf(ends))?.fail(failure, sent.sequence);
  }

  private find(segment: TcpSegment): TcpConnection | undefined {
    return this.connections.get(keyOf(endsOf(segment)));
  }

  /** The port whose listener takes a connection: its own, or that of a proxy. */
  private acceptingPort({ packet }: LocalPacket, segment: TcpSegment): number {
    const { destination, destinationPort, source, sourcePort } = segment;
    const { filtering } = this.compartment;
    const netInterface = filtering && this.compartment.interfaceOf(destination);
    if (netInterface === undefined || this.compartment.isLocal(source)) return destinationPort;
    const ends = {
      localIp: destination,
      localPort: destinationPort,
      remoteIp: source,
      remotePort: sourcePort,
    };
    return filtering?.redirectAccept(netInterface, packet, ends) ?? destinationPort;
  }

  private findListener(segment: TcpSegment, port: number): TcpListener | undefined {
    const listeners = this.listeners.get(port);
    return (
      listeners?.find((listener) => listener.ip === segment.destination) ??
      listeners?.find((listener) => listener.ip === undefined)
    );
  }

  private refuse(local: LocalPacket, segment: TcpSegment, isPortClosed: boolean, isTold = true): void {
    const where = formatSocketAddress(segment.destination, segment.destinationPort);
    const text = isPortClosed ? `nothing listens on TCP ${where}` : `${where} has no such connection`;
    this.compartment.drop(local.packet, "port-not-listening", text);
    if (isTold) this.reset(segment);
  }

  private accept(local: LocalPacket, segment: TcpSegment, listener: TcpListener): void {
    const ends = endsOf(segment);
    this.connections.get(keyOf(ends))?.discard();
    const path = this.compartment.output.findPath(ends.remoteIp, ends.localIp);
    if (path === undefined) {
      this.compartment.drop(
        local.packet,
        "no-route-back",
        `no route back to ${formatSocketAddress(ends.remoteIp, ends.remotePort)}`,
      );
      return;
    }
    if (this.connections.size >= LIMITS.socketsPerCompartmentMax || !listener.beginHandshake()) {
      this.compartment.drop(
        local.packet,
        "listen-queue-full",
        `too many connections to port ${listener.port} wait`,
      );
      return;
    }
    if (local.packet.tag !== 0)
      this.compartment.record(local.packet, "deliver", `taken by the listener on TCP port ${listener.port}`);
    this.ports.reserve(ends.localPort);
    this.newConnection(ends, path, 0).accept(listener, segment);
  }

  private newConnection(ends: Ends, path: Path, tag: PacketTag): TcpConnection {
    const prng = this.compartment.prng;
    const connection = new TcpConnection(this, {
      ...ends,
      mtuBytes: path.route?.interface.mtuBytes ?? path.mtuBytes,
      initialSequence: prng.nextU32(),
      timestampOffset: prng.nextU32(),
      tag,
    });
    this.connections.set(keyOf(ends), connection);
    return connection;
  }
}

/** A new SYN may take the place of a connection in TIME-WAIT (RFC 9293 §3.6.1). */
function isReopened(connection: TcpConnection, segment: TcpSegment): boolean {
  const isSyn = hasFlag(segment, TcpFlag.syn) && !hasFlag(segment, TcpFlag.ack);
  return connection.state === "time-wait" && isSyn && isAfter(segment.sequence, connection.receivedEnd);
}

/** A segment that no connection begins with: neither SYN nor ACK, or SYN and FIN. */
function isOdd(segment: TcpSegment): boolean {
  if (hasFlag(segment, TcpFlag.ack | TcpFlag.rst)) return false;
  return !hasFlag(segment, TcpFlag.syn) || hasFlag(segment, TcpFlag.fin);
}

function endsOf(segment: TcpSegment): Ends {
  const { source, sourcePort, destination, destinationPort } = segment;
  return { localIp: destination, localPort: destinationPort, remoteIp: source, remotePort: sourcePort };
}

function keyOf(ends: Ends): string {
  return `${ends.localIp}/${ends.localPort}/${ends.remoteIp}/${ends.remotePort}`;
}

interface TcpListenOptions {
  readonly port: number;
  /** Takes only connections to this address. Default: any address of the compartment. */
  readonly ip?: Ip;
  readonly acceptor: TcpAcceptor;
}

/** Who keeps the ports that take connections. */
interface ListenerKeeper {
  closeListener(listener: TcpListener): void;
}

/** A TCP port that takes connections: the state LISTEN of RFC 9293. */
export class TcpListener implements Handshakes {
  readonly port: number;
  /** Undefined when it takes connections to any address. */
  readonly ip: Ip | undefined;
  private readonly keeper: ListenerKeeper;
  private readonly acceptor: TcpAcceptor;
  private handshakes = 0;

  /** Made by `Tcp.listen` only. */
  constructor(keeper: ListenerKeeper, options: TcpListenOptions) {
    this.keeper = keeper;
    this.port = options.port;
    this.ip = options.ip;
    this.acceptor = options.acceptor;
  }

  /** Takes no more connections; those that exist go on. */
  close(): void {
    this.keeper.closeListener(this);
  }

  /** Called by `Tcp` before a handshake begins. @returns false when too many are unfinished. */
  beginHandshake(): boolean {
    if (this.handshakes >= LIMITS.tcpHandshakesPerListenerMax) return false;
    this.handshakes++;
    return true;
  }

  /** Called by a connection whose handshake is done. */
  accept(connection: TcpConnection): TcpOwner {
    this.handshakes--;
    return this.acceptor.tcpAccepted(connection);
  }

  /** Called by a connection whose handshake failed. */
  abandon(): void {
    this.handshakes--;
  }
}
