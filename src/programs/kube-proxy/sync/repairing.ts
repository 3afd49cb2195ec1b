/**
 * The sync that repairs: it compares HNS with what was programmed and puts it right, waits longer after each failure, and
 * ends when HNS does not answer.
 */
import type { Guid } from "#contracts/hcn/guid.ts";
import type { QueriedEndpoints } from "../load-balancers/hns-endpoints.ts";
import { HnsRecords } from "../load-balancers/hns-records.ts";
import type { ProxyNetwork } from "../load-balancers/proxy-network.ts";
import { RepairingLoadBalancers } from "../load-balancers/repairing-load-balancers.ts";
import {
  type ServiceEntry,
  forgetFailures,
  isDue,
  nextRetryMs,
  noFailures,
  noteFailure,
} from "../load-balancers/service-entry.ts";
import type { FamilySyncReport, Repair, SyncRequest } from "../report.ts";
import {
  Damage,
  type RepairingState,
  findChanges,
  removeLeft,
  sweepEndpoints,
  takeOverLosses,
  takeRepairs,
} from "./comparison.ts";
import { Proxier, noState } from "./proxier.ts";
import type { ProxierConfiguration } from "./proxier-state.ts";

export class RepairingProxier extends Proxier<RepairingState> {
  constructor(configuration: ProxierConfiguration, network: ProxyNetwork, canModify: boolean) {
    const { client, behaviour, reads } = configuration;
    const records = new HnsRecords(client, reads, true);
    const loadBalancers = new RepairingLoadBalancers(client, behaviour, canModify, records);
    super(configuration, {
      ...noState(network, records, loadBalancers),
      damage: new Damage(),
      cleanUpBackOff: noFailures(),
      endBackOff: noFailures(),
    });
  }

  override tookOverAtStart(ids: readonly Guid[]): void {
    this.state.loadBalancers.tookOverAtStart(ids);
  }

  override async sync(request: SyncRequest): Promise<FamilySyncReport> {
    const report = await super.sync(request);
    const isSweepDue = this.hasNothing() && !this.state.damage.isSwept;
    if (request.comparesHns !== true || report.outcome !== "done" || !isSweepDue) return report;
    const swept = await sweepEndpoints(this.configuration, this.state);
    return { ...report, repairs: [...report.repairs, ...swept] };
  }

  protected override isDue(entry: ServiceEntry, nowMs: number | undefined): boolean {
    return !entry.isWaiting && isDue(entry.backOff, nowMs);
  }

  protected override isCleanUpDue(nowMs: number | undefined): boolean {
    return isDue(this.state.cleanUpBackOff, nowMs);
  }

  protected override retryAfterMs(nowMs: number | undefined): number | undefined {
    const { pending, cleanUpBackOff, endBackOff } = this.state;
    const backOffs = [...pending].filter(({ isWaiting }) => !isWaiting).map(({ backOff }) => backOff);
    return nextRetryMs([...backOffs, cleanUpBackOff, endBackOff], nowMs);
  }

  protected override beginsComparison({ comparesHns }: SyncRequest): boolean {
    const { records, damage, entries } = this.state;
    if (entries.size > 0) damage.isSwept = false;
    // The reading that follows finds what came and went, not what was changed in place.
    if (!records.isUndisturbed) damage.isThrough = false;
    if (comparesHns !== true || this.isUndisturbed()) return false;
    this.state.loadBalancers.holders.beginComparison();
    return true;
  }

  protected override async tookOverReading(compares: boolean): Promise<void> {
    takeOverLosses(this.configuration, this.state);
    if (compares) await findChanges(this.configuration, this.state);
  }

  /** The calls that HNS leaves without an answer each take their time. */
  protected override isStuck(): boolean {
    return this.state.records.isSilent;
  }

  /** What could not be deleted stays noted. */
  protected override removedEndpoints(queried: QueriedEndpoints): void {
    const { terminated, counts } = this.state;
    for (const ip of terminated) {
      const found = queried.find(undefined, ip);
      const isLeft = found !== undefined && !found.isLocal && counts.countOf(found.id) === 0;
      if (!isLeft) terminated.delete(ip);
    }
  }

  protected override async finish(
    queried: QueriedEndpoints,
    compares: boolean,
    nowMs: number | undefined,
  ): Promise<readonly Repair[]> {
    const { configuration, state } = this;
    const repairs = takeRepairs(configuration, state, queried);
    const { cleanUpBackOff, loadBalancers, terminated } = state;
    if (loadBalancers.staleCount + terminated.size === 0) forgetFailures(cleanUpBackOff);
    else if (isDue(cleanUpBackOff, nowMs)) noteFailure(cleanUpBackOff, nowMs);
    return compares ? [...repairs, ...(await removeLeft(configuration, state))] : repairs;
  }

  protected override ended(isEarly: boolean, nowMs: number | undefined): void {
    const { endBackOff } = this.state;
    if (isEarly) noteFailure(endBackOff, nowMs);
    else forgetFailures(endBackOff);
  }

  /** A comparison would find nothing but endpoints to sweep. */
  private isUndisturbed(): boolean {
    const { records, damage } = this.state;
    return this.hasNothing() || (damage.isThrough && records.isUndisturbed);
  }

  /** Its family has no Services, and had none that left load balancers. */
  private hasNothing(): boolean {
    const { entries, loadBalancers } = this.state;
    return entries.size === 0 && loadBalancers.holders.isBlank;
  }
}
