/** The proxier of one family on one node: one sync, step by step (kube-proxy.md §3.3). */
import type { Guid } from "../hcn/client.ts";
import { getEndpointByName } from "../hcn/operations.ts";
import { NETWORK_LOST, type SyncPass } from "./back-ends.ts";
import { cleanUpAll } from "./clean-up.ts";
import { attempt, explanationOf, failureText, isNotFound } from "./hns-failure.ts";
import { HnsRecords } from "./hns-records.ts";
import { LoadBalancers } from "./load-balancers.ts";
import { programService } from "./program-service.ts";
import type { ProxierConfiguration, ProxierState } from "./proxier-state.ts";
import { type ProxyNetwork, readProxyNetwork } from "./proxy-network.ts";
import type { QueriedEndpoints } from "./queried-endpoints.ts";
import { ReferenceCounts } from "./reference-counts.ts";
import { createProxyEndpoint, deleteProxyEndpoint, proxyEndpoint } from "./remote-endpoints.ts";
import type {
  FamilySyncReport,
  Finding,
  ProxyEvent,
  ServicePortStatus,
  SyncOutcome,
  SyncRequest,
} from "./report.ts";
import { type ServiceEntry, compareEntries, statusOf } from "./service-entry.ts";
import { takeOverChanges } from "./take-over-changes.ts";

/** How a sync ended before its work was done. */
interface EarlyEnd {
  readonly outcome: Exclude<SyncOutcome, "done" | "not-ready">;
  readonly finding: Finding;
}

/** Plain data: a world that holds a proxier can be forked. */
export class Proxier {
  private readonly configuration: ProxierConfiguration;
  private readonly state: ProxierState;

  constructor(configuration: ProxierConfiguration, network: ProxyNetwork, canModify: boolean) {
    const { client, behaviour } = configuration;
    this.configuration = configuration;
    const records = new HnsRecords(client, configuration.reads);
    this.state = {
      network,
      // Before everything: the first sync takes over all that there is.
      position: { services: -1, endpoints: -1 },
      services: new Map(),
      endpoints: new Map(),
      entries: new Map(),
      bound: new Map(),
      pending: new Set(),
      counts: new ReferenceCounts(),
      loadBalancers: new LoadBalancers(client, behaviour, canModify, records),
      records,
      terminated: new Set(),
    };
  }

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

  async sync(_request: SyncRequest): Promise<FamilySyncReport> {
    const rootEndpoint = await this.findRootEndpoint();
    const lost = await this.checkNetwork();
    if (lost !== undefined) return this.report(lost, [], []);
    const events = await takeOverChanges(this.configuration, this.state);
    if (this.isIdle()) return this.report(undefined, [], events);
    const queried = await this.readHns();
    if ("outcome" in queried) return this.report(queried, [], events);
    const pass: SyncPass = { configuration: this.configuration, state: this.state, queried };
    const worked = this.ordered(this.state.pending);
    const noSource = await this.ensureSourceVip(queried);
    if (noSource !== undefined) return this.report(noSource, [], events);
    for (const entry of worked) {
      if ((await programService(pass, entry, rootEndpoint)) !== NETWORK_LOST) continue;
      return this.report(await this.loseNetwork("it vanished during the sync"), [], events);
    }
    await this.removeEndpoints(queried);
    await this.state.loadBalancers.deleteStale();
    return this.report(undefined, worked, events);
  }

  private ordered(entries: Iterable<ServiceEntry>): readonly ServiceEntry[] {
    return [...entries].sort(compareEntries);
  }

  private report(
    end: EarlyEnd | undefined,
    worked: readonly ServiceEntry[],
    events: readonly ProxyEvent[],
  ): FamilySyncReport {
    const status = (entry: ServiceEntry): ServicePortStatus => statusOf(entry, this.family);
    return {
      family: this.family,
      outcome: end?.outcome ?? "done",
      ...(end === undefined ? {} : { finding: end.finding }),
      programmed: worked.filter(({ isApplied }) => isApplied).map(status),
      notApplied: this.ordered(this.state.pending).map(status),
      events,
      staleLoadBalancers: this.state.loadBalancers.staleCount,
      repairs: [],
    };
  }

  /** Nothing would be done with what HNS has. */
  private isIdle(): boolean {
    const { pending, terminated, loadBalancers } = this.state;
    return (
      this.configuration.reads === "new" &&
      pending.size === 0 &&
      terminated.size === 0 &&
      loadBalancers.staleCount === 0
    );
  }

  private async findRootEndpoint(): Promise<Guid | undefined> {
    const { client, rootEndpointName, forwardsHealthCheck, behaviour } = this.configuration;
    if (!forwardsHealthCheck || !behaviour.hasHealthCheckForward) return undefined;
    const found = await attempt(() => getEndpointByName(client, rootEndpointName));
    return found.ok ? found.value.ID : undefined;
  }

  private async checkNetwork(): Promise<EarlyEnd | undefined> {
    const { client, behaviour } = this.configuration;
    const { network } = this.state;
    const read = await attempt(() => readProxyNetwork(client, network.name));
    if (read.ok && read.value.id === network.id) {
      this.state.network = read.value;
      return undefined;
    }
    if (read.ok) {
      const lost = await this.loseNetwork("another network has its name");
      this.state.network = read.value;
      return lost;
    }
    if (behaviour.toleratesHnsFailure && !isNotFound(read.failure)) {
      const message = `HNS does not tell the network ${network.name}: ${failureText(read.failure)}`;
      return {
        outcome: "hns-unreadable",
        finding: { code: explanationOf(read.failure, "hns-unreachable"), message },
      };
    }
    return this.loseNetwork(failureText(read.failure));
  }

  private async loseNetwork(reason: string): Promise<EarlyEnd> {
    await cleanUpAll(this.configuration, this.state);
    const message = `The HNS network ${this.state.network.name} is gone: ${reason}`;
    return { outcome: "network-gone", finding: { code: "kube-proxy-network-missing", message } };
  }

  private async readHns(): Promise<QueriedEndpoints | EarlyEnd> {
    const { behaviour } = this.configuration;
    const { records, network, loadBalancers } = this.state;
    const unreadable = await records.read(network.id, behaviour.identity);
    if (unreadable === undefined) {
      loadBalancers.takeOver();
      return records.queried(behaviour, this.family);
    }
    const { what, failure } = unreadable;
    const message = `HNS does not list its ${what}: ${failureText(failure)}`;
    return {
      outcome: "hns-unreadable",
      finding: { code: explanationOf(failure, "hns-unreachable"), message },
    };
  }

  private async ensureSourceVip(queried: QueriedEndpoints): Promise<EarlyEnd | undefined> {
    const { sourceVip: ip, hostMac: mac } = this.configuration;
    const { network } = this.state;
    if (!network.isOverlay || queried.find(undefined, ip) !== undefined) return undefined;
    const endpoint = proxyEndpoint({ ip, mac, providerAddress: "", isLocal: true });
    const made = await createProxyEndpoint(this.configuration, this.state, endpoint);
    if (made.ok) return undefined;
    const message = `HNS refused the endpoint of the source VIP ${ip}: ${failureText(made.failure)}`;
    const code = explanationOf(made.failure, "service-remote-endpoint-refused");
    return { outcome: "source-vip-failed", finding: { code, message } };
  }

  /** Deletes remote endpoints that nobody counts on any more (kube-proxy.md §3.3, step 13). */
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
      for (const { id, isLocal } of new Map(
        [...gone, ...queried.duplicates].map((each) => [each.id, each]),
      ).values()) {
        if (isLocal && behaviour.sparesLocalEndpoints) continue;
        if (counts.countOf(id) === 0 && (await deleteProxyEndpoint(configuration, state, id)))
          counts.forget(id);
      }
      if (behaviour.retriesPartialFailure) terminated.clear();
    }
  }
}
