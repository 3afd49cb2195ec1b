/** The executable `kube-proxy`. */
import { unwatchFile, watchFile } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { RealClock } from "#core/base/real-clock.node.ts";
import type { ProxyInterface } from "#programs/kube-proxy/options.ts";
import { findHns } from "#contracts/hcn/http/find-hns.node.ts";
import { LazyHcnClient } from "../cni-plugins/lazy-hcn-client.ts";
import { packageVersion } from "../installation.ts";
import { endQuietly, processTerminal } from "../mullion/process-terminal.ts";
import { listenOnMachine } from "./http-listener.ts";
import { openFeed } from "./open-feed.ts";
import { runKubeProxy } from "./program.ts";

const FILE_POLL_MS = 1_000;
const LEFTOVERS_MS = 500;

/** The machine's interfaces. */
function hostInterfaces(): readonly ProxyInterface[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => {
    const [first] = addresses;
    if (first === undefined) return [];
    return [{ mac: first.mac, addresses: addresses.map(({ address }) => address) }];
  });
}

/** Asks the file system once a second: it works on every one, and with the links that a ConfigMap is mounted by. */
function watch(path: string, changed: () => void): () => void {
  const listener = (): void => changed();
  watchFile(path, { interval: FILE_POLL_MS, persistent: false }, listener);
  return () => unwatchFile(path, listener);
}

/** Runs it with this process' arguments, variables and streams, and sets the exit code. */
export async function startKubeProxy(): Promise<void> {
  process.stdout.on("error", endQuietly);
  process.stderr.on("error", endQuietly);
  const terminal = processTerminal();
  const clock = new RealClock();
  // Timers of the clock do not hold the process; this one does, until the run has ended.
  const alive = setInterval(() => undefined, 2 ** 30);
  try {
    process.exitCode = await runKubeProxy({
      argv: process.argv.slice(2),
      variables: process.env,
      pid: process.pid,
      machineName: hostname(),
      version: packageVersion(),
      terminal,
      clock,
      wallMs: () => performance.timeOrigin + performance.now(),
      listen: listenOnMachine,
      hostInterfaces,
      watchFile: watch,
      openHns: () =>
        new LazyHcnClient(() => Promise.resolve().then(() => findHns({ variables: process.env }))),
      openFeed: (settings, name, log) =>
        openFeed(settings, name, log, { terminal, clock, variables: process.env, watchFile: watch }),
    });
  } finally {
    clearInterval(alive);
    clock.stop();
    // A call that gets no answer must not hold the process.
    setTimeout(() => process.exit(), LEFTOVERS_MS).unref();
  }
}
