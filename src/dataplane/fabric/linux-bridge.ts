/**
 * The bridge of a Linux node (`cbr0`, `cni0`): pods hang on it by virtual cables, and the node itself has an interface
 * on it that is the pods' gateway.
 */
import type { Environment } from "#core/base/environment.ts";
import type { Device } from "../device/device.ts";
import { writeU48 } from "#core/base/bytes.ts";
import type { Compartment } from "../host/compartment.ts";
import type { BridgeSegment } from "../host/stack.ts";
import type { Interface } from "../host/interface.ts";
import { filterBridged } from "../host/netfilter/bridge-hooks.ts";
import type { Mac } from "#core/net/mac.ts";
import type { InterfaceAddress } from "#core/net/ip.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type FrameFilter, LearningSwitch } from "./learning-switch.ts";

export interface LinuxBridgeOptions {
  /** `cbr0`. */
  readonly name: string;
  /** The node's own compartment. */
  readonly compartment: Compartment;
  readonly mac: Mac;
  /** The node's address on the bridge: the pods' gateway. Undefined: it has none. */
  readonly address?: InterfaceAddress;
  /** Default 1500. */
  readonly mtuBytes?: number;
}

/** How a pod hangs on the bridge. */
export interface BridgePortOptions {
  /** Frames may leave by the port that they came by: the bridge plugin's `hairpinMode`. Default false. */
  readonly isHairpin?: boolean;
}

export class LinuxBridge implements BridgeSegment, FrameFilter {
  readonly name: string;
  readonly switch: LearningSwitch;
  /** The node's interface on the bridge. It routes when the node does. */
  readonly interface: Interface;
  private readonly mtuBytes: number | undefined;
  private readonly compartment: Compartment;

  constructor(env: Environment, options: LinuxBridgeOptions) {
    const { name, compartment, mac, address } = options;
    this.name = name;
    this.mtuBytes = options.mtuBytes;
    this.compartment = compartment;
    this.switch = new LearningSwitch(env, { node: compartment.node, place: name, kind: "switch" });
    this.interface = compartment.addInterface({ name, mac, device: this.connect(name) });
    if (address !== undefined) compartment.addAddress(this.interface, address);
    this.interface.bridge = this;
    this.switch.filter = this;
  }

  /** Gives a pod its cable to the bridge; `name` is what traces call the port (`veth…`). @returns the pod's end. */
  connect(name: string, options: BridgePortOptions = {}): Device {
    const mtu = this.mtuBytes === undefined ? {} : { mtuBytes: this.mtuBytes };
    return this.switch.connect(name, { ...mtu, isHairpin: options.isHairpin ?? false });
  }

  /** The machine's rules see what goes from pod to pod; `from` is the port's name. */
  filterFrame(from: string, packet: Packet): readonly Packet[] {
    if (from === this.name || this.isForHost(packet)) return [packet];
    const verdict = filterBridged(this.compartment, this.interface, packet);
    if (verdict !== "redirected") return verdict;
    // The machine's own stack sends it where the rules say.
    writeU48(packet.bytes, packet.start, this.interface.mac);
    return [packet];
  }

  /** Takes a frame that the machine's rules redirected to another pod: it comes from its sender's port. */
  inject(packet: Packet): void {
    this.switch.inject(this.name, packet);
  }

  private isForHost(packet: Packet): boolean {
    const view = EthernetView.parse(packet.bytes, packet.start, packet.end);
    return typeof view === "string" || view.destinationMac === this.interface.mac;
  }

  /** Takes a pod's cable away. */
  disconnect(name: string): void {
    this.switch.removePort(name);
  }
}
