/** A TCP port that takes connections: the state LISTEN of RFC 9293. */
import { LIMITS } from "#core/base/limits.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Handshakes, TcpConnection, TcpAcceptor, TcpOwner } from "./tcp-connection.ts";

export interface TcpListenOptions {
  readonly port: number;
  /** Takes only connections to this address. Default: any address of the compartment. */
  readonly ip?: Ip;
  readonly acceptor: TcpAcceptor;
}

/** Who keeps the ports that take connections. */
interface ListenerKeeper {
  closeListener(listener: TcpListener): void;
}

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
