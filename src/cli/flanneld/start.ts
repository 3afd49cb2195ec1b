/** The executable `flanneld`. */
import { randomInt } from "node:crypto";
import { Prng } from "#core/base/prng.ts";
import { RealClock } from "#core/base/real-clock.node.ts";
import { MachineCommandRunner, MachineSubnetFiles } from "#programs/flannel/node/machine.node.ts";
import { EtcdGatewayClient } from "#programs/flannel/etcd/gateway-client.node.ts";
import { IprouteHost } from "#programs/flannel/linux/iproute-host.ts";
import { PowerShellHost } from "#programs/flannel/windows/powershell-host.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import { LazyHcnClient } from "../cni-plugins/lazy-hcn-client.ts";
import { packageVersion } from "../installation.ts";
import { listenOnMachine } from "../kube-proxy/http-listener.ts";
import { endQuietly, processTerminal } from "../mullion/process-terminal.ts";
import { runFlanneld } from "./program.ts";

/** Runs it with this process' arguments, variables and streams, and sets the exit code. */
export async function startFlanneld(): Promise<void> {
  process.stderr.on("error", endQuietly);
  const terminal = processTerminal();
  const clock = new RealClock();
  const isWindows = process.platform === "win32";
  const runner = new MachineCommandRunner();
  // Timers of the clock do not hold the process; this one does, until the run has ended.
  const alive = setInterval(() => undefined, 2 ** 30);
  try {
    process.exitCode = await runFlanneld({
      argv: process.argv.slice(2),
      variables: process.env,
      pid: process.pid,
      version: packageVersion(),
      os: isWindows ? "windows" : "linux",
      stderr: (text) => terminal.stderr(text),
      clock,
      wallMs: () => performance.timeOrigin + performance.now(),
      prng: new Prng(randomInt(2 ** 32)),
      listen: listenOnMachine,
      files: new MachineSubnetFiles(),
      openHost: () => (isWindows ? new PowerShellHost(runner) : new IprouteHost(runner)),
      openHns: isWindows
        ? () => new LazyHcnClient(() => Promise.resolve().then(() => findHns({ variables: process.env })))
        : undefined,
      openKube: ({ kubeconfigFile, kubeApiUrl }, variables) =>
        openApiServerSource({ kubeconfig: kubeconfigFile, server: kubeApiUrl, variables }, "flanneld"),
      openEtcd: ({ etcd }) => new EtcdGatewayClient(etcd),
      untilInterrupted: () => terminal.untilInterrupted(),
    });
  } finally {
    clearInterval(alive);
    clock.stop();
  }
}
