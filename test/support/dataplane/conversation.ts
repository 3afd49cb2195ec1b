/** What two programs tell each other over a network that is not easy: long datagrams, small MTUs, closed ports. */
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { DeliveryFailure } from "#dataplane/host/delivery-failure.ts";
import type {
  TcpAcceptor,
  TcpCloseReason,
  TcpConnection,
  TcpOwner,
} from "#dataplane/host/tcp/tcp-connection.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";

/** Sends back what it gets, over UDP and TCP. */
class Echo implements UdpOwner, TcpAcceptor, TcpOwner {
  failures = 0;

  udpReceived(socket: UdpSocket, { source, sourcePort, destination, bytes }: UdpDatagram): void {
    socket.send({ destination: source, port: sourcePort, source: destination, bytes });
  }

  udpFailed(): void {
    this.failures++;
  }

  tcpAccepted(): TcpOwner {
    return this;
  }

  tcpConnected(): void {}

  tcpData(connection: TcpConnection, bytes: Uint8Array): void {
    connection.send(bytes);
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(): void {}
}

/** Keeps what comes, in words. */
class Caller implements UdpOwner, TcpOwner {
  readonly heard: string[] = [];
  received = 0;

  udpReceived(_socket: UdpSocket, { source, bytes }: UdpDatagram): void {
    this.heard.push(`${bytes.length} bytes from ${formatIp(source)}`);
  }

  udpFailed(_socket: UdpSocket, { reason, mtuBytes }: DeliveryFailure): void {
    this.heard.push(mtuBytes === 0 ? reason : `${reason} ${mtuBytes}`);
  }

  tcpConnected(): void {}

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.received += bytes.length;
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.heard.push(`${reason} after ${this.received} bytes`);
  }
}

/** An echo server on a UDP and a TCP port. */
export function echoOn(compartment: Compartment, port: number): void {
  const owner = new Echo();
  const failure = [
    compartment.udp.bind({ owner, port }),
    compartment.tcp.listen({ port, acceptor: owner }),
  ].find((each) => typeof each === "string");
  if (failure !== undefined) throw new Error(failure);
}

function ipOf(address: string): Ip {
  const ip = parseIp(address);
  if (ip === undefined) throw new Error(address);
  return ip;
}

/** Sends datagrams of `length` bytes from one socket, one after the other. @returns what came back. */
export function datagrams(
  from: Compartment,
  to: readonly [address: string, port: number],
  lengths: readonly number[],
  run: () => void,
): readonly string[] {
  const owner = new Caller();
  const socket = from.udp.bind({ owner });
  if (typeof socket === "string") throw new Error(socket);
  for (const length of lengths) {
    const failure = socket.send({ destination: ipOf(to[0]), port: to[1], bytes: new Uint8Array(length) });
    if (failure !== undefined) owner.heard.push(failure);
    run();
  }
  socket.close();
  return owner.heard;
}

/** Sends `length` bytes over one connection and closes it. @returns how it ended. */
export function stream(
  from: Compartment,
  to: readonly [address: string, port: number],
  length: number,
  run: () => void,
): readonly string[] {
  const owner = new Caller();
  const connection = from.tcp.connect({ destination: ipOf(to[0]), port: to[1], owner });
  if (typeof connection === "string") throw new Error(connection);
  connection.send(new Uint8Array(length));
  run();
  connection.close();
  run();
  return owner.heard;
}
