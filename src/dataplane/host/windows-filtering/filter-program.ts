/** What the Windows Filtering Platform (WFP) of a compartment is told: filters and redirections, per interface. */
import type { Provenance } from "#core/base/recorder.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { Group } from "../../vfp/group.ts";

/** Which remote addresses and which ports a proxy does not get. */
export interface RedirectionExceptions {
  readonly addresses: readonly Prefix[];
  /** Of the service: the remote port of what goes out, the own port of what comes in. */
  readonly ports: readonly PortRange[];
}

/** Connections that a proxy inside the compartment gets. */
export interface ProxyRedirection {
  /** Undefined: connections that the compartment opens are left alone. */
  readonly outboundPort: number | undefined;
  /** Undefined: connections to the compartment are left alone. */
  readonly inboundPort: number | undefined;
  /** The SID of the user whose processes are not redirected: the proxy itself. */
  readonly exemptUser: string | undefined;
  /** Which connections it is about; undefined: any. "Local" is the compartment, in both directions. */
  readonly localAddresses: readonly Prefix[] | undefined;
  readonly remoteAddresses: readonly Prefix[] | undefined;
  readonly localPorts: readonly PortRange[] | undefined;
  readonly remotePorts: readonly PortRange[] | undefined;
  readonly outboundExceptions: RedirectionExceptions;
  readonly inboundExceptions: RedirectionExceptions;
  readonly provenance: Provenance;
}

/** Immutable; interfaces without policies share one. */
export interface FilterProgram {
  /** Rules that allow or block, by direction; empty: everything passes. */
  readonly groups: readonly Group[];
  /** The first one that is about a connection decides. */
  readonly redirections: readonly ProxyRedirection[];
  /** Protocols that are let in; what has another one is dropped silently. */
  readonly allowedProtocols: readonly number[];
}
