/** `mullion kube serve`: a cluster file's Kubernetes API for kubectl, kube-proxy, flanneld. */
import { resolve } from "node:path";
import { Turns } from "#cluster/api/held-cluster.ts";
import { ClusterPodAccess } from "#cluster/exec/pod-access.ts";
import { KUBERNETES_MINOR_MAX } from "#cluster/file/description.ts";
import { apiServiceManifests } from "#cluster/services/api-server.ts";
import { apiServerObjects } from "#cluster/session/built-in-objects.ts";
import { formatKubernetesVersion } from "#cluster/session/node-object.ts";
import type { KubeSourceOptions } from "#cluster/session/running-cluster.ts";
import type { PodAccess } from "#control-plane/http/pod-access.ts";
import { KubeServer } from "#control-plane/http/server.node.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { Failure, LEFT_OUT, describeSystemError, reportFindings } from "../failure.ts";
import { openSession } from "../cluster/open-session.ts";
import { processLog } from "../../output.ts";
import { readClusterInputs } from "../cluster/read-cluster-inputs.ts";
import { type ExitCode, type Terminal, howToEnd } from "../terminal.ts";
import { progressLines } from "../cluster/up.ts";
import type { KubeServeRequest } from "./commands.ts";
import { randomInt } from "node:crypto";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { type Prefix, formatPrefix, parsePrefix, parseIpv4 } from "#core/net/ip.ts";
import { type ListenAddress, parseListenAddress } from "../options.ts";

const SEED_MAX = 2 ** 47;

function range(text: string): Prefix {
  return defined(parsePrefix(text), text);
}

const SERVICE_RANGE = range("10.96.0.0/12");
const SERVICE_RANGES: readonly Prefix[] = [SERVICE_RANGE, range("fd00:10:96::/112")];
/** First byte of 127.0.0.0/8. */
const LOOPBACK = 127;

/**
 * The ranges of Services as the API server of Kubernetes 1.33 and later writes them down at its start (ServiceCIDR
 * `kubernetes`, pkg/controlplane/controller/defaultservicecidr): kube-proxy follows them.
 */
async function writeServiceRanges(source: MemoryKubeSource, ranges: readonly Prefix[]): Promise<void> {
  const name = "kubernetes";
  const { items } = await source.list("ServiceCIDR", { fieldSelector: `metadata.name=${name}` });
  if (items.length > 0) return;
  await source.create("ServiceCIDR", { metadata: { name }, spec: { cidrs: ranges.map(formatPrefix) } });
}

/**
 * A control plane without machines, for programs that bring their own nodes, with the ranges of the cluster file's defaults
 * in both families. `clock` gives the time in RFC 3339.
 */
export function openEmptyCluster(clock: () => string): MemoryKubeSource {
  const options = {
    clusterCIDRs: [range("10.244.0.0/16"), range("fd00:10:244::/48")],
    serviceCIDRs: SERVICE_RANGES,
  };
  return new MemoryKubeSource(new MemoryKube(new Prng(randomInt(SEED_MAX)), options), { now: clock });
}

/**
 * Service `kubernetes` with its endpoints, which every API server makes of itself (pkg/controlplane/controller/
 * kubernetesservice). Loopback is no address of endpoints (validation of Kubernetes), and no pod would reach it: there
 * the Service has none.
 */
async function writeApiService(source: MemoryKubeSource, host: string, port: number): Promise<void> {
  const address = parseIpv4(host);
  const isReached = address !== undefined && address >>> 24 !== LOOPBACK;
  const objects = apiServiceManifests(SERVICE_RANGE, isReached ? [address, port] : undefined);
  for (const { object } of apiServerObjects({ objects })) {
    if (object.kind === "Service") await source.create("Service", object);
    if (object.kind === "Endpoints") await source.create("Endpoints", object);
    if (object.kind === "EndpointSlice") await source.create("EndpointSlice", object);
  }
}

interface Served {
  readonly source: MemoryKubeSource;
  /** True: no cluster stands behind it, so that Service `kubernetes` is the server's own to write. */
  readonly isEmpty: boolean;
  /** `v1.34.0` */
  readonly gitVersion: string;
  /** What it is, for the first line. */
  readonly title: string;
  /** What runs in its pods; undefined: nothing. */
  readonly access: PodAccess | undefined;
}

/** RFC 3339 without fractions, as the API has it. */
function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, "Z");
}

async function openCluster({ inputs }: KubeServeRequest, terminal: Terminal): Promise<Served> {
  const { files, isRecursive } = inputs;
  if (files.length === 0) {
    const gitVersion = `v1.${KUBERNETES_MINOR_MAX}.0`;
    const source = openEmptyCluster(now);
    await writeServiceRanges(source, SERVICE_RANGES);
    return { source, isEmpty: true, gitVersion, title: "a cluster without nodes", access: undefined };
  }
  const texts = await readClusterInputs(files, isRecursive, terminal);
  terminal.stderr("Bringing the cluster up …\n");
  const opened = await openSession(texts, { progress: progressLines(terminal) });
  reportFindings(opened, LEFT_OUT, terminal);
  const turns = new Turns();
  const options: KubeSourceOptions = { now, inTurn: (work) => turns.take(work) };
  const { file } = opened.session.cluster;
  const source = opened.openKubeSource(options);
  const second = file.ipv6 === undefined ? [] : [file.ipv6.serviceCIDR];
  await writeServiceRanges(source, [file.network.serviceCIDR, ...second]);
  return {
    source,
    isEmpty: false,
    gitVersion: formatKubernetesVersion(file.kubernetes.version),
    title: `the cluster ${file.name}`,
    access: new ClusterPodAccess(opened.session, turns),
  };
}

async function listen({ source, gitVersion, access }: Served, address: ListenAddress): Promise<KubeServer> {
  try {
    return await KubeServer.listen({ source, gitVersion, access, ...address, log: processLog() });
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot listen on ${address.host} port ${address.port}: ${describeSystemError(error)}`,
      "Name another place with --listen.",
    );
  }
}

/** Serves until the user ends it. @throws Failure when input, address or kubeconfig cannot be used. */
export async function serve(request: KubeServeRequest, terminal: Terminal): Promise<ExitCode> {
  const address = parseListenAddress(request.listen);
  const served = await openCluster(request, terminal);
  const server = await listen(served, address);
  if (served.isEmpty) await writeApiService(served.source, address.host, server.port);
  const stopped = terminal.untilInterrupted();
  const path = resolve(request.kubeconfig);
  try {
    server.writeKubeconfig(path);
  } catch (error) {
    await server.close();
    throw new Failure(
      "bad-usage",
      `the kubeconfig ${JSON.stringify(path)} cannot be written: ${describeSystemError(error)}`,
      "Name another file with --kubeconfig.",
    );
  }
  terminal.stdout(`Kubernetes ${served.gitVersion} of ${served.title}, in memory, at ${server.url}\n`);
  terminal.stdout(`\n  export KUBECONFIG=${path}\n\nTry: kubectl get nodes,pods,services -A -o wide\n`);
  terminal.stdout(howToEnd(process.pid, process.platform));
  await stopped;
  await server.close();
  await served.source.close();
  return 0;
}
