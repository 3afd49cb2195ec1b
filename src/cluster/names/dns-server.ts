/**
 * A DNS server in a compartment: CoreDNS in a pod, or a resolver outside the cluster. What it answers is decided in
 * `dns/`; here are the socket, and the questions that it passes on.
 *
 * Over TCP it serves as over UDP, without a limit to its answers (RFC 7766). What it asks of others goes over UDP, whatever the
 * client came by, because the names outside have short answers.
 *
 * Forwarding follows CoreDNS' plugin `forward` (github.com/coredns/coredns, plugin/forward and plugin/pkg/proxy): each
 * server gets two seconds, no attempt begins after five, then the client is told SERVFAIL; more than 1000 questions at a
 * time are refused (kubeadm's Corefile, `max_concurrent`).
 */
import type { Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Prng } from "#core/base/prng.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import { type NameAnswer, type NameSource, shuffleAddresses } from "#control-plane/dns/answer.ts";
import { type DnsQuery, emitResponse, makeResponse, responseOf, serveDns } from "#control-plane/dns/serve.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { SocketFailure } from "#dataplane/host/delivery-failure.ts";
import { DNS_PORT } from "#dataplane/host/resolver/question.ts";
import type { TcpListener } from "#dataplane/host/tcp/tcp.ts";
import type { TcpAcceptor, TcpConnection, TcpOwner } from "#dataplane/host/tcp/tcp-connection.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { DnsStream, withLength } from "#core/wire/dns/dns-stream.ts";
import type { Ip } from "#core/net/ip.ts";
import { type DnsMessage, DnsRcode, type DnsRecord, emitDns, parseDns } from "#core/wire/dns/dns.ts";

const ATTEMPT_MS = 2_000;
const ATTEMPTS_BEGIN_WITHIN_MS = 5_000;
const ID_LIMIT = 0x1_0000;
const CLASS_IN = 1;

export interface DnsServerOptions {
  readonly compartment: Compartment;
  /** Asked in this order; the first that knows the name answers. */
  readonly sources: readonly NameSource[];
  /** The server for names that the zones do not have. Default: none; such names are refused. */
  readonly upstreams?: readonly Ip[];
  /** Default 53. */
  readonly port?: number;
}

/** False for records of classes but IN, which no client asked for. */
function isSendable(record: DnsRecord): boolean {
  return record.type !== "OTHER" || record.classNumber === CLASS_IN;
}

/** Who waits for an answer, and how it is sent. */
export interface DnsClient {
  readonly ip: Ip;
  readonly port: number;
  /** Undefined: the question came over UDP. */
  readonly connection: TcpConnection | undefined;
  /** The address that was asked, and must answer; undefined: chosen by the route. */
  readonly asked: Ip | undefined;
  /** The tag of the answer when the question is followed. */
  readonly tag: PacketTag;
}

const TCP_BYTES_MAX = 0xffff;

/** One connection of a client: questions one after the other, until it closes. */
class DnsSession implements TcpOwner {
  private readonly server: DnsServer;
  private readonly stream = new DnsStream();

  constructor(server: DnsServer) {
    this.server = server;
  }

  tcpConnected(): void {
    // The client speaks first.
  }

  tcpData(connection: TcpConnection, bytes: Uint8Array): void {
    for (const message of this.stream.take(bytes)) this.server.receivedOver(connection, message);
  }

  tcpPeerFinished(connection: TcpConnection): void {
    connection.close();
  }

  tcpClosed(): void {
    // Nothing is kept per client.
  }
}

export class DnsServer implements UdpOwner, TcpAcceptor {
  /** May be replaced while the server runs. */
  sources: readonly NameSource[];
  upstreams: readonly Ip[];
  answeredCount = 0;
  /** Questions that wait for another server. */
  readonly pending: Set<ForwardedQuestion> = new Set();
  readonly compartment: Compartment;
  readonly prng: Prng;
  readonly port: number;
  private socket: UdpSocket | undefined;
  private listener: TcpListener | undefined;

  constructor(options: DnsServerOptions) {
    this.port = options.port ?? DNS_PORT;
    this.compartment = options.compartment;
    this.sources = options.sources;
    this.upstreams = options.upstreams ?? [];
    this.prng = options.compartment.prng.derive("dns-server");
  }

  /** Serves its port, over UDP and TCP. `ip` limits it to one address. @returns why it cannot. */
  listen(ip?: Ip): SocketFailure | undefined {
    const options = { port: this.port, ...(ip === undefined ? {} : { ip }) };
    const socket = this.compartment.udp.bind({ ...options, owner: this });
    if (typeof socket === "string") return socket;
    const listener = this.compartment.tcp.listen({ ...options, acceptor: this });
    if (typeof listener === "string") {
      socket.close();
      return listener;
    }
    this.socket = socket;
    this.listener = listener;
    return undefined;
  }

  /** Serves no more; who waits for an answer gets none. */
  close(): void {
    this.socket?.close();
    this.socket = undefined;
    this.listener?.close();
    this.listener = undefined;
    for (const question of this.pending) question.release();
    this.pending.clear();
  }

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    const { source: ip, sourcePort: port, destination, bytes } = datagram;
    const isOwn = this.compartment.isLocal(destination);
    const client: DnsClient = {
      ip,
      port,
      connection: undefined,
      asked: isOwn ? destination : undefined,
      tag: this.compartment.answerTag,
    };
    this.receive(client, bytes);
  }

  tcpAccepted(): TcpOwner {
    return new DnsSession(this);
  }

  /** A question over TCP: the answer has no limit but that of its length field. */
  receivedOver(connection: TcpConnection, bytes: Uint8Array): void {
    const { remoteIp: ip, remotePort: port } = connection;
    this.receive({ ip, port, connection, asked: undefined, tag: this.compartment.answerTag }, bytes);
  }

  private receive(client: DnsClient, bytes: Uint8Array): void {
    const step = serveDns(bytes, this.sources);
    switch (step.kind) {
      case "ignore":
        return;
      case "reply":
        this.reply(client, step.response, step.bytesMax);
        return;
      case "forward":
        this.forward(client, step.query, undefined);
        return;
      case "continue":
        this.forward(client, step.query, step.answer);
    }
  }

  udpFailed(): void {
    // A client that went away is no news.
  }

  /** Sends a response, with its addresses in a new order. */
  reply(client: DnsClient, response: DnsMessage, bytesMax: number): void {
    this.answeredCount++;
    const answers = shuffleAddresses(response.answers, this.prng);
    if (client.connection !== undefined) {
      client.connection.send(withLength(emitResponse({ ...response, answers }, TCP_BYTES_MAX)));
      return;
    }
    this.socket?.send({
      destination: client.ip,
      port: client.port,
      bytes: emitResponse({ ...response, answers }, bytesMax),
      tag: client.tag,
      ...(client.asked === undefined ? {} : { source: client.asked }),
    });
  }

  /** Asks another server; `begun` holds the alias that led there. */
  private forward(client: DnsClient, query: DnsQuery, begun: NameAnswer | undefined): void {
    if (this.upstreams.length === 0 || this.pending.size >= LIMITS.dnsForwardsMax) {
      // An alias is answered even if its target is unknown.
      const refused = makeResponse(query, { rcode: DnsRcode.refused });
      this.reply(client, begun === undefined ? refused : responseOf(query, begun), query.bytesMax);
      return;
    }
    const question = new ForwardedQuestion(this, client, query, begun);
    this.pending.add(question);
    question.start();
  }
}

/** One question that another server is asked, on a socket of its own. */
export class ForwardedQuestion implements UdpOwner, Task {
  private readonly server: DnsServer;
  private readonly client: DnsClient;
  private readonly query: DnsQuery;
  private readonly begun: NameAnswer | undefined;
  private readonly id: number;
  private readonly startedAtMs: number;
  private readonly firstUpstream: number;
  private attempts = 0;
  private socket: UdpSocket | undefined;
  private timer: Timer | undefined;

  constructor(server: DnsServer, client: DnsClient, query: DnsQuery, begun: NameAnswer | undefined) {
    this.server = server;
    this.client = client;
    this.query = query;
    this.begun = begun;
    this.id = server.prng.below(ID_LIMIT);
    // Policy `random`: any of the servers is the first, the others follow.
    this.firstUpstream = server.prng.below(server.upstreams.length);
    this.startedAtMs = server.compartment.nowMs;
  }

  start(): void {
    const socket = this.server.compartment.udp.bind({ owner: this });
    if (typeof socket === "string") {
      this.fail();
      return;
    }
    this.socket = socket;
    this.ask();
  }

  /** No server answered in time. */
  run(): void {
    this.timer = undefined;
    this.askNext();
  }

  udpReceived(_socket: UdpSocket, datagram: UdpDatagram): void {
    if (datagram.source !== this.upstream() || datagram.sourcePort !== DNS_PORT) return;
    const message = parseDns(datagram.bytes);
    if (typeof message === "string" || !message.isResponse || message.id !== this.id) return;
    const response =
      this.begun === undefined ? this.passOn(message) : this.complete(this.begun, message.answers);
    this.end(response);
  }

  udpFailed(): void {
    this.askNext();
  }

  /** Lets go of the socket and the timer. */
  release(): void {
    this.socket?.close();
    this.socket = undefined;
    if (this.timer !== undefined) this.server.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private upstream(): Ip | undefined {
    const { upstreams } = this.server;
    return upstreams[(this.firstUpstream + this.attempts - 1) % Math.max(1, upstreams.length)];
  }

  /** Asks the next server; an answer that another one still sends is not waited for. */
  private ask(): void {
    this.attempts++;
    const destination = this.upstream();
    if (destination === undefined) {
      this.fail();
      return;
    }
    this.timer = this.server.compartment.env.clock.schedule(ATTEMPT_MS, this);
    // The question is the server's own: a followed packet has come to its end with the client's.
    const failure = this.socket?.send({ destination, port: DNS_PORT, bytes: this.message(), tag: 0 });
    if (failure !== undefined) this.fail();
  }

  private askNext(): void {
    if (this.timer !== undefined) this.server.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
    const elapsedMs = this.server.compartment.nowMs - this.startedAtMs;
    // Reports of unreachability come at once: they must not make a loop of five seconds.
    const isReported = elapsedMs === 0 || this.attempts >= this.server.upstreams.length + 2;
    if (elapsedMs >= ATTEMPTS_BEGIN_WITHIN_MS || isReported) this.fail();
    else this.ask();
  }

  /** The client's message with an id of its own; for an alias, a question about its target. */
  private message(): Uint8Array {
    const { message, question } = this.query;
    const name = this.begun?.continuesAt ?? question.name;
    // Only what says how long an answer may be goes on; everything else a client adds ends here.
    const additionals = message.additionals.filter((record) => record.type === "OPT");
    const questions = [{ ...question, name }];
    return emitDns({ ...message, id: this.id, questions, answers: [], authorities: [], additionals });
  }

  /** What the other server said, under the client's id. */
  private passOn(message: DnsMessage): DnsMessage {
    return {
      ...message,
      id: this.query.message.id,
      questions: [this.query.question],
      answers: message.answers.filter(isSendable),
      authorities: message.authorities.filter(isSendable),
      additionals: message.additionals.filter(isSendable),
    };
  }

  /** The alias with the records of its target; a target without records leaves the alias alone. */
  private complete(begun: NameAnswer, records: readonly DnsRecord[]): DnsMessage {
    return responseOf(this.query, { ...begun, answers: [...begun.answers, ...records.filter(isSendable)] });
  }

  private fail(): void {
    this.end(
      this.begun === undefined
        ? makeResponse(this.query, { rcode: DnsRcode.serverFailure })
        : this.complete(this.begun, []),
    );
  }

  private end(response: DnsMessage): void {
    this.release();
    this.server.pending.delete(this);
    this.server.reply(this.client, response, this.query.bytesMax);
  }
}
