/**
 * kube-proxy as it runs: start-up and waits, objects of Kubernetes, syncs, servers, events (kube-proxy.md §2, §5, §6). It
 * sees the machine through values: clock, log, listeners, HNS, objects.
 */
import type { Clock } from "../../base/clock.ts";
import type { HcnClient } from "../../hcn/client.ts";
import { KubeError } from "../../kube/error.ts";
import type { KubeObjects, Node } from "../../kube/objects.ts";
import type { IpFamily } from "../../net/ip.ts";
import { type Behaviour, type Compat, type KubernetesVersion, behaviourOf } from "../behaviour.ts";
import type { KubeProxyConfiguration } from "../configuration/configuration.ts";
import { effectiveGates, gatesOf } from "../configuration/feature-gates.ts";
import { flagsOf } from "../configuration/flags.ts";
import { KubeProxy } from "../kube-proxy.ts";
import type { HostInterface } from "../options.ts";
import { ProxyObjects } from "../proxy-objects.ts";
import { familyOfSlice } from "../tracked-endpoints.ts";
import { EventRecorder } from "./event-recorder.ts";
import { nodeSubject, serviceSubject } from "./event-subjects.ts";
import { familyComplaints } from "./family-complaints.ts";
import { frontEndKindOf } from "./front-end-kind.ts";
import type { Listen } from "./http-answer.ts";
import type { Klog } from "./klog.ts";
import { primaryAddress } from "./node-addresses.ts";
import { type FollowedKind, type ObjectFeed, selectionOf } from "./object-feed.ts";
import { ObservedHcnClient } from "./observed-client.ts";
import { familyLabel } from "./own-metrics.ts";
import { OwnNode } from "./own-node.ts";
import { proxyOptions, startProxier } from "./proxier-start.ts";
import { ProxyHealth } from "./proxy-health.ts";
import { ProxyMetrics } from "./proxy-metrics.ts";
import { ProxyServers } from "./proxy-servers.ts";
import { ServiceHealthServers, checkedServices } from "./service-health.ts";
import { SyncRunner, burstOf } from "./sync-runner.ts";
import { SyncTeller } from "./sync-teller.ts";
import { Waiter } from "./waiter.ts";
import { flagzPage, statuszPage } from "./zpages.ts";

export interface ProxyServerParts {
  /** Validated, with defaults. */
  readonly configuration: KubeProxyConfiguration;
  readonly kubernetes: KubernetesVersion;
  readonly compat: Compat;
  /** The name of this node's Node object. */
  readonly hostname: string;
  /** The variable `KUBE_NETWORK`. */
  readonly kubeNetwork: string | undefined;
  /** The words of the command line, for `/flagz`. */
  readonly flags: ReadonlyMap<string, unknown>;
  readonly client: HcnClient;
  readonly feed: ObjectFeed;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly wallMs: () => number;
  readonly log: Klog;
  readonly listen: Listen;
  /** The node's interfaces as they are now. */
  readonly hostInterfaces: () => readonly HostInterface[];
}

/** How a run ended. */
export interface Ended {
  readonly exitCode: 0 | 1;
  /** Why, when it was not asked to. */
  readonly message: string | undefined;
}

/** First minor that ends when its node gets other addresses (#138183). */
const NODE_CHANGE_ENDS_SINCE = 37;

/** How long the end waits for what runs: HNS and the API server may not answer. */
const END_WAIT_MS = 3_000;

/** First minor whose metrics server has `/flagz` and `/statusz`. */
const ZPAGES_SINCE = 33;

const STOPPED: Ended = { exitCode: 0, message: undefined };

export class ProxyServer {
  readonly metrics: ProxyMetrics;
  private readonly parts: ProxyServerParts;
  private readonly behaviour: Behaviour;
  private readonly gates: ReadonlyMap<string, boolean>;
  private readonly objects = new ProxyObjects();
  private readonly client: ObservedHcnClient;
  private readonly health: ProxyHealth;
  private readonly serviceHealth: ServiceHealthServers;
  private readonly servers: ProxyServers;
  private readonly events: EventRecorder;
  private readonly runner: SyncRunner;
  private readonly teller: SyncTeller;
  private readonly unfollow: (() => void)[] = [];
  private proxy: KubeProxy | undefined;
  private readonly waiter: Waiter;
  private readonly node: OwnNode;
  private comparedAtMs = Number.NEGATIVE_INFINITY;
  private ended: Ended | undefined;
  private finish: (ended: Ended) => void = () => undefined;
  private readonly finished: Promise<Ended>;

  constructor(parts: ProxyServerParts) {
    const { configuration, kubernetes, compat, client, clock, wallMs, log, listen, feed } = parts;
    const { minor } = kubernetes;
    this.parts = parts;
    this.waiter = new Waiter(clock);
    this.node = new OwnNode(clock, this.waiter);
    this.behaviour = behaviourOf(kubernetes, compat);
    this.gates = effectiveGates(configuration.featureGates, minor);
    this.metrics = new ProxyMetrics({
      minor,
      compat,
      gates: gatesOf(minor).map((gate) => ({ ...gate, isOn: this.gates.get(gate.name) ?? false })),
    });
    this.client = new ObservedHcnClient(client, {
      nowMs: () => clock.nowMs,
      called: (...call) => this.metrics.own.hnsCall(...call),
      kindOf: (document) => frontEndKindOf(document, this.objects, this.behaviour),
      failed: (call, { family, type }, reason) => this.metrics.loadBalancerFailed(call, family, type, reason),
    });
    this.health = new ProxyHealth({
      wallMs,
      timeoutMs: 2 * configuration.iptables.syncPeriod,
      minor,
      // On for good from 1.31, and then no gate any more.
      drainsNodes: this.gates.get("KubeProxyDrainingTerminatingNodes") ?? minor >= 31,
      ...(compat === "better" ? { isReady: () => this.teller.hasSynced } : {}),
      answered: (path, status) => this.metrics.probed(path, status),
    });
    this.events = new EventRecorder({
      sink: feed.events,
      wallMs,
      failed: (error, { reason }) =>
        log.warning("Event could not be written", { reason, err: String(error) }),
    });
    this.serviceHealth = this.makeServiceHealth();
    this.servers = new ProxyServers({
      configuration,
      pages: this.pages(),
      clock,
      log,
      listen,
      health: this.health,
      metrics: this.metrics,
      failed: (reason, error) => this.serverFailed(reason, error),
    });
    this.teller = new SyncTeller({
      hostname: parts.hostname,
      wallMs,
      log,
      health: this.health,
      metrics: this.metrics,
      events: this.events,
    });
    this.runner = new SyncRunner({
      clock,
      minIntervalMs: configuration.iptables.minSyncPeriod,
      maxIntervalMs: configuration.iptables.syncPeriod,
      burst: burstOf(minor),
      run: (isPeriodic) => this.sync(isPeriodic),
    });
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
    });
  }

  /** Pages of the metrics server that gates open (kube-proxy.md §5.3). */
  private pages(): ReadonlyMap<string, () => string> {
    const { flags, wallMs, kubernetes } = this.parts;
    const { minor } = kubernetes;
    const startedMs = wallMs();
    const pages = new Map<string, () => string>();
    if (minor < ZPAGES_SINCE) return pages;
    if (this.gates.get("ComponentFlagz") === true)
      pages.set("/flagz", () => flagzPage(flagsOf(minor), flags));
    if (this.gates.get("ComponentStatusz") === true)
      pages.set("/statusz", () => statuszPage({ startedMs, nowMs: wallMs(), minor }));
    return pages;
  }

  private makeServiceHealth(): ServiceHealthServers {
    const { log, listen, kubernetes } = this.parts;
    return new ServiceHealthServers({
      listen,
      minor: kubernetes.minor,
      isProxyHealthy: () => this.health.isHealthy,
      opened: ({ namespace, name, port }) =>
        log.info(2, "Opening healthcheck", { service: `${namespace}/${name}`, port }),
      closed: ({ namespace, name, port }) =>
        log.info(2, "Closing healthcheck", { service: `${namespace}/${name}`, port }),
      failed: ({ namespace, name, port }, error) => this.serviceHealthFailed(namespace, name, port, error),
    });
  }

  /** Runs until it fails for good, or until `stop`. */
  async run(): Promise<Ended> {
    // What is a fault of ours ends it, too, and is thrown to the caller.
    const [ended] = await Promise.all([this.finished, this.begin()]);
    return ended;
  }

  /** Ends it: what runs is let finish, load balancers stay as they are. */
  async stop(): Promise<void> {
    await this.end(STOPPED);
  }

  private async begin(): Promise<void> {
    const { compat, log, kubernetes, hostname, configuration } = this.parts;
    log.info(0, "Version info", { kubernetes: `1.${kubernetes.minor}`, compat, hostname });
    // Upstream's servers come after the network, so that whoever probes it sees a dead program for so long.
    if (compat === "better") this.servers.start();
    this.follow("Node", {
      changed: (_before, after) => this.nodeChanged(after),
      listed: () => this.node.listed(),
    });
    await this.waitForNode();
    if (!(await this.startProxy())) return;
    if (compat === "reference") this.servers.start();
    this.follow("Service", {
      changed: (before, after) => this.serviceChanged(before, after),
      listed: () => this.listed("services"),
    });
    this.follow("EndpointSlice", {
      changed: (before, after) => this.sliceChanged(before, after),
      listed: () => this.listed("slices"),
    });
    const regarding = nodeSubject(this.parts.hostname);
    this.events.record({
      type: "Normal",
      reason: "Starting",
      action: "StartKubeProxy",
      regarding,
      message: "",
    });
    log.info(3, "Record sync params", configuration.iptables);
    this.runner.start();
  }

  private follow<Kind extends FollowedKind>(
    kind: Kind,
    handler: {
      changed(before: KubeObjects[Kind] | undefined, after: KubeObjects[Kind] | undefined): void;
      listed(): void;
    },
  ): void {
    const { feed, log, kubernetes, hostname } = this.parts;
    if (this.ended !== undefined) return;
    this.unfollow.push(
      feed.follow(kind, selectionOf(kind, kubernetes.minor, hostname), {
        changed: (before, after) => handler.changed(before, after),
        listed: () => handler.listed(),
        failed: (error, retryInMs) =>
          log.error("Kubernetes cannot be read; it is tried again", {
            kind,
            retryInMs,
            err: error,
            code: error instanceof KubeError ? error.code : undefined,
          }),
      }),
    );
  }

  private async waitForNode(): Promise<void> {
    const { feed, log, hostname, configuration, compat } = this.parts;
    const isBound = !["0.0.0.0", "::"].includes(configuration.bindAddress);
    // Upstream waits for the Node also where its address is given already.
    await this.node.wait({ isNotNeeded: !feed.mayHaveNodesLater || (isBound && compat === "better") });
    const { addresses, isThere } = this.node;
    if (this.ended !== undefined) return;
    if (addresses.length > 0) log.info(0, "Successfully retrieved NodeIPs", { NodeIPs: addresses });
    else if (!isBound) {
      const advice = "Check --hostname-override, or give the address with --bind-address";
      log.error(isThere ? "The Node has no address" : "There is no such Node", { node: hostname, advice });
    }
    if (primaryAddress(configuration.bindAddress, addresses).isLoopback)
      log.info(
        0,
        "Can't determine this node's IP, assuming loopback; if this is incorrect, please set the --bind-address flag",
      );
  }

  /** @returns false when it has ended. */
  private async startProxy(): Promise<boolean> {
    const { log, hostInterfaces, configuration } = this.parts;
    const options = proxyOptions({
      ...this.parts,
      gates: this.gates,
      addresses: this.node.addresses,
      hostInterfaces: hostInterfaces(),
    });
    const { client, objects, waiter } = this;
    const proxy = await startProxier({ client, objects, options, waiter, log });
    if (proxy === undefined || this.ended !== undefined) return false;
    if (!(proxy instanceof KubeProxy)) {
      await this.fail(`unable to create proxier: ${proxy.message}`, proxy.code);
      return false;
    }
    this.proxy = proxy;
    const { families } = proxy;
    const mode = families.length > 1 ? "dual-stack" : "single-stack";
    log.info(0, `kube-proxy running in ${mode} mode`, { ipFamily: families.map(familyLabel).join(",") });
    for (const complaint of familyComplaints(configuration, families))
      log.error("Kube-proxy configuration may be incomplete or incorrect", { err: complaint });
    this.metrics.own.announce(families);
    return true;
  }

  private nodeChanged(node: Node | undefined): void {
    const { kubernetes, log, hostname } = this.parts;
    this.node.changed(node);
    this.health.setNode(node);
    if (this.proxy === undefined || kubernetes.minor < NODE_CHANGE_ENDS_SINCE) return;
    const difference = this.node.difference();
    if (difference === undefined) return;
    log.info(0, "The node changed; ending, to be started anew", { node: hostname });
    void this.fail(`the Node ${hostname} ${difference}`, undefined);
  }

  private serviceChanged(
    before: KubeObjects["Service"] | undefined,
    after: KubeObjects["Service"] | undefined,
  ): void {
    const position = this.position();
    this.objects.serviceChanged(before, after);
    this.changed("service", this.proxy?.families ?? [], position);
  }

  private sliceChanged(
    before: KubeObjects["EndpointSlice"] | undefined,
    after: KubeObjects["EndpointSlice"] | undefined,
  ): void {
    const position = this.position();
    this.objects.endpointSliceChanged(before, after);
    const slice = after ?? before;
    const family = slice === undefined ? undefined : familyOfSlice(slice);
    this.changed("endpoint", family === undefined ? [] : [family], position);
  }

  /** Where the trackers of all families stand: equal before and after a change that changes nothing for kube-proxy. */
  private position(): string {
    const positions = (this.proxy?.families ?? []).map((family) =>
      this.objects.tracker(family, this.behaviour).position(),
    );
    return JSON.stringify(positions);
  }

  private changed(kind: "service" | "endpoint", families: readonly IpFamily[], before: string): void {
    const isEffective = this.position() !== before;
    this.metrics.changed(kind, isEffective);
    if (isEffective && this.objects.isSynced) this.request(families);
  }

  private listed(what: "services" | "slices"): void {
    if (what === "services") this.objects.servicesListed();
    else this.objects.endpointSlicesListed();
    if (this.objects.isSynced) this.request(this.proxy?.families ?? []);
  }

  private request(families: readonly IpFamily[]): void {
    for (const family of families) {
      this.health.queued(family);
      this.metrics.queued(family, this.parts.wallMs());
    }
    this.runner.request();
  }

  private async sync(isPeriodic: boolean): Promise<number | undefined> {
    const { clock, compat, configuration, hostname } = this.parts;
    const { proxy } = this;
    if (proxy === undefined || !this.objects.isSynced) return undefined;
    const nowMs = clock.nowMs;
    const isDue = isPeriodic || nowMs - this.comparedAtMs >= configuration.iptables.syncPeriod;
    const comparesHns = compat === "better" && isDue;
    if (comparesHns) this.comparedAtMs = nowMs;
    this.metrics.takenOver();
    let beganMs = nowMs;
    const report = await proxy.sync({ nowMs, comparesHns }, (family) => {
      this.teller.tell(family, (clock.nowMs - beganMs) / 1_000);
      beganMs = clock.nowMs;
    });
    this.teller.keepOnly((namespace, name) => proxy.service(namespace, name).length > 0);
    await this.serviceHealth.sync(checkedServices(this.objects, proxy.families, this.behaviour, hostname));
    if (this.ended !== undefined) await this.serviceHealth.closeAll();
    const waits = report.families.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  private serviceHealthFailed(namespace: string, name: string, port: number, error: unknown): void {
    const { log, hostname } = this.parts;
    const why = error instanceof Error ? error.message : String(error);
    const message = `node ${hostname} failed to start healthcheck "${namespace}/${name}" on port ${port}: ${why}`;
    log.error("Failed to start healthcheck", {
      service: `${namespace}/${name}`,
      port,
      err: why,
      code: "kube-proxy-port-unavailable",
    });
    const regarding = serviceSubject(namespace, name);
    this.events.record({
      type: "Warning",
      reason: "FailedToStartServiceHealthcheck",
      action: "Listen",
      regarding,
      message,
    });
  }

  private serverFailed(reason: string, message: string): void {
    const regarding = nodeSubject(this.parts.hostname);
    this.events.record({ type: "Warning", reason, action: "StartKubeProxy", regarding, message });
    void this.fail(message, "kube-proxy-port-unavailable");
  }

  private async fail(message: string, code: string | undefined): Promise<void> {
    this.parts.log.error("Error running ProxyServer", { err: message, code });
    await this.end({ exitCode: 1, message });
  }

  private async end(ended: Ended): Promise<void> {
    if (this.ended !== undefined) return;
    this.ended = ended;
    this.waiter.end();
    for (const stop of this.unfollow) stop();
    const { clock, log } = this.parts;
    let isLate = false;
    const late = new Promise<void>((resolve) => {
      clock.schedule(END_WAIT_MS, {
        run: () => {
          isLate = true;
          resolve();
        },
      });
    });
    await Promise.race([this.close(), late]);
    if (isLate)
      log.warning(
        "Something still runs and is left alone: a call of HNS or of Kubernetes that is not answered",
      );
    this.finish(ended);
  }

  private async close(): Promise<void> {
    await this.servers.stop();
    await this.runner.stop();
    await this.serviceHealth.closeAll();
    await this.events.flush();
  }
}
