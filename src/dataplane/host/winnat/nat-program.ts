/** What WinNAT is told to do. Immutable; the ground for a translation goes into traces. */
import type { Provenance } from "#core/base/recorder.ts";
import type { Ipv4, Prefix } from "#core/net/ip.ts";

/** A port of the host that leads to a port behind it (`Get-NetNatStaticMapping`). */
export interface StaticMapping {
  readonly protocol: number;
  /** Undefined: any address of the host. */
  readonly externalIp: Ipv4 | undefined;
  readonly externalPort: number;
  readonly internalIp: Ipv4;
  readonly internalPort: number;
  readonly provenance: Provenance;
}

/** One network behind the host (`Get-NetNat`). */
export interface NatProgram {
  /** Name of the host's interface that leads there. */
  readonly interfaceName: string;
  /** `InternalIPInterfaceAddressPrefix`; IPv6 is not translated (dataplane.md §2.11). */
  readonly prefixes: readonly Prefix[];
  readonly mappings: readonly StaticMapping[];
  readonly provenance: Provenance;
  /** Addresses that may open no connections; they answer those that a mapping lets in. Default: none. */
  readonly closed?: readonly Ipv4[];
}

/**
 * What `Get-NetNat` prints of a host that nobody has tuned, in milliseconds (dataplane.md §2.7; the names
 * and defaults are those of `Set-NetNat`).
 */
export const NAT_TIMEOUTS_MS = {
  icmpQuery: 30_000,
  udpIdleSession: 120_000,
  tcpTransientConnection: 120_000,
  tcpEstablishedConnection: 1_800_000,
} as const;
