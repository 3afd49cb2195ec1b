/**
 * kube-proxy as it runs: start-up and waits, objects of Kubernetes, syncs, servers, events (kube-proxy.md §2, §5, §6). It
 * sees the machine through values: clock, log, listeners, HNS, objects.
 */
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KubeObjects, Node } from "#contracts/kubernetes/objects.ts";
import { type Behaviour, behaviourOf } from "../behaviour.ts";
import { familyComplaints } from "../configuration/validate.ts";
import { KubeProxy } from "../kube-proxy.ts";
import { ProxyObjects } from "../tracking/proxy-objects.ts";
import { nodeSubject } from "./event-recorder.ts";
import { type Instruments, type ProxyServerParts, makeInstruments } from "./instruments.ts";
import { ObjectChanges } from "./object-changes.ts";
import { type FollowedKind, selectionOf } from "./object-feed.ts";
import { familyLabel } from "./proxy-metrics.ts";
import { OwnNode, Waiter, primaryAddress } from "./own-node.ts";
import { checkedServices } from "./health/service-health.ts";
import { SyncRunner, burstOf } from "./sync-runner.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { listNetworks } from "#contracts/hcn/operations.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import type { KubeProxyConfiguration } from "../configuration/configuration.ts";
import { portOf } from "../configuration/go-texts.ts";
import { attempt, failureText, isAway } from "../load-balancers/hns-failure.ts";
import type { ProxyInterface, KubeProxyOptions } from "../options.ts";
import type { ServiceFinding } from "../report.ts";
import type { Klog } from "./klog.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

// From a configuration to a proxier that runs: waits for HNS and its network (kube-proxy.md §2.1, §2.2).

/** Waits for an HNS that does not answer: doubled from the first to the last. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/** What options are made of, beside the configuration. */
interface OptionSources extends Pick<KubeProxyOptions, "kubernetes" | "compat" | "hostname" | "kubeNetwork"> {
  readonly configuration: KubeProxyConfiguration;
  readonly gates: ReadonlyMap<string, boolean>;
  /** Of the Node object. */
  readonly addresses: readonly string[];
  readonly hostInterfaces: readonly ProxyInterface[];
}

/** The options of the proxier. */
function proxyOptions(sources: OptionSources): KubeProxyOptions {
  const { configuration, kubernetes, compat, hostname, kubeNetwork, gates, addresses, hostInterfaces } =
    sources;
  const { winkernel, bindAddress, healthzBindAddress } = configuration;
  return {
    kubernetes,
    compat,
    hostname,
    nodeIp: primaryAddress(bindAddress, addresses).address,
    networkName: winkernel.networkName,
    kubeNetwork,
    sourceVip: winkernel.sourceVip,
    enableDSR: winkernel.enableDSR,
    featureGates: { WinDSR: gates.get("WinDSR"), WinOverlay: gates.get("WinOverlay") },
    rootHnsEndpointName: winkernel.rootHnsEndpointName,
    forwardHealthCheckVip: winkernel.forwardHealthCheckVip,
    healthzPort: portOf(healthzBindAddress),
    hostInterfaces,
  };
}

interface StartParts {
  readonly client: HcnClient;
  readonly objects: ProxyObjects;
  readonly options: KubeProxyOptions;
  readonly behaviour: Behaviour;
  readonly waiter: Waiter;
  readonly log: Klog;
}

async function waitForHns({ client, waiter, log }: StartParts): Promise<void> {
  for (let waitMs = RETRY_FIRST_MS; !waiter.isEnded; waitMs = Math.min(waitMs * 2, RETRY_MAX_MS)) {
    const version = await attempt(() => getHnsVersion(client));
    if (version.ok || !isAway(version.failure)) return;
    log.error("HNS does not answer; it is tried again", {
      reason: failureText(version.failure),
      retryInMs: waitMs,
      code: "hns-unreachable",
    });
    await waiter.sleep(waitMs);
  }
}

/** The names that HNS has, beside the one that is waited for: most often one of them was meant. */
async function networksOf(client: HcnClient): Promise<readonly string[] | undefined> {
  const listed = await attempt(() => listNetworks(client));
  return listed.ok ? listed.value.map(({ Name }) => Name ?? "") : undefined;
}

/** A proxier that runs; what keeps it from starting; undefined when the waits were ended. */
async function startProxier(parts: StartParts): Promise<KubeProxy | ServiceFinding | undefined> {
  const { client, objects, options, behaviour, waiter, log } = parts;
  if (behaviour.process.waitsForHns) await waitForHns(parts);
  const proxy = new KubeProxy({ client, objects, options });
  let said = "";
  while (!waiter.isEnded) {
    const result = await proxy.start();
    if (result.state === "failed") return result.finding;
    if (result.state === "running") return proxy;
    const { message, code } = result.finding;
    if (said !== message) log.warning(message, { networks: await networksOf(client), code });
    said = message;
    await waiter.sleep(result.retryAfterMs);
  }
  return undefined;
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

const STOPPED: Ended = { exitCode: 0, message: undefined };

export class ProxyServer {
  private readonly parts: ProxyServerParts;
  private readonly behaviour: Behaviour;
  private readonly objects = new ProxyObjects();
  private readonly instruments: Instruments;
  private readonly changes: ObjectChanges;
  private readonly runner: SyncRunner;
  private readonly unfollow: (() => void)[] = [];
  private proxy: KubeProxy | undefined;
  private readonly waiter: Waiter;
  private readonly node: OwnNode;
  private comparedAtMs = Number.NEGATIVE_INFINITY;
  private ended: Ended | undefined;
  private finish: (ended: Ended) => void = () => undefined;
  private readonly finished: Promise<Ended>;

  constructor(parts: ProxyServerParts) {
    const { configuration, kubernetes, compat, clock, wallMs } = parts;
    this.parts = parts;
    this.waiter = new Waiter(clock);
    this.node = new OwnNode(clock, this.waiter);
    this.behaviour = behaviourOf(kubernetes, compat);
    const { objects, behaviour } = this;
    this.instruments = makeInstruments({
      parts,
      objects,
      behaviour,
      serverFailed: (message) => void this.fail(message, "kube-proxy-port-unavailable"),
    });
    const { health, metrics } = this.instruments;
    this.changes = new ObjectChanges({
      objects,
      behaviour,
      health,
      metrics,
      wallMs,
      families: () => this.proxy?.families ?? [],
      requested: () => this.runner.request(),
    });
    this.runner = new SyncRunner({
      clock,
      minIntervalMs: configuration.iptables.minSyncPeriod,
      maxIntervalMs: configuration.iptables.syncPeriod,
      burst: burstOf(kubernetes.minor),
      run: (isPeriodic) => this.sync(isPeriodic),
    });
    this.finished = new Promise((resolve) => {
      this.finish = resolve;
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
    // Upstream's servers come after the network, so that probes see a dead program for so long.
    if (this.behaviour.process.servesAtOnce) this.instruments.servers.start();
    this.follow("Node", {
      changed: (_before, after) => this.nodeChanged(after),
      listed: () => this.node.listed(),
    });
    await this.waitForNode();
    if (!(await this.startProxy())) return;
    if (!this.behaviour.process.servesAtOnce) this.instruments.servers.start();
    this.follow("Service", {
      changed: (before, after) => this.changes.serviceChanged(before, after),
      listed: () => this.changes.listed("services"),
    });
    this.follow("EndpointSlice", {
      changed: (before, after) => this.changes.sliceChanged(before, after),
      listed: () => this.changes.listed("slices"),
    });
    const regarding = nodeSubject(this.parts.hostname);
    this.instruments.events.record({
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
    const { feed, log, hostname } = this.parts;
    if (this.ended !== undefined) return;
    this.unfollow.push(
      feed.follow(kind, selectionOf(kind, this.behaviour, hostname), {
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
    const { feed, log, hostname, configuration } = this.parts;
    const isBound = !["0.0.0.0", "::"].includes(configuration.bindAddress);
    const { needsNode } = this.behaviour.process;
    await this.node.wait({ isNotNeeded: !feed.mayHaveNodesLater || (isBound && !needsNode) });
    const { addresses, isThere } = this.node;
    if (this.ended !== undefined) return;
    if (addresses.length > 0) log.info(0, "Successfully retrieved NodeIPs", { NodeIPs: addresses });
    else if (!isBound) {
      const advice = "Check --hostname-override, or give the address with --bind-address";
      log.error(isThere ? "The Node has no address" : "There is no such Node", { node: hostname, advice });
    }
    if (primaryAddress(configuration.bindAddress, addresses).isLoopback) log.info(0, WORDS.nodeIpUnknown);
  }

  /** @returns false when it has ended. */
  private async startProxy(): Promise<boolean> {
    const { log, hostInterfaces, configuration } = this.parts;
    const { syncsFamiliesAtOnce } = this.behaviour.process;
    const sources = {
      ...this.parts,
      gates: this.instruments.gates,
      addresses: this.node.addresses,
      hostInterfaces: hostInterfaces(),
    };
    const options = { ...proxyOptions(sources), syncsFamiliesAtOnce };
    const { objects, waiter, instruments } = this;
    const { client } = instruments;
    const proxy = await startProxier({ client, objects, options, waiter, log, behaviour: this.behaviour });
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
    this.instruments.metrics.own.announce(families);
    return true;
  }

  private nodeChanged(node: Node | undefined): void {
    const { kubernetes, log, hostname } = this.parts;
    this.node.changed(node);
    this.instruments.health.setNode(node);
    if (this.proxy === undefined || kubernetes.minor < NODE_CHANGE_ENDS_SINCE) return;
    const difference = this.node.difference();
    if (difference === undefined) return;
    log.info(0, "The node changed; exiting so that the service manager restarts kube-proxy", {
      node: hostname,
    });
    void this.fail(`the Node ${hostname} ${difference}`, undefined);
  }

  private async sync(isPeriodic: boolean): Promise<number | undefined> {
    const { clock, configuration, hostname } = this.parts;
    const { proxy } = this;
    if (proxy === undefined || !this.objects.isSynced) return undefined;
    const nowMs = clock.nowMs;
    const isDue = isPeriodic || nowMs - this.comparedAtMs >= configuration.iptables.syncPeriod;
    const comparesHns = this.behaviour.process.comparesHns && isDue;
    if (comparesHns) this.comparedAtMs = nowMs;
    this.instruments.metrics.takenOver();
    let beganMs = nowMs;
    const report = await proxy.sync({ nowMs, comparesHns }, (family) => {
      this.instruments.reporter.report(family, (clock.nowMs - beganMs) / 1_000);
      if (!this.behaviour.process.syncsFamiliesAtOnce) beganMs = clock.nowMs;
    });
    this.instruments.reporter.keepOnly((namespace, name) => proxy.service(namespace, name).length > 0);
    await this.instruments.serviceHealth.sync(
      checkedServices(this.objects, proxy.families, this.behaviour, hostname),
    );
    if (this.ended !== undefined) await this.instruments.serviceHealth.closeAll();
    const waits = report.families.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    return waits.length === 0 ? undefined : Math.min(...waits);
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
    if (isLate) log.warning(WORDS.callAbandoned);
    this.finish(ended);
  }

  private async close(): Promise<void> {
    await this.instruments.servers.stop();
    await this.runner.stop();
    await this.instruments.serviceHealth.closeAll();
    await this.instruments.events.flush();
  }
}
