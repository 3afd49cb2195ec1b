/** What each verb of `mullion vfp` is given. */
import type { ClusterTarget } from "../cluster/cluster-target.ts";
import type { TextFormat } from "../print-document.ts";
import type { ListFormat } from "../table.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

export interface VfpPortsRequest {
  readonly target: ClusterTarget;
  readonly node: string | undefined;
  readonly output: ListFormat;
}

export interface VfpShowRequest {
  readonly target: ClusterTarget;
  /** A file of vfpctrl's text or JSON, or a port: its GUID, friendly name, address, `pod/NAMESPACE/NAME`. */
  readonly subject: string;
  readonly output: TextFormat;
}

export interface VfpDiffRequest {
  readonly target: ClusterTarget;
  readonly left: string;
  readonly right: string;
  readonly output: TextFormat;
}

export interface VfpVerbs {
  readonly ports: (request: VfpPortsRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly show: (request: VfpShowRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly diff: (request: VfpDiffRequest, terminal: Terminal) => Promise<ExitCode>;
}
