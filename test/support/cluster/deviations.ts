/**
 * One machine that deviates from what its programs made of it: a value of its state is changed from outside. What can be
 * changed is everything that the walk of `fork` meets in the machine, found by the same walk and by no list of kinds;
 * nothing here knows how states are compared or shared.
 *
 * `deviate(cluster, prng)` changes a cluster in place, which is best a copy, and says what it did. Same cluster, same
 * numbers, same deviation.
 */
import type { Cluster, ClusterNode } from "#cluster/cluster.ts";
import type { Prng } from "#core/base/prng.ts";
import { FlowTable } from "#dataplane/vfp/flows/flow-table.ts";
import { UnifiedFlowTable } from "#dataplane/vfp/flows/unified-flow-table.ts";
import { UnifiedFlow } from "#dataplane/vfp/flows/unified-flow.ts";

export const DEVIATION_KINDS = [
  "HNS record",
  "VFP rule",
  "route",
  "neighbour",
  "socket",
  "DNS setting",
  "netfilter rule",
  "other",
] as const;
export type DeviationKind = (typeof DEVIATION_KINDS)[number];

export interface Deviation {
  readonly node: string;
  readonly kind: DeviationKind;
  /** Where in the machine: `hns.context.state.endpoints…`. */
  readonly path: string;
  /** `7 becomes 8`, `is removed`. */
  readonly change: string;
}

/** Leaves of the state that keep time, chance and counts: what they hold is no setting of the machine. */
const NO_SETTING = /\.(?:prng|drops|counters|census|env|clock|stamps|recorder|profile)\b/;

/** The first that fits a path. */
const KINDS: readonly (readonly [DeviationKind, RegExp])[] = [
  ["netfilter rule", /\.netfilter\b/],
  ["VFP rule", /\.vfp\.|\.groups?\b|Groups\b|\.rules\b/],
  ["neighbour", /\.neighbors\b/],
  ["route", /\.routes\b|sdnRoutes/],
  ["DNS setting", /\.(?:dns|hosts|nameCache|resolver)\b/],
  ["socket", /\.(?:tcp|udp|portClaims)\b/],
  ["HNS record", /^hns\b/],
  ["other", /^/],
];

const SHOWN_MAX = 60;

function kindOf(path: string): DeviationKind {
  return KINDS.find(([, pattern]) => pattern.test(path))?.[0] ?? "other";
}

/** How a part hangs on what holds it. */
type Step =
  | { readonly at: "property"; readonly key: string }
  | { readonly at: "map"; readonly key: unknown }
  | { readonly at: "set"; readonly key: unknown }
  | { readonly at: "view"; readonly key: number };

interface Held {
  readonly value: object;
  /** Frozen, or held by something frozen: copies of the cluster share it, so it is replaced and never changed. */
  readonly isShared: boolean;
  readonly path: string;
  readonly holder: Held | undefined;
  readonly step: Step | undefined;
}

/** A part that can be changed. */
interface Site {
  readonly held: Held;
  readonly step: Step;
  readonly value: unknown;
  readonly path: string;
}

/** A scalar as text; anything else has no name. */
function shown(value: unknown): string {
  if (typeof value === "string") return value.slice(0, SHOWN_MAX);
  const isScalar = typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
  return isScalar ? String(value) : "…";
}

/** The parts of an object, as `fork` meets them. */
function partsOf({ value, path }: Held): readonly { step: Step; value: unknown; path: string }[] {
  // How a hash table keeps its flows is no setting: one whose capacity or count is wrong never ends.
  if (value instanceof UnifiedFlowTable || value instanceof UnifiedFlow) return [];
  if (value instanceof FlowTable)
    return Array.from(value.entries() as Iterable<object>, (flow, index) => {
      return { step: { at: "property", key: "" } as const, value: flow, path: `${path}[${index}]` };
    });
  if (value instanceof Map)
    return Array.from(value as Map<unknown, unknown>, ([key, part]) => {
      return { step: { at: "map", key } as const, value: part, path: `${path}[${shown(key)}]` };
    });
  if (value instanceof Set)
    return Array.from(value as Set<unknown>, (part) => {
      return { step: { at: "set", key: part } as const, value: part, path: `${path}{${shown(part)}}` };
    });
  if (ArrayBuffer.isView(value)) {
    const numbers = value as unknown as ArrayLike<unknown>;
    // Long arrays are free room for the most part.
    return Array.from({ length: Math.min(numbers.length ?? 0, 64) }, (_, key) => {
      return { step: { at: "view", key } as const, value: numbers[key], path: `${path}[${key}]` };
    });
  }
  const fields = value as Record<string, unknown>;
  return Object.keys(fields).map((key) => {
    return { step: { at: "property", key } as const, value: fields[key], path: `${path}.${key}` };
  });
}

/** A device as data: its other end belongs to the fabric. */
interface Cable {
  readonly peer: object;
}

/** What lies between the machines, and what belongs to all of them. */
function strangers(cluster: Cluster, node: ClusterNode): Set<unknown> {
  const { env, clock, underlay, file, objects, outside, apiServers } = cluster;
  const others = cluster.nodes.filter((each) => each !== node);
  const pods = cluster.pods.filter((pod) => pod.node !== node).map(({ compartment }) => compartment);
  const ofAll = [cluster, cluster.pods, cluster.nodes, node, node.spec, env, env.prng, clock, file, objects];
  const between = [underlay, underlay.segment, underlay.router, underlay.physicalHost];
  const cable = node.uplink as unknown as Cable;
  return new Set<unknown>([
    ...ofAll,
    ...between,
    ...outside,
    ...outside.map(({ host }) => host),
    ...apiServers,
    ...apiServers.map(({ host }) => host),
    cable.peer,
    ...others.flatMap((each) => [each, each.host, each.hns, each.uplink]),
    ...pods,
  ]);
}

/** All that can be changed in the machine of a node. */
function sitesOf(cluster: Cluster, node: ClusterNode): readonly Site[] {
  const met = strangers(cluster, node);
  const sites: Site[] = [];
  const waiting: Held[] = [];
  const meet = (value: unknown, path: string, holder?: Held, step?: Step): void => {
    if (typeof value !== "object" || value === null || met.has(value)) return;
    met.add(value);
    const isShared = holder?.isShared === true || Object.isFrozen(value);
    waiting.push({ value, isShared, path, holder, step });
  };
  meet(node.host, "host");
  meet(node.hns, "hns");
  for (const pod of cluster.pods) if (pod.node === node) meet(pod.compartment, `pods.${pod.spec.name}`);
  for (let held = waiting.shift(); held !== undefined; held = waiting.shift()) {
    for (const { step, value, path } of partsOf(held)) {
      if (NO_SETTING.test(path) || typeof value === "function") continue;
      const isObject = typeof value === "object" && value !== null;
      const isMember = step.at === "map" || step.at === "set" || Array.isArray(held.value);
      if ((isObject ? isMember : value !== undefined && value !== null) && !met.has(value))
        sites.push({ held, step, value, path });
      meet(value, path, held, step);
    }
  }
  return sites;
}

/** What a removed part becomes. */
const REMOVED = Symbol("removed");

function withChange(value: object, step: Step, part: unknown): object {
  if (value instanceof Map) {
    const entries = [...(value as Map<unknown, unknown>)];
    const changed = entries.flatMap(([key, each]) =>
      key !== step.key ? [[key, each] as const] : part === REMOVED ? [] : [[key, part] as const],
    );
    return new Map(changed);
  }
  if (value instanceof Set) {
    const members = [...(value as Set<unknown>)];
    return new Set(members.flatMap((each) => (each !== step.key ? [each] : part === REMOVED ? [] : [part])));
  }
  if (ArrayBuffer.isView(value)) {
    const numbers = (value as unknown as Uint8Array).slice();
    numbers[Number(step.key)] = part as number;
    return numbers;
  }
  if (Array.isArray(value)) {
    const items = value as readonly unknown[];
    return items.flatMap((each, index) =>
      String(index) !== step.key ? [each] : part === REMOVED ? [] : [part],
    );
  }
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  for (const key of Object.keys(value)) copy[key] = (value as Record<string, unknown>)[key];
  copy[String(step.key)] = part;
  return copy;
}

/** Changes a part where it is; what is shared is replaced by a copy in what holds it. */
function change(held: Held, step: Step, part: unknown): void {
  const { value } = held;
  if (held.isShared) {
    if (held.holder === undefined || held.step === undefined)
      throw new RangeError("a machine is never shared");
    const changed = withChange(value, step, part);
    change(held.holder, held.step, Object.isFrozen(value) ? Object.freeze(changed) : changed);
    return;
  }
  if (value instanceof Map || value instanceof Set || Array.isArray(value))
    refill(value, withChange(value, step, part));
  else if (step.at === "view") (value as unknown as unknown[])[step.key] = part;
  else (value as Record<string, unknown>)[String(step.key)] = part;
}

function refill(target: object, source: object): void {
  if (target instanceof Map) {
    target.clear();
    for (const [key, value] of source as Map<unknown, unknown>) target.set(key, value);
  } else if (target instanceof Set) {
    target.clear();
    for (const value of source as Set<unknown>) target.add(value);
  } else (target as unknown[]).splice(0, Number.POSITIVE_INFINITY, ...(source as unknown[]));
}

/** Another value of the same type: one that the same field has elsewhere, or a neighbour of it. */
function otherValue({ value, step, path }: Site, sites: readonly Site[], prng: Prng): unknown {
  if (typeof value === "object" && value !== null) return REMOVED;
  const field = path.split(".").at(-1);
  const elsewhere = sites.filter((site) => {
    return (
      typeof site.value === typeof value && site.value !== value && site.path.split(".").at(-1) === field
    );
  });
  const found = elsewhere[prng.below(Math.max(1, elsewhere.length))];
  if (found !== undefined && prng.below(2) === 0) return found.value;
  if (typeof value === "boolean") return !value;
  if (typeof value === "bigint") return value ^ (1n << BigInt(prng.below(8)));
  if (typeof value === "number")
    return Number.isInteger(value) && value >= 0 ? value ^ (1 << prng.below(6)) : value + 1;
  if (typeof value === "string") return found?.value ?? `${value}x`;
  return step.at === "set" ? REMOVED : value;
}

/** Draws a deviation and makes it in `cluster`; of the node that is named, or of any. */
export function deviate(cluster: Cluster, prng: Prng, nodeName?: string): Deviation {
  const nodes = cluster.nodes.filter(({ spec }) => nodeName === undefined || spec.name === nodeName);
  const node = nodes[prng.below(nodes.length)];
  if (node === undefined) throw new RangeError(`there is no node ${nodeName}`);
  node.hns?.settle();
  const sites = sitesOf(cluster, node);
  const byKind = DEVIATION_KINDS.map(
    (kind) => [kind, sites.filter(({ path }) => kindOf(path) === kind)] as const,
  );
  const filled = byKind.filter(([, each]) => each.length > 0);
  const [kind, drawn] = filled[prng.below(filled.length)] ?? ["other", sites];
  const site = drawn[prng.below(drawn.length)];
  if (site === undefined) throw new RangeError(`the machine of ${node.spec.name} has no state`);
  const value = otherValue(site, sites, prng);
  change(site.held, site.step, value);
  const text = value === REMOVED ? "is removed" : `${shown(site.value)} becomes ${shown(value)}`;
  return { node: node.spec.name, kind, path: site.path, change: text };
}
