/** What each verb of `mullion hns` is given, and the seam between the command line and the verbs. */
import type { ListFormat } from "../table.ts";
import type { TextFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { HnsServiceTarget } from "./connect.ts";
import type { HnsFaultRequest } from "./fault-request.ts";
import type { HnsKindNames } from "./hns-kinds.ts";

export interface HnsServeRequest {
  /** The Windows profile: `ws2022`, `ws2022.2582`, `20348`. */
  readonly profile: string;
  /** `15.5`: another version of HNS than the profile has. */
  readonly hnsVersion?: string | undefined;
  /** Path of the socket; undefined: the node's default. */
  readonly socket: string | undefined;
  /** Loopback address and port, instead of a socket. */
  readonly listen: string | undefined;
  readonly tokenFile: string | undefined;
  /** How long addresses on new switches, and mirrored networks, take to appear. */
  readonly addressDelayMs: number;
  /** The state folder; undefined: in memory. */
  readonly data: string | undefined;
  /** `NAME=ADDRESS/LENGTH` each; none: the node of the examples. */
  readonly adapters: readonly string[];
  /** Defects: `NAME=on`, `NAME=off`, `NAME=0.1@SEED`. */
  readonly quirks: readonly string[];
  /** Plans of faults that are in force from the start. */
  readonly faults: readonly string[];
}

export interface HnsGetRequest {
  readonly target: HnsServiceTarget;
  /** At least one. */
  readonly kinds: readonly HnsKindNames[];
  /** Names, ids, beginnings of ids; none: all. */
  readonly objects: readonly string[];
  readonly output: ListFormat;
  /** The documents of HNS v1. */
  readonly isV1: boolean;
}

export interface HnsWatchRequest {
  readonly target: HnsServiceTarget;
  readonly output: TextFormat;
  /** How long to wait before asking a service that went away again, in milliseconds. */
  readonly retryMs?: number;
}

export interface HnsDumpRequest {
  /** A service, or dumps to convert. */
  readonly target: HnsServiceTarget;
  /** Undefined: standard output. */
  readonly output: string | undefined;
}

export interface HnsRestoreRequest {
  readonly target: HnsServiceTarget;
  readonly files: readonly string[];
  /** Objects that the service holds may go. */
  readonly isReplacing: boolean;
}

export interface HnsCreateRequest {
  readonly target: HnsServiceTarget;
  readonly kind: HnsKindNames;
  /** Undefined: the least document of the kind. */
  readonly file: string | undefined;
  /** Undefined: HNS chooses. */
  readonly id: string | undefined;
  /** For endpoints: their network by name or id. */
  readonly network: string | undefined;
  readonly isV1: boolean;
  readonly output: TextFormat | "name";
}

export interface HnsChangeRequest {
  readonly target: HnsServiceTarget;
  readonly kind: HnsKindNames;
  readonly object: string;
  readonly file: string;
}

export interface HnsDeleteRequest {
  readonly target: HnsServiceTarget;
  readonly kind: HnsKindNames;
  /** At least one. */
  readonly objects: readonly string[];
}

/** A state folder, which no service has open. */
export interface HnsFolderRequest {
  readonly folder: string;
  readonly output: TextFormat;
}

/** Each prints its results and says how it ended; it may throw a `Failure`. */
export interface HnsVerbs {
  readonly serve: (request: HnsServeRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly get: (request: HnsGetRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly create: (request: HnsCreateRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly modify: (request: HnsChangeRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly delete: (request: HnsDeleteRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly watch: (request: HnsWatchRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly dump: (request: HnsDumpRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly restore: (request: HnsRestoreRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly check: (request: HnsFolderRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly repair: (request: HnsFolderRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly fault: (request: HnsFaultRequest, terminal: Terminal) => Promise<ExitCode>;
}
