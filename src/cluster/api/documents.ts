/**
 * What the control API takes and gives, as data. `schema.ts` says the same as a JSON schema, and a test holds real
 * answers against it.
 */
import type {
  ApplyResult,
  DeleteResult,
  ObjectReference,
  ProblemPlace,
  SessionProblem,
  ControlPlaneReport,
  InputText,
  NodeReport,
  RepairCount,
} from "../session/session.ts";
import type { AddressFamily, TraceProtocol, TraceReport } from "../trace/trace-report.ts";
import type { NodeChange } from "../life/node-change.ts";
import type { NodePacketCounters } from "../views/packet-counters.ts";
import type { ServiceFrontEnd } from "../views/service-view.ts";
import type { NodePort, PortView } from "../views/vfp-ports.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";

/** The version that paths begin with and documents carry. */
export const CONTROL_API_VERSION = "v1alpha1";
export const DOCUMENT_VERSION = "mullion/v1alpha1";

/** Kinds of HNS objects that can be listed. */
export const HNS_KINDS = ["networks", "endpoints", "namespaces", "loadbalancers"] as const;
export type HnsKind = (typeof HNS_KINDS)[number];

interface Document<Kind extends string> {
  readonly apiVersion: typeof DOCUMENT_VERSION;
  readonly kind: Kind;
}

/** Who answers. */
export interface Identity {
  /** The name of the running cluster, as `--name` gives it. */
  readonly name: string;
  /** Mullion's own version. */
  readonly version: string;
  /** The process that holds the cluster. */
  readonly pid: number;
}

/** `GET /health`. */
export interface ClusterHealth extends Document<"Health">, Identity {
  readonly status: "ready" | "ending";
}

export interface NodeSummary {
  readonly name: string;
  readonly os: "windows" | "linux";
  /** The profile of a Windows node, such as ws2022. */
  readonly build?: string;
  readonly address: string;
  readonly podCIDR: string;
  readonly compat: "upstream" | "hardened";
  readonly pods: number;
}

/** `GET /cluster`. */
export interface ClusterSummary extends Document<"ClusterSummary"> {
  /** As the cluster file calls it. */
  readonly name: string;
  readonly kubernetes: string;
  readonly seed: number;
  /** Virtual time since the cluster began. */
  readonly atMs: number;
  readonly nodes: readonly NodeSummary[];
  readonly pods: number;
  readonly outside: readonly { readonly name: string; readonly address: string }[];
}

/** `GET /objects/KIND`: as `kubectl get -o json`. */
export interface ObjectList {
  readonly apiVersion: "v1";
  readonly kind: "List";
  readonly metadata: { readonly resourceVersion: "" };
  readonly items: readonly KubeObject[];
}

/** `GET /hns/KIND`. Each item is the document as HNS returns it, with its node in front. */
export interface HnsList extends Document<"HnsList"> {
  readonly items: readonly HnsItem[];
}

export interface HnsItem {
  readonly node: string;
  /** HCN namespaces: the pods whose sandbox it is. */
  readonly pods?: readonly string[];
  readonly [field: string]: unknown;
}

/** `GET /services`: Services on Windows nodes, one item for each front end. */
export interface ServiceList extends Document<"ServiceList"> {
  readonly items: readonly ServiceFrontEnd[];
  /** What kube-proxies in `hardened` mode have repaired in HNS, counted. */
  readonly repairs: readonly RepairCount[];
}

/** `GET /vfp/ports`: the switch ports of Windows nodes. */
export interface VfpPortList extends Document<"VfpPortList"> {
  readonly items: readonly NodePort[];
}

/** `GET /vfp/port`: what VFP holds for one of them. */
export interface VfpPortView extends Document<"VfpPortView">, PortView {}

/** `GET /vfp/counters`: what the components of Windows nodes counted and dropped. */
export interface PacketCounterList extends Document<"PacketCounterList"> {
  readonly items: readonly NodePacketCounters[];
}

/** `POST /apply`. */
export interface ApplyBody {
  readonly inputs: readonly InputText[];
  /** For objects that name none; `default` when absent. */
  readonly namespace?: string;
}

export interface ApplyAnswer extends Document<"ApplyReport"> {
  readonly results: readonly ApplyResult[];
  /** What could not be read; the rest was applied. */
  readonly problems: readonly SessionProblem[];
  /** What was skipped, or read in an older form. */
  readonly notes: readonly SessionProblem[];
}

/** `POST /delete`: by name, or what manifests name. */
export interface DeleteBody {
  readonly references?: readonly ObjectReference[];
  readonly inputs?: readonly InputText[];
  readonly namespace?: string;
}

export interface DeleteAnswer extends Document<"DeleteReport"> {
  readonly results: readonly DeleteResult[];
  readonly problems: readonly SessionProblem[];
  readonly notes: readonly SessionProblem[];
}

/** `POST /time`: lets virtual time pass. */
export interface TimeBody {
  readonly milliseconds: number;
}

export interface TimeAnswer extends Document<"TimeReport"> {
  /** Virtual time now. */
  readonly atMs: number;
  readonly notes: readonly SessionProblem[];
}

/** `POST /node`: lets something happen to a node. */
export type NodeBody = { readonly node: string } & NodeChange;

export interface NodeAnswer extends Document<"NodeReport">, NodeReport {}

/** `POST /control-plane`: begins or ends an outage of the API server. */
export interface ControlPlaneBody {
  readonly apiServer: "up" | "down";
}

export interface ControlPlaneAnswer extends Document<"ControlPlaneReport">, ControlPlaneReport {}

/** `POST /trace`. */
export interface TraceQuestion {
  readonly from: string;
  readonly to: string;
  /** `tcp` when absent. */
  readonly protocol?: TraceProtocol;
  /** By which of their addresses; absent: the family of the receiver's. */
  readonly family?: AddressFamily;
  /** Absent: the first port of the receiver. */
  readonly port?: number;
  /** Sends the packet through the cluster itself, which remembers it; absent: through a copy. */
  readonly inject?: boolean;
  /** Asks for the packets, too. */
  readonly capture?: boolean;
  /** Of them, only those on this machine, and at places whose names hold this text. */
  readonly captureNode?: string;
  readonly capturePlace?: string;
}

export interface TraceAnswer extends Document<"TraceAnswer"> {
  readonly report: TraceReport;
  /** The packets of every step as pcapng, in base64. */
  readonly capture?: string;
}

/** `POST /shutdown`. */
export interface ShutdownAnswer extends Document<"Shutdown"> {
  /** As the cluster file calls the cluster. */
  readonly cluster: string;
  readonly status: "ending";
}

/** The body of every unsuccessful answer. */
export interface ErrorAnswer {
  readonly error: ErrorDetails;
}

export interface ErrorDetails {
  /** A code of the catalogue, of HNS (`HCN_E_…`) or of CNI (`CNI 7`); `internal-fault` for faults of Mullion's own. */
  readonly code: string;
  /** One sentence without a full stop. */
  readonly message: string;
  /** What to do: full sentences; empty when there is nothing to say. */
  readonly advice: string;
  /** The entry of the catalogue with more, where there is one. */
  readonly entry?: KnowledgeCode;
  readonly where?: ProblemPlace;
  /** All problems, when there is more than the first. */
  readonly problems?: readonly SessionProblem[];
}

/** Data of the event `gap`: events that this listener will never hear. */
export interface GapEvent {
  readonly type: "gap";
  readonly missed: number;
}
