/** Upstream's sync: what was programmed is taken to be there, and what failed is tried again in every sync. */
import type { ProxyNetwork } from "../load-balancers/proxy-network.ts";
import { HnsRecords } from "../load-balancers/hns-records.ts";
import { UpstreamLoadBalancers } from "../load-balancers/upstream-load-balancers.ts";
import type { Repair } from "../report.ts";
import { Proxier, noState } from "./proxier.ts";
import type { ProxierConfiguration } from "./proxier-state.ts";

export class UpstreamProxier extends Proxier {
  constructor(configuration: ProxierConfiguration, network: ProxyNetwork, canModify: boolean) {
    const { client, behaviour, reads } = configuration;
    const records = new HnsRecords(client, reads, false);
    const loadBalancers = new UpstreamLoadBalancers(client, behaviour, canModify, records);
    super(configuration, noState(network, records, loadBalancers));
  }

  override tookOverAtStart(): void {}

  protected override isDue(): boolean {
    return true;
  }

  protected override isCleanUpDue(): boolean {
    return true;
  }

  protected override retryAfterMs(): undefined {}

  protected override beginsComparison(): boolean {
    return false;
  }

  protected override async tookOverReading(): Promise<void> {}

  protected override isStuck(): boolean {
    return false;
  }

  protected override removedEndpoints(): void {}

  protected override async finish(): Promise<readonly Repair[]> {
    return [];
  }

  protected override ended(): void {}
}
