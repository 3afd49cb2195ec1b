/** A kube-proxy of one Windows node: start-up, and a proxier for each family (kube-proxy.md §2). */
import type { ByMode } from "#core/base/compat.ts";
import { assert, defined } from "#core/base/assert.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { type HnsVersion, hasFeature } from "#contracts/hcn/features.ts";
import { type IpFamily, familyOf, parseIp } from "#core/net/ip.ts";
import { type Behaviour, behaviourOf } from "./behaviour.ts";
import {
  type Attempt,
  type HnsFailure,
  attempt,
  explanationOf,
  failureText,
  isAway,
  isNotFound,
} from "./load-balancers/hns-failure.ts";
import {
  DEFAULT_HEALTHZ_PORT,
  DEFAULT_NODE_IP,
  DEFAULT_ROOT_ENDPOINT,
  type KubeProxyOptions,
} from "./options.ts";
import type { Proxier } from "./sync/proxier.ts";
import type { ProxierConfiguration } from "./sync/proxier-state.ts";
import { RepairingProxier } from "./sync/repairing.ts";
import { UpstreamProxier } from "./sync/upstream.ts";
import type { ProxyObjects } from "./tracking/proxy-objects.ts";
import { type ProxyNetwork, readProxyNetwork } from "./load-balancers/proxy-network.ts";
import type {
  FamilySyncReport,
  ServiceFinding,
  ServicePortStatus,
  SyncReport,
  SyncRequest,
} from "./report.ts";
import {
  type RefusedHns,
  checkHns,
  familiesOf,
  hostMacOf,
  networkNameOf,
  refuseNetwork,
  refuseOptions,
  removeOldLoadBalancers,
} from "./sync/start-up.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** How long kube-proxy waits before it looks again for its network, or for what an earlier run has left. */
const HNS_RETRY_MS = 1_000;
/** How long it lets an overlay network settle before it looks a second time. */
const OVERLAY_WAIT_MS = 10_000;

type ProxierClass = new (
  configuration: ProxierConfiguration,
  network: ProxyNetwork,
  canModify: boolean,
) => Proxier;

const PROXIERS: ByMode<ProxierClass> = {
  upstream: UpstreamProxier,
  hardened: RepairingProxier,
};

/** How far the start has come. */
export type StartResult =
  | { readonly state: "running" }
  /** Call `start` again after that time. */
  | { readonly state: "waiting"; readonly retryAfterMs: number; readonly finding: ServiceFinding }
  /** For good: upstream's process ends here. */
  | { readonly state: "failed"; readonly finding: ServiceFinding };

export interface KubeProxyParts {
  readonly client: HcnClient;
  /** Shared by all kube-proxies of a cluster. */
  readonly objects: ProxyObjects;
  readonly options: KubeProxyOptions;
}

type Phase = "new" | "cleaning" | "looking" | "settling" | "running" | "failed";

function cannotStart(message: string): StartResult {
  return { state: "failed", finding: { code: "kube-proxy-cannot-start", message } };
}

/** HNS is asked again. */
function waiting(message: string, failure: HnsFailure): StartResult {
  const finding: ServiceFinding = { code: explanationOf(failure, "hns-unreachable"), message };
  return { state: "waiting", retryAfterMs: HNS_RETRY_MS, finding };
}

/** Plain data, so that a world that holds it can be forked; the caller says when it starts and syncs. */
export class KubeProxy {
  private readonly client: HcnClient;
  private readonly objects: ProxyObjects;
  private readonly options: KubeProxyOptions;
  private readonly behaviour: Behaviour;
  private phase: Phase = "new";
  private failure: StartResult | undefined;
  private version: HnsVersion | undefined;
  private proxiers: readonly Proxier[] = [];
  private isSyncing = false;
  /** Load balancers that were on the machine at the start. */
  private found: readonly Guid[] = [];

  constructor({ client, objects, options }: KubeProxyParts) {
    this.client = client;
    this.objects = objects;
    this.options = options;
    this.behaviour = behaviourOf(options.kubernetes, options.compat);
  }

  /** Goes as far as it can without waiting. A running proxy stays so. */
  async start(): Promise<StartResult> {
    if (this.phase === "running") return { state: "running" };
    if (this.failure !== undefined) return this.failure;
    if (this.phase === "new") {
      const refused = refuseOptions(this.options);
      if (refused !== undefined) return this.fail(refused);
      const checked = await checkHns(this.client);
      if ("message" in checked) return this.refuseHns(checked);
      this.version = checked;
      this.phase = "cleaning";
    }
    if (this.phase === "cleaning") {
      const removed = await removeOldLoadBalancers(this.client, this.behaviour);
      if (!removed.ok && !this.behaviour.takesUnreadForNone)
        return waiting(
          WORDS.oldLoadBalancersUnlisted({ reason: failureText(removed.failure) }),
          removed.failure,
        );
      this.found = removed.ok ? removed.value : [];
      this.phase = "looking";
    }
    const name = networkNameOf(this.options);
    const read = await attempt(() => readProxyNetwork(this.client, name));
    return this.phase === "settling" ? this.startSettled(name, read) : this.startFound(name, read);
  }

  /** It has seen its overlay network and lets that settle, before it runs. */
  get isSettling(): boolean {
    return this.phase === "settling";
  }

  /** The families that are proxied, the primary one first; none before the start. */
  get families(): readonly IpFamily[] {
    return this.proxiers.map(({ family }) => family);
  }

  /** One sync of each family, each reported to `afterEach` when it is done. One call at a time. */
  async sync(
    request: SyncRequest = {},
    afterEach: (report: FamilySyncReport) => void = () => undefined,
  ): Promise<SyncReport> {
    assert(!this.isSyncing, "a kube-proxy syncs once at a time");
    if (this.phase !== "running" || !this.objects.isSynced) return { families: [this.notReady()] };
    this.isSyncing = true;
    try {
      const sync = async (proxier: Proxier): Promise<FamilySyncReport> => {
        const report = await proxier.sync(request);
        afterEach(report);
        return report;
      };
      if (this.options.syncsFamiliesAtOnce === true)
        return { families: await Promise.all(this.proxiers.map(sync)) };
      const families: FamilySyncReport[] = [];
      for (const proxier of this.proxiers) families.push(await sync(proxier));
      return { families };
    } finally {
      this.isSyncing = false;
    }
  }

  /** Every service port of every family as this node knows it. */
  services(): readonly ServicePortStatus[] {
    return this.proxiers.flatMap((proxier) => proxier.services());
  }

  /** The ports of one Service: empty when it is none that kube-proxy programs, or no sync has seen it. */
  service(namespace: string, name: string): readonly ServicePortStatus[] {
    return this.proxiers.flatMap((proxier) => proxier.service(namespace, name));
  }

  /** The proxier of a family; undefined before the start, and for a family that is not proxied. */
  proxier(family: IpFamily): Proxier | undefined {
    return this.proxiers.find((proxier) => proxier.family === family);
  }

  private fail(message: string): StartResult {
    this.phase = "failed";
    this.failure = cannotStart(message);
    return this.failure;
  }

  /** An HNS that is away says nothing of what it can do; upstream's process ends, and is started again. */
  private refuseHns({ message, failure }: RefusedHns): StartResult {
    const isFinal = failure === undefined || !isAway(failure) || this.behaviour.takesUnreadForNone;
    return isFinal ? this.fail(message) : waiting(message, failure);
  }

  /** Before the network was ever seen: any error means waiting, for ever if need be. */
  private startFound(name: string, read: Attempt<ProxyNetwork>): StartResult {
    if (!read.ok) {
      const message = `kube-proxy waits for the HNS network ${name}: ${failureText(read.failure)}`;
      const finding: ServiceFinding = { code: "kube-proxy-network-missing", message };
      return { state: "waiting", retryAfterMs: HNS_RETRY_MS, finding };
    }
    if (!read.value.isOverlay) return this.run(read.value);
    this.phase = "settling";
    const message = WORDS.overlayNetworkSettling({ name });
    const finding: ServiceFinding = { code: "kube-proxy-network-missing", message };
    return { state: "waiting", retryAfterMs: OVERLAY_WAIT_MS, finding };
  }

  private startSettled(name: string, read: Attempt<ProxyNetwork>): StartResult {
    if (read.ok) return this.run(read.value);
    const message = `could not find HNS network ${name}`;
    const isFinal = isNotFound(read.failure) || this.behaviour.takesUnreadForNone;
    return isFinal ? this.fail(message) : waiting(`${message}: ${failureText(read.failure)}`, read.failure);
  }

  private run(network: ProxyNetwork): StartResult {
    const { options, behaviour } = this;
    const version = defined(this.version, "HNS was asked before the network");
    const refused = refuseNetwork(options, behaviour, network, version);
    if (refused !== undefined) return this.fail(refused);
    const nodeIp = parseIp(options.nodeIp ?? DEFAULT_NODE_IP);
    const primary: IpFamily = nodeIp === undefined ? 4 : familyOf(nodeIp);
    this.proxiers = familiesOf(primary, behaviour, network, version).map((family) =>
      this.proxierOf(family, family === primary, network, version),
    );
    for (const proxier of this.proxiers) proxier.tookOverAtStart(this.found);
    this.found = [];
    this.phase = "running";
    return { state: "running" };
  }

  private proxierOf(
    family: IpFamily,
    isPrimary: boolean,
    network: ProxyNetwork,
    version: HnsVersion,
  ): Proxier {
    const { client, objects, options, behaviour } = this;
    // The second family's node address is the unspecified one on Windows.
    const unspecified = family === 4 ? "0.0.0.0" : "::";
    return new PROXIERS[options.compat](
      {
        client,
        behaviour,
        family,
        tracker: objects.tracker(family, behaviour),
        hostname: options.hostname,
        nodeIp: isPrimary ? (options.nodeIp ?? DEFAULT_NODE_IP) : unspecified,
        hostMac: hostMacOf(options) ?? "",
        sourceVip: options.sourceVip ?? "",
        enableDSR: options.enableDSR ?? false,
        hasDsr: hasFeature(version, "DSR"),
        hasSessionAffinity: hasFeature(version, "SessionAffinity"),
        rootEndpointName:
          (options.rootHnsEndpointName ?? "") === ""
            ? DEFAULT_ROOT_ENDPOINT
            : (options.rootHnsEndpointName ?? DEFAULT_ROOT_ENDPOINT),
        forwardsHealthCheck: options.forwardHealthCheckVip ?? false,
        healthzPort: options.healthzPort ?? DEFAULT_HEALTHZ_PORT,
        reads: options.reads ?? (behaviour.readsOnlyNew ? "new" : "all"),
      },
      network,
      hasFeature(version, "ModifyLoadbalancer"),
    );
  }

  private notReady(): FamilySyncReport {
    return {
      family: 4,
      outcome: "not-ready",
      programmed: [],
      notApplied: [],
      events: [],
      staleLoadBalancers: 0,
      repairs: [],
    };
  }
}
