/**
 * Ports of a machine behind which a program leads each client on, by a connection of its own: kube-proxy in its mode
 * userspace (kubernetes v1.6, pkg/proxy/winuserspace/proxysocket.go). The back end sees the machine, not the client.
 */
import type { Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Ip } from "#core/net/ip.ts";
import { type DnsMessage, type DnsQuestion, DnsRcode, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import type { Compartment } from "../compartment.ts";
import type { SocketFailure } from "../delivery-failure.ts";
import type { TcpAcceptor, TcpCloseReason, TcpConnection, TcpOwner } from "../tcp/tcp-connection.ts";
import type { TcpListener } from "../tcp/tcp.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";

interface BackEnd {
  readonly ip: Ip;
  readonly port: number;
}

/** Chooses for each client. */
export interface BackEndChooser {
  /** `isAgain`: the one that the client had does not answer. Undefined: there is none. */
  next(client: Ip, isAgain: boolean): BackEnd | undefined;
}

export interface RelayedPort {
  readonly compartment: Compartment;
  /** Undefined: any address of the machine. */
  readonly ip: Ip | undefined;
  readonly port: number;
  readonly chooser: BackEndChooser;
}

/** How long each of the tries to reach a back end may take. */
const DIAL_TIMEOUTS_MS: readonly number[] = [250, 500, 1_000, 2_000];

export class TcpRelay implements TcpAcceptor {
  readonly relayed: RelayedPort;
  private listener: TcpListener | undefined;

  constructor(relayed: RelayedPort) {
    this.relayed = relayed;
  }

  /** @returns why it cannot serve. */
  listen(): SocketFailure | undefined {
    const { compartment, ip, port } = this.relayed;
    const made = compartment.tcp.listen({ port, acceptor: this, ...(ip !== undefined && { ip }) });
    if (typeof made === "string") return made;
    this.listener = made;
    return undefined;
  }

  /** Takes no more clients; those that are there go on. */
  close(): void {
    this.listener?.close();
  }

  tcpAccepted(): TcpOwner {
    return new RelayedClient(this.relayed);
  }
}

/** A client of a relay, and the way to its back end. */
class RelayedClient implements TcpOwner, Task {
  private readonly relayed: RelayedPort;
  private client: TcpConnection | undefined;
  private backEnd: TcpConnection | undefined;
  private isConnected = false;
  private tries = 0;
  private timer: Timer | undefined;
  /** What the client said before there was a back end. */
  private waiting: Uint8Array[] = [];
  private hasFinished = false;

  constructor(relayed: RelayedPort) {
    this.relayed = relayed;
  }

  tcpConnected(connection: TcpConnection): void {
    this.client = connection;
    this.dial();
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    if (!this.isConnected) this.waiting.push(bytes);
    else if (this.backEnd?.send(bytes) === false) this.abort();
  }

  tcpPeerFinished(): void {
    this.hasFinished = true;
    if (this.isConnected) this.backEnd?.close();
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.client = undefined;
    this.stopTimer();
    if (reason === "finished") this.backEnd?.close();
    else this.backEnd?.abort();
  }

  /** The try has taken too long. */
  run(): void {
    this.timer = undefined;
    const late = this.backEnd;
    this.backEnd = undefined;
    late?.abort();
    this.dial();
  }

  /** The way is there. */
  connected(): void {
    this.stopTimer();
    this.isConnected = true;
    for (const bytes of this.waiting.splice(0)) this.backEnd?.send(bytes);
    if (this.hasFinished) this.backEnd?.close();
  }

  answered(bytes: Uint8Array): void {
    if (this.client?.send(bytes) === false) this.abort();
  }

  backEndFinished(): void {
    this.client?.close();
  }

  backEndClosed(connection: TcpConnection, reason: TcpCloseReason): void {
    if (connection !== this.backEnd) return;
    this.backEnd = undefined;
    this.stopTimer();
    if (!this.isConnected) this.dial();
    else if (reason !== "finished") this.client?.abort();
  }

  /** Upstream closes the client's connection when nobody is reached: it is accepted before anybody is asked. */
  private dial(): void {
    const { client, relayed } = this;
    if (client === undefined) return;
    const timeoutMs = DIAL_TIMEOUTS_MS[this.tries];
    const chosen =
      timeoutMs === undefined ? undefined : relayed.chooser.next(client.remoteIp, this.tries > 0);
    if (chosen === undefined || timeoutMs === undefined) {
      client.close();
      return;
    }
    this.tries++;
    const made = relayed.compartment.tcp.connect({
      destination: chosen.ip,
      port: chosen.port,
      owner: new RelayedBackEnd(this),
      tag: client.isFollowed ? 1 : 0,
    });
    if (typeof made === "string") this.dial();
    else {
      this.backEnd = made;
      this.timer = relayed.compartment.env.clock.schedule(timeoutMs, this);
    }
  }

  private abort(): void {
    this.client?.abort();
    this.backEnd?.abort();
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.relayed.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }
}

/** The other side of a client. */
class RelayedBackEnd implements TcpOwner {
  private readonly client: RelayedClient;

  constructor(client: RelayedClient) {
    this.client = client;
  }

  tcpConnected(): void {
    this.client.connected();
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.client.answered(bytes);
  }

  tcpPeerFinished(connection: TcpConnection): void {
    this.client.backEndFinished();
    connection.close();
  }

  tcpClosed(connection: TcpConnection, reason: TcpCloseReason): void {
    this.client.backEndClosed(connection, reason);
  }
}

/** `--udp-timeout` of kube-proxy: a client that is silent for so long is a new one. */
const UDP_IDLE_MS = 250;

export class UdpRelay implements UdpOwner {
  readonly relayed: RelayedPort;
  /** Suffixes that names of questions are tried with, where the port is that of a name service. */
  readonly suffixes: readonly string[];
  private socket: UdpSocket | undefined;
  /** By address and port. */
  private readonly clients = new Map<string, UdpClient>();

  constructor(relayed: RelayedPort, suffixes: readonly string[]) {
    this.relayed = relayed;
    this.suffixes = suffixes;
  }

  /** @returns why it cannot serve. */
  listen(): SocketFailure | undefined {
    const { compartment, ip, port } = this.relayed;
    const made = compartment.udp.bind({ port, owner: this, ...(ip !== undefined && { ip }) });
    if (typeof made === "string") return made;
    this.socket = made;
    return undefined;
  }

  /** Takes no more datagrams; who waits for an answer gets none. */
  close(): void {
    this.socket?.close();
    for (const client of this.clients.values()) client.end();
  }

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    const key = `${datagram.source}/${datagram.sourcePort}`;
    const known = this.clients.get(key) ?? this.admit(key, datagram);
    known?.passOn(datagram.bytes);
  }

  udpFailed(): void {
    // A client that went away is no news.
  }

  /** Called by a client: the answer has the address that it asked. */
  answer({ source, sourcePort, destination }: UdpDatagram, bytes: Uint8Array, isFollowed: boolean): void {
    this.socket?.send({
      destination: source,
      port: sourcePort,
      bytes,
      source: destination,
      tag: isFollowed ? 2 : 0,
    });
  }

  forget(key: string): void {
    this.clients.delete(key);
  }

  private admit(key: string, datagram: UdpDatagram): UdpClient | undefined {
    if (this.clients.size >= LIMITS.relayedQuestionsMax) return undefined;
    const { compartment, chooser } = this.relayed;
    const backEnd = chooser.next(datagram.source, false);
    if (backEnd === undefined) return undefined;
    const client = new UdpClient(this, { key, first: datagram, backEnd });
    const socket = compartment.udp.bind({ owner: client });
    if (typeof socket === "string") return undefined;
    client.socket = socket;
    this.clients.set(key, client);
    return client;
  }
}

/** A client of a relay of datagrams, with the socket that asks its back end. */
class UdpClient implements UdpOwner, Task {
  socket: UdpSocket | undefined;
  private readonly relay: UdpRelay;
  private readonly key: string;
  private readonly first: UdpDatagram;
  private readonly backEnd: BackEnd;
  private timer: Timer | undefined;
  private isFollowed = false;
  private question: SearchedQuestion | undefined;

  constructor(
    relay: UdpRelay,
    { key, first, backEnd }: { readonly key: string; readonly first: UdpDatagram; readonly backEnd: BackEnd },
  ) {
    this.relay = relay;
    this.key = key;
    this.first = first;
    this.backEnd = backEnd;
  }

  passOn(bytes: Uint8Array): void {
    const { suffixes, relayed } = this.relay;
    this.isFollowed = relayed.compartment.answerTag === 2;
    this.question = suffixes.length === 0 ? undefined : SearchedQuestion.read(bytes, suffixes);
    this.send(this.question?.next() ?? bytes);
  }

  udpReceived(_socket: UdpSocket, { source, sourcePort, bytes }: UdpDatagram): void {
    if (source !== this.backEnd.ip || sourcePort !== this.backEnd.port) return;
    const again = this.question?.nextAfter(bytes);
    if (again !== undefined) {
      this.send(again);
      return;
    }
    this.restart();
    this.relay.answer(this.first, this.question?.restore(bytes) ?? bytes, this.isFollowed);
  }

  udpFailed(): void {
    // Upstream reads nothing more of the back end; the client asks again.
    this.end();
  }

  /** It was silent for too long. */
  run(): void {
    this.timer = undefined;
    this.end();
  }

  end(): void {
    if (this.timer !== undefined) this.relay.relayed.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
    this.socket?.close();
    this.relay.forget(this.key);
  }

  private send(bytes: Uint8Array): void {
    this.restart();
    const { ip, port } = this.backEnd;
    this.socket?.send({ destination: ip, port, bytes, tag: this.isFollowed ? 1 : 0 });
  }

  private restart(): void {
    const { clock } = this.relay.relayed.compartment.env;
    if (this.timer !== undefined) clock.cancel(this.timer);
    this.timer = clock.schedule(UDP_IDLE_MS, this);
  }
}

/**
 * A question whose name a relay completes, since pods of the time had no suffixes: as it is first, then with one suffix after
 * the other, until a server knows it. The client never sees more than its own name.
 */
class SearchedQuestion {
  private readonly message: DnsMessage;
  private readonly question: DnsQuestion;
  private readonly suffixes: readonly string[];
  private index = 0;

  private constructor(message: DnsMessage, question: DnsQuestion, suffixes: readonly string[]) {
    this.message = message;
    this.question = question;
    this.suffixes = suffixes;
  }

  /** Undefined for what is no question for an address. */
  static read(bytes: Uint8Array, suffixes: readonly string[]): SearchedQuestion | undefined {
    const message = parseDns(bytes);
    if (typeof message === "string" || message.isResponse) return undefined;
    const [question, ...others] = message.questions;
    if (question === undefined || others.length > 0 || !["A", "AAAA"].includes(question.type))
      return undefined;
    return new SearchedQuestion(message, question, suffixes);
  }

  /** The question with the next suffix; undefined: all were tried. */
  next(): Uint8Array | undefined {
    const suffix = this.suffixes[this.index];
    if (suffix === undefined) return undefined;
    this.index++;
    const { name } = this.question;
    const completed = suffix === "" ? name : `${name}.${suffix}`;
    return emitDns({ ...this.message, questions: [{ ...this.question, name: completed }] });
  }

  /** What is asked after `answer`; undefined: it is the answer. */
  nextAfter(answer: Uint8Array): Uint8Array | undefined {
    const message = parseDns(answer);
    if (typeof message === "string" || message.rcode === DnsRcode.noError) return undefined;
    return this.next();
  }

  /** Upstream puts the client's name into the question and the first answer. */
  restore(answer: Uint8Array): Uint8Array {
    const message = parseDns(answer);
    if (typeof message === "string") return answer;
    const { name } = this.question;
    const answers = message.answers.map((record, index) =>
      index === 0 && record.type !== "OPT" ? { ...record, name } : record,
    );
    return emitDns({ ...message, questions: [{ ...this.question, name }], answers });
  }
}
