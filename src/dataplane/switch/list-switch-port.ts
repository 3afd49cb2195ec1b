/** Ports of a switch as `vfpctrl /list-vmswitch-port` shows them, and the words for their drops (dataplane.md §7.9). */
import { formatMac } from "#core/net/mac.ts";
import type { VfpDirection } from "../vfp/rule.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import type { ListedDrop, ListedForwarding, ListedSwitchPort } from "../vfp/listing/listing.ts";
import type { SwitchPort, SwitchPortKind, DropSource } from "./switch-port.ts";
import type { VirtualSwitch } from "./virtual-switch.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";

/** The friendly name of an uplink's port, as nodes have it (users.md §4). */
const EXTERNAL_PORT = "ExternalPort";

const TYPES: Readonly<Record<SwitchPortKind, ListedSwitchPort["type"]>> = {
  external: "External",
  host: "Internal",
  router: "Internal",
  container: "Synthetic",
};

function listDrops(port: SwitchPort, direction: VfpDirection): readonly ListedDrop[] {
  return port
    .listDrops()
    .filter((drops) => drops.direction === direction)
    .map(({ source, code, frames }) => ({ reason: dropReason(source, code), code, packets: frames }));
}

function listForwarding(virtualSwitch: VirtualSwitch): ListedForwarding {
  const ports = virtualSwitch.listPorts();
  const tunnelled = ports.filter((port) => port.virtualSubnets.length > 0);
  return {
    innerMac: tunnelled.length > 0,
    allToExternal: ports.some((port) => port.sendsToFabric),
    vxlanPort: tunnelled[0]?.vfp.vxlanPort ?? VXLAN_PORT,
  };
}

/** Ingress is what comes into the switch, so what left the vNIC. */
export function listSwitchPort(
  port: SwitchPort,
  portId: number,
  virtualSwitch: VirtualSwitch,
): ListedSwitchPort {
  const isExternal = port.kind === "external";
  return {
    name: port.id.toUpperCase(),
    friendlyName: isExternal ? EXTERNAL_PORT : port.name,
    switchName: virtualSwitch.id.toUpperCase(),
    switchFriendlyName: virtualSwitch.name,
    portId,
    type: TYPES[port.kind],
    isLearning: isExternal,
    forwarding: listForwarding(virtualSwitch),
    nicName: port.id.toUpperCase(),
    nicFriendlyName: port.name,
    mtu: port.device.mtuBytes,
    mac: formatMac(port.mac),
    vmName: "",
    vmId: "",
    bytesSent: port.counters.out.bytes,
    bytesReceived: port.counters.in.bytes,
    ingressDrops: listDrops(port, "out"),
    egressDrops: listDrops(port, "in"),
  };
}

/**
 * Reasons of drops in the words that Hyper-V's port statistics have (dataplane.md §7.9). Inferred: which reason stands for
 * which of ours; what VFP drops has one of its own only where the words fit, and is `Filtered` otherwise.
 */
const REASONS: Readonly<Partial<Record<KnowledgeCode, string>>> = {
  "malformed-frame": "InvalidPacket",
  "tunnel-refused": "InvalidPacket",
  "acl-rule-blocked": "FailedSecurityPolicy",
  "acl-no-rule-matched": "FailedSecurityPolicy",
  "mac-spoofing-refused": "MacSpoofing",
  "address-spoofing-refused": "UnauthorizedMac",
  "arp-spoofing-refused": "UnauthorizedMac",
  "dhcp-server-refused": "DhcpGuard",
  "router-advertisement-refused": "RouterGuard",
  "rate-limit-exceeded": "StormLimit",
  "bandwidth-exceeded": "QoS",
  "mtu-exceeded": "MTUMismatch",
  "vlan-not-allowed": "FilteredVLAN",
  "virtual-subnet-unknown": "VirtualSubnetID",
  "mac-not-local": "InvalidDestMAC",
  "switch-port-unknown": "Disconnected",
  "switch-port-blocked": "NotReady",
  "next-hop-unresolved": "NotReady",
  "pending-packets-full": "Resources",
  "flow-table-full": "Resources",
  "flow-limit-reached": "Resources",
  "fragment-cache-full": "Resources",
  "nat-port-pool-exhausted": "Resources",
};

/** The word for a drop. */
export function dropReason(source: DropSource, code: KnowledgeCode): string {
  return REASONS[code] ?? (source === "vfp" ? "Filtered" : "Unknown");
}

/** Where pktmon says that it happened: the driver, and the location that was seen of it (dataplane.md §7.12). */
export const DROP_LOCATIONS: Readonly<
  Record<DropSource | "stack", { readonly driver: string; readonly location: string }>
> = {
  vfp: { driver: "vfpext.sys", location: "0xE0006096" },
  // No drop of the switch itself was published.
  switch: { driver: "vmswitch.sys", location: "" },
  stack: { driver: "tcpip.sys", location: "0xE0004136" },
};
