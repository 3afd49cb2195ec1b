/** What a rule asks of a packet. Every part that is present must hold; an absent part holds for all. */
import type { Mac } from "#core/net/mac.ts";
import type { PortRange } from "#core/net/port-range.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { AddressSet } from "./address-set.ts";

export interface Condition {
  /** IP protocol numbers. */
  readonly protocols?: readonly number[];
  /** The source address lies in one of these. */
  readonly source?: readonly Prefix[];
  /** The destination address lies in one of these. */
  readonly destination?: readonly Prefix[];
  /** The destination address lies in none of these: the exceptions of a source NAT. */
  readonly destinationExcept?: readonly Prefix[];
  /** The source address is in one of these sets. Beside `source`, one of both must hold it. */
  readonly sourceSets?: readonly AddressSet[];
  /** The destination address is in one of these sets. Beside `destination`, one of both must hold it. */
  readonly destinationSets?: readonly AddressSet[];
  /** Holds only for TCP and UDP packets whose first fragment this is. */
  readonly sourcePorts?: readonly PortRange[];
  /** Holds only for TCP and UDP packets whose first fragment this is. */
  readonly destinationPorts?: readonly PortRange[];
  readonly sourceMac?: Mac;
  readonly destinationMac?: Mac;
  readonly vlan?: number;
  /** The packet's virtual subnet: what a `decap` rule pushed. 0 asks for none. */
  readonly tni?: number;
  /** The number of the tunnel that the packet comes in: a VNI or virtual subnet id. */
  readonly tunnelId?: number;
  /**
   * The source address was rewritten on this packet's way through the port: such a packet may need another next hop.
   * Only for terminating rules that keep no flows, since it is no part of a flow's key.
   */
  readonly isSourceTranslated?: true;
  /**
   * `only`: TCP segments that ask for a connection, with SYN and without ACK (rule flag 16). `never`: everything else
   * (rule flag 4). A segment with a flow is the flow's business, so the first packet alone meets the rule.
   */
  readonly tcpSyn?: "only" | "never";
}
