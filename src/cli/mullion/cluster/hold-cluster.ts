/** Holds a cluster behind its socket until somebody ends it. */
import { createApp } from "#cluster/api/app.ts";
import type { ClusterSummary } from "#cluster/api/documents.ts";
import { HeldCluster } from "#cluster/api/held-cluster.ts";
import { summarizeCluster } from "#cluster/api/listings.ts";
import { ControlServer } from "#cluster/api/server.node.ts";
import { type ClusterPlace, ensureFolder, removeFolderIfEmpty } from "#cluster/api/state-folder.node.ts";
import type { Cluster } from "#cluster/cluster.ts";
import type { Log } from "#core/base/log.ts";
import type { InputRemarks, InputText } from "#cluster/session/session.ts";
import { LiveCluster, type LiveOptions } from "#cluster/live/live-cluster.node.ts";
import type { LivePlaces } from "#cluster/live/live-places.ts";
import type { BuiltInServer } from "#cluster/live/workloads.node.ts";
import { LiveRuntimes } from "./live-runtimes.ts";
import { type OvnRemote, RemoteSouthbound } from "#cluster/ovn/remote-southbound.node.ts";
import { checkRoom } from "./memory-check.ts";
import { type ClusterSize, type ReportProgress, openSession } from "./open-session.ts";
import { packageRoot, packageVersion } from "../../installation.ts";

/** Answers that are under way have this long to finish when the cluster ends. */
const GRACE_MS = 2_000;

/** Makes the segment real, where that is asked for. The cluster ends when it cannot. */
async function openLive(held: HeldCluster, { live, log }: HoldOptions): Promise<LiveCluster | undefined> {
  return live === undefined ? undefined : LiveCluster.open(held, { ...live, server: builtInServer() }, log);
}

/** Where the package and its Node are for a process of a pod. */
const OWN = { package: "/opt/mullion", node: "/opt/node" } as const;

/** `agnhost netexec`, which the package has with it. */
function builtInServer(): BuiltInServer {
  const mounts = [
    { from: packageRoot(), to: OWN.package },
    { from: process.execPath, to: OWN.node },
  ];
  return { command: [OWN.node, ...process.execArgv, `${OWN.package}/bin/start.cjs`, "agnhost"], mounts };
}

/** A cluster that is up, as its starter hears of it. */
export interface StartedCluster extends InputRemarks {
  readonly summary: ClusterSummary;
  /** Two that are worth a trace. */
  readonly pair: readonly [string, string] | undefined;
  /** What of it is on this machine; absent: it is simulated. */
  readonly live?: LivePlaces | undefined;
}

export interface HoldOptions {
  readonly place: ClusterPlace;
  readonly inputs: readonly InputText[];
  readonly report: ReportProgress;
  /** The cluster is up and listens. False: nobody heard it, so it ends at once. */
  readonly onReady: (started: StartedCluster) => boolean | Promise<boolean>;
  /** Called when the cluster is about to listen; resolves when this process is asked to end. */
  readonly untilInterrupted: () => Promise<void>;
  readonly log: Log;
  /** The segment between the nodes is to be real. */
  readonly live?: LiveOptions | undefined;
  /** The southbound database that the nodes' chassis join; undefined: they have one in memory. */
  readonly ovnRemote?: OvnRemote | undefined;
}

/**
 * Brings the cluster up, listens, and returns when it was ended; then its files are gone.
 * @throws what openSession throws; ApiError when the place is taken or not private.
 */
export async function holdCluster(options: HoldOptions): Promise<void> {
  const { place, inputs, report, onReady, untilInterrupted, log } = options;
  let size: ClusterSize | undefined;
  const { session, readManifests, verify, problems, notes, input } = await openSession(
    inputs,
    {
      begins: (found) => void (size = found),
      progress: report,
      beforeRest: (nodes) => {
        if (size !== undefined) checkRoom(size, nodes);
      },
    },
    {},
    // Frames of a real machine do not wait for a node to come up.
    options.live === undefined ? "by size" : "at the start",
  );
  const ended = Promise.withResolvers<void>();
  const identity = { name: place.name, version: packageVersion(), pid: process.pid };
  const held = new HeldCluster({
    session,
    readManifests,
    verify,
    identity,
    input,
    log,
    onShutdown: ended.resolve,
  });
  // From here on a signal ends the cluster in good order; before, there is nothing to put in order.
  const interrupted = untilInterrupted();
  const server = await listen(held, place);
  let live: LiveCluster | undefined;
  let runtimes: LiveRuntimes | undefined;
  let southbound: RemoteSouthbound | undefined;
  try {
    live = await openLive(held, options);
    if (live !== undefined) runtimes = await LiveRuntimes.open(live, options);
    const { ovnRemote } = options;
    if (ovnRemote !== undefined) southbound = await RemoteSouthbound.join(held, ovnRemote);
    const isWanted = await onReady({
      summary: summarizeCluster(session),
      problems,
      notes,
      pair: choosePair(session.cluster),
      live: live?.places,
    });
    if (isWanted) await Promise.race([ended.promise, interrupted]);
  } finally {
    await southbound?.close();
    await runtimes?.close();
    await live?.close();
    held.end();
    await server.close(GRACE_MS);
  }
}

/** A Windows pod, where there is one, and a pod on another node. */
function choosePair(cluster: Cluster): StartedCluster["pair"] {
  const pods = cluster.pods.filter(({ spec }) => spec.namespace !== "kube-system");
  const from = pods.find(({ node }) => node.spec.os === "windows") ?? pods[0];
  const to =
    pods.find(({ node, spec }) => node !== from?.node && spec.ports.length > 0) ??
    pods.find((pod) => pod !== from && pod.spec.ports.length > 0);
  if (from === undefined || to === undefined) return undefined;
  return [from, to].map(({ spec }) =>
    spec.namespace === "default" ? `pod/${spec.name}` : `pod/${spec.namespace}/${spec.name}`,
  ) as [string, string];
}

async function listen(held: HeldCluster, place: ClusterPlace): Promise<ControlServer> {
  try {
    ensureFolder(place, process.env);
    return await ControlServer.listen(createApp(held), place);
  } catch (error) {
    removeFolderIfEmpty(process.env);
    throw error;
  }
}
