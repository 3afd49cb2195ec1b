/**
 * The layers of an L2Bridge endpoint's switch port (dataplane.md §2.2.3). Outgoing packets walk down this list,
 * incoming ones up. A layer may rely on what the layers above it did to an outgoing packet.
 *
 * INTERNAL_L2_REWRITE_LAYER 75 is documented for L2Bridge; the other numbers are observed on overlay nodes.
 * Inferred: that they hold here too, and EXTERNAL_L2_REWRITE_LAYER 110, of which only the name is known: it has to see
 * translated addresses, so it comes behind SLB_NAT_LAYER, and before the next hop is asked.
 */
import type { LayerDefinition } from "../../vfp/rule.ts";

/** Outbound order. */
export const LAYER_NAMES = [
  "LB_DSR",
  "ACL_ENDPOINT_LAYER",
  "SLB_NAT_LAYER",
  "INTERNAL_L2_REWRITE_LAYER",
  "SLB_DECAP_LAYER_STATEFUL",
  "EXTERNAL_L2_REWRITE_LAYER",
  "VNET_PA_ROUTE_LAYER",
] as const;
export type LayerName = (typeof LAYER_NAMES)[number];

const LAYERS: { readonly [Name in LayerName]: Omit<LayerDefinition, "name"> } = {
  LB_DSR: { priority: 7, isStateful: true, isDefaultAllow: true },
  // Without the default-allow flag: what matches no rule is dropped (dataplane.md §1.3, §4.2).
  ACL_ENDPOINT_LAYER: { priority: 15, isStateful: true, isDefaultAllow: false },
  SLB_NAT_LAYER: { priority: 50, isStateful: true, isDefaultAllow: true },
  INTERNAL_L2_REWRITE_LAYER: { priority: 75, isStateful: false, isDefaultAllow: true },
  SLB_DECAP_LAYER_STATEFUL: { priority: 100, isStateful: true, isDefaultAllow: true },
  EXTERNAL_L2_REWRITE_LAYER: { priority: 110, isStateful: false, isDefaultAllow: true },
  VNET_PA_ROUTE_LAYER: { priority: 2_000, isStateful: false, isDefaultAllow: true },
};

/** The layers of every L2Bridge endpoint's port. */
export const L2BRIDGE_LAYERS: readonly LayerDefinition[] = Object.freeze(
  LAYER_NAMES.map((name) => Object.freeze({ name, ...LAYERS[name] })),
);

/**
 * The layers of the host's vNIC port on an L2Bridge switch (dataplane.md §2.2.1, §2.2.3): names and numbers are those
 * of the host port of overlay nodes, SLB_HAIRPIN_LAYER, LB and SLB_LB_LAYER with their groups are also checked for on
 * L2Bridge. Inferred: SLB_NAT_LAYER 200 for source NAT; on old overlay nodes a layer with this number and such rules was
 * seen, its name was not (§2.2.2).
 */
export const HOST_LAYER_NAMES = [
  "SLB_HAIRPIN_LAYER",
  "SLB_NAT_LAYER",
  "LB",
  "SLB_LB_LAYER",
  "VNET_PA_ROUTE_LAYER",
] as const;
export type HostLayerName = (typeof HOST_LAYER_NAMES)[number];

const HOST_LAYER_PRIORITIES: Readonly<Record<HostLayerName, number>> = {
  SLB_HAIRPIN_LAYER: 101,
  SLB_NAT_LAYER: 200,
  LB: 300,
  SLB_LB_LAYER: 700,
  VNET_PA_ROUTE_LAYER: 2_000,
};

export const HOST_LAYERS: readonly LayerDefinition[] = Object.freeze(
  HOST_LAYER_NAMES.map((name) =>
    Object.freeze({
      name,
      priority: HOST_LAYER_PRIORITIES[name],
      isStateful: name !== "VNET_PA_ROUTE_LAYER",
      isDefaultAllow: true,
      isHairpin: name === "SLB_HAIRPIN_LAYER",
      isToldWhenEmpty: false,
    }),
  ),
);
