/**
 * A cluster that runs: the embedded control plane, the kubelets, kube-proxies and names, brought to rest after each
 * change. Everything that packets see lies in `cluster`, which is data; what programs remember lies here.
 */
import { AssertionError, defined } from "#core/base/assert.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { ApplyOutcome } from "#control-plane/memory/admission/apply.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
import { formatPrefix } from "#core/net/ip.ts";
import { KubeError, unreachable } from "#contracts/kubernetes/error.ts";
import type { KubeKind, KubeObject, Pod } from "#contracts/kubernetes/objects.ts";
import { notesOfRead } from "../limits/unread-texts.ts";
import { ApiServerMachines } from "../machines/api-server-machines.ts";
import { OvnNetwork } from "../ovn/ovn-network.ts";
import { PolicyEngines } from "../policies/policy-engines.ts";
import { planApiServer } from "../services/api-server.ts";
import type { ProgramMemories } from "../classes/machine.ts";
import { apiServerObjects, builtInObjects, ownPods } from "./built-in-objects.ts";
import { ClusterNotes } from "./cluster-notes.ts";
import { recordPod } from "../pods/pod-records.ts";
import type { ServicePortStatus } from "#programs/kube-proxy/mod.ts";
import type { PortSpec } from "../file/cluster-file.ts";
import type { Cluster, ClusterPod, Demand } from "../cluster.ts";
import { type ClusterObjects, objectsOf } from "../cluster-objects.ts";
import { ClusterPart } from "../absent-machines.ts";
import { CloudRoutes } from "../networks/cloud-routes.ts";
import { FlannelDaemons } from "../flannel/flannel-daemons.ts";
import { HybridOverlayDaemons } from "../hybrid-overlay/hybrid-overlay-daemons.ts";
import { IngressRouting } from "../services/ingress-routing.ts";
import type { NodeChange, NodeStanding } from "../life/node-change.ts";
import { NodeLifecycle } from "../life/node-lifecycle.ts";
import { NameService } from "../names/name-service.ts";
import type { FlowLimit } from "./flow-limit.ts";
import { NodeRepairs } from "../services/node-repairs.ts";
import { SETTLE_MS } from "./open-cluster.ts";
import type { Kubelet } from "../machines/kubelet.ts";
import type { Machines } from "../machines/raise-machines.ts";
import { mayRest } from "../pods/pods-at-rest.ts";
import type { PodOutcome, PodSync } from "../pods/pod-outcome.ts";
import { RunningPods } from "../pods/running-pods.ts";
import { PodServers } from "../pods/serve-ports.ts";
import { ServiceProxies } from "../services/service-proxies.ts";
import {
  SessionEvents,
  type ApplyReport,
  type ApplyResult,
  type ClusterSession,
  type ClusterTrouble,
  type ControlPlaneReport,
  type DeleteReport,
  type DeleteResult,
  type NodeReport,
  type ObjectReference,
  type Raising,
  type RepairCount,
  type SessionEvent,
  type TimeReport,
  toSessionProblem,
} from "./session.ts";

/** What the control plane said about the objects that the cluster began with. */
export interface BeginReport {
  readonly notes: readonly FileProblem[];
  /** Those of them that are about the objects as they were taken; the others the cluster says itself (`notes()`). */
  readonly applied: readonly FileProblem[];
  readonly problems: readonly FileProblem[];
}

export interface KubeSourceOptions {
  /** The time in RFC 3339. */
  readonly now: () => string;
  /** Runs one piece of work after the other. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * False: the controllers alone follow a change, and no time passes; nodes hear of it with the next change that all
   * follow. Default true.
   */
  readonly settles?: boolean;
}

export class RunningCluster implements ClusterSession {
  readonly cluster: Cluster;
  private readonly kube: MemoryKube;
  private readonly kubelets: ReadonlyMap<string, Kubelet>;
  private readonly pods: RunningPods;
  private readonly servers = new PodServers();
  private readonly proxies: ServiceProxies;
  private readonly names: NameService;
  private readonly ingress: IngressRouting;
  /** flanneld of all nodes; undefined with another network. */
  private readonly flannel: FlannelDaemons | undefined;
  /** Those of ovn-kubernetes' hybrid overlay; undefined with another network. */
  private readonly hybridOverlay: HybridOverlayDaemons | undefined;
  /** The Routes controller of the cloud provider; undefined: nobody writes routes. */
  private readonly cloudRoutes: CloudRoutes | undefined;
  private readonly events: SessionEvents;
  private readonly life: NodeLifecycle;
  private readonly policies: PolicyEngines;
  readonly ovn: OvnNetwork | undefined;
  /** How machines come up; undefined: they are up. */
  private beginning: Raising | undefined;
  /** False during an outage of the API server. */
  private isApiUp = true;
  /** Somebody else lets time pass. */
  private isInRealTime = false;
  private readonly nodeRepairs: NodeRepairs;
  /** What the input has and no change of objects takes away. */
  private readonly inputLimits: readonly FlowLimit[];
  /** When the pods that the cluster begins with start. */
  private podsAtMs = 0;
  /** Undefined before `begin`. */
  private apiServers: ApiServerMachines | undefined;
  /** Hears how many nodes are about to come up because all do; throws where there is no room for them. */
  private readonly beforeRest: ((nodes: number) => void) | undefined;
  private readonly told: ClusterNotes;

  /** Nothing runs before `begin`. */
  constructor(
    { cluster, kubelets, files }: Machines,
    limits: readonly FlowLimit[] = [],
    beforeRest?: (nodes: number) => void,
  ) {
    this.inputLimits = limits;
    this.beforeRest = beforeRest;
    const { file, env, clock } = cluster;
    this.cluster = cluster;
    this.kubelets = kubelets;
    this.kube = new MemoryKube(env.prng.derive("kubernetes"), {
      clusterCIDRs: [],
      serviceCIDRs: [file.network.serviceCIDR, ...(file.ipv6 === undefined ? [] : [file.ipv6.serviceCIDR])],
      ...(file.loadBalancerPool === undefined ? {} : { loadBalancerPool: file.loadBalancerPool }),
    });
    this.names = new NameService(cluster, this.kube);
    this.proxies = new ServiceProxies(cluster, this.kube, kubelets);
    this.policies = new PolicyEngines(cluster);
    if (file.network.plugin === "ovn-kubernetes")
      this.ovn = new OvnNetwork(cluster, (node) => kubelets.get(node)?.ovn?.listPorts() ?? []);
    if (file.network.plugin === "flannel")
      this.flannel = new FlannelDaemons(cluster, new MemoryKubeSource(this.kube), files);
    if (file.network.routes === "hybrid-overlay")
      this.hybridOverlay = new HybridOverlayDaemons(cluster, new MemoryKubeSource(this.kube), kubelets);
    if (file.network.routes === "cloud")
      this.cloudRoutes = new CloudRoutes(cluster, new MemoryKubeSource(this.kube));
    this.ingress = new IngressRouting(cluster);
    this.events = new SessionEvents(clock);
    const source = new MemoryKubeSource(this.kube);
    this.nodeRepairs = new NodeRepairs({ clock, source, events: this.events });
    this.pods = new RunningPods({
      cluster,
      kubelets,
      dnsOf: (pod, node) => this.names.dnsOf(pod, node),
      isLeftWaiting: (pod) => this.kube.isLeftWaiting(pod),
      isNeeded: (pod) => this.names.isServer(pod),
    });
    const { flannel, hybridOverlay, cloudRoutes, kube, pods, proxies } = this;
    this.told = new ClusterNotes({
      cluster,
      kube,
      pods,
      proxies,
      flannel,
      hybridOverlay,
      cloudRoutes,
      ovn: this.ovn,
      inputLimits: limits,
    });
    this.life = new NodeLifecycle({
      cluster,
      kube,
      kubelets,
      pods,
      proxies,
      network: flannel ?? hybridOverlay,
      work: () => this.work(),
      isApiUp: () => this.isApiUp,
    });
  }

  /** Starts everything with the nodes and pods of the cluster file and `objects`; called once. */
  async begin(objects: readonly LoadedObject[], raising: Raising = "at the start"): Promise<BeginReport> {
    const { file } = this.cluster;
    const brought = objects.map(({ object }) => object);
    const own = ownPods(file);
    const plan = planApiServer(file, brought);
    this.cluster.isApiServiceAdded = !plan.isServiceBrought;
    this.apiServers = new ApiServerMachines(this.cluster, plan);
    const ofApiServer = apiServerObjects(plan);
    const report = this.kube.apply([
      ...builtInObjects(file, brought),
      ...own.objects,
      ...objects,
      ...ofApiServer,
    ]);
    this.names.follow();
    await this.flannel?.start();
    await this.hybridOverlay?.start();
    await this.cloudRoutes?.start();
    await this.ovn?.start();
    await this.proxies.start();
    // Engines work on the HNS of every node, and OVN's flows are in every switch.
    this.beginning = this.policies.runs || this.ovn !== undefined ? "at the start" : raising;
    this.podsAtMs = this.cluster.clock.nowMs;
    // Machines that say something when they boot say it before their pods are there, whenever those come.
    if (mayRest(file)) this.quieten();
    await this.settle();
    this.beginning = undefined;
    // Who was needed while time settled.
    await this.raiseAll(this.cluster.demand.nodes);
    const problems = [...own.problems, ...report.problems];
    const applied = notesOfRead(report.notes, this.inputLimits);
    return { notes: [...applied, ...this.told.takeNew()], applied, problems };
  }

  async raise(node?: string): Promise<void> {
    await this.raiseAll(node === undefined ? undefined : [node]);
  }

  async ask<T>(question: (cluster: Cluster) => T): Promise<T> {
    const steps = this.askInSteps((cluster) => inOneStep(question, cluster), []);
    for (;;) {
      const { done, value } = await steps.next();
      if (done === true) return value;
    }
  }

  async *askInSteps<P, T>(
    question: (cluster: Cluster) => Generator<P, T, undefined>,
    touched: Iterable<string>,
  ): AsyncGenerator<P, T, undefined> {
    const { demand } = this.cluster;
    let part = this.emptyPart()?.with(touched);
    await this.raiseAll(touched);
    for (;;) {
      demand.nodes.clear();
      const isMissing = (): boolean =>
        this.waiting(demand.nodes).length > 0 || [...demand.nodes].some((node) => part?.has(node) === false);
      const cluster = part === undefined ? this.cluster : { ...this.cluster, part };
      const answer = yield* untilMissing(question(cluster), isMissing);
      if (answer !== undefined) return answer();
      part = part?.with(demand.nodes);
      await this.raiseAll(demand.nodes);
    }
  }

  /** What waits for its time, and what IPv6 tells everybody, may be any machine's: such clusters are copied whole. */
  private emptyPart(): ClusterPart | undefined {
    const { file, clock } = this.cluster;
    const isWhole = file.ipv6 !== undefined || clock.nextAtMs() !== undefined;
    return isWhole ? undefined : ClusterPart.of(this.cluster);
  }

  async apply(objects: readonly LoadedObject[]): Promise<ApplyReport> {
    this.requireApi();
    await this.raiseAll();
    const report = this.kube.apply(objects);
    for (const { kind, namespace, name, change } of report.changes) {
      if (change === "unchanged") continue;
      this.events.send({ type: "object", action: change, reference: { kind, namespace, name } });
    }
    await this.settle();
    const applied = report.notes.map(toSessionProblem);
    const notes = [...applied, ...this.told.takeNew().map(toSessionProblem)];
    return { results: report.outcomes.map(toApplyResult), notes, applied };
  }

  async delete(references: readonly ObjectReference[]): Promise<DeleteReport> {
    this.requireApi();
    await this.raiseAll();
    const results = references.map((reference) => this.deleteOne(reference));
    await this.settle();
    return { results, notes: this.told.takeNew().map(toSessionProblem) };
  }

  async changeNode(node: string, change: NodeChange): Promise<NodeReport> {
    await this.raiseAll();
    const text = await this.life.change(node, change);
    this.events.send({ type: "node", node, text });
    // Whatever waited for a network is tried again.
    this.pods.retry();
    await this.settle();
    return this.reportOn(node, text);
  }

  standingOf(node: string): NodeStanding {
    return this.life.standingOf(node);
  }

  get hasApiServer(): boolean {
    return this.isApiUp;
  }

  async setApiServer(state: "up" | "down"): Promise<ControlPlaneReport> {
    await this.raiseAll();
    this.isApiUp = state === "up";
    this.flannel?.setApiReachable(this.isApiUp);
    this.hybridOverlay?.setApiReachable(this.isApiUp);
    this.apiServers?.sync(this.isApiUp);
    if (this.isApiUp) this.life.apiIsBack();
    await this.settle();
    return { apiServer: state, notes: this.told.takeNew().map(toSessionProblem) };
  }

  async passTime(milliseconds: number): Promise<TimeReport> {
    await this.raiseAll();
    const { clock } = this.cluster;
    const endMs = clock.nowMs + milliseconds;
    for (;;) {
      const programs = [this.proxies, this.flannel, this.cloudRoutes];
      const nextMs = Math.min(...programs.map((each) => each?.nextAtMs ?? endMs));
      if (nextMs > endMs) break;
      clock.runUntil(Math.max(nextMs, clock.nowMs));
      await this.work();
      if (clock.nowMs >= endMs) break;
    }
    clock.runUntil(endMs);
    for (const { hns } of this.cluster.nodes)
      for (const each of hns?.listSwitches() ?? []) each.forgetIdleFlows(clock.nowMs);
    // Kubelets go on trying what had no network.
    this.pods.retry();
    await this.work();
    return { atMs: clock.nowMs, notes: this.told.takeNew().map(toSessionProblem) };
  }

  followRealTime(): void {
    this.isInRealTime = true;
  }

  repairs(node?: string): readonly RepairCount[] {
    return this.nodeRepairs.list(node);
  }

  servicesOn(node: string): readonly ServicePortStatus[] | undefined {
    return this.proxies.statusesOn(node);
  }

  /** What the programs of the nodes remember, for whoever compares machines whole. */
  memories(): ProgramMemories {
    const { kube, proxies, flannel, hybridOverlay, names, kubelets } = this;
    return {
      isUp: (node) => this.waiting([node]).length === 0,
      of: (node) => ({
        kubelet: kubelets.get(node),
        "kube-proxy": proxies.programOn(node),
        flanneld: flannel?.programOn(node),
        ...(hybridOverlay === undefined ? {} : { "hybrid-overlay-node": hybridOverlay.programOn(node) }),
      }),
      shared: [
        [kube, "API server"],
        [names, "names"],
        [proxies, "kube-proxies"],
        ...(flannel === undefined ? [] : [[flannel, "flannel"] as const]),
        ...(hybridOverlay === undefined ? [] : [[hybridOverlay, "hybrid overlay"] as const]),
        ...proxies.shared(),
        ...names.shared(),
        ...(flannel?.shared() ?? []),
      ],
    };
  }

  listObjects(kind: KubeKind, namespace?: string): readonly KubeObject[] {
    const objects: readonly KubeObject[] = this.cluster.objects[kind];
    return namespace === undefined
      ? objects
      : objects.filter(({ metadata }) => metadata.namespace === namespace);
  }

  /**
   * The cluster's API as programs outside of it see it. Each change is followed by everything that the cluster makes of
   * it. `inTurn` keeps readers of the cluster from meeting half a change.
   */
  openKubeSource({ now, inTurn, settles = true }: KubeSourceOptions): MemoryKubeSource {
    if (!settles) return new MemoryKubeSource(this.kube, { now });
    this.kube.dateObjects(now());
    const change = async <T>(write: () => T): Promise<T> =>
      inTurn(async () => {
        this.requireApi();
        await this.raiseAll();
        const result = write();
        await this.settle();
        return result;
      });
    return new MemoryKubeSource(this.kube, { now, change });
  }

  subscribe(listener: (event: SessionEvent) => void): () => void {
    return this.events.subscribe(listener);
  }

  troubles(): readonly ClusterTrouble[] {
    return this.told.troubles();
  }

  limits(): readonly FlowLimit[] {
    return this.told.limits();
  }

  /** What is worth knowing about the cluster as it is: pods that wait, selectors that match nothing, … */
  notes(): readonly FileProblem[] {
    return this.told.list();
  }

  private reportOn(node: string, text: string): NodeReport {
    const podCIDR = this.cluster.file.nodes.find(({ name }) => name === node)?.podCIDR;
    return {
      node,
      standing: this.life.standingOf(node),
      podCIDR: podCIDR === undefined ? "" : formatPrefix(podCIDR),
      text,
      notes: this.told.takeNew().map(toSessionProblem),
    };
  }

  /** @throws KubeError during an outage. */
  private requireApi(): void {
    if (!this.isApiUp) throw unreachable("the API server is down: mullion control-plane start");
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
    await this.work();
    this.quieten();
  }

  private quieten(): void {
    const { clock } = this.cluster;
    if (!this.isInRealTime) clock.runUntilIdle(clock.nowMs + SETTLE_MS);
  }

  /** Lets everybody work until nothing changes any more. */
  private async work(): Promise<void> {
    // Without the API server nobody hears of anything, and pods are not even asked for.
    if (!this.isApiUp) {
      await this.flannel?.sync();
      await this.proxies.sync();
      return;
    }
    for (let isChanged = true; isChanged; ) {
      this.kube.reconcile();
      await this.flannel?.sync();
      await this.hybridOverlay?.sync();
      await this.cloudRoutes?.sync();
      const { started, leftBehind } = await this.syncPods();
      for (const outcome of started) recordPod(outcome, this.kube, this.cluster);
      for (const outcome of [...started, ...leftBehind]) this.report(outcome);
      isChanged = started.length > 0;
    }
    const objects = objectsOf(this.kube);
    this.cluster.objects = objects;
    await this.syncPrograms(objects);
  }

  private readonly isReserved = (pod: ClusterPod, port: PortSpec): boolean =>
    this.names.isReserved(pod, port);

  private async syncPods(): Promise<PodSync> {
    const progress = (done: number, total: number): void =>
      this.events.send({ type: "progress", text: "pods start", done, total });
    const sync = (mayBeLeft = false): Promise<PodSync> =>
      this.pods.sync(this.podsInOrder(), progress, mayBeLeft);
    if (this.beginning === undefined || !mayRest(this.cluster.file)) return sync();
    const done = await this.cluster.clock.runLate(this.podsAtMs, () => sync(this.beginning === "when asked"));
    for (const node of this.pods.waiting()) this.setDemand(node, this.cluster.demand);
    return done;
  }

  /** Who hears that a frame has come to a node which is not up. */
  private setDemand(node: string, demand: Demand | undefined): void {
    const found = this.cluster.nodes.find(({ spec }) => spec.name === node);
    for (const each of found?.hns?.listSwitches() ?? []) each.demand = demand;
  }

  private async syncPrograms(objects: ClusterObjects): Promise<void> {
    const runningOf = (pod: Pod): ReturnType<RunningPods["runningOf"]> => this.pods.runningOf(pod);
    this.names.sync(objects.Pod, runningOf);
    this.told.setConflicts(this.servers.sync(objects, runningOf, this.isReserved));
    this.apiServers?.sync(true);
    if (this.beginning === undefined) await this.proxies.sync(this.programming);
    else await this.programFirst(this.beginning);
    this.ingress.sync(objects);
    await this.ovn?.sync(objects);
    await this.policies.sync(objects, (node) => this.life.standingOf(node) !== "stopped");
    const repairs = this.proxies.takeRepairs();
    if (repairs.length === 0) return;
    await this.nodeRepairs.report(repairs);
    // Events are objects, too.
    this.cluster.objects = objectsOf(this.kube);
  }

  /**
   * Services as of the moment in which the pods have started. What pods say of themselves then is over before anything is
   * programmed, so that it meets the same rules whether a machine comes up early or late.
   */
  private async programFirst(raising: Raising): Promise<void> {
    const { proxies, programming: progress } = this;
    const { clock, file } = this.cluster;
    const atMs = mayRest(file) ? this.podsAtMs : clock.nowMs;
    this.quieten();
    if (raising === "at the start") return clock.runLate(atMs, () => proxies.sync(progress));
    const prepare = async (nodes: readonly string[]): Promise<void> => {
      if (this.pods.waiting(nodes).length === 0) return;
      for (const node of nodes) await this.raisePods(node);
      this.quieten();
    };
    return proxies.syncKinds({ atMs, prepare, progress });
  }

  private readonly programming = (done: number, total: number): void =>
    this.events.send({ type: "progress", text: "kube-proxies program Services", done, total });

  /** Machines that were left for later come up as they were when the cluster began; their history begins now. */
  private async raiseAll(nodes?: Iterable<string>): Promise<void> {
    const asked = nodes === undefined ? undefined : [...nodes];
    const rest = asked === undefined ? this.nodesAtRest : 0;
    if (rest > 0) this.beforeRest?.(rest);
    for (const node of this.pods.waiting(asked)) await this.raisePods(node);
    const waiting = this.proxies.waiting(asked);
    if (waiting.length > 0) await this.proxies.raise(waiting, this.programming);
  }

  get nodesAtRest(): number {
    return new Set([...this.pods.waiting(), ...this.proxies.waiting()]).size;
  }

  /** Those of the nodes that are not up. */
  private waiting(nodes: Iterable<string>): readonly string[] {
    const asked = [...nodes];
    return [...this.pods.waiting(asked), ...this.proxies.waiting(asked)];
  }

  private async raisePods(node: string): Promise<void> {
    await this.cluster.clock.runLate(this.podsAtMs, async () => {
      for (const started of await this.pods.raise(node)) {
        const { namespace, name } = started.metadata;
        // What its status says of its containers by now decides who listens.
        const pod = this.kube.get("Pod", namespace, name) ?? started;
        const running = defined(this.pods.runningOf(started), "a pod that has come up runs");
        const [conflict] = this.servers.serve(pod, running, this.isReserved);
        if (conflict !== undefined)
          throw new AssertionError(
            `a pod of ${node} serves otherwise than expected: ${conflict.remark.text}`,
          );
      }
    });
    if (this.proxies.waiting([node]).length === 0) this.setDemand(node, undefined);
  }

  /** The pods of the cluster file start first, in its order; the others by namespace and name. */
  private podsInOrder(): readonly Pod[] {
    const own = this.cluster.file.pods.flatMap(
      ({ namespace, name }) => this.kube.get("Pod", namespace, name) ?? [],
    );
    const first = new Set(own);
    return [...own, ...this.kube.objects("Pod").filter((pod) => !first.has(pod))];
  }

  /** Everybody who listens hears what the kubelet has to say. */
  private report({ pod, remarks }: PodOutcome): void {
    const { namespace, name } = pod.metadata;
    const reference: ObjectReference = { kind: "Pod", namespace, name };
    for (const { code, text } of remarks) this.events.send({ type: "note", text, code, reference });
  }
}

/** Work with one pause, when all is done. */
function* inOneStep<T>(
  question: (cluster: Cluster) => T,
  cluster: Cluster,
): Generator<undefined, T, undefined> {
  const answer = question(cluster);
  yield undefined;
  return answer;
}

/** The answer of work that may refuse to go on; undefined: a machine is missing. */
function* untilMissing<P, T>(
  work: Generator<P, T, undefined>,
  isMissing: () => boolean,
): Generator<P, (() => T) | undefined, undefined> {
  for (;;) {
    let step: IteratorResult<P, T>;
    try {
      step = work.next();
    } catch (error) {
      if (isMissing()) return undefined;
      throw error;
    }
    if (isMissing()) return undefined;
    const { done, value } = step;
    if (done === true) return () => value;
    yield value;
  }
}

function toApplyResult({ kind, namespace, name, change, problem }: ApplyOutcome): ApplyResult {
  return {
    reference: { kind, namespace, name },
    outcome: change,
    ...(problem === undefined ? {} : { problem: toSessionProblem(problem) }),
  };
}
