/** What a TCP connection tells the one who uses it. */
import type { TcpConnection } from "./tcp-connection.ts";

/** How a connection ended. */
export type TcpCloseReason =
  /** Both sides finished. */
  | "finished"
  /** Nobody listens on the port. */
  | "refused"
  /** Nobody answered. */
  | "timed-out"
  /** The peer ended it in the middle. */
  | "reset"
  /** The network said that the peer cannot be reached; see `TcpConnection.lastFailure`. */
  | "unreachable"
  /** This side ended it in the middle. */
  | "aborted";

/** Gets what happens to a connection. */
export interface TcpOwner {
  /** The handshake is done; data may be sent (they may be given before, too). */
  tcpConnected(connection: TcpConnection): void;
  /** Bytes of the peer, in order and without gaps. The owner may keep them. */
  tcpData(connection: TcpConnection, bytes: Uint8Array): void;
  /** The peer sends no more. This side may go on, until it calls `close`. */
  tcpPeerFinished(connection: TcpConnection): void;
  /** Nothing follows. It is the only report of a connection attempt that failed. */
  tcpClosed(connection: TcpConnection, reason: TcpCloseReason): void;
}

/** Gets the connections of a listener, each when its handshake is done. */
export interface TcpAcceptor {
  /** @returns who owns the connection from now on; its `tcpConnected` follows at once. */
  tcpAccepted(connection: TcpConnection): TcpOwner;
}
