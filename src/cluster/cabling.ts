/**
 * What the nodes' adapters hang on: the segment, or for an L2Tunnel network the switch of the physical host that they run
 * on (dataplane.md §2.5).
 */
import type { Environment } from "../base/environment.ts";
import type { MemoryDevice } from "../device/memory-pair.ts";
import { PhysicalHostSwitch } from "../fabric/physical-host-switch.ts";
import { ROUTER_MAC, type Underlay } from "../fabric/underlay.ts";
import type { Mac } from "../net/mac.ts";
import type { ClusterFile, NodeSpec } from "./file/cluster-file.ts";

/** Gives a node the end of its cable. */
export type Cabling = (spec: NodeSpec, mac: Mac) => MemoryDevice;

function fabricCabling(env: Environment, file: ClusterFile, underlay: Underlay): Cabling {
  const fabric = new PhysicalHostSwitch(env, "fabric");
  underlay.physicalHost = fabric;
  for (const rule of file.underlay.deny) fabric.deny(rule);
  const router = { name: "router", mac: ROUTER_MAC, addresses: [file.underlay.router], isRouter: true };
  underlay.segment.addPort("fabric", fabric.connect(router));
  return ({ name, address, podCIDR, hasMacSpoofing }, mac) =>
    fabric.connect({
      name,
      mac,
      addresses: [address],
      ranges: [podCIDR],
      refusesOtherMacs: !hasMacSpoofing,
    });
}

export function makeCabling(env: Environment, file: ClusterFile, underlay: Underlay): Cabling {
  if (file.network.driver === "L2Tunnel") return fabricCabling(env, file, underlay);
  return ({ name, hasMacSpoofing }, mac) => underlay.connect(name, hasMacSpoofing ? {} : { onlyMac: mac });
}
