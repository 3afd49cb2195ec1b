/**
 * A cluster that runs: the embedded control plane, the kubelets, kube-proxies and names, brought to rest after each
 * change. Everything that packets see lies in `cluster`, which is data; what programs remember lies here.
 */
import { assert } from "../base/assert.ts";
import type { JsonObject } from "../hcn/client.ts";
import type { FileProblem } from "../knowledge/file-problem.ts";
import { type ApplyReport as KubeReport, type LoadedObject, MemoryKube, loadManifests } from "../kube/mod.ts";
import { KubeError } from "../kube/error.ts";
import type { KubeKind, KubeObject, Pod } from "../kube/types.ts";
import { formatIp } from "../net/ip.ts";
import type { Cluster } from "./cluster.ts";
import { type ClusterObjects, objectsOf } from "./cluster-objects.ts";
import { DNS_NAMESPACE, DNS_SERVICE, dnsManifests } from "./dns-manifests.ts";
import { IngressRouting } from "./ingress-routing.ts";
import { NameService } from "./name-service.ts";
import { nodeManifest } from "./node-object.ts";
import { SETTLE_MS } from "./open-cluster.ts";
import { podManifest } from "./pod-object.ts";
import { type PortConflict, PodServers } from "./pod-servers.ts";
import type { Machines } from "./raise-machines.ts";
import { type PodOutcome, RunningPods } from "./running-pods.ts";
import { type NodeSync, ServiceProxies } from "./service-proxies.ts";
import { SessionEvents } from "./session-events.ts";
import type {
  ApplyReport,
  ClusterSession,
  DeleteReport,
  DeleteResult,
  ObjectReference,
  SessionEvent,
} from "./session.ts";

/** Pods make endpoints, and endpoints name pods: more rounds than this mean that nothing comes to rest. */
const ROUNDS_MAX = 50;
/** A pod of the cluster file may be asked for by name before others are there. */
const BUILT_IN = "built in";

/** What the control plane said about the objects that the cluster began with. */
export interface BeginReport {
  readonly notes: readonly FileProblem[];
  readonly problems: readonly FileProblem[];
}

function load(documents: readonly JsonObject[], name: string): readonly LoadedObject[] {
  const loaded = loadManifests(documents.map((document) => ({ name, text: JSON.stringify(document) })));
  assert(loaded.problems.length === 0, `objects of our own are good: ${loaded.problems[0]?.message ?? ""}`);
  return loaded.objects;
}

export class RunningCluster implements ClusterSession {
  readonly cluster: Cluster;
  private readonly kube: MemoryKube;
  private readonly pods: RunningPods;
  private readonly servers = new PodServers();
  private readonly proxies: ServiceProxies;
  private readonly names: NameService;
  private readonly ingress: IngressRouting;
  private readonly events: SessionEvents;

  /** Nothing runs before `begin`. */
  constructor({ cluster, kubelets }: Machines) {
    const { file, env, clock } = cluster;
    this.cluster = cluster;
    this.kube = new MemoryKube(env.prng.derive("kubernetes"), {
      clusterCIDRs: [],
      serviceCIDRs: [file.network.serviceCIDR],
      ...(file.loadBalancerPool === undefined ? {} : { loadBalancerPool: file.loadBalancerPool }),
    });
    this.names = new NameService(cluster, this.kube);
    this.proxies = new ServiceProxies(cluster, this.kube);
    this.ingress = new IngressRouting(cluster);
    this.events = new SessionEvents(clock);
    this.pods = new RunningPods({
      cluster,
      kubelets,
      dnsOf: (pod, node) => this.names.dnsOf(pod, node).settings,
    });
  }

  /** Starts everything with the nodes and pods of the cluster file and `objects`; called once. */
  async begin(objects: readonly LoadedObject[]): Promise<BeginReport> {
    const { file } = this.cluster;
    const brought = objects.map(({ object }) => object);
    const bringsDns = brought.some(
      ({ kind, metadata }) =>
        kind === "Service" && metadata.namespace === DNS_NAMESPACE && metadata.name === DNS_SERVICE,
    );
    const nodes = file.nodes
      .filter(({ name }) => !brought.some(({ kind, metadata }) => kind === "Node" && metadata.name === name))
      .map((spec) => nodeManifest(file, spec));
    // CoreDNS runs on Linux only: without a Linux node it would wait for ever.
    const hasLinux = file.nodes.some(({ os }) => os === "linux");
    const dns = file.dns.enabled && hasLinux && !bringsDns ? dnsManifests(file.network.serviceCIDR) : [];
    const report = this.kube.apply([
      ...load([...nodes, ...dns], BUILT_IN),
      ...load(file.pods.map(podManifest), file.fileName),
      ...objects,
    ]);
    this.names.follow();
    await this.proxies.start();
    await this.settle();
    return { notes: [...report.notes, ...this.kube.notes()], problems: report.problems };
  }

  async apply(objects: readonly LoadedObject[]): Promise<ApplyReport> {
    const report = this.kube.apply(objects);
    for (const { kind, namespace, name, change } of report.changes) {
      if (change === "unchanged") continue;
      this.events.send({ type: "object", action: change, reference: { kind, namespace, name } });
    }
    await this.settle();
    return applyReportOf(objects, report);
  }

  async delete(references: readonly ObjectReference[]): Promise<DeleteReport> {
    const results = references.map((reference) => this.deleteOne(reference));
    await this.settle();
    return { results };
  }

  listObjects(kind: KubeKind, namespace?: string): readonly KubeObject[] {
    const objects: readonly KubeObject[] = this.cluster.objects[kind];
    return namespace === undefined
      ? objects
      : objects.filter(({ metadata }) => metadata.namespace === namespace);
  }

  subscribe(listener: (event: SessionEvent) => void): () => void {
    return this.events.subscribe(listener);
  }

  /** What is worth knowing about the cluster as it is: pods that wait, selectors that match nothing, … */
  notes(): readonly FileProblem[] {
    return this.kube.notes();
  }

  /** What the kube-proxies of the Windows nodes said last. */
  proxyReports(): readonly NodeSync[] {
    return this.proxies.listReports();
  }

  private deleteOne(reference: ObjectReference): DeleteResult {
    const { kind, namespace, name } = reference;
    try {
      this.kube.delete(kind, namespace, name);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      return { reference, outcome: "not-found" };
    }
    this.events.send({ type: "object", action: "deleted", reference });
    return { reference, outcome: "deleted" };
  }

  /** Lets everybody work until nothing changes any more, then lets time pass. */
  private async settle(): Promise<void> {
    for (let round = 0; ; round++) {
      assert(round < ROUNDS_MAX, "the control plane comes to rest");
      this.kube.reconcile();
      const started = await this.pods.sync(this.podsInOrder(), (done, total) =>
        this.events.send({ type: "progress", text: "pods start", done, total }),
      );
      for (const outcome of started) this.reportPod(outcome);
      if (started.length === 0) break;
    }
    const objects = objectsOf(this.kube);
    this.cluster.objects = objects;
    await this.syncPrograms(objects);
    this.cluster.clock.runUntilIdle(this.cluster.clock.nowMs + SETTLE_MS);
  }

  private async syncPrograms(objects: ClusterObjects): Promise<void> {
    const runningOf = (pod: Pod): ReturnType<RunningPods["runningOf"]> => this.pods.runningOf(pod);
    this.names.sync(objects.Pod, runningOf);
    const conflicts = this.servers.sync(objects, runningOf, (pod, port) => this.names.isReserved(pod, port));
    for (const conflict of conflicts) this.noteConflict(conflict);
    await this.proxies.sync((done, total) =>
      this.events.send({ type: "progress", text: "kube-proxies program Services", done, total }),
    );
    this.ingress.sync(objects);
  }

  /** The pods of the cluster file start first, in its order; the others by namespace and name. */
  private podsInOrder(): readonly Pod[] {
    const own = this.cluster.file.pods.flatMap(
      ({ namespace, name }) => this.kube.get("Pod", namespace, name) ?? [],
    );
    const first = new Set(own);
    return [...own, ...this.kube.objects("Pod").filter((pod) => !first.has(pod))];
  }

  private reportPod({ pod, running, note }: PodOutcome): void {
    const { namespace, name } = pod.metadata;
    if (note !== undefined) {
      const reference: ObjectReference = { kind: "Pod", namespace, name };
      const code = note.code === undefined ? {} : { code: note.code };
      this.events.send({ type: "note", text: note.text, reference, ...code });
    }
    if (running === undefined) {
      // What kubectl shows as ContainerCreating, with the event FailedCreatePodSandBox.
      const message = note?.text ?? "";
      const condition = { type: "Ready", status: "False", reason: "ContainersNotReady", message } as const;
      this.kube.setPodStatus(namespace, name, { phase: "Pending", conditions: [condition] });
      return;
    }
    const isRecorded = pod.status?.phase === "Running" && pod.status.podIP !== undefined;
    if (isRecorded) return;
    this.kube.setPodStatus(namespace, name, {
      phase: "Running",
      podIP: formatIp(running.address),
      hostIP: formatIp(running.node.spec.address),
      conditions: ["Initialized", "Ready", "ContainersReady"].map((type) => ({ type, status: "True" })),
    });
  }

  private noteConflict({ pod, code, text }: PortConflict): void {
    const { namespace, name } = pod.metadata;
    this.events.send({ type: "note", code, text, reference: { kind: "Pod", namespace, name } });
  }
}

/** The control plane's report as the session tells it: one result for each object. */
function applyReportOf(objects: readonly LoadedObject[], report: KubeReport): ApplyReport {
  const left = [...report.changes];
  const problems = [...report.problems];
  const results = objects.map(({ object: { kind, metadata } }) => {
    const reference = { kind, namespace: metadata.namespace, name: metadata.name };
    const [next] = left;
    if (
      next?.kind === kind &&
      next.namespace === metadata.namespace &&
      (metadata.name === "" || next.name === metadata.name)
    ) {
      left.shift();
      return { reference: { ...reference, name: next.name }, outcome: next.change };
    }
    const problem = problems.shift();
    if (problem === undefined) return { reference, outcome: "refused" as const };
    const { code, message, advice, file, line, column, path } = problem;
    const where = { file, line, column, field: path };
    return { reference, outcome: "refused" as const, problem: { code, message, advice, where } };
  });
  return { results };
}
