/**
 * The Hyper-V switch: one VFP pipeline per port, and the choice of the port a frame goes to.
 * The order of that choice is dataplane.md §2.17 (inferred there; each step names what it rests on).
 */
import { assert, defined } from "../base/assert.ts";
import { readU48 } from "../base/bytes.ts";
import type { Task } from "../base/clock.ts";
import type { Environment } from "../base/environment.ts";
import type { TraceEvent } from "../base/recorder.ts";
import type { KnowledgeCode } from "../knowledge/codes.ts";
import type { Ip } from "../net/ip.ts";
import { type Mac, formatMac, isGroupMac } from "../net/mac.ts";
import type { PortBlockSource } from "../vfp/nat-pool.ts";
import type { Direction } from "../vfp/rule.ts";
import type { Verdict } from "../vfp/vfp-port.ts";
import { EtherType } from "../wire/ethertype.ts";
import { Headers, destinationIp, sourceIp } from "../wire/headers.ts";
import type { Packet } from "../wire/packet.ts";
import { answerArp } from "./arp-answering.ts";
import { forwardArp } from "./arp-forwarding.ts";
import { forwardPlain } from "./plain-forwarding.ts";
import { OwnedPortBlocks, PortBlockTable } from "./port-blocks.ts";
import { findBindingOwner, findByAddress } from "./steering.ts";
import type { SwitchExtension } from "./switch-extension.ts";
import {
  type PortOwner,
  type StaticBinding,
  SwitchPort,
  type SwitchPortOptions,
  bindingKey,
} from "./switch-port.ts";
import { type InnerDestination, VirtualSubnets } from "./virtual-subnets.ts";
import { forwardTunnelled } from "./tunnel-forwarding.ts";

export interface VirtualSwitchOptions {
  /** The node, as traces name it. */
  readonly node: string;
  /** `SwitchGuid`. */
  readonly id: string;
  readonly name: string;
  /** Its ports have no VFP: frames go by VLAN and MAC alone. Default false. */
  readonly isPlain?: boolean;
}

/** A frame that a `qos` rule holds back until its bytes have flowed off. How many wait is bounded by the rule's queue. */
class HeldFrame implements Task {
  readonly port: SwitchPort;
  readonly direction: Direction;
  readonly packet: Packet;
  readonly isTurned: boolean;
  readonly isOwnTunnel: boolean;
  private readonly owner: VirtualSwitch;

  constructor(owner: VirtualSwitch, fields: Omit<HeldFrame, "owner" | "run">) {
    this.owner = owner;
    this.port = fields.port;
    this.direction = fields.direction;
    this.packet = fields.packet;
    this.isTurned = fields.isTurned;
    this.isOwnTunnel = fields.isOwnTunnel;
  }

  run(): void {
    this.owner.resume(this);
  }
}

export class VirtualSwitch implements PortOwner {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  /** Frames dropped by the switch itself, by code; what VFP drops is counted on the port. */
  readonly drops: Map<KnowledgeCode, number> = new Map();
  readonly portBlocks: PortBlockTable = new PortBlockTable();
  /** Decides where frames go before the switch does; undefined: none is enabled. */
  extension: SwitchExtension | undefined;
  private readonly isPlain: boolean;
  private readonly env: Environment;
  private readonly ports = new Map<string, SwitchPort>();
  private portsByMac = new Map<Mac, SwitchPort>();
  private portsByIp = new Map<Ip, SwitchPort>();
  private overlays = new VirtualSubnets([]);
  private portsByBinding = new Map<string, SwitchPort>();
  private readonly headers = new Headers();

  constructor(env: Environment, options: VirtualSwitchOptions) {
    this.env = env;
    this.id = options.id;
    this.name = options.name;
    this.isPlain = options.isPlain ?? false;
    this.node = options.node;
  }

  addPort(options: SwitchPortOptions): SwitchPort {
    assert(!this.ports.has(options.id), `switch ${this.name} has a port ${options.id} already`);
    const port = new SwitchPort(options, this, this.node);
    this.ports.set(port.id, port);
    this.addressesChanged();
    return port;
  }

  /** Removes a port; its NAT pools give their blocks back. */
  removePort(id: string): void {
    const port = this.ports.get(id);
    if (port === undefined) return;
    for (const pool of port.vfp.listNatPools()) port.vfp.removeNatPool(pool.name);
    this.ports.delete(id);
    this.addressesChanged();
  }

  getPort(id: string): SwitchPort | undefined {
    return this.ports.get(id);
  }

  listPorts(): readonly SwitchPort[] {
    return [...this.ports.values()];
  }

  /** The uplink; undefined on an internal switch. */
  get externalPort(): SwitchPort | undefined {
    return this.firstPort("external");
  }

  /** The vNIC that carries the node's address: the first of the host's. */
  get hostPort(): SwitchPort | undefined {
    return this.firstPort("host");
  }

  private firstPort(kind: SwitchPort["kind"]): SwitchPort | undefined {
    for (const port of this.ports.values()) if (port.kind === kind) return port;
    return undefined;
  }

  /** The NAT ports that `port` may take. */
  portBlocksFor(port: SwitchPort): PortBlockSource {
    return new OwnedPortBlocks(this.portBlocks, port.id);
  }

  findPortByMac(mac: Mac): SwitchPort | undefined {
    return this.portsByMac.get(mac);
  }

  findPortByIp(ip: Ip): SwitchPort | undefined {
    return this.portsByIp.get(ip);
  }

  findPortByBinding(binding: StaticBinding): SwitchPort | undefined {
    return this.portsByBinding.get(bindingKey(binding));
  }

  addressesChanged(): void {
    this.portsByMac = new Map();
    this.portsByIp = new Map();
    this.portsByBinding = new Map();
    this.overlays = new VirtualSubnets(this.ports.values());
    for (const port of this.ports.values()) {
      if (port.kind === "external") continue;
      if (port.virtualSubnets.length === 0) {
        this.portsByMac.set(port.mac, port);
        for (const ip of port.ips) this.portsByIp.set(ip, port);
      }
      for (const binding of port.staticBindings) this.portsByBinding.set(bindingKey(binding), port);
    }
  }

  /** Ports by virtual subnet: those of overlay networks. */
  get virtualSubnets(): VirtualSubnets {
    return this.overlays;
  }

  bindingChanged(binding: StaticBinding): void {
    const key = bindingKey(binding);
    const owner = this.listPorts().findLast((port) => port.hasStaticBinding(binding));
    if (owner === undefined) this.portsByBinding.delete(key);
    else this.portsByBinding.set(key, owner);
  }

  /** A frame came in at `source`. */
  handleFrame(source: SwitchPort, packet: Packet): void {
    const malformed = this.headers.parse(packet);
    if (malformed !== undefined) {
      this.drop(source, packet, "malformed-frame", `refused: ${malformed}`);
      return;
    }
    // What an endpoint puts into a tunnel by itself is its own business: nobody on the switch looks inside.
    const isOwnTunnel = source.kind === "container" && this.lookInside(packet) !== undefined;
    // The uplink port is not VFP-enabled (dataplane.md §1.2).
    if (source.kind !== "external" && this.judge(source, "out", packet, isOwnTunnel) !== "pass") return;
    this.leavePort(source, packet, isOwnTunnel);
  }

  /** The way on of a frame that has passed the port it came in at. */
  private leavePort(source: SwitchPort, packet: Packet, isOwnTunnel: boolean): void {
    source.count("out", packet.length);
    if (this.extension?.forwardFrame(this, source, packet) === true) return;
    if (this.isPlain) {
      forwardPlain(this, source, packet, this.headers);
      return;
    }
    if (forwardTunnelled(this, source, packet, this.headers)) return;
    if (this.headers.etherType === EtherType.arp) {
      if (source.virtualSubnets.length > 0) answerArp(this, source, packet, this.headers);
      else forwardArp(this, source, packet, this.headers);
      return;
    }
    if (isOwnTunnel || !this.forwardInner(source, packet)) this.forward(source, packet);
  }

  /** Sends a frame out of `target`, through its pipeline. `reason` says why there. */
  deliver(target: SwitchPort, packet: Packet, reason: string): void {
    this.record(packet, { kind: "switch", node: this.node, place: target.description, text: reason });
    const isTunnel = target.kind === "host" && this.lookInside(packet) !== undefined;
    if (target.kind !== "external") {
      const verdict = this.judge(target, "in", packet, false);
      // Turned round: the frame leaves the port as if whoever is behind it had sent it.
      if (verdict === "turned" && !this.forwardInner(target, packet)) this.forward(target, packet);
      if (verdict !== "pass") return;
      if (isTunnel && this.steerUnwrapped(target, packet)) return;
    }
    this.reach(target, packet);
  }

  /** Hands a frame that has passed the pipeline of `target` to whoever is behind it. */
  private reach(target: SwitchPort, packet: Packet): void {
    const { length } = packet;
    if (target.kind === "external" && this.isTooLong(target, packet)) return;
    if (target.device.transmit(packet)) target.count("in", length);
    else this.drop(target, packet, "switch-port-unknown", "the cable behind the port is gone", "in");
  }

  /** The adapter takes packets up to its MTU; outer headers with DF make one too long (dataplane.md §5.4, DT-044). */
  private isTooLong(target: SwitchPort, packet: Packet): boolean {
    const { mtuBytes } = target.device;
    const bytes = packet.end - this.headers.network;
    if (bytes <= mtuBytes) return false;
    const text = packet.tag === 0 ? "" : `${bytes} bytes with all headers, the adapter takes ${mtuBytes}`;
    this.drop(target, packet, "mtu-exceeded", text, "in");
    return true;
  }

  deliverAgain(target: SwitchPort, packet: Packet): void {
    const malformed = this.headers.parse(packet);
    assert(malformed === undefined, "a frame that waits is as it came");
    this.deliver(target, packet, "its next hop is known now");
  }

  /** Ends a frame here, counted and told. `direction` is the way that it went through `port`. */
  drop(
    port: SwitchPort,
    packet: Packet,
    code: KnowledgeCode,
    text: string,
    direction: Direction = "out",
  ): void {
    this.drops.set(code, (this.drops.get(code) ?? 0) + 1);
    port.counters[direction].drops++;
    this.record(packet, { kind: "drop", node: this.node, place: port.description, code, text });
  }

  /** A frame that a rate held back goes on as it is now: its rules have changed it already. */
  resume({ port, direction, packet, isTurned, isOwnTunnel }: HeldFrame): void {
    if (this.ports.get(port.id) !== port) return;
    const malformed = this.headers.parse(packet);
    assert(malformed === undefined, "a frame that waits is well formed");
    if (isTurned) {
      if (!this.forwardInner(port, packet)) this.forward(port, packet);
    } else if (direction === "out") this.leavePort(port, packet, isOwnTunnel);
    else this.reach(port, packet);
  }

  private judge(port: SwitchPort, direction: Direction, packet: Packet, isOwnTunnel: boolean): Verdict {
    const recorder = packet.tag === 0 ? undefined : this.env.recorder;
    const verdict = port.vfp.process(direction, packet, this.headers, this.env.clock.nowMs, recorder);
    if (verdict === "pending" && !port.wait(packet, direction)) {
      this.drop(port, packet, "pending-packets-full", "too many packets wait for a next hop", direction);
    }
    if (verdict === "drop") port.counters[direction].drops++;
    if (verdict === "delayed") {
      const { untilMs, isTurned } = port.vfp.delay;
      const held = new HeldFrame(this, { port, direction, packet, isTurned, isOwnTunnel });
      this.env.clock.schedule(untilMs - this.env.clock.nowMs, held);
    }
    return verdict;
  }

  private lookInside(packet: Packet): InnerDestination | undefined {
    return this.overlays.isEmpty ? undefined : this.overlays.lookInside(packet, this.headers);
  }

  /**
   * Step 2: a frame in a tunnel goes by the MAC inside (`innerMacFwd`). A MAC that nobody has is looked for outside.
   * Inferred (dataplane.md DT-036): a tunnel of a network that is not on this node ends here.
   * @returns false when the frame has to go by its outer header.
   */
  private forwardInner(source: SwitchPort, packet: Packet): boolean {
    // A router has taken the tunnel off; what is inside now is a tunnel of the sender's own.
    const inner = source.kind === "router" ? undefined : this.lookInside(packet);
    if (inner === undefined) return false;
    const { port, mac, virtualSubnet, isKnown } = inner;
    if (port !== undefined) {
      const why = packet.tag === 0 ? "" : `by MAC ${formatMac(mac)} inside the tunnel, VNI ${virtualSubnet}`;
      this.deliver(port, packet, why);
      return true;
    }
    const isForHost = readU48(packet.bytes, packet.start) === this.hostPort?.mac;
    if (isKnown || !isForHost) return false;
    this.drop(source, packet, "virtual-subnet-unknown", `no network of this node has VNI ${virtualSubnet}`);
    return true;
  }

  /**
   * What came to the host's port in a tunnel of the node to itself may be for a port of the node that an endpoint owns, as
   * any other packet to the node's address (step 4).
   */
  private steerUnwrapped(target: SwitchPort, packet: Packet): boolean {
    const binding = findBindingOwner(this, packet, this.headers);
    if (binding === undefined || binding === target) return false;
    this.deliver(binding, packet, "by NAT binding of destination address and port");
    return true;
  }

  private forward(source: SwitchPort, packet: Packet): void {
    const destination = readU48(packet.bytes, packet.start) as Mac;
    if (isGroupMac(destination)) {
      this.forwardGroup(source, packet);
      return;
    }
    const inSubnet = this.overlays.find(source.virtualSubnets, destination);
    if (inSubnet !== undefined && inSubnet !== source) {
      this.forwardToPort(inSubnet, packet);
      return;
    }
    if (destination === this.hostPort?.mac) {
      this.forwardToHostMac(source, packet);
      return;
    }
    const known = inSubnet ?? this.findOutside(source, destination);
    if (known === source) {
      this.forwardToSelf(source, packet);
      return;
    }
    if (known !== undefined) {
      this.forwardToPort(known, packet);
      return;
    }
    if (source.kind === "external" || this.externalPort === undefined) {
      this.drop(source, packet, "mac-not-local", `nobody here has MAC ${formatMac(destination)}`);
      return;
    }
    if (source.virtualSubnets.length > 0 && !this.hasLeft(packet)) {
      const text = `nobody in the virtual subnet has MAC ${formatMac(destination)}`;
      this.drop(source, packet, "mac-not-local", text);
      return;
    }
    const why = packet.tag === 0 ? "" : `MAC ${formatMac(destination)} is not on this switch`;
    this.deliver(this.externalPort, packet, why);
  }

  /**
   * The port that has a MAC, for who is not in its virtual subnet: from there only the host is in reach, and the host
   * reaches an endpoint whose MAC nobody else has.
   */
  private findOutside(source: SwitchPort, mac: Mac): SwitchPort | undefined {
    const port = this.portsByMac.get(mac);
    if (source.virtualSubnets.length > 0) return port?.leadsToHost === true ? port : undefined;
    return port ?? (source.kind === "host" ? this.overlays.findAnywhere(mac) : undefined);
  }

  /** True when a rule has sent the frame to a next hop of the node, whose MAC it has then. */
  private hasLeft(packet: Packet): boolean {
    return readU48(packet.bytes, packet.start + 6) === this.hostPort?.mac;
  }

  /**
   * By MAC. Inferred: a frame to another leg of the host is looked up in the NAT bindings as one to the host's own MAC
   * is, since pods behind a bridge endpoint answer to translated addresses over it (dataplane.md §2.17 step 4, Q-5).
   */
  private forwardToPort(target: SwitchPort, packet: Packet): void {
    const binding = target.leadsToHost ? findBindingOwner(this, packet, this.headers) : undefined;
    if (binding !== undefined) {
      this.deliver(binding, packet, "by NAT binding of destination address and port");
      return;
    }
    // Only packets that are followed have readers.
    const why = packet.tag === 0 ? "" : `by destination MAC ${formatMac(target.mac)}`;
    this.deliver(target, packet, why);
  }

  /**
   * A frame to the MAC of its own port. Inferred: one that VFP gave another sender comes back (a pod that reaches itself
   * through its service behind a source NAT, dataplane.md §2.4 B-5, and §1.9 names a setting that forbids it); one with
   * both MACs the same goes nowhere.
   */
  private forwardToSelf(source: SwitchPort, packet: Packet): void {
    if (readU48(packet.bytes, packet.start + 6) !== source.mac) {
      this.deliver(source, packet, "back to the port it came from: another sender's MAC");
      return;
    }
    const isOwnAddress =
      this.headers.family !== 0 &&
      sourceIp(packet.bytes, this.headers) === destinationIp(packet.bytes, this.headers);
    this.drop(
      source,
      packet,
      isOwnAddress ? "hairpin-under-dsr" : "mac-not-local",
      isOwnAddress ? "a pod sent to itself: source and destination are the same" : "sent to its own MAC",
    );
  }

  /** Step 4: NAT bindings, then endpoints by address, then the host itself. */
  private forwardToHostMac(source: SwitchPort, packet: Packet): void {
    const binding = findBindingOwner(this, packet, this.headers);
    if (binding !== undefined && (binding !== source || source.kind === "container")) {
      this.deliver(binding, packet, "by NAT binding of destination address and port");
      return;
    }
    const owner = findByAddress(this, packet, this.headers);
    if (owner !== undefined && owner !== source) {
      this.deliver(owner, packet, "by destination address: its pods share the host's MAC on the wire");
      return;
    }
    const host = defined(this.hostPort, "a frame to the host's MAC needs a host vNIC");
    if (host === source) {
      this.drop(source, packet, "mac-not-local", "the host sent a frame to itself");
      return;
    }
    this.deliver(host, packet, "to the host: its MAC");
  }

  /**
   * Step 5: subnet broadcast is off for L2Bridge endpoints (dataplane.md §2.10), so groups join the host and the
   * wire only.
   */
  private forwardGroup(source: SwitchPort, packet: Packet): void {
    const target = source.kind === "external" ? this.hostPort : this.externalPort;
    const isInside = source.kind === "container" || source.kind === "router";
    if (isInside || target === undefined || target === source) {
      this.drop(source, packet, "broadcast-not-delivered", "broadcast and multicast are off here");
      return;
    }
    this.deliver(target, packet, "broadcast or multicast");
  }

  private record(packet: Packet, event: TraceEvent): void {
    if (packet.tag !== 0) this.env.recorder?.record(packet.tag, event, packet.frame, this.env.clock.nowMs);
  }
}
