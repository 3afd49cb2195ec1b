/**
 * The layers of switch ports, by type of network and kind of port (dataplane.md §2.2). Outgoing packets walk down a
 * list, incoming ones up. A layer may rely on what the layers above it did to an outgoing packet. And how the rules and
 * groups in them are made.
 *
 * Overlay nodes were seen with their numbers and flags. INTERNAL_L2_REWRITE_LAYER 75 is documented for L2Bridge.
 * Inferred: that the other numbers hold there too, and EXTERNAL_L2_REWRITE_LAYER 110, of which only the name is known: it
 * has to see translated addresses, so it comes behind SLB_NAT_LAYER, and before the next hop is asked.
 */
import type { IpFamily } from "#core/net/ip.ts";
import { type Group, createGroup } from "#dataplane/vfp/group.ts";
import type { LayerDefinition, Rule, VfpDirection } from "#dataplane/vfp/rule.ts";

/**
 * Layers that stand on an endpoint's port only while a policy asks for them, in outbound order. Inferred: their names
 * and numbers, since no dump of a node with such policies is public: a proxy gets a connection before a load balancer
 * does, and what rules drop or hold back takes nothing of the rate.
 */
export const OPTIONAL_LAYERS = ["L4_PROXY_LAYER", "QOS_LAYER"] as const;

/** Layers of an L2Bridge endpoint's port, in outbound order. */
export const LAYER_NAMES = [
  "L4_PROXY_LAYER",
  "LB_DSR",
  "ACL_ENDPOINT_LAYER",
  "SLB_NAT_LAYER",
  "INTERNAL_L2_REWRITE_LAYER",
  "SLB_DECAP_LAYER_STATEFUL",
  "EXTERNAL_L2_REWRITE_LAYER",
  "VNET_PA_ROUTE_LAYER",
  "QOS_LAYER",
] as const;

/** Layers of an overlay endpoint's port (observed, dataplane.md §2.2.1). */
const OVERLAY_LAYER_NAMES = [
  "L4_PROXY_LAYER",
  "LB_DSR",
  "ACL_ENDPOINT_LAYER",
  "VNET_ENCAP_LAYER",
  "SLB_NAT_LAYER",
  "SLB_DECAP_LAYER_STATEFUL",
  "VNET_PA_ROUTE_LAYER",
  "QOS_LAYER",
] as const;

/** Layers of the port of an overlay network's distributed router (observed, dataplane.md §2.2.1). */
const ROUTER_LAYER_NAMES = [
  "REMOTESUBNETROUTE_HAIRPIN_LAYER",
  "VNET_ENCAP_LAYER",
  "VNET_PA_ROUTE_LAYER",
] as const;

/** Any layer that a network programs on ports of its own. */
export type LayerName =
  | (typeof LAYER_NAMES)[number]
  | (typeof OVERLAY_LAYER_NAMES)[number]
  | (typeof ROUTER_LAYER_NAMES)[number];

const LAYERS: { readonly [Name in LayerName]: Omit<LayerDefinition, "name"> } = {
  L4_PROXY_LAYER: { priority: 5, isStateful: true, isDefaultAllow: true, isShownWhenEmpty: false },
  LB_DSR: { priority: 7, isStateful: true, isDefaultAllow: true },
  // Without the default-allow flag: what matches no rule is dropped (dataplane.md §1.3, §4.2).
  ACL_ENDPOINT_LAYER: { priority: 15, isStateful: true, isDefaultAllow: false },
  // Flags 0x3. Its rules keep no flows: the answer comes by another port.
  REMOTESUBNETROUTE_HAIRPIN_LAYER: {
    priority: 35,
    isStateful: false,
    isDefaultAllow: true,
    isHairpin: true,
  },
  // Flags 0x4: clear TNI, and no default allow.
  VNET_ENCAP_LAYER: { priority: 40, isStateful: false, isDefaultAllow: false, clearsTni: true },
  // Flags 0x9, as SLB_DECAP_LAYER_STATEFUL has.
  SLB_NAT_LAYER: { priority: 50, isStateful: true, isDefaultAllow: true, updatesFlows: true },
  INTERNAL_L2_REWRITE_LAYER: { priority: 75, isStateful: false, isDefaultAllow: true },
  SLB_DECAP_LAYER_STATEFUL: { priority: 100, isStateful: true, isDefaultAllow: true, updatesFlows: true },
  EXTERNAL_L2_REWRITE_LAYER: { priority: 110, isStateful: false, isDefaultAllow: true },
  VNET_PA_ROUTE_LAYER: { priority: 2_000, isStateful: false, isDefaultAllow: true },
  QOS_LAYER: { priority: 3_000, isStateful: false, isDefaultAllow: true, isShownWhenEmpty: false },
};

function definitionsOf(names: readonly LayerName[]): readonly LayerDefinition[] {
  return Object.freeze(names.map((name) => Object.freeze({ name, ...LAYERS[name] })));
}

/** What stands on one kind of port. */
export interface LayerStack {
  /** In outbound order. */
  readonly names: readonly LayerName[];
  readonly definitions: readonly LayerDefinition[];
}

function stackOf(names: readonly LayerName[]): LayerStack {
  return Object.freeze({ names: Object.freeze(names), definitions: definitionsOf(names) });
}

/** Every L2Bridge endpoint's port. */
export const L2BRIDGE_STACK: LayerStack = stackOf(LAYER_NAMES);
/** Every overlay endpoint's port. */
export const OVERLAY_STACK: LayerStack = stackOf(OVERLAY_LAYER_NAMES);
/** The port of an endpoint without rules: a rate is all that it may have. */
export const PLAIN_STACK: LayerStack = stackOf(["QOS_LAYER"]);
/** The port of an overlay network's distributed router. */
export const ROUTER_STACK: LayerStack = stackOf(ROUTER_LAYER_NAMES);

/**
 * The layers of the host's vNIC port (dataplane.md §2.2.1, §2.2.3): names and numbers are those of overlay nodes;
 * SLB_HAIRPIN_LAYER, LB and SLB_LB_LAYER with their groups are also checked for on L2Bridge. SNAT 200 with its flags was seen
 * on an old overlay node (§2.2.2, kubernetes/kubernetes#79359). Inferred: that newer nodes and other networks have it, too.
 */
export const HOST_LAYER_NAMES = [
  "SLB_HAIRPIN_LAYER",
  "SNAT",
  "LB",
  "ENCAP",
  "DECAP_IN",
  "SLB_LB_LAYER",
  "VNET_PA_ROUTE_LAYER",
] as const;
export type HostLayerName = (typeof HOST_LAYER_NAMES)[number];

/** Layers of the host's port that are there while an overlay network is on the switch. */
export const HOST_TUNNEL_LAYERS: readonly HostLayerName[] = ["ENCAP", "DECAP_IN"];

const HOST_LAYER_PRIORITIES: Readonly<Record<HostLayerName, number>> = {
  SLB_HAIRPIN_LAYER: 101,
  SNAT: 200,
  LB: 300,
  ENCAP: 500,
  DECAP_IN: 600,
  SLB_LB_LAYER: 700,
  VNET_PA_ROUTE_LAYER: 2_000,
};

/** Tunnels and next hops are found anew for each connection; the rest keeps flows. */
const STATELESS_HOST_LAYERS: readonly HostLayerName[] = [...HOST_TUNNEL_LAYERS, "VNET_PA_ROUTE_LAYER"];

export const HOST_LAYERS: readonly LayerDefinition[] = Object.freeze(
  HOST_LAYER_NAMES.map((name) =>
    Object.freeze({
      name,
      priority: HOST_LAYER_PRIORITIES[name],
      isStateful: !STATELESS_HOST_LAYERS.includes(name),
      isDefaultAllow: true,
      isHairpin: name === "SLB_HAIRPIN_LAYER",
      updatesFlows: name === "SNAT",
      isShownWhenEmpty: false,
    }),
  ),
);

// Rules and groups.

const RULE_PRIORITY = 100;
const GROUP_PRIORITY = 100;
/** Of the groups of VNET_PA_ROUTE_LAYER and of their rules (observed, dataplane.md §1.6, §2.4 B-6 row 4). */
export const PA_ROUTE_GROUP_PRIORITY = 200;
export const PA_ROUTE_PRIORITY = 45_535;

type RuleFields = Pick<Rule, "name" | "condition" | "action" | "provenance"> & Partial<Rule>;

/** A rule that ends its layer and keeps no flow, known by its name; `fields` may say otherwise. */
export function makeRule(fields: RuleFields): Rule {
  return Object.freeze({
    id: fields.name,
    priority: RULE_PRIORITY,
    isTerminating: true,
    isStateful: false,
    ...fields,
    condition: Object.freeze(fields.condition),
    action: Object.freeze(fields.action),
  });
}

/** What a group has besides its rules. */
export interface GroupFields {
  readonly name: string;
  readonly direction: VfpDirection;
  readonly family: IpFamily;
  /** Default 100. */
  readonly priority?: number;
  /** Default `priority`. */
  readonly match?: Group["match"];
}

/** The group of these rules, if there are any. */
export function groupOf(fields: GroupFields, rules: readonly Rule[]): readonly Group[] {
  return rules.length === 0 ? [] : [makeGroup(fields, rules)];
}

export function makeGroup(fields: GroupFields, rules: readonly Rule[]): Group {
  const { name, direction, family, priority = GROUP_PRIORITY, match = "priority" } = fields;
  return createGroup({ name, direction, family, priority, match, rules });
}
