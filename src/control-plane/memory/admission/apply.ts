/** Objects on their way into the store, as the API server takes them: completed, checked against what is there, stored. */
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { parseIp, formatIp } from "#core/net/ip.ts";
import { type LoadedObject, placeInOrigin } from "../../load/manifests.ts";
import { LoadReport } from "../../load/load-report.ts";
import type { KubeObject, KubeKind } from "#contracts/kubernetes/objects.ts";
import {
  BUILT_IN_NAMESPACES,
  admitObject,
  mergeObject,
  namespaceObject,
  refuseUpdate,
  withName,
} from "./admit-object.ts";
import type { ServiceRefusal, Reservations } from "../services/admit-service.ts";
import type { ControlPlane } from "../control-plane.ts";
import { equalJson } from "#core/base/json.ts";
import { keyOf, referenceOf } from "../object-store.ts";
import { clusterAddresses, nodePortsOf } from "../services/service-addresses.ts";
import { settle } from "../settle.ts";
import { runtimeClassOf } from "#contracts/kubernetes/runtime-class.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** What `apply` did with the objects, in the order in which they were given. */
export interface KubeApplyReport {
  /** One for each object given, in that order. */
  readonly outcomes: readonly ApplyOutcome[];
  /** What was stored, in the order of storing: namespaces and nodes come first. */
  readonly changes: readonly ApplyChange[];
  readonly notes: readonly FileProblem[];
  /** Objects that the API server would refuse; they are not stored, the others are. */
  readonly problems: readonly FileProblem[];
}

export interface ApplyChange {
  readonly kind: KubeKind;
  readonly namespace: string;
  readonly name: string;
  readonly change: "created" | "configured" | "unchanged";
}

/** What became of one object; `name` is the one that was generated for it, if it came without. */
export interface ApplyOutcome {
  readonly kind: KubeKind;
  readonly namespace: string;
  readonly name: string;
  readonly change: ApplyChange["change"] | "refused";
  /** Set when the object is refused. */
  readonly problem?: FileProblem;
}

/** Addresses and ports that Services ask for by name. */
function reservationsOf(objects: readonly LoadedObject[]): Reservations {
  const addresses = new Set<string>();
  const ports = new Set<number>();
  for (const { object } of objects) {
    if (object.kind !== "Service") continue;
    for (const ip of clusterAddresses(object)) addresses.add(formatIp(ip));
    for (const port of nodePortsOf(object)) ports.add(port);
    const wanted = parseIp(object.spec?.clusterIP ?? "");
    if (wanted !== undefined) addresses.add(formatIp(wanted));
  }
  return { addresses, ports };
}

const FIRST: readonly KubeKind[] = ["Namespace", "Node", "RuntimeClass"];

/** Namespaces come first, then nodes, and the classes of pods; otherwise the order of the files holds. */
function inOrder(objects: readonly LoadedObject[]): readonly LoadedObject[] {
  const rank = ({ object }: LoadedObject): number =>
    FIRST.includes(object.kind) ? FIRST.indexOf(object.kind) : FIRST.length;
  return objects.toSorted((a, b) => rank(a) - rank(b));
}

class Application {
  private readonly changes: ApplyChange[] = [];
  private readonly notes: FileProblem[] = [];
  private readonly report = new LoadReport();
  private readonly made = new Map<string, { readonly first: LoadedObject; count: number }>();
  private readonly classes = new Map<string, { readonly first: LoadedObject; count: number }>();
  private readonly plane: ControlPlane;
  private readonly reserved: Reservations;

  constructor(plane: ControlPlane, reserved: Reservations) {
    this.plane = plane;
    this.reserved = reserved;
  }

  add(loaded: LoadedObject): ApplyOutcome {
    const named = withName(this.plane, loaded.object);
    const { namespace, name } = named.metadata;
    const before = this.plane.store.get(named.kind, namespace, name);
    const merged = before === undefined ? named : mergeObject(before, named);
    const refusal = before === undefined ? undefined : refuseUpdate(before, merged);
    const admitted = refusal === undefined ? admitObject(this.plane, merged, this.reserved) : { refusal };
    if ("refusal" in admitted) {
      const problem = this.refuse(loaded, named, admitted.refusal);
      return Object.freeze({ kind: named.kind, namespace, name, change: "refused" as const, problem });
    }
    this.ensureNamespace(loaded, namespace);
    this.noteClass(loaded);
    const reference = referenceOf(named);
    if (loaded.origin !== undefined) this.plane.origins.set(reference, loaded.origin);
    const isSame = before !== undefined && equalJson(before, withVersionOf(before, admitted.object));
    if (!isSame) {
      this.plane.settled.delete(reference);
      this.plane.put(admitted.object);
    }
    const change = before === undefined ? "created" : isSame ? "unchanged" : "configured";
    const done: ApplyChange = Object.freeze({ kind: named.kind, namespace, name, change });
    this.changes.push(done);
    return done;
  }

  private refuse({ origin }: LoadedObject, object: KubeObject, refusal: ServiceRefusal): FileProblem {
    const { path, code, message, advice } = refusal;
    const place =
      origin === undefined
        ? this.plane.placeOf(referenceOf(object), path)
        : { file: origin.file, ...placeInOrigin(origin, path) };
    const problem = Object.freeze({ code, ...place, path, message, advice });
    this.report.problem(problem);
    return problem;
  }

  private ensureNamespace(loaded: LoadedObject, namespace: string): void {
    if (namespace === "") return;
    const known = this.made.get(namespace);
    if (known !== undefined) known.count++;
    if (known !== undefined || this.plane.store.get("Namespace", "", namespace) !== undefined) return;
    this.plane.put(namespaceObject(namespace));
    // What has a uid comes from an API server, which had the namespace.
    const isDumped = loaded.object.metadata.uid !== "";
    if (!isDumped && !BUILT_IN_NAMESPACES.includes(namespace))
      this.made.set(namespace, { first: loaded, count: 1 });
  }

  /** A class of pods that no manifest describes; pods of a dump show what it asks for. */
  private noteClass(loaded: LoadedObject): void {
    const { object } = loaded;
    const name = object.metadata.uid === "" ? runtimeClassOf(object) : undefined;
    if (name === undefined || this.plane.store.get("RuntimeClass", "", name) !== undefined) return;
    const known = this.classes.get(name);
    if (known === undefined) this.classes.set(name, { first: loaded, count: 1 });
    else known.count++;
  }

  private noteClasses(): void {
    for (const [name, { first, count }] of this.classes) {
      const { kind, metadata } = first.object;
      const place = this.plane.placeOf(`${kind} ${keyOf(metadata.namespace, metadata.name)}`, "");
      this.notes.push(
        Object.freeze({
          code: "runtime-class-unknown" as const,
          ...place,
          path: "spec.runtimeClassName",
          message: WORDS.runtimeClassUnknown({ name, count, ending: count === 1 ? "" : "s" }),
          advice: WORDS.adviceRuntimeClassUnknown,
        }),
      );
    }
  }

  finish(outcomes: readonly ApplyOutcome[]): KubeApplyReport {
    this.noteClasses();
    for (const [namespace, { first, count }] of this.made) {
      const { kind, metadata } = first.object;
      const place = this.plane.placeOf(`${kind} ${keyOf(metadata.namespace, metadata.name)}`, "");
      this.notes.push(
        Object.freeze({
          code: "namespace-created" as const,
          ...place,
          path: "metadata.namespace",
          message: WORDS.namespaceCreated({ namespace, count, ending: count === 1 ? "" : "s" }),
          advice: `Create it before you apply the files: kubectl create namespace ${namespace}.`,
        }),
      );
    }
    return Object.freeze({
      outcomes: Object.freeze(outcomes),
      changes: Object.freeze(this.changes),
      notes: Object.freeze(this.notes),
      problems: this.report.finish().problems,
    });
  }
}

function withVersionOf(before: KubeObject, object: KubeObject): KubeObject {
  const { uid, resourceVersion } = before.metadata;
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion } };
}

/** Stores objects in the control plane's store. */
export function applyObjects(plane: ControlPlane, objects: readonly LoadedObject[]): KubeApplyReport {
  const application = new Application(plane, reservationsOf(objects));
  const outcomes = new Map<LoadedObject, ApplyOutcome>();
  for (const loaded of inOrder(objects)) outcomes.set(loaded, application.add(loaded));
  settle(plane, objects);
  return application.finish(objects.flatMap((loaded) => outcomes.get(loaded) ?? []));
}
