/** `mullion kube` on the command line. */
import type { Command } from "commander";
import { type FileOptions, type Run, inputPaths } from "../options.ts";
import { addVerb } from "../described-verb.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { InputPaths } from "../cluster/cluster-target.ts";

// `mullion kube`, as the command line hands it over: parsed, nothing read yet.

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

interface KubeServeOptions extends FileOptions {
  readonly kubeconfig: string;
  readonly listen: string;
}

export function addKube(program: Command, run: Run, verbs: Partial<KubeVerbs>, terminal: Terminal): void {
  const kube = addVerb(program, "kube");
  const { serve } = verbs;
  if (serve === undefined) return;
  addVerb(kube, "serve").action((options: KubeServeOptions) =>
    run(() => {
      const { kubeconfig, listen } = options;
      return serve({ inputs: inputPaths(options), kubeconfig, listen }, terminal);
    }),
  );
}
