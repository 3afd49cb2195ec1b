/** The program `ovnkube` on a node: it follows the pods of the node and serves `ovn-k8s-cni-overlay`, until it is asked to end. */
import type { Clock } from "#core/base/clock.ts";
import type { Log } from "#core/base/log.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { answerCniRequest, ovnConfiguration, type CniServerAnswer } from "#programs/ovn/node/cni-requests.ts";
import { OvnCniServer } from "#programs/ovn/node/cni-server.ts";
import { PodAnnotations } from "#programs/ovn/node/pod-annotations.ts";
import { FlagError, type OvnkubeFlags, helpText, readFlags } from "./flags.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";

/** What the program sees of its process. */
export interface OvnkubeProcess {
  readonly argv: readonly string[];
  readonly stderr: (text: string) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly openHns: () => HcnClient;
  readonly openKube: (flags: OvnkubeFlags) => Promise<KubeSource & { close(): Promise<void> }>;
  /** Listens on the socket, and on the machine's own for an empty path. @returns where, and what ends it. */
  readonly serve: (
    path: string,
    answer: (body: string) => Promise<CniServerAnswer>,
  ) => Promise<{ readonly path: string; readonly close: () => Promise<void> }>;
  /** Writes a file whole, or not at all. */
  readonly writeConfiguration: (folder: string, name: string, text: string) => void;
  /** Settles when the process is asked to end. */
  readonly untilInterrupted: () => Promise<void>;
}

const CONFIGURATION_FILE = "10-ovn-kubernetes.conf";

async function run(flags: OvnkubeFlags, process: OvnkubeProcess): Promise<void> {
  const { clock, log } = process;
  const source = await process.openKube(flags);
  const client = process.openHns();
  const pods = new PodAnnotations(source, flags["init-node"], clock, log);
  const id = parseGuid(flags["win-hnsnetwork-id"]);
  const network = id === undefined ? "by-gateway" : { id };
  const server = new OvnCniServer(client, network, (namespace, name) => pods.find(namespace, name));
  try {
    const ended = process.untilInterrupted();
    await Promise.race([pods.start(), ended]);
    const served = await process.serve(flags["mullion-cni-socket"], (body) => answerCniRequest(server, body));
    // A runtime that finds the file calls the plugin: the server has to listen before.
    process.writeConfiguration(
      flags["cni-conf-dir"],
      CONFIGURATION_FILE,
      ovnConfiguration(flags["cni-plugin"]),
    );
    log.write("info", "CNI server started", { node: flags["init-node"], socket: served.path });
    await ended;
    pods.stop();
    await served.close();
  } finally {
    pods.stop();
    await client.close();
    await source.close();
  }
}

/** Runs it until it ends: 0 cleanly, 1 for what fails, 2 for bad words. */
export async function runOvnkube(process: OvnkubeProcess): Promise<number> {
  try {
    const flags = readFlags(process.argv);
    if (flags === undefined) process.stderr(helpText());
    else await run(flags, process);
    return 0;
  } catch (error) {
    const isWords = error instanceof FlagError;
    process.stderr(`${messageOf(error)}\n${isWords ? "ovnkube --help lists the flags\n" : ""}`);
    return isWords ? 2 : 1;
  }
}
