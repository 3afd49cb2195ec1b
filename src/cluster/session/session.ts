/**
 * A cluster that stays up: what a running cluster can be asked and told. The control API (`#cluster/api/`) sees nothing
 * else of it.
 */
import type { ValueOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES, type KnowledgeCode } from "#core/catalogue/codes.ts";
import { type FileProblem, PROBLEM_PLACE } from "#core/catalogue/file-problem.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { KUBE_KIND } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind, KubeObject } from "#contracts/kubernetes/objects.ts";
import { REPAIR_KINDS, type ServicePortStatus } from "#programs/kube-proxy/report.ts";
import type { Cluster } from "../cluster.ts";
import type { OvnNetwork } from "../ovn/ovn-network.ts";
import { NODE_STANDINGS, type NodeChange, type NodeStanding } from "../life/node-change.ts";
import type { VirtualClock } from "#core/base/clock.ts";
import { type FlowLimit, LIMIT_REASON } from "./flow-limit.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export type { ProblemPlace } from "#core/catalogue/file-problem.ts";

export const REPAIR_COUNT = {
  text: (): string => WORDS.repairCount,
  fields: {
    node: "text",
    family: ["IPv4", "IPv6"],
    kind: (): typeof REPAIR_KINDS => REPAIR_KINDS,
    count: "integer",
  },
} as const;
export type RepairCount = ValueOf<typeof REPAIR_COUNT>;

const UNREAD_BELOW = {
  text: "Manifests in folders below, which were not read.",
  fields: { folder: "text", count: "integer" },
} as const;

export const INPUT_TEXT = {
  text: "A text: manifests in YAML or JSON, several documents, lists.",
  fields: {
    name: { is: "text", text: "Used in messages only." },
    text: "text",
  },
  optional: { unreadBelow: (): typeof UNREAD_BELOW => UNREAD_BELOW },
} as const;
export type InputText = ValueOf<typeof INPUT_TEXT>;

export const OBJECT_REFERENCE = {
  text: "An object of Kubernetes by name.",
  fields: {
    kind: (): typeof KUBE_KIND => KUBE_KIND,
    namespace: { is: "text", text: "Empty for kinds that belong to no namespace." },
    name: "text",
  },
} as const;
export type ObjectReference = ValueOf<typeof OBJECT_REFERENCE>;

export const SESSION_PROBLEM = {
  text: "What is wrong, or worth knowing, and what to do.",
  base: (): typeof LIMIT_REASON => LIMIT_REASON,
  fields: { advice: { is: "text", text: "What to do: full sentences." } },
  optional: {
    differs: { is: "text", text: "When the Kubernetes page states otherwise: the reason, by its id." },
  },
} as const;
export type SessionProblem = ValueOf<typeof SESSION_PROBLEM>;

/** What answers about a cluster rest on. */
export const FACT_NAMES = [
  "network plugin",
  "network mode",
  "network driver",
  "routes",
  "VXLAN",
  "pod range",
  "service range",
  "DNS domain",
  "DSR",
  "build",
  "Kubernetes version",
  "API server",
  "policy engine",
  "behaviour",
  "limits",
] as const;

export const CLUSTER_FACT = {
  text: "Something that the answer rests on.",
  fields: {
    name: (): typeof FACT_NAMES => FACT_NAMES,
    value: "text",
    source: {
      is: "text",
      text: (): string => WORDS.clusterFactSource,
    },
  },
  optional: { where: (): typeof PROBLEM_PLACE => PROBLEM_PLACE },
} as const;
export type ClusterFact = ValueOf<typeof CLUSTER_FACT>;

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
  const { code, file, line, column, path, message, advice, differs } = problem;
  const said = { code, message, advice, ...(differs === undefined ? {} : { differs }) };
  return file === "" ? said : { ...said, where: { file, line, column, field: path } };
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

export const APPLY_RESULT = {
  text: "One object.",
  fields: {
    reference: (): typeof OBJECT_REFERENCE => OBJECT_REFERENCE,
    outcome: ["created", "configured", "unchanged", "refused"],
  },
  optional: { problem: { is: (): typeof SESSION_PROBLEM => SESSION_PROBLEM, text: "Why it is refused." } },
} as const;
export type ApplyResult = ValueOf<typeof APPLY_RESULT>;

export interface ApplyReport {
  /** One for each object, in the order in which they were given. */
  readonly results: readonly ApplyResult[];
  /** What is worth knowing about the cluster now, and was not before. */
  readonly notes: readonly SessionProblem[];
  /** Those of them that are about the objects as they were taken. */
  readonly applied: readonly SessionProblem[];
}

export const DELETE_RESULT = {
  text: "One object.",
  fields: {
    reference: (): typeof OBJECT_REFERENCE => OBJECT_REFERENCE,
    outcome: ["deleted", "not-found", "refused"],
  },
  optional: { problem: { is: (): typeof SESSION_PROBLEM => SESSION_PROBLEM, text: "Why it is refused." } },
} as const;
export type DeleteResult = ValueOf<typeof DELETE_RESULT>;

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

/** What is worth knowing about the cluster now, and was not before. */
export const NOTES_REPORT = {
  text: "What is new.",
  fields: {
    notes: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: (): string => WORDS.notesReportNotes,
    },
  },
} as const;

export const NODE_REPORT = {
  text: "The outcome for a node.",
  base: (): typeof NOTES_REPORT => NOTES_REPORT,
  fields: {
    node: "text",
    standing: (): typeof NODE_STANDINGS => NODE_STANDINGS,
    podCIDR: { is: "text", text: "The range of its pods." },
    text: { is: "text", text: "What was done, in a few words." },
  },
} as const;
export type NodeReport = ValueOf<typeof NODE_REPORT>;

export const CONTROL_PLANE_REPORT = {
  text: "The state of the control plane.",
  base: (): typeof NOTES_REPORT => NOTES_REPORT,
  fields: { apiServer: ["up", "down"] },
} as const;
export type ControlPlaneReport = ValueOf<typeof CONTROL_PLANE_REPORT>;

export const TIME_REPORT = {
  text: "Time has passed.",
  base: (): typeof NOTES_REPORT => NOTES_REPORT,
  fields: { atMs: { is: "number", text: "Virtual time now." } },
} as const;
export type TimeReport = ValueOf<typeof TIME_REPORT>;

/** What every event has. */
export const EVENT_HEAD = {
  text: "Something that happened in a running cluster.",
  fields: {
    id: { is: "integer", text: "Grows by one from event to event, from 1." },
    atMs: { is: "number", text: "Virtual time." },
  },
} as const;

/** Something that happened in a running cluster, by type. */
export const OBJECT_EVENT = {
  text: "An object of Kubernetes was created, configured or deleted.",
  base: (): typeof EVENT_HEAD => EVENT_HEAD,
  fields: {
    type: ["object"],
    action: ["created", "configured", "deleted"],
    reference: (): typeof OBJECT_REFERENCE => OBJECT_REFERENCE,
  },
} as const;

export const NODE_EVENT = {
  text: (): string => WORDS.nodeEvent,
  base: (): typeof EVENT_HEAD => EVENT_HEAD,
  fields: { type: ["node"], node: "text", text: "text" },
  optional: { code: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES },
} as const;

export const PROGRESS_EVENT = {
  text: "A long work continues.",
  base: (): typeof EVENT_HEAD => EVENT_HEAD,
  fields: {
    type: ["progress"],
    text: { is: "text", text: "What goes on: pods start." },
    done: "integer",
    total: "integer",
  },
} as const;

export const NOTE_EVENT = {
  text: "Something to know, perhaps with a code.",
  base: (): typeof EVENT_HEAD => EVENT_HEAD,
  fields: { type: ["note"], text: "text" },
  optional: {
    code: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
    reference: (): typeof OBJECT_REFERENCE => OBJECT_REFERENCE,
  },
} as const;

export type SessionEvent = ValueOf<
  typeof OBJECT_EVENT | typeof NODE_EVENT | typeof PROGRESS_EVENT | typeof NOTE_EVENT
>;

/**
 * When machines come up wholly. `when asked`: kube-proxies program a Windows node when a question first needs it, where
 * nothing can be told of it before; `raise` and `ask` of the session see to that.
 */
export type Raising = "at the start" | "when asked";

export interface ClusterSession {
  /** The cluster as data, for traces and listings. What of its machines was left for later, `raise` and `ask` bring. */
  readonly cluster: Cluster;
  /** Brings machines up wholly that were left for later: those of a node, or all. */
  raise(node?: string): Promise<void>;
  /** Nodes whose machines wait until something asks for them. */
  readonly nodesAtRest: number;
  /**
   * Puts a question to the cluster, again and again until every machine that it needs is up. It asks copies
   * (`forkCluster`), which hold the machines that it touches, and changes nothing.
   */
  ask<T>(question: (cluster: Cluster) => T): Promise<T>;
  /**
   * As `ask`, of work that pauses: what it yields is passed on. What it finds out before it meets a machine that is not up, or
   * not in its copies, it forgets. `touched` are nodes that it will need.
   */
  askInSteps<P, T>(
    question: (cluster: Cluster) => Generator<P, T, undefined>,
    touched: Iterable<string>,
  ): AsyncGenerator<P, T, undefined>;
  /** Creates or replaces objects, runs controllers, kubelets, kube-proxies and DNS; time settles. */
  apply(objects: readonly LoadedObject[]): Promise<ApplyReport>;
  /** Removes objects and what the controllers made of them; time settles. */
  delete(references: readonly ObjectReference[]): Promise<DeleteReport>;
  /** Lets something happen to a node; time settles. @throws RequestError for what the node cannot do now. */
  changeNode(node: string, change: NodeChange): Promise<NodeReport>;
  /** Whether a node takes part. */
  standingOf(node: string): NodeStanding;
  /** False during an outage of the API server. */
  readonly hasApiServer: boolean;
  /** Begins or ends an outage of the API server; time settles. */
  setApiServer(state: "up" | "down"): Promise<ControlPlaneReport>;
  /** Lets virtual time pass; kube-proxies and flanneld do what they do without being told. */
  passTime(milliseconds: number): Promise<TimeReport>;
  /** From now on somebody else moves the clock, as fast as time passes: after a change it is not run on until all is quiet. */
  followRealTime(): void;
  /** OVN's programs; undefined with another plugin. */
  readonly ovn: OvnNetwork | undefined;
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
