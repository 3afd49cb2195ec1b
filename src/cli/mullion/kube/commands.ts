/** `mullion kube` on the command line. */
import type { Command } from "commander";
import {
  EXAMPLE,
  EXIT_CODES,
  type FileOptions,
  type Run,
  addFileOptions,
  examples,
  inputPaths,
} from "../options.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { commandLine } from "#data/words.js";
import type { InputPaths } from "../cluster/cluster-target.ts";

const WORDS = commandLine();

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
  const kube = program
    .command("kube")
    .summary(WORDS.kubeSummary)
    .description(WORDS.kubeDescription)
    .addHelpText(
      "after",
      examples(
        `mullion kube serve -f ${EXAMPLE} --kubeconfig twin.kubeconfig`,
        "KUBECONFIG=twin.kubeconfig kubectl get nodes,pods -A",
      ) + EXIT_CODES,
    );
  const { serve } = verbs;
  if (serve === undefined) return;
  const command = kube
    .command("serve")
    .summary("serve the Kubernetes API of a cluster file")
    .description(WORDS.kubeServeDescription);
  addFileOptions(command, WORDS.kubeServeFile)
    .requiredOption("--kubeconfig <file>", "where to write the kubeconfig; only you can read it")
    .option("--listen <address>", WORDS.kubeServeListen, "127.0.0.1:0")
    .addHelpText(
      "after",
      examples(
        `mullion kube serve -f ${EXAMPLE} --kubeconfig twin.kubeconfig`,
        "KUBECONFIG=twin.kubeconfig kubectl get nodes,pods,services -A -o wide",
        "mullion kube serve --kubeconfig empty.kubeconfig --listen 127.0.0.1:6443",
      ),
    )
    .action((options: KubeServeOptions) =>
      run(() => {
        const { kubeconfig, listen } = options;
        return serve({ inputs: inputPaths(options), kubeconfig, listen }, terminal);
      }),
    );
}
