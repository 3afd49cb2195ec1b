/**
 * Reasons of drops in the words that Hyper-V's port statistics have (dataplane.md §7.9). Inferred: which reason stands for
 * which of ours; what VFP drops has one of its own only where the words fit, and is `Filtered` otherwise.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { DropSource } from "./switch-port.ts";

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
