/** What each verb of `mullion hns` is given, and the seam between the command line and the verbs. */
import type { ExitCode, Terminal } from "../terminal.ts";

export interface HnsServeRequest {
  /** The Windows profile: `ws2022`, `ws2022.2582`, `20348`. */
  readonly profile: string;
  /** Path of the socket; undefined: the node's default. */
  readonly socket: string | undefined;
  /** Loopback address and port, instead of a socket. */
  readonly listen: string | undefined;
  readonly tokenFile: string | undefined;
  /** The state folder; undefined: in memory. */
  readonly data: string | undefined;
  /** `NAME=ADDRESS/LENGTH` each; none: the node of the examples. */
  readonly adapters: readonly string[];
}

/** Each prints its results and says how it ended; it may throw a `Failure`. */
export interface HnsVerbs {
  readonly serve: (request: HnsServeRequest, terminal: Terminal) => Promise<ExitCode>;
}
