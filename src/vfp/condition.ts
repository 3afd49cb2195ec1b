/** What a rule asks of a packet. Every part that is present must hold; an absent part holds for all. */
import type { Mac } from "../net/mac.ts";
import type { PortRange } from "../net/port-range.ts";
import type { Prefix } from "../net/prefix.ts";

export interface Condition {
  /** IP protocol numbers. */
  readonly protocols?: readonly number[];
  /** The source address lies in one of these. */
  readonly source?: readonly Prefix[];
  /** The destination address lies in one of these. */
  readonly destination?: readonly Prefix[];
  /** The destination address lies in none of these: the exceptions of a source NAT. */
  readonly destinationExcept?: readonly Prefix[];
  /** Holds only for TCP and UDP packets whose first fragment this is. */
  readonly sourcePorts?: readonly PortRange[];
  /** Holds only for TCP and UDP packets whose first fragment this is. */
  readonly destinationPorts?: readonly PortRange[];
  readonly sourceMac?: Mac;
  readonly destinationMac?: Mac;
  readonly vlan?: number;
  /**
   * The source address was rewritten on this packet's way through the port: such a packet may need another next hop.
   * Only for terminating rules that keep no flows, since it is no part of a flow's key.
   */
  readonly isSourceTranslated?: true;
}
