/**
 * Strategic merge patches: as merge patches, but lists whose items have keys are joined item by item, and directives
 * say what to take away (k8s.io/apimachinery, `pkg/util/strategicpatch/patch.go`).
 */
import { type Fields, canonicalJson, isFields, listOf } from "#core/base/json.ts";
import { addToList } from "#core/base/keyed-lists.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KubeKind } from "#contracts/kubernetes/objects.ts";

// By which field the items of a list are known, for strategic merge patches: the tags `patchMergeKey` and
// `patchStrategy` of k8s.io/api (`core/v1/types.go`, `apps/v1/types.go`). Lists that are not named here are replaced.

/** Items with a key, or plain values that are a set. */
type ListStrategy = { readonly key: string } | "set";

/** In every object. */
const METADATA: Readonly<Record<string, ListStrategy>> = Object.freeze({
  "metadata.ownerReferences": { key: "uid" },
  "metadata.finalizers": "set",
});

/** In the spec of a pod, wherever it stands. */
const POD_SPEC: Readonly<Record<string, ListStrategy>> = Object.freeze({
  containers: { key: "name" },
  initContainers: { key: "name" },
  ephemeralContainers: { key: "name" },
  volumes: { key: "name" },
  imagePullSecrets: { key: "name" },
  hostAliases: { key: "ip" },
  topologySpreadConstraints: { key: "topologyKey" },
  resourceClaims: { key: "name" },
});

/** In a container. */
const CONTAINER: Readonly<Record<string, ListStrategy>> = Object.freeze({
  ports: { key: "containerPort" },
  env: { key: "name" },
  volumeMounts: { key: "mountPath" },
  volumeDevices: { key: "devicePath" },
});

const BY_KIND: Readonly<Partial<Record<KubeKind, Readonly<Record<string, ListStrategy>>>>> = Object.freeze({
  Node: {
    "spec.podCIDRs": "set",
    "status.conditions": { key: "type" },
    "status.addresses": { key: "type" },
  },
  Pod: {
    "status.conditions": { key: "type" },
    "status.podIPs": { key: "ip" },
  },
  Service: {
    "spec.ports": { key: "port" },
    "status.conditions": { key: "type" },
  },
  Namespace: { "status.conditions": { key: "type" } },
  Deployment: { "status.conditions": { key: "type" } },
  ReplicaSet: { "status.conditions": { key: "type" } },
  StatefulSet: { "status.conditions": { key: "type" } },
  DaemonSet: { "status.conditions": { key: "type" } },
  Job: { "status.conditions": { key: "type" } },
});

const POD_SPEC_AT: Readonly<Partial<Record<KubeKind, string>>> = Object.freeze({
  Pod: "spec.",
  Deployment: "spec.template.spec.",
  ReplicaSet: "spec.template.spec.",
  StatefulSet: "spec.template.spec.",
  DaemonSet: "spec.template.spec.",
  Job: "spec.template.spec.",
  CronJob: "spec.jobTemplate.spec.template.spec.",
});

function own(
  table: Readonly<Record<string, ListStrategy>> | undefined,
  name: string,
): ListStrategy | undefined {
  return table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
}

/** How a list is joined; undefined when a patch replaces it. `path` has names only: `spec.containers.ports`. */
function listStrategyOf(kind: KubeKind, path: string): ListStrategy | undefined {
  const direct = own(METADATA, path) ?? own(BY_KIND[kind], path);
  if (direct !== undefined) return direct;
  const prefix = POD_SPEC_AT[kind];
  if (prefix === undefined || !path.startsWith(prefix)) return undefined;
  const inside = path.slice(prefix.length);
  const container = /^(?:containers|initContainers|ephemeralContainers)\.(\w+)$/.exec(inside);
  return container === null ? own(POD_SPEC, inside) : own(CONTAINER, container[1] ?? "");
}

/** `replace`, `delete` or `merge`, for the mapping or the list that it stands in. */
const DIRECTIVE = "$patch";
const RETAIN_KEYS = "$retainKeys";
const ORDER = "$setElementOrder/";
const DELETE_FROM = "$deleteFromPrimitiveList/";

function refuse(message: string): KubeError {
  return new KubeError("kubernetes-request-invalid", 400, message, { reason: "BadRequest" });
}

function namedList(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw refuse(`${name} must be a list`);
}

/** A patch without its directives, as a value of its own. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.filter((item) => !isFields(item) || !Object.hasOwn(item, DIRECTIVE));
    return items.map(withoutDirectives);
  }
  if (!isFields(value)) return value;
  const fields = Object.entries(value).filter(([name, field]) => !name.startsWith("$") && field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutDirectives(field)]));
}

function without(list: readonly unknown[], gone: readonly unknown[]): readonly unknown[] {
  const ids = new Set(gone.map(canonicalJson));
  return list.filter((item) => !ids.has(canonicalJson(item)));
}

class StrategicMerge {
  private readonly kind: KubeKind;

  constructor(kind: KubeKind) {
    this.kind = kind;
  }

  mapping(before: Fields, patch: Fields, path: string): Fields {
    const directive = patch[DIRECTIVE];
    if (directive === "replace") return withoutDirectives(patch) as Fields;
    if (directive === "delete") return {};
    if (directive !== undefined && directive !== "merge")
      throw refuse(`unknown patch type found: ${JSON.stringify(directive)}`);
    const fields = new Map(Object.entries(before));
    for (const [name, value] of Object.entries(patch)) {
      if (name.startsWith("$")) continue;
      const merged = this.field(fields.get(name), value, path === "" ? name : `${path}.${name}`);
      if (merged === undefined) fields.delete(name);
      else fields.set(name, merged);
    }
    this.shrinkAndOrder(fields, patch, path);
    return Object.fromEntries(fields);
  }

  /** The value of a field; undefined when it is taken away. */
  private field(before: unknown, value: unknown, path: string): unknown {
    if (value === null) return undefined;
    if (isFields(value)) {
      if (isFields(before)) return this.mapping(before, value, path);
      return value[DIRECTIVE] === "delete" ? undefined : this.mapping({}, value, path);
    }
    if (!Array.isArray(value)) return value;
    const strategy = listStrategyOf(this.kind, path);
    if (strategy === undefined) return withoutDirectives(value);
    const list = listOf(before);
    if (strategy === "set") return this.joinSet(list, value);
    return this.joinItems(list, value, strategy.key, path);
  }

  private joinSet(before: readonly unknown[], added: readonly unknown[]): readonly unknown[] {
    return [...before, ...without(added, before)];
  }

  private joinItems(
    before: readonly unknown[],
    patches: readonly unknown[],
    key: string,
    path: string,
  ): readonly unknown[] {
    const items = patches.map((patch) => {
      if (isFields(patch)) return patch;
      throw refuse(`${path}: expected a list of mappings`);
    });
    if (items.some((item) => item[DIRECTIVE] === "replace")) return withoutDirectives(items) as unknown[];
    // What is deleted leaves a gap until the end: no item is looked for one by one.
    const result: unknown[] = [...before];
    const placesOf = new Map<string, number[]>();
    for (const [place, old] of before.entries())
      if (isFields(old) && old[key] !== undefined) addToList(placesOf, canonicalJson(old[key]), place);
    for (const item of items) {
      if (item[key] === undefined) throw refuse(`map: ${path} does not contain declared merge key: ${key}`);
      const id = canonicalJson(item[key]);
      const places = placesOf.get(id) ?? [];
      const [at = result.length] = places;
      if (item[DIRECTIVE] === "delete") {
        for (const place of places) result[place] = undefined;
        placesOf.delete(id);
        continue;
      }
      if (places.length === 0) placesOf.set(id, [at]);
      result[at] = this.mapping((result[at] ?? {}) as Fields, item, path);
    }
    return result.filter((item) => item !== undefined);
  }

  /** The directives that stand beside the fields they are about. */
  private shrinkAndOrder(fields: Map<string, unknown>, patch: Fields, path: string): void {
    for (const [directive, value] of Object.entries(patch)) {
      if (directive === RETAIN_KEYS) {
        const kept = new Set(namedList(value, directive));
        for (const name of fields.keys()) if (!kept.has(name)) fields.delete(name);
      }
      if (directive.startsWith(DELETE_FROM)) {
        const name = directive.slice(DELETE_FROM.length);
        const gone = namedList(value, directive);
        const list = fields.get(name);
        if (Array.isArray(list)) fields.set(name, without(list, gone));
      }
    }
    for (const [directive, value] of Object.entries(patch)) {
      if (!directive.startsWith(ORDER)) continue;
      const name = directive.slice(ORDER.length);
      const list = fields.get(name);
      const strategy = listStrategyOf(this.kind, path === "" ? name : `${path}.${name}`);
      if (Array.isArray(list) && strategy !== undefined)
        fields.set(
          name,
          inOrder(list, namedList(value, directive), strategy === "set" ? undefined : strategy.key),
        );
    }
  }
}

/** The items that `order` names come in its order; each other one stays behind the item that it stood behind. */
function inOrder(list: readonly unknown[], order: readonly unknown[], key: string | undefined): unknown[] {
  const idOf = (item: unknown): string =>
    canonicalJson(key !== undefined && isFields(item) ? item[key] : item);
  const ranks = new Map(order.map((one, index): [string, number] => [idOf(one), index]).toReversed());
  const ranked = list.map((item, index) => ({ item, index, rank: ranks.get(idOf(item)) ?? -1 }));
  let rank = -1;
  const placed = ranked.map((entry) => {
    if (entry.rank >= 0) rank = entry.rank;
    return { ...entry, place: entry.rank >= 0 ? entry.rank : rank, isServers: entry.rank < 0 };
  });
  const sorted = placed.toSorted(
    (a, b) => a.place - b.place || Number(a.isServers) - Number(b.isServers) || a.index - b.index,
  );
  return sorted.map(({ item }) => item);
}

/** The object after a strategic merge patch. @throws KubeError `kubernetes-request-invalid` for a broken patch. */
export function applyStrategicMerge(kind: KubeKind, document: unknown, patch: unknown): unknown {
  if (!isFields(patch) || !isFields(document)) throw refuse("a strategic merge patch is a mapping");
  return new StrategicMerge(kind).mapping(document, patch, "");
}
