/** The JSON Schema of what the API says about switch ports: parts of api.v1alpha1.json. */
import { type JsonSchema, closedObject, described } from "#core/base/json-schema.ts";
import { DOCUMENT_VERSION } from "./documents.ts";

const TEXT: JsonSchema = { type: "string" };
const INTEGER: JsonSchema = { type: "integer" };
const NUMBER: JsonSchema = { type: "number" };
const FLAG: JsonSchema = { type: "boolean" };
const DIRECTION: JsonSchema = { enum: ["OUT", "IN"], description: "OUT: from the vNIC into the switch." };

function ref(name: string): JsonSchema {
  return { $ref: `#/$defs/${name}` };
}

function list(items: JsonSchema, description?: string): JsonSchema {
  return { type: "array", items, ...(description === undefined ? {} : { description }) };
}

function each(names: readonly string[], schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

function document(
  kind: string,
  description: string,
  fields: Readonly<Record<string, JsonSchema>>,
): JsonSchema {
  return closedObject(description, {
    apiVersion: { const: DOCUMENT_VERSION },
    kind: { const: kind },
    ...fields,
  });
}

const LAYER_COUNTERS = closedObject(
  "As /get-layer-counter counts.",
  each(
    [
      "flowMatch",
      "flowDrop",
      "flowPending",
      "pendingDrop",
      "ruleMatch",
      "ruleDrop",
      "rulePending",
      "ruleUnifiedFlowDrop",
      "noMatch",
      "fragmentCacheMatch",
      "fragmentCacheDrop",
      "fragmentCacheNoMatch",
    ],
    INTEGER,
  ),
);

const RULE_COUNTERS = closedObject(
  "As /get-rule-counter counts.",
  each(["matchedPackets", "droppedPackets", "pendingPackets", "droppedFlows"], INTEGER),
);

const PORT_COUNTERS = closedObject(
  "As /get-port-counter counts.",
  each(
    [
      "totalPackets",
      "droppedPackets",
      "droppedAcl",
      "pendingPackets",
      "unifiedFlowMatch",
      "synPackets",
      "synAckPackets",
      "finPackets",
      "rstPackets",
      "verified",
      "timedOut",
      "reset",
      "resetBySyn",
      "closedByFin",
      "halfOpenTimeouts",
      "expiredToTimeWait",
    ],
    INTEGER,
  ),
);

function bothWays(schema: JsonSchema): JsonSchema {
  return closedObject("Both directions.", { out: schema, in: schema });
}

const FLOW = closedObject("One direction of a connection, with what all layers together do to it.", {
  direction: DIRECTION,
  protocol: INTEGER,
  source: TEXT,
  sourcePort: INTEGER,
  destination: TEXT,
  destinationPort: INTEGER,
  tunnelId: described(INTEGER, "Of the tunnel that packets come in; 0 for none."),
  transposition: closedObject(
    "Header changes in VFP's words: Ignore, Modify(…), Push(…), Pop.",
    each(["tni", "vlanId", "mssDelta", "macHeader", "ipHeader", "transportHeader", "encap"], TEXT),
  ),
  packets: INTEGER,
  ttl: described(NUMBER, "Seconds that it lives idle."),
  idleSeconds: NUMBER,
  isCurrent: described(FLAG, "False: its next packet walks the layers."),
});

/** Parts of the documents about ports. */
export const VFP_PARTS: Readonly<Record<string, JsonSchema>> = {
  VfpCondition: closedObject("A line under Conditions, as the text has it.", { label: TEXT, value: TEXT }),
  VfpRule: closedObject(
    "A rule.",
    {
      id: described(TEXT, "What /rule takes; empty for rules that only have a name."),
      name: described(TEXT, "The friendly name."),
      priority: INTEGER,
      flags: described(INTEGER, "1 terminating, 2 stateful; others belong to the type."),
      type: TEXT,
      conditions: list(ref("VfpCondition")),
      ttl: described(INTEGER, "Seconds that its flows live idle; 0 for rules that keep none."),
      data: list(TEXT, "The lines that the type prints of itself."),
      flagsEx: INTEGER,
    },
    { counters: RULE_COUNTERS },
  ),
  VfpGroup: closedObject("A group of rules, in the order in which they are tried.", {
    id: TEXT,
    name: TEXT,
    priority: INTEGER,
    direction: DIRECTION,
    type: { enum: ["IPv4", "IPv6"] },
    conditions: list(ref("VfpCondition")),
    match: TEXT,
    rules: list(ref("VfpRule")),
  }),
  VfpLayer: closedObject(
    "A layer.",
    {
      id: TEXT,
      name: TEXT,
      flags: described(INTEGER, "1 default allow, 2 hairpin, 4 clear TNI, 8 update flows on address change."),
      priority: described(INTEGER, "Outgoing packets meet the lowest first, incoming ones the highest."),
      groups: list(ref("VfpGroup")),
    },
    { counters: bothWays(LAYER_COUNTERS) },
  ),
  VfpDrop: closedObject(
    "Frames that were dropped for one reason.",
    { reason: described(TEXT, "In the words of Hyper-V."), packets: INTEGER },
    { code: described(TEXT, "mullion explain CODE.") },
  ),
  VfpNodePort: closedObject("A switch port of a node.", {
    node: TEXT,
    kind: { enum: ["external", "host", "container", "router"] },
    place: described(TEXT, "Whose it is, as traces name it."),
    addresses: list(TEXT, "Of the machine behind it."),
    name: described(TEXT, "The GUID that /port takes."),
    friendlyName: TEXT,
    switchName: TEXT,
    switchFriendlyName: TEXT,
    portId: INTEGER,
    type: { enum: ["External", "Internal", "Synthetic"] },
    isLearning: FLAG,
    forwarding: closedObject("What of /get-switch-forwarding-settings differs between switches.", {
      ...each(["innerMac", "allToExternal"], FLAG),
      vxlanPort: INTEGER,
    }),
    nicName: TEXT,
    nicFriendlyName: TEXT,
    mtu: INTEGER,
    mac: TEXT,
    vmName: TEXT,
    vmId: TEXT,
    bytesSent: INTEGER,
    bytesReceived: INTEGER,
    ingressDrops: list(ref("VfpDrop"), "Of frames from behind the port."),
    egressDrops: list(ref("VfpDrop")),
  }),
  VfpListing: closedObject("What VFP holds for a port.", {
    state: closedObject(
      "As /get-port-state says.",
      each(
        ["enabled", "blocked", "blockedOnRestore", "blockedLayerCreation", "preservingVlan", "vmContextSet"],
        FLAG,
      ),
    ),
    addressInfo: closedObject("As /get-address-info says.", {
      ...each(["providerIpv4", "providerIpv6", "customerIpv4", "customerIpv6", "mac", "fakeMac"], TEXT),
      flags: INTEGER,
    }),
    layers: list(ref("VfpLayer"), "As /list-layer orders them: hairpin layers last."),
    natPools: list(closedObject("A NAT pool.", { name: TEXT, ip: TEXT, protocol: INTEGER, ranges: INTEGER })),
    natRanges: list(
      closedObject("A block of ports of a NAT pool.", {
        pool: TEXT,
        ip: TEXT,
        protocol: INTEGER,
        first: INTEGER,
        last: INTEGER,
        used: INTEGER,
      }),
    ),
    spaces: list(
      closedObject("A space of mappings.", {
        id: TEXT,
        mappings: list(
          closedObject("A mapping.", each(["customerAddress", "providerAddress", "mac"], TEXT), {
            tni: INTEGER,
          }),
        ),
      }),
    ),
    flows: list(FLOW),
    counters: bothWays(PORT_COUNTERS),
    flowClasses: list(
      closedObject(
        "A class of flows.",
        { name: TEXT, count: INTEGER, maximum: INTEGER, created: INTEGER },
        { limit: INTEGER },
      ),
    ),
  }),
  PacketCount: closedObject("Frames that passed.", { packets: INTEGER, bytes: INTEGER }),
  PacketComponent: closedObject(
    "An adapter, a filter or a stack.",
    {
      id: INTEGER,
      group: TEXT,
      name: TEXT,
      type: { enum: ["NIC", "Filter", "Protocol"] },
      driver: TEXT,
      drops: list(
        closedObject("Frames that were dropped for one reason.", {
          direction: { enum: ["inbound", "outbound"] },
          reason: TEXT,
          location: described(TEXT, "Empty where none was published."),
          code: TEXT,
          packets: INTEGER,
        }),
      ),
    },
    { inbound: ref("PacketCount"), outbound: ref("PacketCount") },
  ),
};

/** The documents themselves. */
export const VFP_DOCUMENTS: Readonly<Record<string, JsonSchema>> = {
  VfpPortList: document("VfpPortList", "GET /vfp/ports.", { items: list(ref("VfpNodePort")) }),
  VfpPortView: document("VfpPortView", "GET /vfp/port.", {
    port: ref("VfpNodePort"),
    nodeAddress: described(TEXT, "It is part of rule names."),
    listing: ref("VfpListing"),
  }),
  PacketCounterList: document("PacketCounterList", "GET /vfp/counters.", {
    items: list(closedObject("A node.", { node: TEXT, components: list(ref("PacketComponent")) })),
  }),
};
