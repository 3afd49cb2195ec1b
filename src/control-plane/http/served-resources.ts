/**
 * The resources that the emulator's API serves, under the names that kubectl and clients use. Events are served twice,
 * as with Kubernetes: kube-proxy writes them in the group events.k8s.io, kubectl reads them in the core.
 */
import { KINDS, KUBE_KINDS } from "#contracts/kubernetes/kinds.ts";
import { withServedDefaults } from "./served-defaults.ts";
import { hasStatus } from "../memory/admission/write-object.ts";
import { type Fields, isFields } from "#core/base/json.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";

export interface ServedResource {
  /** Empty for the core. */
  readonly group: string;
  readonly version: string;
  readonly kind: KubeKind;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly isNamespaced: boolean;
  readonly hasStatus: boolean;
  /** Of what is sent, the object that is stored. */
  readonly toStored: (value: unknown) => unknown;
  /** Of a stored object, what is served. */
  readonly toServed: (object: KubeObject) => object;
}

/**
 * Events of the group events.k8s.io are the core's under other names of fields (k8s.io/kubernetes,
 * `pkg/apis/events/v1/conversion.go`).
 */
const EVENT_FIELDS: readonly (readonly [ofGroup: string, ofCore: string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

function renamed(value: Fields, names: ReadonlyMap<string, string>): Fields {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [names.get(name) ?? name, field]));
}

const TO_CORE: ReadonlyMap<string, string> = new Map(EVENT_FIELDS);
const TO_GROUP: ReadonlyMap<string, string> = new Map(
  EVENT_FIELDS.map(([ofGroup, ofCore]) => [ofCore, ofGroup]),
);

/** What is sent to events.k8s.io as an Event of the core. What is none of either stays as it is, and is refused later. */
function coreEvent(value: unknown): unknown {
  if (!isFields(value) || value["apiVersion"] !== "events.k8s.io/v1") return value;
  return { ...renamed(value, TO_CORE), apiVersion: "v1" };
}

function eventOfGroup(object: KubeObject): object {
  return { ...renamed(object as unknown as Fields, TO_GROUP), apiVersion: "events.k8s.io/v1" };
}

function same<T>(value: T): T {
  return value;
}

/** Cluster-scoped objects carry an empty namespace here and none on the wire; the others get what a server fills in. */
function servedObject(object: KubeObject): object {
  if (object.metadata.namespace !== "") return withServedDefaults(object);
  const { namespace: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function resourceOf(kind: KubeKind): ServedResource {
  const { apiVersion, plural, shortNames, isNamespaced } = KINDS[kind];
  const [first = "", second] = apiVersion.split("/");
  return Object.freeze({
    group: second === undefined ? "" : first,
    version: second ?? first,
    kind,
    plural,
    singular: kind.toLowerCase(),
    shortNames,
    isNamespaced,
    hasStatus: hasStatus(kind),
    toStored: same,
    toServed: servedObject,
  });
}

const EVENTS_OF_GROUP: ServedResource = Object.freeze({
  ...resourceOf("Event"),
  group: "events.k8s.io",
  toStored: coreEvent,
  toServed: eventOfGroup,
});

export const SERVED_RESOURCES: readonly ServedResource[] = Object.freeze([
  ...KUBE_KINDS.map(resourceOf),
  EVENTS_OF_GROUP,
]);

/** `v1`, `discovery.k8s.io/v1` */
export function apiVersionOf({ group, version }: ServedResource): string {
  return group === "" ? version : `${group}/${version}`;
}

/** What a path names. */
export interface RequestTarget {
  readonly resource: ServedResource;
  /** Empty: all namespaces, or none. */
  readonly namespace: string;
  /** Undefined: the collection. */
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

function findResource(group: string, version: string, plural: string): ServedResource | undefined {
  return SERVED_RESOURCES.find(
    (each) => each.group === group && each.version === version && each.plural === plural,
  );
}

/** The steps of a path, decoded; undefined when one is broken. */
function stepsOf(path: string): readonly string[] | undefined {
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** What stands behind the version: `namespaces/default/pods/web/status`. */
function targetIn(group: string, version: string, steps: readonly string[]): RequestTarget | undefined {
  const [first = "", second, third, ...rest] = steps;
  // `namespaces/x` is the namespace itself, `namespaces/x/pods` what lies in it.
  const isInside =
    first === "namespaces" && third !== undefined && third !== "status" && third !== "finalize";
  if (isInside) {
    const resource = findResource(group, version, third);
    const [name, subresource, ...more] = rest;
    if (resource?.isNamespaced !== true || more.length > 0 || second === "") return undefined;
    return { resource, namespace: second ?? "", name, subresource };
  }
  const resource = findResource(group, version, first);
  if (resource === undefined || rest.length > 0) return undefined;
  if (resource.isNamespaced && second !== undefined) return undefined;
  return { resource, namespace: "", name: second, subresource: third };
}

/** What a path under `/api` or `/apis` names; undefined when it names nothing. */
export function targetOf(path: string): RequestTarget | undefined {
  const [root, ...steps] = stepsOf(path) ?? [];
  if (steps.some((step) => step === "")) return undefined;
  if (root === "api") {
    const [version = "", ...rest] = steps;
    return targetIn("", version, rest);
  }
  if (root !== "apis") return undefined;
  const [group = "", version = "", ...rest] = steps;
  return targetIn(group, version, rest);
}
