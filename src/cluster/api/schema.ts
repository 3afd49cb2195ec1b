/** The JSON Schema of the control API, published as schemas/api.v1alpha1.json and at `GET /v1alpha1/schema`. */
import { NODE_ACTIONS } from "../life/node-change.ts";
import { RESTART_STATES } from "#contracts/hcn/faults/fault.ts";
import { DOCUMENT_VERSION } from "./documents.ts";
import { REPAIR_KINDS } from "#programs/kube-proxy/mod.ts";
import { TIME_MAX_MS } from "./requests.ts";
import { KUBE_KIND_TABLE } from "./kube-kinds.ts";
import { type JsonSchema, closedObject, described } from "#core/base/json-schema.ts";
import { VFP_DOCUMENTS, VFP_PARTS } from "./vfp-schema.ts";

const TEXT: JsonSchema = { type: "string" };
const NUMBER: JsonSchema = { type: "number" };
const INTEGER: JsonSchema = { type: "integer" };
const KIND: JsonSchema = { enum: KUBE_KIND_TABLE.map(({ kind }) => kind) };
/** The codes themselves stand in knowledge-entry.v1alpha1.json. */
const CODE: JsonSchema = { type: "string", pattern: "^[a-z0-9]+(-[a-z0-9]+)*$" };
const NAMESPACE_DEFAULT = "For objects that name none; default when absent.";

function ref(name: string): JsonSchema {
  return { $ref: `#/$defs/${name}` };
}

function list(items: JsonSchema, description?: string): JsonSchema {
  return { type: "array", items, ...(description === undefined ? {} : { description }) };
}

function document(
  kind: string,
  description: string,
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const head = { apiVersion: { const: DOCUMENT_VERSION }, kind: { const: kind } };
  return closedObject(description, { ...head, ...required }, optional);
}

/** Parts that several documents have. */
const PARTS: Readonly<Record<string, JsonSchema>> = {
  Reference: closedObject("An object of Kubernetes by name.", {
    kind: KIND,
    namespace: described(TEXT, "Empty for kinds that belong to no namespace."),
    name: TEXT,
  }),
  Input: closedObject("A text: manifests in YAML or JSON, several documents, lists.", {
    name: described(TEXT, "Used in messages only."),
    text: TEXT,
  }),
  Place: closedObject("The place of a problem.", {
    file: TEXT,
    line: described(INTEGER, "From 1."),
    column: described(INTEGER, "From 1, in characters."),
    field: described(TEXT, "Such as spec.ports[0].port; empty when it is not about a field."),
  }),
  Problem: closedObject(
    "What is wrong, and what to do.",
    {
      code: described(CODE, "mullion explain CODE."),
      message: described(TEXT, "One sentence without a full stop."),
      advice: described(TEXT, "Full sentences."),
    },
    { where: ref("Place") },
  ),
  Node: closedObject(
    "A node.",
    {
      name: TEXT,
      os: { enum: ["windows", "linux"] },
      address: described(TEXT, "On the underlay."),
      podCIDR: TEXT,
      compat: { enum: ["upstream", "hardened"] },
      pods: described(INTEGER, "How many have their network."),
    },
    { build: described(TEXT, "Windows: the profile, such as ws2022.") },
  ),
};

const LOOKING: Readonly<Record<string, JsonSchema>> = {
  Health: document("Health", "GET /health.", {
    status: { enum: ["ready", "ending"] },
    name: described(TEXT, "As --name gives it."),
    version: described(TEXT, "Mullion's own."),
    pid: INTEGER,
  }),
  ClusterSummary: document("ClusterSummary", "GET /cluster.", {
    name: described(TEXT, "As the cluster file calls it."),
    kubernetes: TEXT,
    seed: INTEGER,
    atMs: described(NUMBER, "Virtual time since the cluster began."),
    nodes: list(ref("Node")),
    pods: described(INTEGER, "Pods that have their network."),
    outside: list(closedObject("A host outside the cluster.", { name: TEXT, address: TEXT })),
  }),
  ObjectList: closedObject("GET /objects/KIND: as kubectl get -o json.", {
    apiVersion: { const: "v1" },
    kind: { const: "List" },
    metadata: closedObject("Always empty.", { resourceVersion: { const: "" } }),
    items: list({
      type: "object",
      description: "A Kubernetes object.",
      required: ["apiVersion", "kind", "metadata"],
      properties: {
        apiVersion: TEXT,
        kind: KIND,
        metadata: { type: "object", required: ["name"], properties: { name: TEXT, namespace: TEXT } },
      },
    }),
  }),
  HnsList: document("HnsList", "GET /hns/KIND.", {
    items: list({
      type: "object",
      description: "The HCN document, with its node in front.",
      required: ["node"],
      properties: {
        node: TEXT,
        pods: list(TEXT, "HCN namespaces: NAMESPACE/NAME of the pods whose sandbox it is."),
      },
    }),
  }),
  ServiceList: document("ServiceList", "GET /services: Services on Windows nodes.", {
    items: list(
      closedObject(
        "One front end of a Service on one node, or a load balancer without a Service.",
        {
          node: TEXT,
          namespace: described(TEXT, "Empty for stale ones."),
          name: described(TEXT, "Of the Service; empty for stale ones."),
          vip: described(TEXT, "Empty: every address of the node."),
          port: INTEGER,
          protocol: TEXT,
          state: { enum: ["programmed", "missing", "stale"] },
          backEnds: list(TEXT, "Addresses, as HNS has them."),
          rules: described(INTEGER, "Rules of VFP, on all ports of the node together."),
          findings: list(
            closedObject("Why it is missing, or differs from its definition.", {
              code: CODE,
              message: TEXT,
            }),
          ),
        },
        {
          frontEnd: { enum: ["ClusterIP", "NodePort", "ExternalIP", "Ingress", "HealthCheck"] },
          loadBalancer: described(TEXT, "The id of the load balancer of HNS."),
        },
      ),
    ),
    repairs: list(
      closedObject("What kube-proxies in hardened mode have repaired in HNS on one node.", {
        node: TEXT,
        family: { enum: ["IPv4", "IPv6"] },
        kind: { enum: REPAIR_KINDS },
        count: INTEGER,
      }),
    ),
  }),
};

function results(outcomes: readonly string[]): JsonSchema {
  const optional = { problem: ref("Problem") };
  return list(
    closedObject("One object.", { reference: ref("Reference"), outcome: { enum: outcomes } }, optional),
    "One for each object, in the order given.",
  );
}

const REPORT_LISTS = {
  problems: list(ref("Problem"), "What could not be read; the rest was done."),
  notes: list(ref("Problem"), "What was skipped, or read in an older form."),
};

const WORKING: Readonly<Record<string, JsonSchema>> = {
  ApplyRequest: closedObject(
    "POST /apply.",
    { inputs: { ...list(ref("Input")), minItems: 1 } },
    { namespace: described(TEXT, NAMESPACE_DEFAULT) },
  ),
  ApplyReport: document("ApplyReport", "The outcome for each object.", {
    results: results(["created", "configured", "unchanged", "refused"]),
    ...REPORT_LISTS,
  }),
  DeleteRequest: closedObject(
    "POST /delete: objects by name, and those that manifests name; at least one.",
    {},
    {
      references: list(
        closedObject(
          "An object by name.",
          { kind: KIND, name: { ...TEXT, minLength: 1 } },
          { namespace: described(TEXT, NAMESPACE_DEFAULT) },
        ),
      ),
      inputs: list(ref("Input")),
      namespace: described(TEXT, NAMESPACE_DEFAULT),
    },
  ),
  DeleteReport: document("DeleteReport", "The outcome for each object.", {
    results: results(["deleted", "not-found", "refused"]),
    ...REPORT_LISTS,
  }),
  TimeRequest: closedObject("POST /time: lets virtual time pass.", {
    milliseconds: { type: "integer", minimum: 1, maximum: TIME_MAX_MS },
  }),
  TimeReport: document("TimeReport", "Time has passed.", {
    atMs: described(NUMBER, "Virtual time now."),
    notes: list(ref("Problem"), "What is new and worth knowing."),
  }),
  NodeRequest: closedObject(
    "POST /node: lets something happen to a node.",
    { node: TEXT, do: { enum: NODE_ACTIONS } },
    {
      state: described(
        { enum: RESTART_STATES },
        "For restart-hns: what happens to the objects of HNS. Absent: the defects of its build decide.",
      ),
      podCIDR: described(TEXT, "Of rejoin: the range for its pods. Absent: the one that it had."),
      byMs: described(INTEGER, "Of set-clock: how far the machine's clock jumps, in milliseconds."),
    },
  ),
  NodeReport: document("NodeReport", "The outcome for a node.", {
    node: TEXT,
    standing: { enum: ["joined", "stopped", "left"] },
    podCIDR: described(TEXT, "The range of its pods."),
    text: described(TEXT, "What was done."),
    notes: list(ref("Problem"), "What is new and worth knowing."),
  }),
  ControlPlaneRequest: closedObject("POST /control-plane: begins or ends an outage of the API server.", {
    apiServer: { enum: ["up", "down"] },
  }),
  ControlPlaneReport: document("ControlPlaneReport", "The state of the control plane.", {
    apiServer: { enum: ["up", "down"] },
    notes: list(ref("Problem"), "What is new and worth knowing."),
  }),
  TraceRequest: closedObject(
    "POST /trace.",
    {
      from: described(TEXT, "pod/NAMESPACE/NAME, pod/NAME, node/NAME, external, an address."),
      to: described(TEXT, "Written in the same way."),
    },
    {
      protocol: described({ enum: ["tcp", "udp", "icmp", "dns"] }, "tcp when absent."),
      family: described(
        { enum: ["ipv4", "ipv6"] },
        "By which of their addresses; absent: the family of the receiver's.",
      ),
      port: described(
        { type: "integer", minimum: 1, maximum: 65_535 },
        "Absent: the receiver's first port; always for icmp.",
      ),
      capture: described({ type: "boolean" }, "Asks for the packets, too."),
      inject: described(
        { type: "boolean" },
        "True: sends the packet through the cluster itself, whose state changes; false: through a copy.",
      ),
      captureNode: described(TEXT, "Of the packets only those on this machine."),
      capturePlace: described(TEXT, "Of the packets only those at places whose names hold this text."),
    },
  ),
  TraceAnswer: document(
    "TraceAnswer",
    "One packet and its answer.",
    { report: { $ref: "trace.v1alpha1.json" } },
    { capture: described(TEXT, "pcapng in base64; present when it was asked for.") },
  ),
  Shutdown: document("Shutdown", "POST /shutdown: the cluster ends.", {
    cluster: described(TEXT, "As the cluster file calls it."),
    status: { const: "ending" },
  }),
  Error: closedObject("The body of every unsuccessful answer.", {
    error: closedObject(
      "What is wrong.",
      {
        code: described(TEXT, "Of the catalogue, of HNS or of CNI; internal-fault for bugs in Mullion."),
        message: TEXT,
        advice: TEXT,
      },
      {
        entry: described(CODE, "The entry of the catalogue with more."),
        where: ref("Place"),
        problems: list(ref("Problem"), "All of them, when several were found."),
      },
    ),
  }),
};

function event(
  type: string,
  description: string,
  required: JsonSchema,
  optional: JsonSchema = {},
): JsonSchema {
  const head = {
    id: described(INTEGER, "Grows by one from event to event."),
    atMs: described(NUMBER, "Virtual time."),
    type: { const: type },
  };
  return closedObject(
    description,
    { ...head, ...(required as Readonly<Record<string, JsonSchema>>) },
    optional as Readonly<Record<string, JsonSchema>>,
  );
}

const EVENTS: Readonly<Record<string, JsonSchema>> = {
  ObjectEvent: event("object", "An object of Kubernetes changed.", {
    action: { enum: ["created", "configured", "deleted"] },
    reference: ref("Reference"),
  }),
  NodeEvent: event("node", "Something happened on a node.", { node: TEXT, text: TEXT }, { code: CODE }),
  ProgressEvent: event("progress", "Progress of a long operation.", {
    text: TEXT,
    done: INTEGER,
    total: INTEGER,
  }),
  NoteEvent: event("note", "Something to know.", { text: TEXT }, { code: CODE, reference: ref("Reference") }),
  GapEvent: closedObject("Events that were dropped before this listener received them.", {
    type: { const: "gap" },
    missed: INTEGER,
  }),
};

/** JSON schema, draft 2020-12: every request and answer under `$defs`. Reports are those of the files beside it. */
export function apiSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Mullion control API, v1alpha1",
    description:
      "Requests, answers and events of the control API (docs/reference/api.md), each under $defs by its name.",
    $defs: { ...LOOKING, ...VFP_DOCUMENTS, ...WORKING, ...EVENTS, ...PARTS, ...VFP_PARTS },
  };
}
