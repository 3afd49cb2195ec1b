/**
 * The Services and EndpointSlices of a cluster as kube-proxies see them: fed once for each event, from wherever Kubernetes
 * objects come from, and read by any number of nodes. What an object means is worked out once, not once for each node.
 */
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import type { IpFamily } from "#core/net/ip.ts";
import type { KubeReader } from "#contracts/kubernetes/source.ts";
import type { Behaviour } from "../behaviour.ts";
import { FamilyTracker } from "./family-tracker.ts";
import { readingRulesOf } from "./tracked-service.ts";

type Labelled = Service | EndpointSlice;

function keyOf(object: Labelled): string {
  return `${object.metadata.namespace}/${object.metadata.name}`;
}

export class ProxyObjects {
  private readonly services: Map<string, Service> = new Map();
  private readonly slices: Map<string, EndpointSlice> = new Map();
  private readonly trackers: Map<string, FamilyTracker> = new Map();
  private hasServices = false;
  private hasSlices = false;

  /** A Service was added (no `previous`), changed, or removed (no `current`). */
  serviceChanged(previous: Service | undefined, current: Service | undefined): void {
    const object = current ?? previous;
    if (object !== undefined) this.setService(keyOf(object), current);
  }

  /** An EndpointSlice was added (no `previous`), changed, or removed (no `current`). */
  endpointSliceChanged(previous: EndpointSlice | undefined, current: EndpointSlice | undefined): void {
    const object = current ?? previous;
    if (object !== undefined) this.setSlice(keyOf(object), current);
  }

  /** These are all Services: what is not among them is gone. Without `items`: all have been reported one by one. */
  servicesListed(items?: readonly Service[]): void {
    this.hasServices = true;
    if (items === undefined) return;
    const listed = new Set(items.map((item) => keyOf(item)));
    for (const key of this.services.keys()) if (!listed.has(key)) this.setService(key, undefined);
    for (const item of items) this.serviceChanged(undefined, item);
  }

  /** These are all EndpointSlices: what is not among them is gone. Without `items`: all have been reported one by one. */
  endpointSlicesListed(items?: readonly EndpointSlice[]): void {
    this.hasSlices = true;
    if (items === undefined) return;
    const listed = new Set(items.map((item) => keyOf(item)));
    for (const key of this.slices.keys()) if (!listed.has(key)) this.setSlice(key, undefined);
    for (const item of items) this.endpointSliceChanged(undefined, item);
  }

  /** Until both kinds have been listed, no kube-proxy programs anything (kube-proxy.md §2.5). */
  get isSynced(): boolean {
    return this.hasServices && this.hasSlices;
  }

  /** What kube-proxies of `behaviour` share for one family. */
  tracker(family: IpFamily, behaviour: Behaviour): FamilyTracker {
    const rules = readingRulesOf(behaviour);
    const key = `${family} ${JSON.stringify(rules)}`;
    const known = this.trackers.get(key);
    if (known !== undefined) return known;
    const tracker = new FamilyTracker(family, Object.freeze(rules));
    for (const [name, service] of this.services) tracker.setService(name, service);
    for (const slice of this.slices.values()) tracker.setSlice(undefined, slice);
    this.trackers.set(key, tracker);
    return tracker;
  }

  private setService(key: string, service: Service | undefined): void {
    if (service === undefined) this.services.delete(key);
    else this.services.set(key, service);
    for (const tracker of this.trackers.values()) tracker.setService(key, service);
  }

  private setSlice(key: string, slice: EndpointSlice | undefined): void {
    // What the trackers hold is what was seen here, whatever a caller calls previous.
    const before = this.slices.get(key);
    if (slice === undefined) this.slices.delete(key);
    else this.slices.set(key, slice);
    for (const tracker of this.trackers.values()) tracker.setSlice(before, slice);
  }
}

/**
 * Brings all Services and EndpointSlices of `source` to `objects` and keeps them there. `onChange` is called after
 * each later event: the caller runs syncs when it likes.
 * @returns what ends it.
 * @throws KubeError when the source has forgotten the changes between list and watch: call again, which also takes
 * away what is gone since.
 */
export async function followSource(
  source: KubeReader,
  objects: ProxyObjects,
  onChange: () => void = () => undefined,
): Promise<() => void> {
  const services = await source.list("Service");
  objects.servicesListed(services.items);
  const slices = await source.list("EndpointSlice");
  objects.endpointSlicesListed(slices.items);
  const stopServices = source.watch("Service", services.resourceVersion, (event) => {
    objects.serviceChanged(event.object, event.type === "DELETED" ? undefined : event.object);
    onChange();
  });
  try {
    const stopSlices = source.watch("EndpointSlice", slices.resourceVersion, (event) => {
      objects.endpointSliceChanged(event.object, event.type === "DELETED" ? undefined : event.object);
      onChange();
    });
    return () => {
      stopServices();
      stopSlices();
    };
  } catch (error) {
    stopServices();
    throw error;
  }
}
