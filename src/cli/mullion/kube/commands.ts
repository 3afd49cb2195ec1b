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
import type { Terminal } from "../terminal.ts";
import type { KubeVerbs } from "./verbs.ts";

interface KubeServeOptions extends FileOptions {
  readonly kubeconfig: string;
  readonly listen: string;
}

export function addKube(program: Command, run: Run, verbs: Partial<KubeVerbs>, terminal: Terminal): void {
  const kube = program
    .command("kube")
    .summary("serve the Kubernetes API of a cluster to kubectl and other programs")
    .description("Serves the Kubernetes API of a cluster to kubectl and other programs.")
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
    .description(
      "Brings the cluster up and serves its Kubernetes API until Ctrl-C: the part that kubectl, kube-proxy and\n" +
        "flanneld use, with TLS and a token. Each change is followed by what the cluster makes of it: pods start,\n" +
        "kube-proxies program HNS. Without -f the cluster is empty.",
    );
  addFileOptions(command, 'a cluster file, manifests or a folder, "-" for standard input; may be repeated')
    .requiredOption("--kubeconfig <file>", "where to write the kubeconfig; only you can read it")
    .option(
      "--listen <address>",
      "where to listen; another address than loopback is for network namespaces of this machine",
      "127.0.0.1:0",
    )
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
