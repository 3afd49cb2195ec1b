/**
 * A layer-2 switch that learns: the physical segment between nodes, and the bridge inside a Linux node (IEEE 802.1D
 * §7, without spanning tree). It looks at MAC addresses only; VLAN tags pass as they are.
 */
import { assert } from "#core/base/assert.ts";
import type { Task, Timer } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Device, Receiver } from "../device/device.ts";
import { type ArpRequests, type Asked, requestIn } from "../device/arp-requests.ts";
import { ArpFlood, CABLE_DELAYS, MemoryDevice, memoryPair } from "../device/memory-pair.ts";
import { DropCounters } from "../host/drop-counters.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Mac, formatMac, isGroupMac } from "#core/net/mac.ts";
import { EthernetView } from "#core/wire/ethernet.ts";
import { describeMalformed } from "#core/wire/malformed.ts";
import type { Packet } from "#core/wire/packet.ts";

/** IEEE 802.1D table 7-5: how long a MAC is remembered after its last frame. */
const AGEING_MS = 300_000;
/** IEEE 802.1D table 7-10: group addresses that no bridge forwards, 01-80-C2-00-00-00 to -0F. */
const RESERVED_MAC_FIRST = 0x0180_c200_0000;
const RESERVED_MAC_LAST = 0x0180_c200_000f;

export interface LearningSwitchOptions {
  /** The machine it belongs to, as traces name it. */
  readonly node: string;
  /** What traces call it. */
  readonly place: string;
  /** `wire`: the network between machines. `switch`: a bridge inside one. */
  readonly kind: "wire" | "switch";
}

/** How a cable to the switch is made. */
export interface ConnectOptions {
  /** Default: that of a cable of the segment, or inside a machine. */
  readonly delayMs?: number;
  /** Default 1500. */
  readonly mtuBytes?: number;
  /** Frames may leave by the port that they came by. Default false, as IEEE 802.1D has it. */
  readonly isHairpin?: boolean;
  /**
   * The machine is a virtual one, and its hypervisor has MAC spoofing off: frames with another source MAC than that of
   * its adapter end at the port (dataplane.md §2.6). Default: any MAC may send.
   */
  readonly onlyMac?: Mac;
}

/** Sees the frames of a switch before they are sent on. */
export interface FrameFilter {
  /** @returns the frames that go on in place of this one. `from` is the name of its port. */
  filterFrame(from: string, packet: Packet): readonly Packet[];
}

/** Where a MAC address was seen. */
interface MacEntry {
  readonly port: SegmentPort;
  readonly seenAtMs: number;
}

/** A line of the table of MAC addresses. */
export interface LearnedMac {
  readonly mac: Mac;
  readonly port: string;
  readonly ageMs: number;
}

/** A port: gets what arrives on its cable. */
class SegmentPort implements Receiver {
  readonly name: string;
  readonly device: Device;
  readonly isHairpin: boolean;
  readonly onlyMac: Mac | undefined;
  isAttached = true;
  private readonly owner: LearningSwitch;

  constructor(
    owner: LearningSwitch,
    name: string,
    device: Device,
    options: Pick<ConnectOptions, "isHairpin" | "onlyMac">,
  ) {
    this.owner = owner;
    this.name = name;
    this.device = device;
    this.isHairpin = options.isHairpin ?? false;
    this.onlyMac = options.onlyMac;
    device.attach(this);
  }

  receive(packet: Packet): void {
    if (this.isAttached) this.owner.forward(this, packet);
  }
}

/** ARP requests that are about to leave a switch. */
class LeavingRequests implements Task {
  private readonly owner: LearningSwitch;
  private readonly flood: ArpFlood;

  constructor(owner: LearningSwitch, flood: ArpFlood) {
    this.owner = owner;
    this.flood = flood;
  }

  get requests(): ArpRequests {
    return this.flood.requests;
  }

  run(): void {
    this.owner.endRequests(this);
    this.flood.run();
  }
}

export class LearningSwitch {
  readonly drops: DropCounters = new DropCounters();
  /** Asked about each frame; undefined: all go on as they are. */
  filter: FrameFilter | undefined;
  private readonly env: Environment;
  private readonly options: LearningSwitchOptions;
  private readonly ports = new Map<string, SegmentPort>();
  /** In the order in which the addresses were last seen. */
  private readonly macs = new Map<Mac, MacEntry>();
  /** Which others may join. */
  private leaving:
    | { readonly flood: LeavingRequests; readonly delayMs: number; readonly timer: Timer }
    | undefined;

  constructor(env: Environment, options: LearningSwitchOptions) {
    this.env = env;
    this.options = options;
  }

  /** Plugs the end `device` of a cable in; `name` is what traces call the port. */
  addPort(name: string, device: Device, options: Pick<ConnectOptions, "isHairpin" | "onlyMac"> = {}): void {
    assert(!this.ports.has(name), `the switch has a port ${name} already`);
    this.ports.set(name, new SegmentPort(this, name, device, options));
    this.leaving = undefined;
  }

  /** Plugs a new cable in. @returns its other end. */
  connect(name: string, options: ConnectOptions = {}): MemoryDevice {
    const delayMs =
      options.delayMs ?? (this.options.kind === "wire" ? CABLE_DELAYS.segmentMs : CABLE_DELAYS.virtualMs);
    const cable = options.mtuBytes === undefined ? { delayMs } : { delayMs, mtuBytes: options.mtuBytes };
    const [near, far] = memoryPair(this.env.clock, cable);
    this.addPort(name, near, options);
    return far;
  }

  /** Pulls a cable out; what was learned from it is forgotten. An unknown name is ignored. */
  removePort(name: string): void {
    const port = this.ports.get(name);
    if (port === undefined) return;
    port.isAttached = false;
    this.ports.delete(name);
    this.leaving = undefined;
    for (const [mac, entry] of this.macs) if (entry.port === port) this.macs.delete(mac);
  }

  /** The switch's ends of the cables of its ports: each frame comes in by one of them. */
  listDevices(): ReadonlyMap<string, Device> {
    return new Map([...this.ports.values()].map(({ name, device }) => [name, device]));
  }

  /** Names of the ports, in the order in which they were plugged in. */
  listPorts(): readonly string[] {
    return [...this.ports.keys()];
  }

  /** What was learned and is not too old, the longest unseen first. */
  listMacs(): readonly LearnedMac[] {
    const nowMs = this.env.clock.nowMs;
    const lines = [...this.macs].map(([mac, { port, seenAtMs }]) => ({
      mac,
      port: port.name,
      ageMs: nowMs - seenAtMs,
    }));
    return lines.filter((line) => line.ageMs < AGEING_MS);
  }

  /** Called by a port: takes a frame. */
  forward(from: SegmentPort, packet: Packet): void {
    const view = EthernetView.parse(packet.bytes, packet.start, packet.end);
    if (typeof view === "string") {
      this.drop(packet, "malformed-frame", describeMalformed(view));
      return;
    }
    const { sourceMac, destinationMac } = view;
    if (isGroupMac(sourceMac)) {
      this.drop(packet, "malformed-frame", `${formatMac(sourceMac)} is a group address and cannot send`);
      return;
    }
    if (from.onlyMac !== undefined && from.onlyMac !== sourceMac) {
      const text = `${from.name} may send from ${formatMac(from.onlyMac)} alone, and ${formatMac(sourceMac)} sent`;
      this.drop(packet, "mac-spoofing-refused", text);
      return;
    }
    this.learn(sourceMac, from);
    if (this.filter === undefined) this.send(from, packet, destinationMac);
    else
      for (const each of this.filter.filterFrame(from.name, packet))
        this.send(from, each, destinationOf(each));
  }

  /**
   * Takes a frame as if it had come by the port behind which its source is known, or else by the port `name`; the
   * filter has seen it.
   */
  inject(name: string, packet: Packet): void {
    const view = EthernetView.parse(packet.bytes, packet.start, packet.end);
    assert(typeof view !== "string", "an injected frame has an Ethernet header");
    const from = this.lookup(view.sourceMac) ?? this.ports.get(name);
    if (from !== undefined) this.send(from, packet, view.destinationMac);
  }

  private send(from: SegmentPort, packet: Packet, destinationMac: Mac): void {
    const isReserved = destinationMac >= RESERVED_MAC_FIRST && destinationMac <= RESERVED_MAC_LAST;
    const to = this.lookup(destinationMac);
    if (isReserved || (to === from && !from.isHairpin)) {
      this.drop(packet, "mac-not-local", `${formatMac(destinationMac)} is not behind another port`);
    } else if (to === undefined) {
      this.flood(from, packet, destinationMac);
    } else {
      this.record(packet, from, to.name);
      this.transmit(to, packet);
    }
  }

  private learn(mac: Mac, port: SegmentPort): void {
    const known = this.macs.delete(mac);
    if (!known && this.macs.size >= LIMITS.macsPerSwitchMax) {
      this.forgetOld();
      // A full table learns nobody: frames to unknown addresses are flooded, as real switches do.
      if (this.macs.size >= LIMITS.macsPerSwitchMax) return;
    }
    this.macs.set(mac, { port, seenAtMs: this.env.clock.nowMs });
  }

  private forgetOld(): void {
    for (const [mac, entry] of this.macs) {
      if (this.env.clock.nowMs - entry.seenAtMs < AGEING_MS) return;
      this.macs.delete(mac);
    }
  }

  private lookup(mac: Mac): SegmentPort | undefined {
    const entry = this.macs.get(mac);
    return entry === undefined || this.env.clock.nowMs - entry.seenAtMs >= AGEING_MS ? undefined : entry.port;
  }

  private flood(from: SegmentPort, packet: Packet, destinationMac: Mac): void {
    const asked = requestIn(packet);
    if (asked !== undefined && this.askAll(from, packet, asked)) return;
    const others = [...this.ports.values()].filter((port) => port !== from || port.isHairpin);
    const why = isGroupMac(destinationMac) ? "" : `, since ${formatMac(destinationMac)} is unknown`;
    this.record(packet, from, `all other ports${why}`);
    const cables: MemoryDevice[] = [];
    for (const port of others)
      if (port.device instanceof MemoryDevice && port.device.isReady) cables.push(port.device);
      else this.transmit(port, packet.copy());
    MemoryDevice.transmitAll(cables, packet);
  }

  /**
   * ARP requests of one moment leave together where nothing else happens between them: whoever hears them is asked once.
   * @returns false where they cannot.
   */
  private askAll(from: SegmentPort, packet: Packet, asked: Asked): boolean {
    const { clock } = this.env;
    if (this.leaving === undefined || !clock.isLast(this.leaving.timer, this.leaving.delayMs)) {
      const devices = [...this.ports.values()].map(({ device }) => device);
      const cables = devices.filter((device) => device instanceof MemoryDevice);
      const delayMs = cables[0]?.delayMs ?? 0;
      const isPlain = cables.every((cable) => cable.isReady && cable.delayMs === delayMs);
      if (!isPlain || cables.length < devices.length) return false;
      const flood = new LeavingRequests(this, ArpFlood.over(clock, cables));
      this.leaving = { flood, delayMs, timer: clock.schedule(delayMs, flood) };
    }
    this.leaving.flood.requests.add(asked, packet, from.isHairpin ? undefined : from.device);
    return true;
  }

  /** Called when they have left. */
  endRequests(flood: LeavingRequests): void {
    if (this.leaving?.flood === flood) this.leaving = undefined;
  }

  private transmit(port: SegmentPort, packet: Packet): void {
    if (!port.device.transmit(packet))
      this.drop(packet, "interface-down", `the cable to ${port.name} is down`);
  }

  private record(packet: Packet, from: SegmentPort, to: string): void {
    if (packet.tag === 0) return;
    const { kind, node, place } = this.options;
    const event = { kind, node, place, text: `from ${from.name} to ${to}` };
    this.env.recorder?.record(packet.tag, event, packet.frame, this.env.clock.nowMs);
  }

  private drop(packet: Packet, code: KnowledgeCode, text: string): void {
    this.drops.add(code);
    if (packet.tag === 0) return;
    const { node, place } = this.options;
    this.env.recorder?.record(
      packet.tag,
      { kind: "drop", node, place, code, text },
      packet.frame,
      this.env.clock.nowMs,
    );
  }
}

function destinationOf(packet: Packet): Mac {
  const view = EthernetView.parse(packet.bytes, packet.start, packet.end);
  assert(typeof view !== "string", "a filtered frame has an Ethernet header");
  return view.destinationMac;
}
