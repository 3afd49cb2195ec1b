/** What the control API takes and gives: each request and answer once (`#core/base/shape.ts`). */
import {
  APPLY_RESULT,
  CONTROL_PLANE_REPORT,
  DELETE_RESULT,
  INPUT_TEXT,
  NODE_REPORT,
  REPAIR_COUNT,
  SESSION_PROBLEM,
  TIME_REPORT,
} from "../session/session.ts";
import { NODE_FAULT_NAMES } from "../life/node-change.ts";
import { LIVE_PLACES } from "../live/live-places.ts";
import { LOOKUP_PROGRAMS } from "../trace/resolve-report.ts";
import { TRACE_PROTOCOLS, TRACE_REPORT } from "../trace/trace-report.ts";
import { NODE_PACKET_COUNTERS } from "../views/packet-counters.ts";
import { SERVICE_FRONT_END } from "../views/service-view.ts";
import { DHCP_LEASE_VIEW } from "../views/dhcp-views.ts";
import { QUIRK_VIEW } from "../views/quirk-views.ts";
import { DOCKER_NETWORK_VIEW } from "../views/docker-views.ts";
import { EFFECTIVE_ROUTE_VIEW, EFFECTIVE_RULE_VIEW } from "../views/azure-views.ts";
import { ADAPTER_VIEW, COMPARTMENT_VIEW, COMPUTE_SYSTEM_VIEW, ROUTE_VIEW } from "../views/stack-views.ts";
import { OVN_DATABASE } from "../views/ovn-view.ts";
import { NODE_PORT, PORT_VIEW } from "../views/vfp-ports.ts";
import type { Leaf, ValueOf } from "#core/base/shape.ts";
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { PROBLEM_PLACE } from "#core/catalogue/file-problem.ts";
import type { KubeObject } from "#contracts/kubernetes/objects.ts";
import { reports } from "#data/words.js";

const WORDS = reports();

export const IDENTITY = {
  text: "Who answers.",
  fields: {
    name: { is: "text", text: "Of the running cluster, as --name gives it." },
    version: { is: "text", text: "Mullion's own." },
    pid: { is: "integer", text: "The process that holds the cluster." },
  },
} as const;
export type Identity = ValueOf<typeof IDENTITY>;

export const HEALTH = {
  text: "Who answers, and how it is.",
  document: "Health",
  base: (): typeof IDENTITY => IDENTITY,
  fields: { status: ["ready", "ending"] },
} as const;
export type ClusterHealth = ValueOf<typeof HEALTH>;

export const NODE_SUMMARY = {
  text: "A node.",
  fields: {
    name: "text",
    os: ["windows", "linux"],
    address: { is: "text", text: "On the underlay." },
    podCIDR: "text",
    compat: ["upstream", "hardened"],
    pods: { is: "integer", text: "How many have their network." },
  },
  optional: {
    build: { is: "text", text: "Windows: the profile, such as ws2022." },
    standing: {
      is: ["stopped", "left"],
      text: (): string => WORDS.nodeSummaryStanding,
    },
    faults: {
      list: {
        text: "A fault in force.",
        fields: {
          name: (): typeof NODE_FAULT_NAMES => NODE_FAULT_NAMES,
          struck: { is: "integer", text: "Calls that it has struck." },
        },
      },
      text: (): string => WORDS.nodeSummaryFaults,
    },
  },
} as const;

export const CLUSTER_SUMMARY = {
  text: "A running cluster.",
  document: "ClusterSummary",
  fields: {
    name: { is: "text", text: "As the cluster file calls it." },
    kubernetes: "text",
    seed: "integer",
    atMs: { is: "number", text: "Virtual time since the cluster began." },
    nodes: { list: (): typeof NODE_SUMMARY => NODE_SUMMARY },
    pods: { is: "integer", text: "Pods that have their network." },
    outside: {
      list: { text: "A host outside the cluster.", fields: { name: "text", address: "text" } },
    },
  },
  optional: {
    apiServer: { is: ["down"], text: "The API server has an outage. Absent: it is up." },
    nodesAtRest: { is: "integer", text: "Nodes that come up when something asks for them. Absent: none." },
  },
} as const;
export type ClusterSummary = ValueOf<typeof CLUSTER_SUMMARY>;

export const POD_SUMMARY = {
  text: "A pod in a few words.",
  fields: {
    namespace: "text",
    name: "text",
    node: { is: "text", text: "Empty: it has none." },
    address: { is: "text", text: "Empty: it has none." },
    phase: "text",
  },
  optional: { trouble: { is: "text", text: "Why it is not ready. Absent: it is." } },
} as const;

export const POD_SUMMARY_LIST = {
  text: (): string => WORDS.podSummaryList,
  document: "PodSummaryList",
  fields: { items: { list: (): typeof POD_SUMMARY => POD_SUMMARY } },
} as const;
export type PodSummaryList = ValueOf<typeof POD_SUMMARY_LIST>;

/** An object of Kubernetes has its own description. */
export const KUBE_OBJECT: Leaf<KubeObject> = {
  schema: {
    type: "object",
    description: "A Kubernetes object.",
    required: ["apiVersion", "kind", "metadata"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" }, namespace: { type: "string" } },
      },
    },
  },
};

export const OBJECT_LIST = {
  text: "Objects, as kubectl get -o json.",
  fields: {
    apiVersion: ["v1"],
    kind: ["List"],
    metadata: { text: "Always empty.", fields: { resourceVersion: [""] } },
    items: { list: (): typeof KUBE_OBJECT => KUBE_OBJECT },
  },
} as const;
export type ObjectList = ValueOf<typeof OBJECT_LIST>;

export const HNS_ITEM = {
  text: (): string => WORDS.hnsItem,
  others: "kept",
  fields: { node: "text", ID: "text" },
  optional: {
    pods: { list: "text", text: "HCN namespaces: NAMESPACE/NAME of the pods whose sandbox it is." },
  },
} as const;
export type HnsItem = ValueOf<typeof HNS_ITEM>;

export const HNS_LIST = {
  text: "Objects of HNS.",
  document: "HnsList",
  fields: { items: { list: (): typeof HNS_ITEM => HNS_ITEM } },
} as const;
export type HnsList = ValueOf<typeof HNS_LIST>;

/** What machines consist of below their pods, and what the network around counts for them, by the names of its kinds. */
export const STACK_LISTS = {
  computesystems: {
    text: "Containers and virtual machines of Windows nodes.",
    document: "ComputeSystemList",
    fields: { items: { list: (): typeof COMPUTE_SYSTEM_VIEW => COMPUTE_SYSTEM_VIEW } },
  },
  compartments: {
    text: "The compartments of machines.",
    document: "CompartmentList",
    fields: { items: { list: (): typeof COMPARTMENT_VIEW => COMPARTMENT_VIEW } },
  },
  adapters: {
    text: "The network adapters of machines.",
    document: "AdapterList",
    fields: { items: { list: (): typeof ADAPTER_VIEW => ADAPTER_VIEW } },
  },
  routes: {
    text: "The routes of machines.",
    document: "RouteList",
    fields: { items: { list: (): typeof ROUTE_VIEW => ROUTE_VIEW } },
  },
  effectiveroutes: {
    text: "Routes of nodes in a virtual network of Azure.",
    document: "EffectiveRouteList",
    fields: { items: { list: (): typeof EFFECTIVE_ROUTE_VIEW => EFFECTIVE_ROUTE_VIEW } },
  },
  effectiverules: {
    text: "Security rules of nodes in a virtual network of Azure.",
    document: "EffectiveRuleList",
    fields: { items: { list: (): typeof EFFECTIVE_RULE_VIEW => EFFECTIVE_RULE_VIEW } },
  },
  dockernetworks: {
    text: "Networks of Docker on Windows nodes.",
    document: "DockerNetworkList",
    fields: { items: { list: (): typeof DOCKER_NETWORK_VIEW => DOCKER_NETWORK_VIEW } },
  },
  dhcpleases: {
    text: "What DHCP servers have given out, and keep.",
    document: "DhcpLeaseList",
    fields: { items: { list: (): typeof DHCP_LEASE_VIEW => DHCP_LEASE_VIEW } },
  },
  quirks: {
    text: "The defects of Windows nodes.",
    document: "QuirkList",
    fields: { items: { list: (): typeof QUIRK_VIEW => QUIRK_VIEW } },
  },
} as const;
export type StackLists = { readonly [Kind in keyof typeof STACK_LISTS]: ValueOf<(typeof STACK_LISTS)[Kind]> };

export const SERVICE_LIST = {
  text: "Services on Windows nodes, one item for each front end.",
  document: "ServiceList",
  fields: {
    items: { list: (): typeof SERVICE_FRONT_END => SERVICE_FRONT_END },
    repairs: { list: (): typeof REPAIR_COUNT => REPAIR_COUNT },
  },
} as const;
export type ServiceList = ValueOf<typeof SERVICE_LIST>;

export const VFP_PORT_LIST = {
  text: "The switch ports of Windows nodes.",
  document: "VfpPortList",
  fields: { items: { list: (): typeof NODE_PORT => NODE_PORT } },
} as const;
export type VfpPortList = ValueOf<typeof VFP_PORT_LIST>;

export const VFP_PORT_VIEW = {
  text: "What VFP holds for one port.",
  document: "VfpPortView",
  base: (): typeof PORT_VIEW => PORT_VIEW,
  fields: {},
} as const;
export type VfpPortView = ValueOf<typeof VFP_PORT_VIEW>;

export const PACKET_COUNTER_LIST = {
  text: "What the components of Windows nodes counted and dropped.",
  document: "PacketCounterList",
  fields: { items: { list: (): typeof NODE_PACKET_COUNTERS => NODE_PACKET_COUNTERS } },
} as const;
export type PacketCounterList = ValueOf<typeof PACKET_COUNTER_LIST>;

export const OVN_DATABASE_ANSWER = {
  text: "A database of OVN.",
  document: "OvnDatabase",
  base: (): typeof OVN_DATABASE => OVN_DATABASE,
  fields: {},
} as const;
export type OvnDatabaseAnswer = ValueOf<typeof OVN_DATABASE_ANSWER>;

export const LIVE_ANSWER = {
  text: "What of the cluster is on this machine.",
  document: "Live",
  base: (): typeof LIVE_PLACES => LIVE_PLACES,
  fields: {},
} as const;
export type LiveAnswer = ValueOf<typeof LIVE_ANSWER>;

export const LIVE_LOG_ANSWER = {
  text: "What the processes of a real pod printed last.",
  document: "LiveLog",
  fields: { pod: "text", text: "text" },
} as const;
export type LiveLogAnswer = ValueOf<typeof LIVE_LOG_ANSWER>;

export const APPLY_REQUEST = {
  text: "Manifests, as texts.",
  fields: { inputs: { list: (): typeof INPUT_TEXT => INPUT_TEXT, min: 1 } },
  optional: { namespace: { is: "text", text: "For objects that name none; default when absent." } },
} as const;
export type ApplyBody = ValueOf<typeof APPLY_REQUEST>;

/** What answers about manifests have besides results. */
export const MANIFESTS_REPORT = {
  text: "What was said about manifests.",
  fields: {
    problems: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: "What could not be read; the rest was done.",
    },
    notes: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: "What was skipped, or read in an older form.",
    },
  },
} as const;

export const APPLY_ANSWER = {
  text: "The outcome for each object.",
  document: "ApplyReport",
  base: (): typeof MANIFESTS_REPORT => MANIFESTS_REPORT,
  fields: {
    results: {
      list: (): typeof APPLY_RESULT => APPLY_RESULT,
      text: "One for each object, in the order given.",
    },
  },
} as const;
export type ApplyAnswer = ValueOf<typeof APPLY_ANSWER>;

export const DELETE_REQUEST = {
  text: "Objects by name, and those that manifests name; at least one.",
  fields: {},
  optional: {
    references: {
      list: {
        text: "An object by name.",
        fields: { kind: { is: "text", text: "Pod, Service …" }, name: "words" },
        optional: { namespace: { is: "text", text: "default when absent." } },
      },
    },
    inputs: { list: (): typeof INPUT_TEXT => INPUT_TEXT },
    namespace: { is: "text", text: "For objects that name none; default when absent." },
  },
} as const;
export type DeleteBody = ValueOf<typeof DELETE_REQUEST>;

export const DELETE_ANSWER = {
  text: "The outcome for each object.",
  document: "DeleteReport",
  base: (): typeof MANIFESTS_REPORT => MANIFESTS_REPORT,
  fields: {
    results: {
      list: (): typeof DELETE_RESULT => DELETE_RESULT,
      text: "One for each object, in the order given.",
    },
  },
} as const;
export type DeleteAnswer = ValueOf<typeof DELETE_ANSWER>;

export const TIME_REQUEST = {
  text: "Lets virtual time pass.",
  // An hour in one request: everything else waits for it.
  fields: { milliseconds: { is: "integer", min: 1, max: 3_600_000 } },
} as const;

export const TIME_ANSWER = {
  text: "Time has passed.",
  document: "TimeReport",
  base: (): typeof TIME_REPORT => TIME_REPORT,
  fields: {},
} as const;
export type TimeAnswer = ValueOf<typeof TIME_ANSWER>;

export const NODE_ANSWER = {
  text: "The outcome for a node.",
  document: "NodeReport",
  base: (): typeof NODE_REPORT => NODE_REPORT,
  fields: {},
} as const;
export type NodeAnswer = ValueOf<typeof NODE_ANSWER>;

export const CONTROL_PLANE_REQUEST = {
  text: "Begins or ends an outage of the API server.",
  fields: { apiServer: ["up", "down"] },
} as const;

export const CONTROL_PLANE_ANSWER = {
  text: "The state of the control plane.",
  document: "ControlPlaneReport",
  base: (): typeof CONTROL_PLANE_REPORT => CONTROL_PLANE_REPORT,
  fields: {},
} as const;
export type ControlPlaneAnswer = ValueOf<typeof CONTROL_PLANE_ANSWER>;

export const TRACE_REQUEST = {
  text: "A packet to be followed.",
  fields: {
    from: { is: "text", text: "pod/NAMESPACE/NAME, pod/NAME, deploy/NAME, node/NAME, external, an address." },
    to: { is: "text", text: (): string => WORDS.traceRequestTo },
  },
  optional: {
    protocol: { is: (): typeof TRACE_PROTOCOLS => TRACE_PROTOCOLS, text: "tcp when absent." },
    family: {
      is: ["ipv4", "ipv6"],
      text: "By which of their addresses; absent: the family of the receiver's.",
    },
    port: {
      is: "integer",
      min: 1,
      max: 65_535,
      text: "Absent: the receiver's first port; always for icmp and dns.",
    },
    capture: { is: "boolean", text: "Asks for the packets, too." },
    bytes: { is: [true], text: "The steps have the bytes of their frames, too." },
    inject: {
      is: "boolean",
      text: (): string => WORDS.traceRequestInject,
    },
    captureNode: { is: "text", text: "Of the packets only those on this machine." },
    capturePlace: { is: "text", text: (): string => WORDS.traceRequestCapturePlace },
  },
} as const;
export type TraceQuestion = ValueOf<typeof TRACE_REQUEST>;

export const TRACE_ANSWER = {
  text: "One packet and its answer.",
  document: "TraceAnswer",
  fields: { report: (): typeof TRACE_REPORT => TRACE_REPORT },
  optional: { capture: { is: "text", text: "pcapng in base64; present when it was asked for." } },
} as const;
export type TraceAnswer = ValueOf<typeof TRACE_ANSWER>;

export const RESOLVE_REQUEST = {
  text: "A name to be looked up.",
  fields: {
    from: {
      list: "text",
      min: 1,
      text: "Who asks, each for itself: pod/NAME, deploy/NAME, node/NAME, external, an address.",
    },
    name: { is: "text", text: "As a program would give it: web, web.shop, kubernetes.default." },
  },
  optional: {
    as: { is: (): typeof LOOKUP_PROGRAMS => LOOKUP_PROGRAMS, text: "By whose rules; system when absent." },
    family: { is: ["ipv4", "ipv6"], text: "ipv6 asks for AAAA; A when absent." },
    times: {
      is: "integer",
      min: 1,
      max: 100,
      text: "Lookups of each sender, one after the other; 1 when absent.",
    },
    intervalMs: {
      is: "integer",
      min: 0,
      max: 3_600_000,
      text: "Virtual time between the beginnings of two of them; 1000 when absent.",
    },
  },
} as const;
export type ResolveQuestion = ValueOf<typeof RESOLVE_REQUEST>;

export const EXEC_REQUEST = {
  text: "A command to be run.",
  fields: {
    from: { is: "text", text: "Where: pod/NAMESPACE/NAME, pod/NAME, deploy/NAME, node/NAME." },
    command: { list: "text", min: 1, text: "The program and its arguments: ipconfig, /all." },
  },
  optional: { trace: { is: [true], text: "The walks of the packets that it sends are wanted, too." } },
} as const;
export type ExecQuestion = ValueOf<typeof EXEC_REQUEST>;

/** A question without settings. */
export const VERIFY_REQUEST = {
  text: (): string => WORDS.verifyRequest,
  fields: {},
  optional: { whole: { is: [true], text: "All flows are tried." } },
} as const;

export const EMPTY_REQUEST = { text: "Nothing.", fields: {} } as const;

export const SHUTDOWN = {
  text: "The cluster ends.",
  document: "Shutdown",
  fields: { cluster: { is: "text", text: "As the cluster file calls it." }, status: ["ending"] },
} as const;
export type ShutdownAnswer = ValueOf<typeof SHUTDOWN>;

export const ERROR_DETAILS = {
  text: "What is wrong.",
  fields: {
    code: {
      is: "text",
      text: (): string => WORDS.errorDetailsCode,
    },
    message: { is: "text", text: "One sentence without a full stop." },
    advice: { is: "text", text: (): string => WORDS.errorDetailsAdvice },
  },
  optional: {
    entry: {
      is: (): typeof KNOWLEDGE_CODES => KNOWLEDGE_CODES,
      text: "The entry of the catalogue with more.",
    },
    where: (): typeof PROBLEM_PLACE => PROBLEM_PLACE,
    problems: {
      list: (): typeof SESSION_PROBLEM => SESSION_PROBLEM,
      text: "All of them, when several were found.",
    },
  },
} as const;
export type ErrorDetails = ValueOf<typeof ERROR_DETAILS>;

export const ERROR_ANSWER = {
  text: "The body of every unsuccessful answer.",
  fields: { error: (): typeof ERROR_DETAILS => ERROR_DETAILS },
} as const;
export type ErrorAnswer = ValueOf<typeof ERROR_ANSWER>;

export const GAP_EVENT = {
  text: (): string => WORDS.gapEvent,
  fields: { type: ["gap"], missed: { is: "integer", text: "How many." } },
} as const;
export type GapEvent = ValueOf<typeof GAP_EVENT>;
