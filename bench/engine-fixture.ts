/** A pod port as an L2Bridge node has it, and frames of many connections to send through it. */
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { writeU16, writeU32 } from "#core/base/bytes.ts";
import { ANY_IPV4, type Ipv4, prefixOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { createGroup } from "#dataplane/vfp/group.ts";
import type { LayerDefinition, Rule } from "#dataplane/vfp/rule.ts";
import { VfpPort } from "#dataplane/vfp/vfp-port.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";

/** A TCP segment 10.244.1.10:49201 → 203.0.113.10:443 with ACK set (dataplane.md §6.10 V6, not a SYN). */
const SEGMENT = annotatedHex(`
  00155daa0001 0e2a0af4010a 0800 45000034 12344000 8006a087 0af4010a cb00710a
  c03101bb 00000001 00000000 8010fd5c 672f0000 02040582 01030308 01010402`);

export const POD_IP: Ipv4 = 0x0af4_010a as Ipv4;
const NODE_IP = 0x0a00_000b as Ipv4;
const PEER_IP = 0x0a00_000c as Ipv4;
const BACKEND_IP = 0x0af4_020a as Ipv4;
const PROVENANCE = { object: "HostComputeEndpoint", id: "e", name: "a" };

const LAYERS: readonly LayerDefinition[] = [
  { name: "LB_DSR", priority: 7, isStateful: true, isDefaultAllow: true },
  { name: "ACL_ENDPOINT_LAYER", priority: 15, isStateful: true, isDefaultAllow: false },
  { name: "SLB_NAT_LAYER", priority: 50, isStateful: true, isDefaultAllow: true },
  { name: "INTERNAL_L2_REWRITE_LAYER", priority: 75, isStateful: false, isDefaultAllow: true },
  { name: "VNET_PA_ROUTE_LAYER", priority: 2000, isStateful: false, isDefaultAllow: true },
];

const PORTS_PER_SOURCE = 60_000;

/** Who opened connection number `index`; sources follow one another when their ports are used up. */
export function connectionOf(index: number): { readonly source: number; readonly port: number } {
  return {
    source: POD_IP + Math.floor(index / PORTS_PER_SOURCE),
    port: 1024 + (index % PORTS_PER_SOURCE),
  };
}

/** A segment of connection number `index`. */
export function segmentOf(index: number): Uint8Array {
  const frame = SEGMENT.slice();
  const { source, port } = connectionOf(index);
  writeU32(frame, 26, source);
  writeU16(frame, 34, port);
  return frame;
}

function rule(id: string, fields: Partial<Rule> & Pick<Rule, "action" | "condition">): Rule {
  return {
    id,
    name: id,
    priority: 100,
    isTerminating: true,
    isStateful: true,
    provenance: PROVENANCE,
    ...fields,
  };
}

/** Makes the port; with `nat`, every connection is translated. */
export function makePort(nat: boolean): VfpPort {
  const port = new VfpPort({
    id: "p",
    name: "pod",
    node: "win-1",
    layers: LAYERS,
    nextHopResolver: {
      resolve: () => ({ sourceMac: 0x0015_5d00_0011 as Mac, destinationMac: 0x5254_0000_0001 as Mac }),
    },
  });
  const out = { direction: "out", family: 4, priority: 1 } as const;
  const allow = rule("allow", { priority: 65_500, action: { type: "allow" }, condition: {} });
  port.setGroups("ACL_ENDPOINT_LAYER", [
    createGroup({ ...out, name: "ACL_OUT", match: "priority", rules: [allow] }),
  ]);
  if (!nat) return port;
  // A static NAT of address and port: a node's 16 384 NAT ports would not do for the largest row.
  const condition = { protocols: [6], source: [prefixOf(POD_IP, 24)] };
  const translate = rule("nat", {
    action: { type: "nat", side: "destination", ip: BACKEND_IP, port: 8080 },
    condition,
  });
  port.setGroups("SLB_NAT_LAYER", [
    createGroup({ ...out, name: "NAT_OUT", match: "priority", rules: [translate] }),
  ]);
  const route = rule("route", {
    action: { type: "paroute" },
    isStateful: false,
    condition: { source: [prefixOf(POD_IP, 24)], destination: [ANY_IPV4] },
  });
  port.setGroups("VNET_PA_ROUTE_LAYER", [
    createGroup({ ...out, name: "PA_ROUTE_OUT", match: "lpm-destination", rules: [route] }),
  ]);
  return port;
}

/** A pod's port on an overlay node: one route to another node's range, everything inside comes out of its tunnel. */
export function makeOverlayPort(): VfpPort {
  const encap = { name: "VNET_ENCAP_LAYER", priority: 40, isStateful: false, isDefaultAllow: false } as const;
  const port = new VfpPort({
    id: "p",
    name: "pod",
    node: "win-1",
    layers: [...LAYERS.filter(({ name }) => name !== "INTERNAL_L2_REWRITE_LAYER"), encap],
    nextHopResolver: {
      resolve: () => ({ sourceMac: 0x0015_5d00_0011 as Mac, destinationMac: 0x0015_5d00_0012 as Mac }),
    },
  });
  port.address = { providerIpv4: NODE_IP, customerAddresses: [], flags: 336 };
  const allow = rule("allow", { action: { type: "allow" }, condition: {} });
  const route = rule("remote", {
    action: {
      type: "routeencap",
      encapsulation: "vxlan",
      tni: 4096,
      destinations: [{ providerAddress: PEER_IP, innerMac: 0x0015_5daa_0002 as Mac }],
      decrementTtl: true,
    },
    isStateful: false,
    condition: { destination: [ANY_IPV4] },
  });
  const decap = rule("decap", {
    action: { type: "decap", pushesTni: true },
    isStateful: false,
    condition: { protocols: [252] },
  });
  const next = rule("route", { action: { type: "paroute" }, isStateful: false, condition: {} });
  const out = { direction: "out", family: 4, priority: 1, match: "priority" } as const;
  const into = { ...out, direction: "in" } as const;
  port.setGroups("ACL_ENDPOINT_LAYER", [
    createGroup({ ...out, name: "ACL_OUT", rules: [allow] }),
    createGroup({ ...into, name: "ACL_IN", rules: [allow] }),
  ]);
  port.setGroups("VNET_ENCAP_LAYER", [
    createGroup({ ...out, name: "ENCAP", match: "lpm-destination", rules: [route] }),
    createGroup({ ...into, name: "DECAP", rules: [decap] }),
  ]);
  port.setGroups("VNET_PA_ROUTE_LAYER", [createGroup({ ...out, name: "PA_ROUTE", rules: [next] })]);
  return port;
}

/** What comes from the other node for connection number `index`. */
export function tunnelledSegmentOf(index: number): Uint8Array {
  const packet = Packet.fromFrame(segmentOf(index));
  encapsulateVxlan(packet, {
    link: { sourceMac: 0x0015_5d00_0012 as Mac, destinationMac: 0x0015_5d00_0011 as Mac },
    ip: { source: PEER_IP, destination: NODE_IP, ttl: 128, identification: 1, isDontFragment: true },
    sourcePort: 50_000,
    vni: 4096,
  });
  return packet.frame.slice();
}

/** Sends frames round robin through `port`; the packet is refilled from the frame each time, as a device does. */
export function sender(
  port: VfpPort,
  frames: readonly Uint8Array[],
  direction: "out" | "in" = "out",
): (operations: number) => number {
  const headers = new Headers();
  const packet = Packet.ofLength(frames[0]?.length ?? 0);
  const { start, end } = packet;
  let at = 0;
  return (operations) => {
    let passed = 0;
    for (let i = 0; i < operations; i++) {
      const frame = frames[at];
      at = at + 1 === frames.length ? 0 : at + 1;
      if (frame === undefined) continue;
      packet.start = start;
      packet.end = end;
      packet.tni = 0;
      packet.bytes.set(frame, start);
      headers.parse(packet);
      if (port.process(direction, packet, headers, 1) === "pass") passed++;
    }
    return passed;
  };
}

/** Sends each frame once, in a packet of its own. @returns how many passed. */
export function sendOnce(port: VfpPort, frames: readonly Uint8Array[]): number {
  const headers = new Headers();
  let passed = 0;
  for (const frame of frames) {
    const packet = Packet.fromFrame(frame);
    headers.parse(packet);
    if (port.process("out", packet, headers, 1) === "pass") passed++;
  }
  return passed;
}
