/**
 * Single objects written by programs, as the API server takes them: created under a new name, replaced when nobody
 * changed them in between, status and spec each by its own path (k8s.io/kubernetes, the strategies of
 * `pkg/registry/core/*`: `PrepareForCreate`, `PrepareForUpdate`).
 */
import { LIMITS } from "#core/base/limits.ts";
import { refusedObject, resourceOf } from "../../load/checked-object.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import type { DeleteOptions, WriteOptions } from "#contracts/kubernetes/source.ts";
import {
  BUILT_IN_NAMESPACES,
  admitObject,
  mergeObject,
  namespaceObject,
  refuseUpdate,
  withName,
} from "./admit-object.ts";
import type { Reservations } from "../services/admit-service.ts";
import type { ControlPlane } from "../control-plane.ts";
import { equalJson } from "#core/base/json.ts";
import { keyOf, referenceOf } from "../object-store.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

const NOTHING_RESERVED: Reservations = Object.freeze({
  addresses: new Set<string>(),
  ports: new Set<number>(),
});

/** Kinds whose status has a path of its own. */
const WITH_STATUS: ReadonlySet<KubeKind> = new Set<KubeKind>([
  "Node",
  "Namespace",
  "Pod",
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "CronJob",
  "Service",
  "ServiceCIDR",
]);

/** Whether objects of a kind have a status with a path of its own. */
export function hasStatus(kind: KubeKind): boolean {
  return WITH_STATUS.has(kind);
}

export function notFound(kind: KubeKind, name: string): KubeError {
  return new KubeError("object-not-found", 404, `${resourceOf(kind)} ${JSON.stringify(name)} not found`, {
    subject: { name, kind: KINDS[kind].plural },
  });
}

function conflict(kind: KubeKind, name: string, why: string): KubeError {
  const message = `Operation cannot be fulfilled on ${resourceOf(kind)} ${JSON.stringify(name)}: ${why}`;
  return new KubeError("object-changed-meanwhile", 409, message);
}

const MODIFIED = WORDS.objectModified;

/** @throws KubeError when somebody else has changed the object, or it is another one of that name. */
function checkPreconditions(present: KubeObject, given: DeleteOptions): void {
  const { kind, metadata } = present;
  const { uid = "", resourceVersion = "" } = given;
  if (uid !== "" && uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
    throw conflict(kind, metadata.name, why);
  }
  if (resourceVersion !== "" && resourceVersion !== metadata.resourceVersion)
    throw conflict(kind, metadata.name, MODIFIED);
}

function ensureNamespace(plane: ControlPlane, namespace: string): void {
  if (namespace === "" || plane.store.get("Namespace", "", namespace) !== undefined) return;
  if (!BUILT_IN_NAMESPACES.includes(namespace)) throw notFound("Namespace", namespace);
  plane.put(namespaceObject(namespace));
}

/** The object without what only the server may say. */
function asDraft(object: KubeObject): KubeObject {
  const { deletionTimestamp: _, creationTimestamp: _1, ...rest } = object.metadata;
  const metadata = { ...rest, uid: "", resourceVersion: "" };
  // Nodes come with their status; what else has one gets it from those who run it.
  if (object.kind === "Node" || !WITH_STATUS.has(object.kind)) return { ...object, metadata };
  const { status: _2, ...withoutStatus } = object as KubeObject & { readonly status?: unknown };
  return { ...withoutStatus, metadata };
}

function admit(plane: ControlPlane, object: KubeObject): KubeObject {
  const admission = admitObject(plane, object, NOTHING_RESERVED);
  if ("object" in admission) return admission.object;
  const { path, message } = admission.refusal;
  throw refusedObject(object.kind, object.metadata.name, [{ field: path, message }]);
}

function trimEvents(plane: ControlPlane): void {
  for (const event of plane.store.all("Event")) {
    if (plane.store.count("Event") <= LIMITS.kubeEventsMax) return;
    plane.remove(referenceOf(event));
  }
}

/** Stores a new object. @throws KubeError. */
export function createObject(plane: ControlPlane, object: KubeObject): KubeObject {
  if (object.metadata.resourceVersion !== "") {
    throw new KubeError(
      "kubernetes-request-invalid",
      400,
      "resourceVersion should not be set on objects to be created",
    );
  }
  const named = withName(plane, asDraft(object));
  const { kind, metadata } = named;
  const { namespace, name } = metadata;
  ensureNamespace(plane, namespace);
  if (plane.store.get(kind, namespace, name) !== undefined) {
    const message = `${resourceOf(kind)} ${JSON.stringify(name)} already exists`;
    throw new KubeError("object-exists-already", 409, message, {
      reason: "AlreadyExists",
      subject: { name, kind: KINDS[kind].plural },
    });
  }
  const stored = plane.put(admit(plane, named));
  if (kind === "Event") trimEvents(plane);
  return stored;
}

/** The stored object with a new status, labels and annotations: what `/status` may change. */
function withStatus(before: KubeObject, given: KubeObject): KubeObject {
  if (!WITH_STATUS.has(before.kind)) {
    throw new KubeError("object-not-found", 404, "the server could not find the requested resource");
  }
  const { labels, annotations } = given.metadata;
  const { status } = given as { readonly status?: unknown };
  return { ...before, metadata: { ...before.metadata, labels, annotations }, status } as KubeObject;
}

/** The stored object replaced by what is given, with what the server filled in and the status kept. */
function withSpec(before: KubeObject, given: KubeObject): KubeObject {
  const { creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds } = before.metadata;
  const { ownerReferences } = given.metadata;
  const metadata = {
    ...given.metadata,
    ownerReferences,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
  };
  const status = WITH_STATUS.has(before.kind) ? { status: (before as { status?: unknown }).status } : {};
  return mergeObject(before, { ...given, metadata, ...status } as KubeObject);
}

function withoutAbsent(object: KubeObject): KubeObject {
  const entries = Object.entries(object.metadata).filter(([, value]) => value !== undefined);
  return { ...object, metadata: Object.fromEntries(entries) } as unknown as KubeObject;
}

/** Replaces an object. One that stays as it is gets no new version. @throws KubeError. */
export function replaceObject(
  plane: ControlPlane,
  object: KubeObject,
  { subresource }: WriteOptions,
): KubeObject {
  const { kind, metadata } = object;
  const { namespace, name } = metadata;
  const before = plane.store.get(kind, namespace, name);
  if (before === undefined) throw notFound(kind, name);
  checkPreconditions(before, metadata);
  const merged = withoutAbsent(
    subresource === "status" ? withStatus(before, object) : withSpec(before, object),
  );
  const refusal = refuseUpdate(before, merged);
  if (refusal !== undefined)
    throw refusedObject(kind, name, [{ field: refusal.path, message: refusal.message }]);
  const admitted = subresource === "status" ? merged : admit(plane, merged);
  const { resourceVersion } = before.metadata;
  const same = { ...admitted, metadata: { ...admitted.metadata, resourceVersion } };
  if (equalJson(before, same)) return before;
  // What a dump recorded of this object ends when somebody gives it another spec.
  if (subresource === undefined) plane.settled.delete(referenceOf(object));
  return plane.put(admitted);
}

/** Deletes an object and what hangs on it; returns what was there. @throws KubeError. */
export function deleteObject(
  plane: ControlPlane,
  kind: KubeKind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  options: DeleteOptions,
): KubeObject {
  const before = plane.store.get(kind, namespace, name);
  if (before === undefined) throw notFound(kind, name);
  checkPreconditions(before, options);
  plane.delete(kind, keyOf(namespace, name));
  return before;
}
