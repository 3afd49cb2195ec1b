/**
 * The seam for forwarding extensions of the Hyper-V switch, such as that of Open vSwitch: one per switch decides where
 * frames go in place of the switch's own tables. VFP stays on the ports, and runs before on the way in and after on the
 * way out.
 *
 * An extension is part of the world's state: plain data with named methods, forked with its switch. It sends with
 * `ForwardingSwitch.deliver`, and ends a frame with `ForwardingSwitch.drop`, so that traces and counters name what it does.
 */
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { VfpDirection } from "../vfp/rule.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { VirtualSubnets } from "./virtual-subnets.ts";

/** The switch as rules of forwarding see it, its own and those of an extension. */
export interface ForwardingSwitch {
  /** The uplink; undefined on an internal switch. */
  readonly externalPort: SwitchPort | undefined;
  /** The vNIC that carries the node's address: the first of the host's. */
  readonly hostPort: SwitchPort | undefined;
  /** Ports by virtual subnet: those of overlay networks. */
  readonly virtualSubnets: VirtualSubnets;
  getPort(id: string): SwitchPort | undefined;
  listPorts(): readonly SwitchPort[];
  findPortByMac(mac: Mac): SwitchPort | undefined;
  findPortByIp(ip: Ip): SwitchPort | undefined;
  /** The port that owns the NAT binding which the frame is for. */
  findBindingOwner(packet: Packet, headers: Headers): SwitchPort | undefined;
  /** Sends a frame out of `target`, through its pipeline. `reason` says why there. */
  deliver(target: SwitchPort, packet: Packet, reason: string): void;
  /** Answers whoever is behind `port`, past its pipeline. */
  sendBack(port: SwitchPort, packet: Packet, reason: string): void;
  /** Ends a frame here, counted and told. `direction` is the way that it went through `port`; default `out`. */
  drop(port: SwitchPort, packet: Packet, code: KnowledgeCode, text: string, direction?: VfpDirection): void;
}

export interface SwitchExtension {
  /** As `Get-VMSwitchExtension` names it. */
  readonly name: string;
  /**
   * A frame came in at `source`; the extension owns it when it answers true. False leaves it, unchanged, to the switch.
   * A frame for several ports is copied for each.
   */
  forwardFrame(virtualSwitch: ForwardingSwitch, source: SwitchPort, packet: Packet): boolean;
}
