/** What each verb of `mullion ovn` is given. */
import type { ExitCode, Terminal } from "../terminal.ts";

export interface OvnTraceRequest {
  /** A southbound database, or a list of logical flows; a northbound database beside it. */
  readonly files: readonly string[];
  /** Name or UUID of a datapath; undefined: that of the port that the microflow names. */
  readonly datapath: string | undefined;
  readonly microflow: string;
  /** States that connection tracking finds, look-up by look-up. */
  readonly states: readonly string[];
}

export interface OvnVerbs {
  readonly trace: (request: OvnTraceRequest, terminal: Terminal) => Promise<ExitCode>;
}
