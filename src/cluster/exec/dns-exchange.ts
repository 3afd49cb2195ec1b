/**
 * A question as programs with a resolver of their own ask it: of one server after the other, several times over; an answer that was
 * cut is asked for again over TCP. Those of BIND send EDNS with it, and `nslookup` of Windows does not.
 */
import type { Task, Timer } from "#core/base/clock.ts";
import type { Ip } from "#core/net/ip.ts";
import { type DnsMessage, emitDns, parseDns } from "#core/wire/dns/dns.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { DNS_PORT, questionFor } from "#dataplane/host/resolver/question.ts";
import { TcpQuestion, type TcpQuestionOwner } from "#dataplane/host/resolver/tcp-question.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import type { Cluster } from "../cluster.ts";

const ID_LIMIT = 0x1_0000;
/** What dig 9.11 says that it takes. */
const UDP_PAYLOAD_BYTES = 4_096;

export interface ExchangeOptions {
  readonly compartment: Compartment;
  readonly servers: readonly Ip[];
  /** Whole, without a final dot. */
  readonly name: string;
  readonly type: string;
  readonly waitMs: number;
  readonly tries: number;
  /** Default: the question has EDNS. */
  readonly isPlain?: true;
  /** Is called when nobody answers, and somebody says that there is no server. */
  readonly unreachable?: () => void;
}

export interface DnsReply {
  readonly message: DnsMessage;
  readonly server: Ip;
  readonly bytes: number;
  readonly tookMs: number;
  readonly isOverTcp: boolean;
}

class DnsExchange implements UdpOwner, TcpQuestionOwner, Task {
  reply: DnsReply | undefined;
  isOver = false;
  private readonly options: ExchangeOptions;
  private readonly id: number;
  private socket: UdpSocket | undefined;
  private timer: Timer | undefined;
  private attempt = -1;
  private isAnyRefused = false;
  private sentAtMs = 0;
  private cut: { readonly server: Ip; readonly message: DnsMessage; readonly bytes: number } | undefined;

  constructor(options: ExchangeOptions) {
    this.options = options;
    this.id = options.compartment.prng.below(ID_LIMIT);
  }

  get isUnreachable(): boolean {
    return this.isOver && this.reply === undefined && this.isAnyRefused;
  }

  start(): void {
    const socket = this.options.compartment.udp.bind({ owner: this });
    if (typeof socket === "string") {
      this.isOver = true;
      return;
    }
    this.socket = socket;
    this.run();
  }

  /** The wait is over: the next server, or once more from the first. */
  run(): void {
    this.timer = undefined;
    const { servers, tries, waitMs, compartment } = this.options;
    this.attempt++;
    const server = servers[this.attempt % servers.length];
    if (server === undefined || this.attempt >= tries * servers.length) {
      this.end();
      return;
    }
    this.timer = compartment.env.clock.schedule(waitMs, this);
    this.sentAtMs = compartment.nowMs;
    const failure = this.socket?.send({ destination: server, port: DNS_PORT, bytes: this.question() });
    if (failure !== undefined) this.next();
  }

  udpReceived(_socket: UdpSocket, { source, sourcePort, bytes }: UdpDatagram): void {
    const server = this.options.servers[this.attempt % this.options.servers.length];
    if (source !== server || sourcePort !== DNS_PORT || this.cut !== undefined) return;
    const message = this.answerIn(bytes);
    if (message === undefined) return;
    if (!message.isTruncated) {
      this.take(message, server, bytes.length, false);
      return;
    }
    this.stopTimer();
    this.cut = { server, message, bytes: bytes.length };
    const { compartment } = this.options;
    const question = this.question();
    new TcpQuestion({ compartment, destination: server, port: DNS_PORT, question, owner: this }).start();
  }

  udpFailed(): void {
    this.isAnyRefused = true;
    if (this.cut === undefined) this.next();
  }

  tcpAnswered(bytes: Uint8Array | undefined): void {
    const { cut } = this;
    if (cut === undefined || this.isOver) return;
    const message = bytes === undefined ? undefined : this.answerIn(bytes);
    if (message === undefined || bytes === undefined) this.end();
    else this.take(message, cut.server, bytes.length, true);
  }

  private question(): Uint8Array {
    const { name, type, isPlain } = this.options;
    const question = questionFor(this.id, name, type);
    if (isPlain === true) return emitDns(question);
    return emitDns({
      ...question,
      additionals: [{ type: "OPT", udpPayloadBytesMax: UDP_PAYLOAD_BYTES, isDnssecOk: false }],
    });
  }

  private answerIn(bytes: Uint8Array): DnsMessage | undefined {
    const message = parseDns(bytes);
    return typeof message !== "string" && message.isResponse && message.id === this.id ? message : undefined;
  }

  private take(message: DnsMessage, server: Ip, bytes: number, isOverTcp: boolean): void {
    const tookMs = Math.round(this.options.compartment.nowMs - this.sentAtMs);
    this.reply = { message, server, bytes, tookMs, isOverTcp };
    this.end();
  }

  private next(): void {
    this.stopTimer();
    this.run();
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.options.compartment.env.clock.cancel(this.timer);
    this.timer = undefined;
  }

  private end(): void {
    this.stopTimer();
    this.isOver = true;
    this.socket?.close();
    this.socket = undefined;
  }
}

/** Asks in `cluster` itself, on whose clock time passes. Undefined: no server answered. */
export function askServers(cluster: Cluster, options: ExchangeOptions): DnsReply | undefined {
  const exchange = new DnsExchange(options);
  exchange.start();
  while (!exchange.isOver && cluster.clock.step());
  if (exchange.isUnreachable) options.unreachable?.();
  return exchange.reply;
}
