/** What a port is set to besides its rules: addresses, guards, parser, flows (dataplane.md §1.2). */
import { readU16 } from "#core/base/bytes.ts";
import type { Ip, Ipv4, Ipv6 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import { VXLAN_PORT } from "#core/wire/tunnels/vxlan.ts";
import { FLOW_TTL_MS } from "./rule.ts";

/** Bits of `PortAddressInfo.flags`, as `vfpctrl /get-address-info` prints them. */
export const AddressFlag = {
  virtualized: 16,
  intercept: 32,
  macVirtualized: 64,
  processNonIp: 128,
  processClientDhcp: 256,
  dhcpv6Intercept: 512,
  dhcpv4: 1_024,
  arp: 2_048,
  ndp: 4_096,
  routerDiscovery: 8_192,
} as const;

/** Who is behind the port, and what stands outside on what it encapsulates. */
export interface PortAddressInfo {
  readonly providerIpv4?: Ipv4;
  readonly providerIpv6?: Ipv6;
  /** Addresses of the vNIC behind the port. */
  readonly customerAddresses: readonly Ip[];
  /** Of the vNIC; guards ask for it. */
  readonly mac?: Mac;
  /** The node NIC's MAC: the outer source until a next hop is known. */
  readonly fakeMac?: Mac;
  /** Bits of `AddressFlag`. */
  readonly flags: number;
}

export const NO_ADDRESS_INFO: PortAddressInfo = Object.freeze({ customerAddresses: [], flags: 0 });

/** What the port refuses or limits, whatever its rules say. Each is one bit of VFP's guard flags. */
export interface PortGuards {
  /** Frames from the vNIC with a source MAC other than the port's. */
  readonly mac?: boolean;
  /** ARP from the vNIC that speaks for an address or MAC other than the port's. */
  readonly arp?: boolean;
  /** ARP to the vNIC about addresses that it does not have. */
  readonly arpFilter?: boolean;
  /** Answers of DHCP servers from the vNIC. */
  readonly dhcp?: boolean;
  /** Router advertisements and redirects from the vNIC, and neighbour advertisements for other addresses. */
  readonly ndp?: boolean;
  /** IPv4 from the vNIC with a source other than the port's addresses. */
  readonly ipv4?: boolean;
  readonly ipv6?: boolean;
  /** Broadcasts, both ways. */
  readonly broadcast?: boolean;
  /** What is neither IP nor ARP, both ways. */
  readonly nonIp?: boolean;
  /** DSCP becomes zero on the way out, or in. */
  readonly zeroDscpOut?: boolean;
  readonly zeroDscpIn?: boolean;
  /** Messages per second from the vNIC. The numbers of Windows are not public, so there is no default. */
  readonly arpPerSecond?: number;
  readonly dhcpPerSecond?: number;
  readonly icmpv6PerSecond?: number;
  readonly broadcastsPerSecond?: number;
}

/** Flow classes that have a limit of their own, with vfpctrl's numbers from 0 to 5. */
export const FLOW_CLASSES = ["entries", "half-open", "total", "tcp", "udp", "other"] as const;
export type FlowClass = (typeof FLOW_CLASSES)[number];

/** How flows live. Values are those of a published command line, whose order names them; it shows 240 for all three. */
export interface PortFlowSettings {
  /** TCP of which only one side spoke, in milliseconds. */
  readonly halfOpenTtlMs: number;
  /** TCP behind a FIN of each side, or a RST. */
  readonly timeWaitTtlMs: number;
  readonly defaultTtlMs: number;
  readonly tracksTcp: boolean;
  /** False sends packets through the layers each time. */
  readonly usesUnifiedFlows: boolean;
  /** Most connections of a class. Inferred: a new one beyond it is dropped (dataplane.md §11, Q-7). */
  readonly limits: Readonly<Partial<Record<FlowClass, number>>>;
}

/** The default: no class has a limit. */
export const NO_LIMITS: PortFlowSettings["limits"] = Object.freeze({});

export const DEFAULT_FLOW_SETTINGS: PortFlowSettings = Object.freeze({
  halfOpenTtlMs: FLOW_TTL_MS,
  timeWaitTtlMs: FLOW_TTL_MS,
  defaultTtlMs: FLOW_TTL_MS,
  tracksTcp: true,
  usesUnifiedFlows: true,
  limits: NO_LIMITS,
});

/** What the port looks for in packets (observed on all ports, dataplane.md §1.2). */
export interface PortParserSettings {
  readonly parsesTunnels: boolean;
  readonly vxlanPort: number;
  /** UDP ports of VXLAN besides `vxlanPort`: of networks that share the port. */
  readonly otherVxlanPorts?: readonly number[];
  /** Errors of ICMP are tied to the flow of the packet that they quote. */
  readonly parsesIcmpErrors: boolean;
}

export const DEFAULT_PARSER_SETTINGS: PortParserSettings = Object.freeze({
  parsesTunnels: true,
  vxlanPort: VXLAN_PORT,
  parsesIcmpErrors: true,
});

/** The UDP port that a tunnel of this packet has: its own destination where that is one of VXLAN here. */
export function vxlanPortFor(settings: PortParserSettings, bytes: Uint8Array, headers: Headers): number {
  const { vxlanPort, otherVxlanPorts } = settings;
  if (otherVxlanPorts === undefined || headers.transport < 0) return vxlanPort;
  const port = readU16(bytes, headers.transport + 2);
  return otherVxlanPorts.includes(port) ? port : vxlanPort;
}
