/**
 * The seam for forwarding extensions of the Hyper-V switch, such as that of Open vSwitch: one per switch decides where
 * frames go in place of the switch's own tables. VFP stays on the ports, and runs before on the way in and after on the
 * way out.
 *
 * An extension is part of the world's state: plain data with named methods, forked with its switch. It sends with
 * `VirtualSwitch.deliver`, and ends a frame with `VirtualSwitch.drop`, so that traces and counters name what it does.
 */
import type { Packet } from "../wire/packet.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { VirtualSwitch } from "./virtual-switch.ts";

export interface SwitchExtension {
  /** As `Get-VMSwitchExtension` names it. */
  readonly name: string;
  /**
   * A frame came in at `source`; the extension owns it when it answers true. False leaves it, unchanged, to the switch.
   * A frame for several ports is copied for each.
   */
  forwardFrame(virtualSwitch: VirtualSwitch, source: SwitchPort, packet: Packet): boolean;
}
