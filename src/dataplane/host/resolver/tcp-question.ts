/** A question that is asked again over TCP, because the answer over UDP was cut (RFC 7766 §5). */
import type { Task, Timer } from "#core/base/clock.ts";
import type { Ip } from "#core/net/ip.ts";
import { DnsStream, withLength } from "#core/wire/dns/dns-stream.ts";
import type { Compartment } from "../compartment.ts";
import type { TcpConnection, TcpOwner } from "../tcp/tcp-connection.ts";

/**
 * How long the connection and its answer may take. glibc: RES_TIMEOUT of resolv.h. Inferred: Windows does not wait longer
 * (dataplane.md §5.3 has its waits over UDP alone).
 */
const WAIT_MS = 5_000;

/** Is told what came; undefined: nothing. */
export interface TcpQuestionOwner {
  tcpAnswered(bytes: Uint8Array | undefined): void;
}

export interface TcpQuestionOptions {
  readonly compartment: Compartment;
  readonly destination: Ip;
  readonly port: number;
  /** The message without its length. */
  readonly question: Uint8Array;
  readonly owner: TcpQuestionOwner;
}

export class TcpQuestion implements TcpOwner, Task {
  private readonly options: TcpQuestionOptions;
  private readonly stream = new DnsStream();
  private connection: TcpConnection | undefined;
  private deadline: Timer | undefined;
  private isOver = false;

  constructor(options: TcpQuestionOptions) {
    this.options = options;
  }

  start(): void {
    const { compartment, destination, port } = this.options;
    this.deadline = compartment.env.clock.schedule(WAIT_MS, this);
    const connection = compartment.tcp.connect({ destination, port, owner: this, tag: 0 });
    if (typeof connection === "string") this.end(undefined);
    else this.connection = connection;
  }

  /** The deadline passed. */
  run(): void {
    this.deadline = undefined;
    this.end(undefined);
  }

  tcpConnected(connection: TcpConnection): void {
    connection.send(withLength(this.options.question));
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    const [message] = this.stream.take(bytes);
    if (message !== undefined) this.end(message);
  }

  tcpPeerFinished(): void {
    this.end(undefined);
  }

  tcpClosed(): void {
    this.end(undefined);
  }

  private end(message: Uint8Array | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    const { compartment, owner } = this.options;
    if (this.deadline !== undefined) compartment.env.clock.cancel(this.deadline);
    this.deadline = undefined;
    if (message === undefined) this.connection?.abort();
    else this.connection?.close();
    owner.tcpAnswered(message);
  }
}
