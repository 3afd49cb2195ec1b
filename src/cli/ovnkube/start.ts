/** The executable `ovnkube`. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "#core/base/owner-only.node.ts";
import { RealClock } from "#core/base/real-clock.node.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { cniSocketPath, serveCniSocket } from "#programs/ovn/node/cni-socket.node.ts";
import { LazyHcnClient } from "../cni-plugins/lazy-hcn-client.ts";
import { processLog } from "../output.ts";
import { processTerminal } from "../mullion/process-terminal.ts";
import { runOvnkube } from "./program.ts";

/** Runtimes read it, also those of another user. */
const READABLE = 0o644;

/** Runs it with this process' arguments, variables and streams, and sets the exit code. */
export async function startOvnkube(): Promise<void> {
  const terminal = processTerminal();
  const clock = new RealClock();
  // Timers of the clock do not hold the process; this one does, until the run has ended.
  const alive = setInterval(() => undefined, 2 ** 30);
  try {
    process.exitCode = await runOvnkube({
      argv: process.argv.slice(2),
      stderr: (text) => terminal.stderr(text),
      clock,
      log: processLog(),
      openHns: () =>
        new LazyHcnClient(() => Promise.resolve().then(() => findHns({ variables: process.env }))),
      openKube: (flags) =>
        openApiServerSource(
          { kubeconfig: flags["k8s-kubeconfig"], server: flags["k8s-apiserver"] },
          "ovnkube",
        ),
      serve: async (chosen, answer) => {
        const path = chosen === "" ? cniSocketPath(process.env) : chosen;
        return { path, close: await serveCniSocket(path, answer) };
      },
      writeConfiguration: (folder, name, text) => {
        mkdirSync(folder, { recursive: true });
        replaceFile(join(folder, name), text, READABLE);
      },
      untilInterrupted: () => terminal.untilInterrupted(),
    });
  } finally {
    clearInterval(alive);
    clock.stop();
  }
}
