/**
 * Services and endpoints of one address family as one version of kube-proxy reads them: what all nodes share. A node
 * keeps the values that it has programmed and asks for what changed since (kube-proxy.md §3.1); a value that changed
 * and changed back is no change.
 */
import { SERVICE_NAME_LABEL } from "#contracts/kubernetes/labels.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import type { IpFamily } from "#core/net/ip.ts";
import {
  type TrackedEndpoints,
  type TrackedSlice,
  familyOfSlice,
  joinSlices,
  trackSlice,
} from "./tracked-endpoints.ts";
import {
  type ReadingRules,
  type TrackedService,
  healthCheckPortOf,
  trackService,
} from "./tracked-service.ts";

/** Names that the log remembers at least. */
const REMEMBERED_MIN = 1_024;

/**
 * Which names have changed, for many readers at their own pace: each reader remembers a position and asks what came
 * after it. The log is bounded; a reader that is further behind has to compare everything.
 */
export class ChangeLog {
  /** In order of the changes; a name may stand there more than once. */
  private names: string[] = [];
  /** The position of the first name that is remembered. */
  private start = 0;

  /** The position behind the newest change. */
  get end(): number {
    return this.start + this.names.length;
  }

  /** Notes a change. `known` is how many names there are: the log stays in proportion. */
  add(name: string, known: number): void {
    this.names.push(name);
    const remembered = Math.max(REMEMBERED_MIN, known);
    if (this.names.length < 2 * remembered) return;
    const forgotten = this.names.length - remembered;
    this.names = this.names.slice(forgotten);
    this.start += forgotten;
  }

  /** The names that changed since `position`, in order of name; undefined when the log does not reach back so far. */
  since(position: number): readonly string[] | undefined {
    if (position < this.start) return undefined;
    if (position === this.end) return [];
    return [...new Set(this.names.slice(position - this.start))].sort();
  }
}

/** The positions up to which a node has read. */
export interface TrackerPosition {
  services: number;
  endpoints: number;
}

/** The object as an informer's selector shows it: undefined when a label takes it out of sight, whatever the value. */
function visible<T extends Service | EndpointSlice>(
  object: T | undefined,
  hidden: readonly string[],
): T | undefined {
  const labels = object?.metadata.labels ?? {};
  return hidden.some((label) => label in labels) ? undefined : object;
}

/** `namespace/name` of the Service that a slice belongs to; undefined when it names none. */
function ownerOf(slice: EndpointSlice): string | undefined {
  const name = slice.metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined || name === "" ? undefined : `${slice.metadata.namespace}/${name}`;
}

export class FamilyTracker {
  readonly family: IpFamily;
  private readonly rules: ReadingRules;
  /** By `namespace/name`; Services without ports of this family are not there. */
  private readonly services: Map<string, TrackedService> = new Map();
  /** Those of them with a `healthCheckNodePort`: few among many, and every node asks for them. */
  private readonly checked: Map<string, TrackedService> = new Map();
  private readonly slices: Map<string, Map<string, TrackedSlice>> = new Map();
  /** Joined when it is asked for. */
  private readonly joined: Map<string, TrackedEndpoints> = new Map();
  private sliceChanges = 0;
  private readonly serviceLog: ChangeLog = new ChangeLog();
  private readonly endpointsLog: ChangeLog = new ChangeLog();

  constructor(family: IpFamily, rules: ReadingRules) {
    this.family = family;
    this.rules = rules;
  }

  /** Takes a Service's new state; undefined: it is gone. */
  setService(key: string, object: Service | undefined): void {
    const service = visible(object, this.rules.labelFilters.service);
    const before = this.services.get(key);
    const after = service === undefined ? undefined : trackService(service, this.family, this.rules);
    if ((before?.fingerprint ?? "") === (after?.fingerprint ?? "")) return;
    if (after === undefined || after.ports.length === 0) this.services.delete(key);
    else this.services.set(key, after);
    if (after === undefined || healthCheckPortOf(after) === 0) this.checked.delete(key);
    else this.checked.set(key, after);
    this.serviceLog.add(key, this.services.size);
  }

  /** Takes a slice's new state. A slice that changes its Service leaves the old one. */
  setSlice(objectBefore: EndpointSlice | undefined, objectAfter: EndpointSlice | undefined): void {
    const hidden = this.rules.labelFilters.slice;
    const [previous, current] = [visible(objectBefore, hidden), visible(objectAfter, hidden)];
    const [before, after] = [previous, current].map((slice) =>
      slice === undefined || familyOfSlice(slice) !== this.family ? undefined : ownerOf(slice),
    );
    if (previous !== undefined && before !== undefined && before !== after)
      this.putSlice(before, previous.metadata.name, undefined);
    if (current !== undefined && after !== undefined)
      this.putSlice(after, current.metadata.name, trackSlice(current, this.family, this.rules));
  }

  /** The ports of a Service; undefined when there is nothing to program for this family. */
  service(key: string): TrackedService | undefined {
    return this.services.get(key);
  }

  /** All Services with ports of this family, by `namespace/name`. */
  allServices(): Iterable<readonly [string, TrackedService]> {
    return this.services.entries();
  }

  /** All Services that are asked for their health, by `namespace/name`. */
  checkedServices(): Iterable<readonly [string, TrackedService]> {
    return this.checked.entries();
  }

  /** The endpoints of a Service; undefined when no slice names it. */
  endpoints(key: string): TrackedEndpoints | undefined {
    const known = this.joined.get(key);
    const slices = this.slices.get(key);
    if (known !== undefined || slices === undefined) return known;
    const slash = key.indexOf("/");
    const byName = [...slices].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, slice]) => slice);
    const joined = joinSlices(key.slice(0, slash), key.slice(slash + 1), byName, this.rules.repeatedEntry);
    this.joined.set(key, joined);
    return joined;
  }

  /** The end of both logs: where a reader stands that has read everything. */
  position(): TrackerPosition {
    return { services: this.serviceLog.end, endpoints: this.endpointsLog.end };
  }

  /** Services that changed since `position`, or all that there are and `known`, the reader's own. */
  changedServices(position: number, known: Iterable<string>): readonly string[] {
    return this.serviceLog.since(position) ?? union(this.services.keys(), known);
  }

  /** Services whose endpoints changed since `position`, or all that there are and `known`, the reader's own. */
  changedEndpoints(position: number, known: Iterable<string>): readonly string[] {
    return this.endpointsLog.since(position) ?? union(this.slices.keys(), known);
  }

  private putSlice(owner: string, name: string, slice: TrackedSlice | undefined): void {
    const slices = this.slices.get(owner) ?? new Map<string, TrackedSlice>();
    if (slices.get(name)?.fingerprint === slice?.fingerprint) return;
    if (slice === undefined) slices.delete(name);
    else if (this.rules.idleChanges.slice === "none") slices.set(name, slice);
    else slices.set(name, { ...slice, change: ++this.sliceChanges });
    if (slices.size === 0) this.slices.delete(owner);
    else this.slices.set(owner, slices);
    this.joined.delete(owner);
    this.endpointsLog.add(owner, this.slices.size);
  }
}

function union(a: Iterable<string>, b: Iterable<string>): readonly string[] {
  return [...new Set([...a, ...b])].sort();
}
