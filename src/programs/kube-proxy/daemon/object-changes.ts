/** Changes of Services and EndpointSlices: to the trackers, to what counts them, and to the sync. */
import type { KubeObjects } from "#contracts/kubernetes/objects.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { Behaviour } from "../behaviour.ts";
import type { ProxyObjects } from "../tracking/proxy-objects.ts";
import { familyOfSlice } from "../tracking/tracked-endpoints.ts";
import type { ProxyHealth } from "./health/proxy-health.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";

export interface ObjectChangesParts {
  readonly objects: ProxyObjects;
  readonly behaviour: Behaviour;
  readonly health: ProxyHealth;
  readonly metrics: ProxyMetrics;
  readonly wallMs: () => number;
  /** Families that are proxied; none before the start. */
  readonly families: () => readonly IpFamily[];
  /** Something is to be programmed. */
  readonly requested: () => void;
}

export class ObjectChanges {
  private readonly parts: ObjectChangesParts;

  constructor(parts: ObjectChangesParts) {
    this.parts = parts;
  }

  serviceChanged(
    before: KubeObjects["Service"] | undefined,
    after: KubeObjects["Service"] | undefined,
  ): void {
    const position = this.position();
    this.parts.objects.serviceChanged(before, after);
    this.changed("service", this.parts.families(), position);
  }

  sliceChanged(
    before: KubeObjects["EndpointSlice"] | undefined,
    after: KubeObjects["EndpointSlice"] | undefined,
  ): void {
    const position = this.position();
    this.parts.objects.endpointSliceChanged(before, after);
    const slice = after ?? before;
    const family = slice === undefined ? undefined : familyOfSlice(slice);
    this.changed("endpoint", family === undefined ? [] : [family], position);
  }

  /** All of a kind have been reported. */
  listed(what: "services" | "slices"): void {
    const { objects, families } = this.parts;
    if (what === "services") objects.servicesListed();
    else objects.endpointSlicesListed();
    if (objects.isSynced) this.request(families());
  }

  /** Where the trackers of all families stand: equal before and after a change that changes nothing for kube-proxy. */
  private position(): string {
    const { objects, behaviour, families } = this.parts;
    return JSON.stringify(families().map((family) => objects.tracker(family, behaviour).position()));
  }

  private changed(kind: "service" | "endpoint", families: readonly IpFamily[], before: string): void {
    const isEffective = this.position() !== before;
    this.parts.metrics.changed(kind, isEffective);
    if (isEffective && this.parts.objects.isSynced) this.request(families);
  }

  private request(families: readonly IpFamily[]): void {
    const { health, metrics, wallMs, requested } = this.parts;
    for (const family of families) {
      health.queued(family);
      metrics.queued(family, wallMs());
    }
    requested();
  }
}
