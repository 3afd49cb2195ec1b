/** `mullion kube`, as the command line hands it over: parsed, nothing read yet. */
import type { InputPaths } from "../cluster/cluster-target.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

export interface KubeServeRequest {
  /** None: a cluster without nodes. */
  readonly inputs: InputPaths;
  /** `ADDRESS:PORT` */
  readonly listen: string;
  /** Where the kubeconfig is written. */
  readonly kubeconfig: string;
}

export interface KubeVerbs {
  readonly serve: (request: KubeServeRequest, terminal: Terminal) => Promise<ExitCode>;
}
