/** What each verb of `mullion ovn` is given. */
import type { OvnDatabaseName } from "#cluster/views/ovn-view.ts";
import type { ClusterTarget } from "../cluster/cluster-target.ts";
import type { TextFormat } from "../print-document.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

export interface OvnTraceRequest {
  /** A cluster; or a southbound database, or a list of logical flows, with a northbound database beside it. */
  readonly target: ClusterTarget;
  /** Name or UUID of a datapath; undefined: that of the port that the microflow names. */
  readonly datapath: string | undefined;
  readonly microflow: string;
  /** States that connection tracking finds, look-up by look-up. */
  readonly states: readonly string[];
}

export interface OvnShowRequest {
  readonly database: OvnDatabaseName;
  readonly target: ClusterTarget;
  /** A switch, a router or a chassis; undefined: all. */
  readonly object: string | undefined;
}

export interface OvnListRequest {
  readonly database: OvnDatabaseName;
  readonly target: ClusterTarget;
  readonly table: string;
  /** UUIDs, their first digits, or names; empty: all rows. */
  readonly records: readonly string[];
  readonly output: TextFormat;
}

export interface OvnFlowsRequest {
  readonly target: ClusterTarget;
  /** Name or UUID of a datapath; undefined: all. */
  readonly datapath: string | undefined;
}

export interface OvnVerbs {
  readonly show: (request: OvnShowRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly list: (request: OvnListRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly listFlows: (request: OvnFlowsRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly trace: (request: OvnTraceRequest, terminal: Terminal) => Promise<ExitCode>;
}
