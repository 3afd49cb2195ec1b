/** Why a stack refused at once to send or to open a socket. */
export type SocketFailure =
  /** There is no route to the destination, or no address to send from. */
  | "no-route"
  /** The port, or the pair of addresses and ports, is in use. */
  | "port-in-use"
  /** All ephemeral ports are in use. */
  | "no-free-port"
  /** The given source is no address of the compartment. */
  | "address-not-local"
  /** `LIMITS.socketsPerCompartmentMax` is reached. */
  | "too-many-sockets"
  /** The system refuses sockets to the compartment (WSAEACCES), a known defect (docs: dataplane.md §9, F-27). */
  | "access-denied"
  /** The packet does not fit and may not be fragmented. */
  | "message-too-long";

/** What a person reads, without a full stop. */
export const SOCKET_FAILURE_TEXTS: Readonly<Record<SocketFailure, string>> = Object.freeze({
  "no-route": "no route to the destination",
  "port-in-use": "the port is in use",
  "no-free-port": "all ephemeral ports are in use",
  "address-not-local": "the source is not an address of this compartment",
  "access-denied": "access to sockets is denied (10013, WSAEACCES; ping says General failure)",
  "too-many-sockets": "the compartment has too many sockets",
  "message-too-long": "the packet is too long and may not be fragmented",
});
