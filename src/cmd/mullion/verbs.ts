/** The verbs that need a cluster, as the command line hands them over: parsed, checked, nothing read yet. */
import type { ListFormat } from "./table.ts";
import type { ExitCode, Terminal } from "./terminal.ts";

export const PROTOCOLS = ["tcp", "udp", "icmp"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export const KINDS = ["networks", "endpoints", "namespaces", "loadbalancers", "pods", "nodes"] as const;
export type Kind = (typeof KINDS)[number];

export interface TraceRequest {
  /** Path of the cluster file. */
  readonly file: string;
  /** `pod/ns/name`, `pod/name`, `node/name`, `external`, an address. */
  readonly from: string;
  readonly to: string;
  readonly protocol: Protocol;
  /** 1 to 65535. Undefined: the first port of the receiver; always for ICMP. */
  readonly port: number | undefined;
  readonly output: "text" | "json";
  /** Where to write the packets as pcapng. */
  readonly pcap: string | undefined;
}

export interface GetRequest {
  readonly file: string;
  readonly kind: Kind;
  /** Only objects of this node. */
  readonly node: string | undefined;
  readonly output: ListFormat;
}

export const VERIFY_FORMATS = ["table", "json", "junit"] as const;
export type VerifyFormat = (typeof VERIFY_FORMATS)[number];

export interface VerifyRequest {
  readonly file: string;
  readonly output: VerifyFormat;
}

export interface DemoRequest {
  readonly file: string;
  readonly pcap: string;
}

export interface HnsServeRequest {
  /** The Windows profile: `ws2022`, `ws2022.2582`, `20348`. */
  readonly profile: string;
  /** Path of the socket; undefined: the node's default. */
  readonly socket: string | undefined;
}

/** Each prints its results and says how it ended; it may throw a `Failure`. */
export interface Verbs {
  readonly trace: (request: TraceRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly get: (request: GetRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly verify: (request: VerifyRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly demo: (request: DemoRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly hnsServe: (request: HnsServeRequest, terminal: Terminal) => Promise<ExitCode>;
}
