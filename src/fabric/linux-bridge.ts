/**
 * The bridge of a Linux node (`cbr0`, `cni0`): pods hang on it by virtual cables, and the node itself has an interface
 * on it that is the pods' gateway.
 */
import type { Environment } from "../base/environment.ts";
import type { Device } from "../device/device.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Interface } from "../host/interface.ts";
import type { Mac } from "../net/mac.ts";
import type { InterfaceAddress } from "../net/prefix.ts";
import { LearningSwitch } from "./learning-switch.ts";

export interface LinuxBridgeOptions {
  /** `cbr0`. */
  readonly name: string;
  /** The node's own compartment. */
  readonly compartment: Compartment;
  readonly mac: Mac;
  /** The node's address on the bridge: the pods' gateway. */
  readonly address: InterfaceAddress;
  /** Default 1500. */
  readonly mtuBytes?: number;
}

export class LinuxBridge {
  readonly name: string;
  readonly switch: LearningSwitch;
  /** The node's interface on the bridge. It routes when the node does. */
  readonly interface: Interface;
  private readonly mtuBytes: number | undefined;

  constructor(env: Environment, options: LinuxBridgeOptions) {
    const { name, compartment, mac, address } = options;
    this.name = name;
    this.mtuBytes = options.mtuBytes;
    this.switch = new LearningSwitch(env, { node: compartment.node, place: name, kind: "switch" });
    this.interface = compartment.addInterface({ name, mac, device: this.connect(name) });
    compartment.addAddress(this.interface, address);
  }

  /** Gives a pod its cable to the bridge; `name` is what traces call the port (`veth…`). @returns the pod's end. */
  connect(name: string): Device {
    return this.switch.connect(name, this.mtuBytes === undefined ? {} : { mtuBytes: this.mtuBytes });
  }

  /** Takes a pod's cable away. */
  disconnect(name: string): void {
    this.switch.removePort(name);
  }
}
