/** The JSON Schema of `mullion trace -o json`, published as schemas/trace.v1alpha1.json. */
import { KNOWLEDGE_CODES } from "#core/catalogue/codes.ts";
import { closedObject, described } from "#core/base/json-schema.ts";

const TEXT = { type: "string" } as const;
const NUMBER = { type: "number" } as const;
const INTEGER = { type: "integer" } as const;

const PARTY = closedObject(
  "One end of a trace: a pod, a node, a Service or an address.",
  {
    reference: described(TEXT, "As the command line takes it: pod/default/web, node/win-1, an address."),
    address: TEXT,
  },
  { node: described(TEXT, "The node it runs on; absent outside the cluster.") },
);

const PROVENANCE = closedObject(
  "The object that put the rule there.",
  {
    object: described(TEXT, "Kind: HostComputeEndpoint, HostComputeNetwork, Service, Pod, default …"),
    id: TEXT,
    name: TEXT,
  },
  {
    policy: closedObject(
      "The policy of that object, by position or by name.",
      { type: TEXT },
      {
        index: described(INTEGER, "Position in the object's list of policies, from 0."),
        name: described(TEXT, "What a policy of a long list is for: the prefix of a RemoteSubnetRoute."),
      },
    ),
  },
);

const RULE = closedObject("A VFP rule.", {
  id: TEXT,
  name: described(TEXT, "The friendly name that vfpctrl prints."),
  priority: described(INTEGER, "The lowest matching number wins."),
  action: {
    enum: [
      "allow",
      "block",
      "nat",
      "dynnat",
      "lbnat",
      "transpose",
      "routeencap",
      "mapencap",
      "decap",
      "mark",
      "qos",
      "redirect",
      "paroute",
    ],
  },
  provenance: PROVENANCE,
});

const CHANGE = closedObject(
  "A header field that the step changed. Without before it was added, without after it is gone.",
  { field: described(TEXT, "As packet tools name it: ip.src, tcp.dstport; inner.… behind a tunnel.") },
  { before: TEXT, after: TEXT },
);

const STEP = closedObject(
  "One thing that happened to the packet.",
  {
    number: described(INTEGER, "From 1, counted over the leg."),
    atMs: described(NUMBER, "Milliseconds since the packet was sent."),
    node: TEXT,
    place: described(TEXT, "The part of the node."),
    kind: {
      enum: ["send", "forward", "deliver", "translate", "layer", "unified-flow", "switch", "wire", "drop"],
    },
    text: TEXT,
    changes: { type: "array", items: CHANGE },
    frame: described(TEXT, "The frame after the step, as one line."),
  },
  {
    port: described(TEXT, "Id of the switch port."),
    direction: described({ enum: ["out", "in"] }, "out: from the vNIC into the switch."),
    layer: TEXT,
    group: TEXT,
    rule: RULE,
    outcome: described({ enum: ["rule", "flow", "miss"] }, "How the layer decided."),
    transposition: closedObject(
      "Of a unified flow that was made: what it does to the packets that follow, as VFP's ETW events say it.",
      {
        tni: TEXT,
        vlanId: TEXT,
        mssDelta: TEXT,
        macHeader: TEXT,
        ipHeader: TEXT,
        transportHeader: TEXT,
        encap: TEXT,
      },
    ),
    hook: described(TEXT, "Of a translation on Linux: PREROUTING, INPUT, OUTPUT, POSTROUTING."),
    provenance: PROVENANCE,
    compartment: described(INTEGER, "1 is the host's own."),
    code: described({ enum: [...KNOWLEDGE_CODES] }, "Explains the step: mullion explain CODE."),
    inferred: described(TEXT, "Present when the behaviour is inferred: the section that it rests on."),
  },
);

const LEG = closedObject("One direction.", {
  steps: { type: "array", items: STEP },
  end: described({ enum: ["delivered", "dropped", "lost"] }, "How this direction ended."),
});

const NOT_JUDGED = closedObject(
  "What could change the outcome.",
  {
    code: described({ enum: [...KNOWLEDGE_CODES] }, "mullion explain CODE."),
    message: described(TEXT, "One sentence without a full stop."),
  },
  {
    where: closedObject("What shows it.", { file: TEXT, line: INTEGER, column: INTEGER, field: TEXT }),
  },
);

const TEXTS = { type: "array", items: TEXT } as const;
const CODE = { enum: [...KNOWLEDGE_CODES] } as const;

const QUESTION = closedObject(
  "One question of the resolver, with all the times it was sent.",
  {
    name: described(TEXT, "The whole name with its final dot."),
    type: { enum: ["A", "AAAA"] },
    outcome: {
      enum: ["answered", "no-data", "name-error", "server-failure", "timed-out", "unreachable"],
    },
    sent: described(INTEGER, "Packets that were sent; 0: the resolver remembered."),
    addresses: TEXTS,
    detail: described(TEXT, "What the answer, or the network, said: NXDOMAIN."),
  },
  {
    suffix: described(TEXT, "The suffix that was added; absent for the name as it was given."),
    server: described(TEXT, "Who answered."),
  },
);

const RESOLUTION = closedObject(
  "Of a receiver that was named by a name: how the sender's resolver came to an address.",
  {
    name: TEXT,
    resolver: { enum: ["windows", "linux"] },
    servers: TEXTS,
    search: described(TEXTS, "The search list, as the resolver was told."),
    questions: { type: "array", items: QUESTION },
    unusedSuffixes: described(TEXTS, "Suffixes that this resolver does not try."),
    outcome: { enum: ["resolved", "failed"] },
    addresses: TEXTS,
  },
  {
    ndots: described(
      INTEGER,
      "Of a Linux resolver: from so many dots on a name is first asked for as it is.",
    ),
    canonicalName: described(TEXT, "Where aliases led."),
    code: described(CODE, "Why it failed."),
    detail: TEXT,
  },
);

export const TRACE_SCHEMA: Readonly<Record<string, unknown>> = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Mullion trace",
  ...closedObject(
    "What one packet and its answer met on their way.",
    {
      apiVersion: { const: "mullion/v1alpha1" },
      kind: { const: "Trace" },
      from: PARTY,
      to: PARTY,
      protocol: { enum: ["tcp", "udp", "icmp", "dns"] },
      compat: described(
        { enum: ["upstream", "hardened"] },
        "Which behaviour answered: the real component's with its defects, or the repaired one.",
      ),
      verdict: { enum: ["not-resolved", "answered", "refused", "no-answer", "not-delivered"] },
      summary: described(TEXT, "One sentence."),
      forward: LEG,
    },
    {
      port: described(INTEGER, "The receiver's port; absent for ICMP."),
      code: described({ enum: [...KNOWLEDGE_CODES] }, "Explains the verdict."),
      notJudged: described(
        { type: "array", items: NOT_JUDGED },
        "Why the outcome is no answer about the real cluster: what could change it and is not carried out here.",
      ),
      answer: described(TEXT, "What the receiver said: who it was and whom it saw."),
      resolution: RESOLUTION,
      reply: LEG,
    },
  ),
};
