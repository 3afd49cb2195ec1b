/**
 * The Hyper-V switch: one VFP pipeline per port, and the choice of the port a frame goes to.
 * The order of that choice is dataplane.md §2.17 (inferred there; each step names what it rests on).
 */
import { assert } from "#core/base/assert.ts";
import { readU48 } from "#core/base/bytes.ts";
import type { Clock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { TraceEvent } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import type { PortBlockSource } from "../vfp/actions/nat-pool.ts";
import { PrefixSets } from "../vfp/matching/condition-matcher.ts";
import type { VfpDirection } from "../vfp/rule.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { isSegmentable, segmentPacket } from "#core/wire/segmentation.ts";
import { answerDhcp } from "./dhcp-answering.ts";
import { answerArp, forwardArp } from "./arp-forwarding.ts";
import { DelayedFrame, type Passage, type PassageOwner } from "./delayed-frame.ts";
import { forwardByMac, isForged } from "./mac-forwarding.ts";
import { answersNeighborDiscovery, forwardNeighborDiscovery, isNeighborDiscovery } from "./nd-forwarding.ts";
import { admitToVlan, mayReach, tagForWire, forwardPlain } from "./vlan-forwarding.ts";
import { NatBindings } from "./nat-bindings.ts";
import { OwnedPortBlocks, type PortBlockTable } from "./port-blocks.ts";
import type { ForwardingSwitch, SwitchExtension } from "./switch-extension.ts";
import { type PortOwner, type StaticBinding, SwitchPort, type SwitchPortOptions } from "./switch-port.ts";
import { type InnerDestination, VirtualSubnets } from "./virtual-subnets.ts";
import { forwardTunnelled } from "./tunnel-forwarding.ts";
import { LateFrame, findWireFault } from "./wire-faults.ts";

export interface VirtualSwitchOptions {
  /** The node, as traces name it. */
  readonly node: string;
  /** `SwitchGuid`. */
  readonly id: string;
  readonly name: string;
  /** Its ports have no VFP: frames go by VLAN and MAC alone. Default false. */
  readonly isPlain?: boolean;
}

export class VirtualSwitch implements ForwardingSwitch, PortOwner, PassageOwner {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  /** Frames dropped by the switch itself, by code; what VFP drops is counted on the port. */
  readonly drops: Map<KnowledgeCode, number> = new Map();
  private readonly natBindings = new NatBindings(this);
  readonly prefixSets: PrefixSets = new PrefixSets();
  /** Decides where frames go before the switch does; undefined: none is enabled. */
  extension: SwitchExtension | undefined;
  private readonly isPlain: boolean;
  private readonly env: Environment;
  private readonly ports = new Map<string, SwitchPort>();
  private portsByMac = new Map<Mac, SwitchPort>();
  private portsByIp = new Map<Ip, SwitchPort>();
  private overlays = new VirtualSubnets([]);
  private readonly headers = new Headers();
  /** Ports that are taking a frame, one from within the other. */
  private deliveries = 0;

  constructor(env: Environment, options: VirtualSwitchOptions) {
    this.env = env;
    this.id = options.id;
    this.name = options.name;
    this.isPlain = options.isPlain ?? false;
    this.node = options.node;
  }

  get clock(): Clock {
    return this.env.clock;
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

  /** NAT ports in use, by block and owner. */
  get portBlocks(): PortBlockTable {
    return this.natBindings.blocks;
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

  findBindingOwner(packet: Packet, headers: Headers): SwitchPort | undefined {
    return this.natBindings.findOwner(packet, headers, this.env.clock.nowMs);
  }

  addressesChanged(): void {
    this.portsByMac = new Map();
    this.portsByIp = new Map();
    this.natBindings.relearn();
    this.overlays = new VirtualSubnets(this.ports.values());
    for (const port of this.ports.values()) {
      if (port.kind === "external") continue;
      if (port.virtualSubnets.length === 0) {
        this.portsByMac.set(port.mac, port);
        for (const ip of port.ips) this.portsByIp.set(ip, port);
      }
    }
  }

  /** Ports by virtual subnet: those of overlay networks. */
  get virtualSubnets(): VirtualSubnets {
    return this.overlays;
  }

  bindingChanged(binding: StaticBinding): void {
    this.natBindings.bindingChanged(binding);
  }

  /** A frame came in at `source`. */
  handleFrame(source: SwitchPort, packet: Packet): void {
    const malformed = this.headers.parse(packet);
    if (malformed !== undefined) {
      this.drop(source, packet, "malformed-frame", `refused: ${malformed}`);
      return;
    }
    if (source.kind === "external" && this.isLostOnWire(source, packet, "out")) return;
    if (packet.segmentBytes > 0 && this.isCutFirst(source, packet)) {
      for (const each of segmentPacket(packet, this.headers, packet.segmentBytes))
        this.handleFrame(source, each);
      return;
    }
    if (answersNeighborDiscovery(this, source, packet, this.headers)) return;
    // What an endpoint puts into a tunnel by itself is its own business: the switch does not look inside.
    const isOwnTunnel = source.kind === "container" && this.lookInside(packet) !== undefined;
    const passage = {
      port: source,
      packet,
      direction: "out",
      isHairpin: false,
      cameInTunnel: isOwnTunnel,
      arrivedBytes: packet.length,
    } as const;
    // The uplink port is not VFP-enabled (dataplane.md §1.2).
    if (source.kind === "external") this.sendFrom(passage);
    else this.evaluate(passage);
  }

  /** A super frame is cut before outer headers go on; a rewrite takes it whole (dataplane.md §6.9). */
  private isCutFirst(source: SwitchPort, packet: Packet): boolean {
    if (!isSegmentable(packet.bytes, this.headers)) packet.segmentBytes = 0;
    return packet.segmentBytes > 0 && source.kind !== "external" && source.vfp.mayEncapsulate;
  }

  /** Brings a frame to where it goes from `source`, whose pipeline it has passed. */
  private sendFrom(passage: Passage): void {
    const { port: source, packet, cameInTunnel: isOwnTunnel } = passage;
    source.count("out", packet.length);
    if (this.extension?.forwardFrame(this, source, packet) === true) return;
    if (this.isPlain) {
      forwardPlain(this, source, packet, this.headers);
      return;
    }
    if (!admitToVlan(this, source, packet, this.headers)) return;
    if (forwardTunnelled(this, source, packet, this.headers)) return;
    if (this.headers.etherType === EtherType.arp) {
      if (source.virtualSubnets.length > 0) answerArp(this, source, packet, this.headers);
      else forwardArp(this, source, packet, this.headers);
      return;
    }
    if (source.lease !== undefined && answerDhcp(this, source, packet, this.headers)) return;
    if (source.virtualSubnets.length === 0 && isNeighborDiscovery(packet, this.headers)) {
      forwardNeighborDiscovery(this, source, packet, this.headers);
      return;
    }
    if (isOwnTunnel && isForged(this, passage)) {
      this.drop(source, packet, "tunnel-refused", "an endpoint sends into the tunnels between the nodes");
      return;
    }
    if (isOwnTunnel || !this.forwardInner(source, packet)) forwardByMac(this, source, packet, this.headers);
  }

  /** Sends a frame out of `target`, through its pipeline. `reason` says why there. */
  deliver(target: SwitchPort, packet: Packet, reason: string): void {
    if (this.deliveries >= LIMITS.deliveriesPerFrameMax) {
      this.drop(target, packet, "forwarding-loop", "it went from port to port inside the switch", "in");
      return;
    }
    if (!this.isPlain && !mayReach(this, target, packet)) return;
    this.deliveries++;
    this.record(packet, { kind: "switch", node: this.node, place: target.description, text: reason });
    const cameInTunnel = target.kind === "host" && this.lookInside(packet) !== undefined;
    if (target.kind === "external") this.transmit(target, packet);
    else {
      const { length } = packet;
      this.evaluate({
        port: target,
        packet,
        direction: "in",
        isHairpin: false,
        cameInTunnel,
        arrivedBytes: length,
      });
    }
    this.deliveries--;
  }

  /** Answers the machine behind `port`, past its pipeline. */
  sendBack(port: SwitchPort, packet: Packet, reason: string): void {
    this.record(packet, { kind: "switch", node: this.node, place: port.description, text: reason });
    this.transmit(port, packet);
  }

  /** Gives a frame to the machine behind `target`. */
  private transmit(target: SwitchPort, packet: Packet): void {
    if (target.kind === "external" && packet.segmentBytes > 0) {
      const segments = segmentPacket(packet, this.headers, packet.segmentBytes);
      for (const each of segments) {
        this.headers.parse(each);
        this.transmit(target, each);
      }
      return;
    }
    if (target.kind === "external") tagForWire(packet, this.headers);
    const { length } = packet;
    packet.vlan = 0;
    if (target.kind === "external") {
      if (this.isTooLong(target, packet) || this.isLostOnWire(target, packet, "in")) return;
    } else if (target.pace !== undefined && this.isPaced(target, packet)) return;
    if (target.device.transmit(packet)) target.count("in", length);
    else this.drop(target, packet, "switch-port-unknown", "the cable behind the port is gone", "in");
  }

  private isLostOnWire(port: SwitchPort, packet: Packet, direction: VfpDirection): boolean {
    const { wireFaults } = port;
    if (wireFaults === undefined) return false;
    const code = findWireFault(wireFaults, packet.bytes, this.headers, this.env.clock.nowMs);
    if (code === undefined) return false;
    this.drop(port, packet, code, "lost on the wire behind the adapter", direction);
    return true;
  }

  /** @returns true when the frame goes later, or not at all. */
  private isPaced(target: SwitchPort, packet: Packet): boolean {
    if (target.pace === undefined || this.headers.protocol !== IpProtocol.tcp) return false;
    const waitMs = target.pace.admit(packet.length, this.env.clock.nowMs);
    if (waitMs === 0) return false;
    if (waitMs === undefined) {
      this.drop(target, packet, "receive-coalescing-slow", "too much waits in the switch", "in");
      return true;
    }
    target.count("in", packet.length);
    this.env.clock.schedule(waitMs, new LateFrame(target.device, packet));
    return true;
  }

  goOn(passage: Passage): void {
    const { port, packet, direction, isHairpin, cameInTunnel } = passage;
    if (this.ports.get(port.id) !== port) {
      this.drop(port, packet, "switch-port-unknown", "the port went while the frame waited", direction);
      return;
    }
    const malformed = this.headers.parse(packet);
    assert(malformed === undefined, "what a port made of a frame can be read again");
    if (direction === "out") {
      // Turned round: back to its sender.
      if (isHairpin) this.transmit(port, packet);
      else this.sendFrom(passage);
      return;
    }
    // Turned round: the frame leaves the port as if it had come from behind it.
    if (isHairpin) {
      if (!this.forwardInner(port, packet)) forwardByMac(this, port, packet, this.headers);
      return;
    }
    if (!cameInTunnel || !this.steerUnwrapped(port, packet)) this.transmit(port, packet);
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
    direction: VfpDirection = "out",
  ): void {
    this.drops.set(code, (this.drops.get(code) ?? 0) + 1);
    port.countDrop(direction, "switch", code);
    this.record(packet, { kind: "drop", node: this.node, place: port.description, code, text });
  }

  /** Sends a frame through its port's pipeline, and on from there. */
  private evaluate(passage: Passage): void {
    const { port, packet, direction } = passage;
    const recorder = packet.tag === 0 ? undefined : this.env.recorder;
    const { nowMs } = this.env.clock;
    switch (port.vfp.process(direction, packet, this.headers, nowMs, recorder)) {
      case "pass":
        this.goOn(passage);
        break;
      case "hairpin":
        this.goOn({ ...passage, isHairpin: true });
        break;
      case "delayed": {
        const { untilMs, isHairpin } = port.vfp.delay;
        this.env.clock.schedule(untilMs - nowMs, new DelayedFrame(this, { ...passage, isHairpin }));
        break;
      }
      case "pending":
        if (!port.wait(packet, direction))
          this.drop(port, packet, "pending-packets-full", "too many packets wait for a next hop", direction);
        break;
      case "drop":
        port.countDrop(direction, "vfp", port.vfp.lastDropCode ?? "switch-port-blocked");
    }
  }

  private lookInside(packet: Packet): InnerDestination | undefined {
    return this.overlays.isEmpty ? undefined : this.overlays.lookInside(packet, this.headers);
  }

  /**
   * Step 2: a frame in a tunnel goes by the MAC inside (`innerMacFwd`). A MAC that no port has is looked for outside.
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
    const binding = this.findBindingOwner(packet, this.headers);
    if (binding === undefined || binding === target) return false;
    this.deliver(binding, packet, "by NAT binding of destination address and port");
    return true;
  }

  private record(packet: Packet, event: TraceEvent): void {
    if (packet.tag !== 0) this.env.recorder?.record(packet.tag, event, packet.frame, this.env.clock.nowMs);
  }
}
