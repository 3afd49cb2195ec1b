/**
 * A cluster that stays up: what a running cluster can be asked and told. The control API (`#cluster/api/`) sees nothing
 * else of it.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { FileProblem, ProblemPlace } from "#core/catalogue/file-problem.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import type { ServicePortStatus, RepairKind } from "#programs/kube-proxy/report.ts";
import type { Cluster } from "../cluster.ts";
import type { NodeChange, NodeStanding } from "../life/node-change.ts";
import type { VirtualClock } from "#core/base/clock.ts";
import type { FlowLimit } from "./flow-limit.ts";

export type { ProblemPlace } from "#core/catalogue/file-problem.ts";

/** How many repairs of one kind a node has had. */
export interface RepairCount {
  readonly node: string;
  readonly family: "IPv4" | "IPv6";
  readonly kind: RepairKind;
  readonly count: number;
}

/** A text of the input: a cluster file or manifests. `name` is only used in messages. */
export interface InputText {
  readonly name: string;
  readonly text: string;
}

/** One object by name. `namespace` is empty for kinds that belong to none. */
export interface ObjectReference {
  readonly kind: KubeKind;
  readonly namespace: string;
  readonly name: string;
}

/** What is wrong, where, and what to do. */
export interface SessionProblem {
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly message: string;
  /** Full sentences. */
  readonly advice: string;
  readonly where?: ProblemPlace;
}

/** What answers about a cluster rest on. */
export const FACT_NAMES = [
  "network plugin",
  "network mode",
  "network driver",
  "routes",
  "VXLAN",
  "DSR",
  "build",
  "Kubernetes version",
  "policy engine",
  "behaviour",
] as const;

/** Something that answers about a cluster rest on. */
export interface ClusterFact {
  readonly name: (typeof FACT_NAMES)[number];
  readonly value: string;
  /** Who says it: an object such as `configmap/kube-system/kube-proxy`, or a file; `assumed` where nobody does. */
  readonly source: string;
  readonly where?: ProblemPlace;
}

/** What is said about input that was taken: what is left out of it, and what is worth knowing besides. */
export interface InputRemarks {
  /** What Kubernetes would refuse; the rest goes on. */
  readonly problems: readonly SessionProblem[];
  readonly notes: readonly SessionProblem[];
  /** What its parts say against each other, or against what Windows can. */
  readonly contradictions?: readonly SessionProblem[];
  /** What the cluster rests on; absent: of texts that were applied later. */
  readonly facts?: readonly ClusterFact[];
  /** What of it keeps flows from being judged, and is no object of the cluster. */
  readonly limits?: readonly FlowLimit[];
}

/** A problem of a file as sessions tell it; what is about no file and no object stands nowhere. */
export function toSessionProblem(problem: FileProblem): SessionProblem {
  const { code, file, line, column, path, message, advice } = problem;
  if (file === "") return { code, message, advice };
  return { code, message, advice, where: { file, line, column, field: path } };
}

/** `cluster.yaml:12:3`, or an object of the API; empty for what stands nowhere. */
export function placeOf({ where }: SessionProblem): string {
  if (where === undefined) return "";
  return where.line > 0 ? `${where.file}:${where.line}:${where.column}` : where.file;
}

/** Place, field and fault, as far as there are, in one line. */
export function formatFault(problem: SessionProblem): string {
  return [placeOf(problem), problem.where?.field ?? "", problem.message]
    .filter((part) => part !== "")
    .join(": ");
}

export interface ApplyResult {
  readonly reference: ObjectReference;
  readonly outcome: "created" | "configured" | "unchanged" | "refused";
  /** Set when the object is refused. */
  readonly problem?: SessionProblem;
}

export interface ApplyReport {
  /** One for each object, in the order in which they were given. */
  readonly results: readonly ApplyResult[];
  /** What is worth knowing about the cluster now, and was not before. */
  readonly notes: readonly SessionProblem[];
  /** Those of them that are about the objects as they were taken. */
  readonly applied: readonly SessionProblem[];
}

export interface DeleteResult {
  readonly reference: ObjectReference;
  readonly outcome: "deleted" | "not-found" | "refused";
  /** Set when the object is refused. */
  readonly problem?: SessionProblem;
}

export interface DeleteReport {
  /** One for each reference, in the order in which they were given. */
  readonly results: readonly DeleteResult[];
  /** What is worth knowing about the cluster now, and was not before. */
  readonly notes: readonly SessionProblem[];
}

/** A program of a node, or a pod, that did not come up, and why. */
export interface ClusterTrouble {
  /** `node/win-1`, `pod/default/web`. */
  readonly reference: string;
  /** The node that it is on. */
  readonly node: string;
  readonly code: KnowledgeCode;
  /** One sentence without a full stop. */
  readonly text: string;
}

/** The outcome for a node. */
export interface NodeReport {
  readonly node: string;
  readonly standing: NodeStanding;
  /** The range of its pods. */
  readonly podCIDR: string;
  /** What was done, in a few words. */
  readonly text: string;
  /** What is worth knowing about the cluster now, and was not before. */
  readonly notes: readonly SessionProblem[];
}

/** The state of the control plane. */
export interface ControlPlaneReport {
  readonly apiServer: "up" | "down";
  /** What is worth knowing about the cluster now, and was not before. */
  readonly notes: readonly SessionProblem[];
}

/** What became of letting time pass. */
export interface TimeReport {
  /** Virtual time now. */
  readonly atMs: number;
  /** What is worth knowing about the cluster now, and was not before. */
  readonly notes: readonly SessionProblem[];
}

interface EventBase {
  /** Grows by one from event to event, from 1. */
  readonly id: number;
  /** Virtual time. */
  readonly atMs: number;
}

/** Something that happened in a running cluster. */
export type SessionEvent =
  | (EventBase & {
      readonly type: "object";
      readonly action: "created" | "configured" | "deleted";
      readonly reference: ObjectReference;
    })
  | (EventBase & {
      readonly type: "node";
      readonly node: string;
      readonly text: string;
      readonly code?: KnowledgeCode;
    })
  | (EventBase & {
      readonly type: "progress";
      /** What goes on: `pods start`. */
      readonly text: string;
      readonly done: number;
      readonly total: number;
    })
  | (EventBase & {
      readonly type: "note";
      readonly text: string;
      readonly code?: KnowledgeCode;
      readonly reference?: ObjectReference;
    });

export interface ClusterSession {
  /** The cluster as data, for traces and listings. */
  readonly cluster: Cluster;
  /** Creates or replaces objects, runs controllers, kubelets, kube-proxies and DNS; time settles. */
  apply(objects: readonly LoadedObject[]): Promise<ApplyReport>;
  /** Removes objects and what the controllers made of them; time settles. */
  delete(references: readonly ObjectReference[]): Promise<DeleteReport>;
  /** Lets something happen to a node; time settles. @throws RequestError for what the node cannot do now. */
  changeNode(node: string, change: NodeChange): Promise<NodeReport>;
  /** Begins or ends an outage of the API server; time settles. */
  setApiServer(state: "up" | "down"): Promise<ControlPlaneReport>;
  /** Lets virtual time pass; kube-proxies and flanneld do what they do without being told. */
  passTime(milliseconds: number): Promise<TimeReport>;
  /** All objects of a kind, by namespace and name. Without `namespace`: of all namespaces. */
  listObjects(kind: KubeKind, namespace?: string): readonly KubeObject[];
  /** Every service port as the kube-proxy of a Windows node knows it; undefined: that node runs none. */
  servicesOn(node: string): readonly ServicePortStatus[] | undefined;
  /** What is worth knowing about the cluster as it is. */
  notes(): readonly FileProblem[];
  /** What keeps answers about flows of the cluster, as it is, from being ones. */
  limits(): readonly FlowLimit[];
  /** What did not come up: flanneld, kube-proxy, and pods that have no network. */
  troubles(): readonly ClusterTrouble[];
  /** What kube-proxies that repair have put right in HNS, by node and kind; on all nodes, or on one. */
  repairs(node?: string): readonly RepairCount[];
  /** Hears what happens from now on, until the returned function is called. */
  subscribe(listener: (event: SessionEvent) => void): () => void;
}

/** An event without the fields that the sender fills in. */
type Unnumbered<E> = E extends SessionEvent ? Omit<E, "id" | "atMs"> : never;

/** Numbers what happens in a running cluster, and sends it to every listener. */
export class SessionEvents {
  private readonly clock: VirtualClock;
  private readonly listeners = new Set<(event: SessionEvent) => void>();
  private lastId = 0;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  subscribe(listener: (event: SessionEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  send(event: Unnumbered<SessionEvent>): void {
    this.lastId++;
    const numbered: SessionEvent = { ...event, id: this.lastId, atMs: this.clock.nowMs };
    for (const listener of this.listeners) listener(numbered);
  }
}
