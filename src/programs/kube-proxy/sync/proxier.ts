/** The proxier of one family on one node: one sync, step by step (kube-proxy.md §3.3). */
import type { Guid } from "#contracts/hcn/guid.ts";
import { getEndpointByName } from "#contracts/hcn/operations.ts";
import {
  NETWORK_LOST,
  type SyncPass,
  createProxyEndpoint,
  deleteProxyEndpoint,
} from "../load-balancers/back-ends.ts";
import { cleanUpAll, takeOverChanges } from "./take-over-changes.ts";
import type { ProxierConfiguration, ProxierState } from "./proxier-state.ts";
import {
  type Attempt,
  attempt,
  explanationOf,
  explanationOfSourceVip,
  failureText,
  isNotFound,
  isNotRunning,
  type HnsFailure,
} from "../load-balancers/hns-failure.ts";
import type { ToleratedFailure } from "../behaviour.ts";
import type { HnsRecords } from "../load-balancers/hns-records.ts";
import type { LoadBalancers } from "../load-balancers/load-balancers.ts";
import { programService } from "./program-service.ts";
import { type ProxyNetwork, readProxyNetwork } from "../load-balancers/proxy-network.ts";
import { type QueriedEndpoints, proxyEndpoint } from "../load-balancers/hns-endpoints.ts";
import { ReferenceCounts } from "../load-balancers/bound-endpoints.ts";
import type {
  Repair,
  FamilySyncReport,
  ServiceFinding,
  ProxyEvent,
  ServicePortStatus,
  SyncOutcome,
  SyncRequest,
} from "../report.ts";
import { type ServiceEntry, compareEntries, statusOf } from "../load-balancers/service-entry.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** How a sync ended before its work was done. */
interface EarlyEnd {
  readonly outcome: Exclude<SyncOutcome, "done" | "not-ready">;
  readonly finding: ServiceFinding;
}

/** What a sync came to. */
interface SyncWork {
  readonly end?: EarlyEnd;
  readonly worked: readonly ServiceEntry[];
  readonly events: readonly ProxyEvent[];
  readonly repairs: readonly Repair[];
}

const NO_WORK: SyncWork = Object.freeze({ worked: [], events: [], repairs: [] });

function unreadableHns(what: string, failure: HnsFailure): EarlyEnd {
  const message = `HNS does not ${what}: ${failureText(failure)}`;
  return { outcome: "hns-unreadable", finding: { code: explanationOf(failure, "hns-unreachable"), message } };
}

function silentHns(): EarlyEnd {
  const message = WORDS.hnsNotAnswering;
  return { outcome: "hns-unreadable", finding: { code: "hns-service-hangs", message } };
}

/** After this failure the network may be there all the same. */
function isTolerated(failure: HnsFailure, tolerated: ToleratedFailure): boolean {
  if (tolerated === "not-running") return isNotRunning(failure);
  return tolerated === "unanswered" && !isNotFound(failure);
}

/** The state of a proxier before everything: the first sync takes over all that there is. */
export function noState<Balancers extends LoadBalancers>(
  network: ProxyNetwork,
  records: HnsRecords,
  loadBalancers: Balancers,
): ProxierState & { readonly loadBalancers: Balancers } {
  return {
    network,
    position: { services: -1, endpoints: -1 },
    services: new Map(),
    endpoints: new Map(),
    entries: new Map(),
    bound: new Map(),
    pending: new Set(),
    counts: new ReferenceCounts(),
    loadBalancers,
    records,
    terminated: new Set(),
  };
}

/**
 * The steps of a sync, in upstream's order. What a proxier does beside them is said by `UpstreamProxier` (nothing) and by
 * `RepairingProxier`. Plain data: a world that holds a proxier can be forked.
 */
export abstract class Proxier<State extends ProxierState = ProxierState> {
  protected readonly configuration: ProxierConfiguration;
  protected readonly state: State;

  constructor(configuration: ProxierConfiguration, state: State) {
    this.configuration = configuration;
    this.state = state;
  }

  /** Hears of load balancers that were on the machine at the start. */
  abstract tookOverAtStart(ids: readonly Guid[]): void;

  /** A Service that is not applied has its turn. */
  protected abstract isDue(entry: ServiceEntry, nowMs: number | undefined): boolean;

  /** What could not be deleted has its turn. */
  protected abstract isCleanUpDue(nowMs: number | undefined): boolean;

  /** When something is to be tried again; undefined: in the next sync. */
  protected abstract retryAfterMs(nowMs: number | undefined): number | undefined;

  /** HNS is to be compared with what was programmed; called before it is read. */
  protected abstract beginsComparison(request: SyncRequest): boolean;

  /** HNS has been read. */
  protected abstract tookOverReading(compares: boolean): Promise<void>;

  /** The rest of the Services is left to a later sync. */
  protected abstract isStuck(): boolean;

  /** Remote endpoints that nothing counts on are deleted. */
  protected abstract removedEndpoints(queried: QueriedEndpoints): void;

  /** What was programmed stands. @returns what is put right. */
  protected abstract finish(
    queried: QueriedEndpoints,
    compares: boolean,
    nowMs: number | undefined,
  ): Promise<readonly Repair[]>;

  /** A sync is over. */
  protected abstract ended(isEarly: boolean, nowMs: number | undefined): void;

  get family(): 4 | 6 {
    return this.configuration.family;
  }

  /** Every service port that this node knows, in order. */
  services(): readonly ServicePortStatus[] {
    return this.ordered(this.state.entries.values()).map((entry) => statusOf(entry, this.family));
  }

  /** The ports of one Service. */
  service(namespace: string, name: string): readonly ServicePortStatus[] {
    const ports = this.state.services.get(`${namespace}/${name}`)?.ports ?? [];
    return ports
      .flatMap(({ key }) => this.state.entries.get(key) ?? [])
      .map((entry) => statusOf(entry, this.family));
  }

  /** How many service ports count on the remote endpoint of HNS. */
  referencesTo(endpoint: Guid): number {
    return this.state.counts.countOf(endpoint);
  }

  async sync(request: SyncRequest): Promise<FamilySyncReport> {
    const done = await this.work(request);
    this.ended(done.end !== undefined, request.nowMs);
    return this.report(done, request.nowMs);
  }

  /** One sync in upstream's order of steps (kube-proxy.md §3.3). */
  private async work(request: SyncRequest): Promise<SyncWork> {
    const { configuration, state } = this;
    const { nowMs } = request;
    const root = await this.findRootEndpoint();
    if (!root.ok)
      return {
        ...NO_WORK,
        end: unreadableHns(`return the endpoint ${configuration.rootEndpointName}`, root.failure),
      };
    const lost = await this.checkNetwork();
    if (lost !== undefined) return { ...NO_WORK, end: lost };
    const events = await takeOverChanges(configuration, state);
    const compares = this.beginsComparison(request);
    if (!compares && this.isIdle(nowMs)) return { ...NO_WORK, events };
    const queried = await this.readHns(compares);
    if ("outcome" in queried) return { ...NO_WORK, events, end: queried };
    const done = await this.workOn(queried, events, compares, nowMs, root.value);
    await this.removeDuplicates();
    return done;
  }

  /** What a sync does with what it has read of HNS. */
  private async workOn(
    queried: QueriedEndpoints,
    events: readonly ProxyEvent[],
    compares: boolean,
    nowMs: number | undefined,
    rootEndpoint: Guid | undefined,
  ): Promise<SyncWork> {
    const { configuration, state } = this;
    const noSource = await this.ensureSourceVip(queried);
    if (noSource !== undefined) return { ...NO_WORK, events, end: noSource };
    const worked = this.ordered(state.pending).filter((entry) => this.isDue(entry, nowMs));
    const end = await this.program({ configuration, state, queried, nowMs }, worked, rootEndpoint);
    if (end !== undefined) return { ...NO_WORK, events, end };
    await this.removeEndpoints(queried);
    if (this.isCleanUpDue(nowMs)) await state.loadBalancers.deleteStale();
    return { worked, events, repairs: await this.finish(queried, compares, nowMs) };
  }

  private async program(
    pass: SyncPass,
    entries: readonly ServiceEntry[],
    rootEndpoint: Guid | undefined,
  ): Promise<EarlyEnd | undefined> {
    for (const entry of entries) {
      if ((await programService(pass, entry, rootEndpoint)) === NETWORK_LOST)
        return this.loseNetwork("it vanished during the sync");
      if (this.isStuck()) return silentHns();
    }
    return undefined;
  }

  private ordered(entries: Iterable<ServiceEntry>): readonly ServiceEntry[] {
    return [...entries].sort(compareEntries);
  }

  private report({ end, worked, events, repairs }: SyncWork, nowMs: number | undefined): FamilySyncReport {
    const status = (entry: ServiceEntry): ServicePortStatus => statusOf(entry, this.family);
    const { pending, loadBalancers } = this.state;
    const retryAfterMs = this.retryAfterMs(nowMs);
    return {
      family: this.family,
      outcome: end?.outcome ?? "done",
      ...(end === undefined ? {} : { finding: end.finding }),
      programmed: worked.filter(({ isApplied }) => isApplied).map(status),
      notApplied: this.ordered(pending).map(status),
      events,
      staleLoadBalancers: loadBalancers.staleCount,
      repairs,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }

  /** Nothing would be done with what HNS has. */
  private isIdle(nowMs: number | undefined): boolean {
    if (this.configuration.reads !== "new") return false;
    const { pending, terminated, loadBalancers, records } = this.state;
    // Another program may have made a local endpoint with the address of a remote one.
    const mayHaveDuplicates = this.state.entries.size > 0 && !records.isUndisturbed;
    if (this.configuration.behaviour.duplicateRemoval === "at-once" && mayHaveDuplicates) return false;
    for (const entry of pending) if (this.isDue(entry, nowMs)) return false;
    return terminated.size + loadBalancers.staleCount === 0 || !this.isCleanUpDue(nowMs);
  }

  /** The endpoint behind forwarded health checks, where these are wanted and it is there. */
  private async findRootEndpoint(): Promise<Attempt<Guid | undefined>> {
    const { client, rootEndpointName, forwardsHealthCheck, behaviour } = this.configuration;
    const none: Attempt<undefined> = { ok: true, value: undefined };
    if (!forwardsHealthCheck || !behaviour.hasHealthCheckForward) return none;
    const found = await attempt(() => getEndpointByName(client, rootEndpointName));
    if (found.ok) return { ok: true, value: found.value.ID };
    return behaviour.takesUnreadForNone || isNotFound(found.failure) ? none : found;
  }

  private async checkNetwork(): Promise<EarlyEnd | undefined> {
    const { client, behaviour } = this.configuration;
    const { network } = this.state;
    const read = await attempt(() => readProxyNetwork(client, network.name, network));
    if (read.ok && read.value.id === network.id) {
      this.state.network = read.value;
      return undefined;
    }
    if (read.ok) {
      const lost = await this.loseNetwork("another network has its name");
      this.state.network = read.value;
      return lost;
    }
    if (isTolerated(read.failure, behaviour.toleratedFailure))
      return unreadableHns(`return the network ${network.name}`, read.failure);
    return this.loseNetwork(failureText(read.failure));
  }

  private async loseNetwork(reason: string): Promise<EarlyEnd> {
    await cleanUpAll(this.configuration, this.state);
    const message = `The HNS network ${this.state.network.name} is gone: ${reason}`;
    return { outcome: "network-gone", finding: { code: "kube-proxy-network-missing", message } };
  }

  private async readHns(compares: boolean): Promise<QueriedEndpoints | EarlyEnd> {
    const { behaviour } = this.configuration;
    const { records, network, loadBalancers } = this.state;
    const unreadable = await records.read(network.id, behaviour.identity);
    if (unreadable === undefined) {
      await this.tookOverReading(compares);
      loadBalancers.takeOver();
      this.state.counts.forgetGone(records.endpoints);
      return records.queried(behaviour, this.family);
    }
    const { what, failure } = unreadable;
    if (what === "load balancers") await this.removeDuplicates();
    return unreadableHns(`list its ${what}`, failure);
  }

  private async ensureSourceVip(queried: QueriedEndpoints): Promise<EarlyEnd | undefined> {
    const { sourceVip: ip, hostMac: mac } = this.configuration;
    const { network } = this.state;
    if (!network.isOverlay || queried.find(undefined, ip) !== undefined) return undefined;
    const endpoint = proxyEndpoint({ ip, mac, providerAddress: "", isLocal: true });
    const made = await createProxyEndpoint(this.configuration, this.state, endpoint);
    if (made.ok) return undefined;
    const message = `HNS refused the endpoint of the source VIP ${ip}: ${failureText(made.failure)}`;
    return { outcome: "source-vip-failed", finding: { code: explanationOfSourceVip(made.failure), message } };
  }

  /** Deletes the remote endpoints in whose place local ones are used, however the sync has ended. */
  private async removeDuplicates(): Promise<void> {
    const { configuration, state, family } = this;
    const { behaviour } = configuration;
    if (behaviour.duplicateRemoval !== "at-once") return;
    const { duplicates } = state.records.queried(behaviour, family);
    for (const id of new Set(duplicates.map((each) => each.id)))
      await deleteProxyEndpoint(configuration, state, id);
  }

  /** Deletes remote endpoints that no port counts on any more (kube-proxy.md §3.3, step 13). */
  private async removeEndpoints(queried: QueriedEndpoints): Promise<void> {
    const { configuration, state } = this;
    const { behaviour } = configuration;
    const { counts, terminated } = state;
    if (behaviour.removal === "with-release") {
      for (const id of counts.unreferenced()) counts.forget(id);
    } else if (behaviour.removal === "unreferenced") {
      for (const id of counts.unreferenced()) {
        await deleteProxyEndpoint(configuration, state, id);
        counts.forget(id);
      }
    } else {
      const gone = [...terminated].flatMap((ip) => queried.find(undefined, ip) ?? []);
      const duplicates = behaviour.duplicateRemoval === "unreferenced" ? queried.duplicates : [];
      for (const { id, isLocal } of new Map(
        [...gone, ...duplicates].map((each) => [each.id, each]),
      ).values()) {
        if (isLocal && behaviour.sparesLocalEndpoints) continue;
        if (counts.countOf(id) === 0 && (await deleteProxyEndpoint(configuration, state, id)))
          counts.forget(id);
      }
      this.removedEndpoints(queried);
    }
  }
}
