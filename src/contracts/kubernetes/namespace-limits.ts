/**
 * What a Namespace allows its pods and Services: LimitRanges, which also give containers what they leave out, and ResourceQuotas
 * (k8s.io/kubernetes, `plugin/pkg/admission/limitranger`, `pkg/quota/v1/evaluator/core`, `SetDefaults_LimitRangeItem`). Resources
 * of whole pods, kinds that are not read, and the PriorityClass that pods get which name none are not judged.
 */
import { type Fields, isFields, listOf, mappingOf, mappingsIn } from "#core/base/json.ts";
import { amountsOf } from "./quantity.ts";

/** Of one container or pod: what it asks for and where it ends, by resource. */
interface Resources {
  readonly requests: ReadonlyMap<string, number>;
  readonly limits: ReadonlyMap<string, number>;
}

/** Pods that an object asks for. */
export interface AskedPods {
  /** The spec, as somebody wrote it. */
  readonly spec: Fields;
  /** How many, at least. */
  readonly count: number;
}

/** A LimitRange or a ResourceQuota, as somebody wrote it. */
export interface NamespaceLimit {
  readonly kind: "LimitRange" | "ResourceQuota";
  readonly name: string;
  readonly spec: Fields;
}

/** Later ones fill in what earlier ones lack. */
function filled(...parts: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  return new Map(parts.toReversed().flatMap((part) => [...part]));
}

const itemsOf = (limits: readonly NamespaceLimit[], type: string): readonly Fields[] =>
  limits
    .filter(({ kind }) => kind === "LimitRange")
    .flatMap(({ spec }) => mappingsIn(spec["limits"]))
    .filter((item) => item["type"] === type);

/** A container as admission sees it: its own amounts, then those of the ranges. */
function resourcesOf(container: Fields, ranges: readonly Fields[]): Resources {
  const { limits: ownLimits, requests } = mappingOf(container["resources"]);
  const own = amountsOf(ownLimits);
  const defaults = ranges.map((item) => filled(amountsOf(item["default"]), amountsOf(item["max"])));
  const asked = ranges.map((item, index) =>
    filled(amountsOf(item["defaultRequest"]), defaults[index] ?? new Map(), amountsOf(item["min"])),
  );
  return {
    limits: filled(own, ...defaults),
    requests: filled(amountsOf(requests), own, ...asked),
  };
}

const PARTS = ["requests", "limits"] as const;

/** Of a whole pod: its containers together; one after the other those that come before them. */
function sumOf(first: readonly Resources[], containers: readonly Resources[]): Resources {
  const [requests, limits] = PARTS.map((part) => {
    const sums = new Map<string, number>();
    for (const each of containers)
      for (const [name, amount] of each[part]) sums.set(name, (sums.get(name) ?? 0) + amount);
    for (const each of first)
      for (const [name, amount] of each[part]) sums.set(name, Math.max(sums.get(name) ?? 0, amount));
    return sums;
  });
  return { requests: requests ?? new Map(), limits: limits ?? new Map() };
}

/** Why one item of a LimitRange refuses a container or a pod. */
function* beyond(item: Fields, { requests, limits }: Resources): Generator<string> {
  const type = String(item["type"]);
  const written = (field: string, name: string): string => String(mappingOf(item[field])[name]);
  for (const [name, min] of amountsOf(item["min"])) {
    const request = requests.get(name);
    if (request === undefined || request < min || (limits.get(name) ?? min) < min)
      yield `minimum ${name} usage per ${type} is ${written("min", name)}`;
  }
  for (const [name, max] of amountsOf(item["max"])) {
    const limit = limits.get(name);
    if (limit === undefined || limit > max || (requests.get(name) ?? max) > max)
      yield `maximum ${name} usage per ${type} is ${written("max", name)}`;
  }
  for (const [name, ratio] of amountsOf(item["maxLimitRequestRatio"])) {
    const [request = 0, limit = 0] = [requests.get(name), limits.get(name)];
    if (request === 0 || limit === 0 || limit / request > ratio)
      yield `${name} max limit to request ratio per ${type} is ${written("maxLimitRequestRatio", name)}`;
  }
}

const COMPUTE = ["cpu", "memory", "ephemeral-storage"];

/** What counts for a quota: `cpu` and `requests.cpu` are the same. */
function usageOf({ requests, limits }: Resources): ReadonlyMap<string, number> {
  return new Map([
    ...[...requests].flatMap(([name, amount]) => [
      ...(COMPUTE.includes(name) ? [[name, amount] as const] : []),
      [`requests.${name}`, amount] as const,
    ]),
    ...[...limits].map(([name, amount]) => [`limits.${name}`, amount] as const),
  ]);
}

const NEEDED = COMPUTE.slice(0, 2).flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);

interface PodResources {
  readonly first: readonly (readonly [name: string, resources: Resources])[];
  readonly containers: readonly (readonly [name: string, resources: Resources])[];
  readonly whole: Resources;
}

function podResourcesOf(spec: Fields, limits: readonly NamespaceLimit[]): PodResources {
  const ranges = itemsOf(limits, "Container");
  const of = (field: string): PodResources["containers"] =>
    mappingsIn(spec[field]).map((each) => [String(each["name"]), resourcesOf(each, ranges)] as const);
  const [first, containers] = [of("initContainers"), of("containers")];
  const whole = sumOf(
    first.map(([, resources]) => resources),
    containers.map(([, resources]) => resources),
  );
  return { first, containers, whole };
}

/** What a scope of a quota looks at in a pod (`podMatchesScopeFunc`). */
const SCOPES: Readonly<Record<string, (spec: Fields, resources: PodResources) => boolean>> = {
  Terminating: ({ activeDeadlineSeconds: seconds }) => typeof seconds === "number" && seconds >= 0,
  BestEffort: (_, { first, containers }) =>
    [...first, ...containers].every(([, { requests, limits }]) =>
      [requests, limits].every((part) => [part.get("cpu"), part.get("memory")].every((amount) => !amount)),
    ),
  PriorityClass: ({ priorityClassName: name }) => typeof name === "string" && name !== "",
  CrossNamespacePodAffinity: ({ affinity }) =>
    ["podAffinity", "podAntiAffinity"].some((field) => {
      const { requiredDuringSchedulingIgnoredDuringExecution: all, ...rest } = mappingOf(
        mappingOf(affinity)[field],
      );
      const weighted = mappingsIn(rest["preferredDuringSchedulingIgnoredDuringExecution"]);
      const terms = [...mappingsIn(all), ...weighted.map((each) => mappingOf(each["podAffinityTerm"]))];
      return terms.some(
        ({ namespaces, namespaceSelector }) =>
          (Array.isArray(namespaces) && namespaces.length > 0) || isFields(namespaceSelector),
      );
    }),
};

interface Quota {
  readonly name: string;
  readonly hard: ReadonlyMap<string, number>;
  /** Of a quota that is for some pods alone: all must hold. */
  readonly scopes: readonly Fields[];
}

function quotasOf(limits: readonly NamespaceLimit[]): readonly Quota[] {
  return limits.flatMap(({ kind, name, spec }) => {
    if (kind !== "ResourceQuota") return [];
    const named = listOf(spec["scopes"]).map((scopeName) => ({ scopeName, operator: "Exists" }));
    const selected = mappingsIn(mappingOf(spec["scopeSelector"])["matchExpressions"]);
    return [{ name, hard: amountsOf(spec["hard"]), scopes: [...named, ...selected] }];
  });
}

function counts({ scopes }: Quota, spec: Fields, resources: PodResources): boolean {
  return scopes.every(({ scopeName, operator, values }) => {
    const scope = String(scopeName);
    const holds = SCOPES[scope.replace(/^Not/, "")]?.(spec, resources) ?? false;
    if (scope.startsWith("Not")) return !holds;
    if (operator === "DoesNotExist") return !holds;
    const isAmong = Array.isArray(values) && values.includes(spec["priorityClassName"]);
    if (operator === "NotIn") return !isAmong;
    return holds && (operator !== "In" || isAmong);
  });
}

/** Why a Namespace refuses each of these pods, whatever else is there; empty: it does not. */
export function refusalsOfPods({ spec }: AskedPods, limits: readonly NamespaceLimit[]): readonly string[] {
  const pod = podResourcesOf(spec, limits);
  const { first, containers, whole } = pod;
  const all = [...containers, ...first];
  const ofRanges = [
    ...itemsOf(limits, "Container").flatMap((item) =>
      all.flatMap(([, resources]) => [...beyond(item, resources)]),
    ),
    ...itemsOf(limits, "Pod").flatMap((item) => [...beyond(item, whole)]),
  ];
  const ofQuotas = quotasOf(limits).flatMap((quota) => {
    const { name, hard } = quota;
    if (!counts(quota, spec, pod)) return [];
    const missing = [...hard.keys()]
      .filter((resource) => NEEDED.includes(resource))
      .flatMap((resource) => {
        const without = all.filter(([, resources]) => !usageOf(resources).has(resource));
        return without.length > 0 ? [`${resource} for: ${without.map(([each]) => each).join(",")}`] : [];
      });
    return missing.length > 0 ? [`failed quota: ${name}: must specify ${missing.join("; ")}`] : [];
  });
  return [...new Set([...ofRanges, ...ofQuotas])];
}

/** What of a Namespace counts by number: `services`, `services.nodeports`. */
function countedServices(services: readonly Fields[]): ReadonlyMap<string, number> {
  const portsOf = ({ ports, type, allocateLoadBalancerNodePorts: allocates }: Fields): number => {
    if (type === "NodePort" || (type === "LoadBalancer" && allocates !== false))
      return mappingsIn(ports).length;
    return mappingsIn(ports).filter(({ nodePort }) => type === "LoadBalancer" && typeof nodePort === "number")
      .length;
  };
  const balanced = services.filter(({ type }) => type === "LoadBalancer").length;
  return new Map([
    ["services", services.length],
    ["count/services", services.length],
    ["services.loadbalancers", balanced],
    ["services.nodeports", services.reduce((sum, service) => sum + portsOf(service), 0)],
  ]);
}

/** Something of which a quota allows less than is asked for. */
export interface ExceededQuota {
  readonly name: string;
  /** `pods: 3 are asked for, and 1 is allowed`. */
  readonly message: string;
}

/** Quotas that everything of a Namespace together goes beyond. */
export function exceededQuotas(
  pods: readonly AskedPods[],
  services: readonly Fields[],
  limits: readonly NamespaceLimit[],
): readonly ExceededQuota[] {
  const all = pods.map((each) => ({ ...each, resources: podResourcesOf(each.spec, limits) }));
  return quotasOf(limits).flatMap((quota) => {
    const counted = all.filter(({ spec, resources }) => counts(quota, spec, resources));
    // What has no scope is counted by quotas without scopes alone.
    const used = new Map(countedServices(quota.scopes.length === 0 ? services : []));
    const count = counted.reduce((sum, each) => sum + each.count, 0);
    for (const name of ["pods", "count/pods"]) used.set(name, count);
    for (const each of counted)
      for (const [name, amount] of usageOf(each.resources.whole))
        used.set(name, (used.get(name) ?? 0) + amount * each.count);
    return [...quota.hard].flatMap(([resource, allowed]) => {
      const asked = used.get(resource) ?? 0;
      // Sums of quantities such as 100m are binary fractions.
      if (asked <= allowed * (1 + 1e-9)) return [];
      const message = `${resource}: ${shown(asked)} asked for, ${shown(allowed)} allowed`;
      return [{ name: quota.name, message }];
    });
  });
}

function shown(amount: number): string {
  return String(Number(amount.toPrecision(6)));
}
