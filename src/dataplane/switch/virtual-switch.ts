/**
 * The Hyper-V switch: one VFP pipeline per port, and the choice of the port a frame goes to. The rules of that choice are in
 * the files around (`forwarding.ts` has their order) and only decide. Here is done what they decide: frames are delivered,
 * dropped, counted and told to the recorder, and timers run.
 */
import { assert, defined } from "#core/base/assert.ts";
import { readU48 } from "#core/base/bytes.ts";
import type { Task } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { TraceEvent } from "#core/base/recorder.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Mac, isGroupMac } from "#core/net/mac.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { HEADROOM_BYTES, type Packet } from "#core/wire/packet.ts";
import { cutSuperFrame, isSegmentable, segmentLength } from "#core/wire/segmentation.ts";
import { popVlan, pushVlan } from "#core/wire/vlan.ts";
import type { ArpRequests } from "../device/arp-requests.ts";
import type { Device } from "../device/device.ts";
import { type Hearing, type Listener, MemoryDevice } from "../device/memory-pair.ts";
import type { NextHopWaiter } from "../vfp/actions/next-hop.ts";
import type { VfpDirection } from "../vfp/rule.ts";
import { type Decision, type Drop, type PipelineWitness, type Reply, drop } from "./decision.ts";
import {
  PLAIN_FORWARDING,
  type TunnelHistory,
  VFP_FORWARDING,
  forwardTurned,
  steerUnwrapped,
} from "./forwarding.ts";
import { answerNeighborDiscovery } from "./nd-forwarding.ts";
import { ProgrammedSwitch } from "./programmed-switch.ts";
import type { Delivery, SwitchPort, SwitchPortOptions } from "./switch-port.ts";
import { findVlanDrop } from "./mac-forwarding.ts";
import { findWireFault } from "./wire-faults.ts";

/** How a frame left a port's pipeline. */
interface Passage extends TunnelHistory {
  readonly port: SwitchPort;
  readonly packet: Packet;
  /** The direction in which it came to the port. */
  readonly direction: VfpDirection;
  /** It goes back to the side that it came from. */
  readonly isHairpin: boolean;
}

/** The longest IP packet. */
const LONGEST_BYTES = 0xffff;

/** How often a switch that is used looks for idle flows, which live for 240 s and longer. */
const SWEEP_INTERVAL_MS = 60_000;

/** Who hears of the first frames that need rules which nobody has made yet. Shared by all copies of a world. */
interface RuleDemand {
  readonly nodes: Set<string>;
}

export class VirtualSwitch extends ProgrammedSwitch {
  /** Set while a program of the node has left its rules for later. */
  demand: RuleDemand | undefined;
  /** Frames dropped by the switch itself, by code; what VFP drops is counted on the port. */
  readonly drops: Map<KnowledgeCode, number> = new Map();
  private readonly headers = new Headers();
  /** Ports that are taking a frame, one from within the other. */
  private deliveries = 0;
  /** When flows that ended in silence are forgotten next. */
  private nextSweepMs = SWEEP_INTERVAL_MS;

  addPort(options: SwitchPortOptions): SwitchPort {
    const port = this.makePort(options);
    const events = new PortEvents(this, port);
    port.vfp.nextHopWaiter = events;
    port.device.attach(events);
    return port;
  }

  /** Flows that nothing has used for as long as flows live give their memory and their NAT ports back, on all ports. */
  forgetIdleFlows(nowMs: number): void {
    this.nextSweepMs = nowMs + SWEEP_INTERVAL_MS;
    for (const port of this.listPorts()) port.vfp.forgetIdleFlows(nowMs);
  }

  /** A frame came in at `source`. */
  handleFrame(source: SwitchPort, packet: Packet): void {
    const malformed = this.headers.parse(packet);
    if (malformed !== undefined) {
      this.discard(source, packet, drop("malformed-frame", `refused: ${malformed}`));
      return;
    }
    if (this.demand !== undefined && this.mayMeetRules(packet)) this.demand.nodes.add(this.node);
    const lost = source.kind === "external" ? this.findLoss(source, packet) : undefined;
    if (lost !== undefined) {
      this.discard(source, packet, lost);
      return;
    }
    if (packet.segmentBytes > 0 && this.isCutFirst(source, packet)) {
      const segments = defined(cutSuperFrame(packet), "a super frame can be cut");
      for (const each of segments) this.handleFrame(source, each);
      return;
    }
    const answer = answerNeighborDiscovery(this.tables, source, packet, this.headers);
    if (answer !== undefined) {
      this.act(source, packet, answer);
      return;
    }
    const passage = {
      port: source,
      packet,
      direction: "out",
      isHairpin: false,
      cameInTunnel: source.kind === "container" && this.isTunnel(packet),
      arrivedBytes: packet.length,
    } as const;
    // The uplink port is not VFP-enabled (dataplane.md §1.2).
    if (source.kind === "external") this.sendFrom(passage);
    else this.evaluate(passage);
  }

  /**
   * ARP requests came in at the uplink. They go to the host's vNIC as `handleFrame` sends them there, where nothing on the
   * way looks at them.
   */
  hear(source: SwitchPort, requests: ArpRequests, by: Device): Hearing {
    const { hostPort, ports } = this.tables;
    const { device } = hostPort ?? source;
    if (source.kind !== "external" || hostPort === undefined || !(device instanceof MemoryDevice))
      return "listens";
    const isPlainWay =
      !this.isPlain &&
      this.extension === undefined &&
      this.env.clock.nowMs < this.nextSweepMs &&
      device.isReady &&
      !device.isWatched;
    const isUntagged = source.vlan === 0 && hostPort.vlan === 0;
    const isWireSound = source.wireFaults === undefined && !source.sendsToFabric;
    const isForHost = source.virtualSubnets.length === 0 && hostPort.virtualSubnets.length === 0;
    const isForPod = ports.some(
      ({ deliversByAddress, ips }) => deliversByAddress && requests.askFor(ips, by),
    );
    if (!isPlainWay || !isUntagged || !isWireSound || !isForHost || isForPod) return "listens";
    const { frames, bytes } = requests.reaching(by);
    if (!hostPort.vfp.passOthers("in", frames)) return "listens";
    source.count("out", bytes, frames);
    hostPort.count("in", bytes, frames);
    return device;
  }

  /**
   * A rewrite takes a super frame whole, and so do outer headers, which each segment gets (dataplane.md §6.9). One that
   * would be too long with them is cut before, and all are for an extension, which knows none.
   */
  private isCutFirst(source: SwitchPort, packet: Packet): boolean {
    if (packet.outerBytes === 0 && !isSegmentable(packet.bytes, this.headers)) packet.segmentBytes = 0;
    if (packet.segmentBytes === 0) return false;
    // A tunnel of OVN ends in the extension, which takes frames one by one.
    if (source.kind === "external") return packet.outerBytes > 0 && this.extension !== undefined;
    const isTooLong = packet.length > LONGEST_BYTES - HEADROOM_BYTES && source.vfp.mayEncapsulate;
    return packet.outerBytes === 0 && (isTooLong || this.extension !== undefined);
  }

  /** Rules of programs are for one receiver; ARP passes them all. */
  private mayMeetRules({ bytes, start }: Packet): boolean {
    return !isGroupMac(readU48(bytes, start) as Mac) && this.headers.etherType !== EtherType.arp;
  }

  private isTunnel(packet: Packet): boolean {
    return this.tables.virtualSubnets.lookInside(packet, this.headers) !== undefined;
  }

  /** Sends a frame through its port's pipeline, and on from there. */
  private evaluate(passage: Passage): void {
    const { port, packet, direction } = passage;
    const recorder = packet.tag === 0 ? undefined : this.env.recorder;
    const { nowMs } = this.env.clock;
    if (nowMs >= this.nextSweepMs) this.forgetIdleFlows(nowMs);
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
        this.hold(port, packet, direction);
        break;
      case "drop":
        port.countDrop(direction, "vfp", port.vfp.lastDropCode ?? "switch-port-blocked");
    }
  }

  /** A frame goes on that has passed its port's pipeline, now or some time ago. */
  goOn(passage: Passage): void {
    const { port, packet, direction, isHairpin } = passage;
    if (this.getPort(port.id) !== port) {
      const gone = drop("switch-port-unknown", "the port went while the frame waited");
      this.discard(port, packet, gone, direction);
      return;
    }
    const malformed = this.headers.parse(packet);
    assert(malformed === undefined, "what a port made of a frame can be read again");
    if (direction === "out" && !isHairpin) {
      this.sendFrom(passage);
      return;
    }
    const decision = direction === "in" ? this.decideAtTarget(passage) : undefined;
    if (decision === undefined) this.transmit(port, packet);
    else this.act(port, packet, decision);
  }

  /** A frame has passed the pipeline of the port that it came in at. */
  private sendFrom(passage: Passage): void {
    const { port: source, packet } = passage;
    source.count("out", packet.length);
    const decision = this.extension?.decide(
      this.tables,
      source,
      packet,
      this.headers,
      this.witnessOf(packet, this.extension.name),
    );
    this.act(source, packet, decision ?? this.decide(passage));
  }

  private decide(passage: Passage): Decision {
    const { port: source, packet } = passage;
    const { tables, headers } = this;
    const mode = this.isPlain ? PLAIN_FORWARDING : VFP_FORWARDING;
    const vlan = mode.admit(tables, source, headers);
    if (typeof vlan !== "number") return vlan;
    this.enterVlan(packet, vlan);
    this.bindings.learn(packet, headers);
    return mode.forward(tables, source, packet, headers, passage);
  }

  /** A frame has passed the pipeline of the port that it goes to; undefined: it is for the machine behind. */
  private decideAtTarget({ port, packet, isHairpin, cameInTunnel }: Passage): Decision | undefined {
    if (!isHairpin && !cameInTunnel) return undefined;
    const { tables, headers } = this;
    this.bindings.learn(packet, headers);
    const rule = isHairpin ? forwardTurned : steerUnwrapped;
    return rule(tables, port, packet, headers);
  }

  /** Inside, the switch knows the VLAN, and the frame has no tag of it. */
  private enterVlan(packet: Packet, vlan: number): void {
    packet.vlan = vlan;
    if (vlan === 0 || this.headers.vlan !== vlan) return;
    popVlan(packet);
    this.headers.parse(packet);
  }

  /** Puts the tag on that the wire needs. */
  private leaveVlan(packet: Packet): void {
    if (packet.vlan === 0) return;
    pushVlan(packet, { id: packet.vlan });
    packet.vlan = 0;
    this.headers.parse(packet);
  }

  /** Carries out what was decided about a frame that came from behind `source`. */
  private act(source: SwitchPort, packet: Packet, decision: Decision): void {
    switch (decision.kind) {
      case "to":
        this.send(packet, decision);
        break;
      case "reply":
        this.reply(source, packet, decision);
        break;
      case "drop":
        this.discard(source, packet, decision);
        break;
      case "consumed":
    }
  }

  private send(packet: Packet, { ports, reason, frame, further }: Delivery): void {
    const [only] = ports;
    if (ports.length === 1 && only !== undefined) {
      if (frame !== undefined) this.headers.parse(frame);
      this.deliver(only, frame ?? packet, reason);
    } else
      for (const port of ports) {
        const copy = (frame ?? packet).copy();
        this.headers.parse(copy);
        this.deliver(port, copy, reason);
      }
    if (further !== undefined) for (const other of further) this.send(packet, other);
  }

  private reply(source: SwitchPort, { vlan }: Packet, { frame, reason, isFromPort }: Reply): void {
    this.headers.parse(frame);
    // Who asks in a VLAN is answered in it.
    frame.vlan = vlan;
    if (isFromPort) {
      this.recordChoice(source, frame, reason);
      this.transmit(source, frame);
    } else this.deliver(source, frame, reason);
  }

  /** Sends a frame out of `target`, through its pipeline. `reason` says why there. */
  private deliver(target: SwitchPort, packet: Packet, reason: string): void {
    const refusal =
      this.deliveries >= LIMITS.deliveriesPerFrameMax
        ? drop("forwarding-loop", "it went from port to port inside the switch")
        : findVlanDrop(target, packet);
    if (refusal !== undefined) {
      this.discard(target, packet, refusal, "in");
      return;
    }
    this.deliveries++;
    // A switch without VFP tags first, and its traces show the tag.
    if (this.isPlain && target.kind === "external") this.leaveVlan(packet);
    this.recordChoice(target, packet, reason);
    if (target.kind === "external") this.transmit(target, packet);
    else {
      this.evaluate({
        port: target,
        packet,
        direction: "in",
        isHairpin: false,
        cameInTunnel: target.kind === "host" && this.isTunnel(packet),
        arrivedBytes: packet.length,
      });
    }
    this.deliveries--;
  }

  /** Gives a frame to the machine behind `target`. */
  private transmit(target: SwitchPort, packet: Packet): void {
    const isExternal = target.kind === "external";
    const segments = isExternal && isCutForWire(target) ? cutSuperFrame(packet) : undefined;
    if (segments !== undefined) {
      for (const each of segments) {
        this.headers.parse(each);
        this.transmit(target, each);
      }
      return;
    }
    if (isExternal) this.leaveVlan(packet);
    const { length } = packet;
    packet.vlan = 0;
    const lost = isExternal
      ? (findTooLong(target.device, packet, this.headers) ?? this.findLoss(target, packet))
      : undefined;
    if (lost !== undefined) {
      this.discard(target, packet, lost, "in");
      return;
    }
    if (target.pace !== undefined && this.isPaced(target, packet)) return;
    if (target.device.transmit(packet)) target.count("in", length);
    else this.discard(target, packet, drop("switch-port-unknown", "the cable behind the port is gone"), "in");
  }

  /** Why a frame is lost on the wire behind an uplink; undefined: it is not. */
  private findLoss({ wireFaults }: SwitchPort, packet: Packet): Drop | undefined {
    if (wireFaults === undefined) return undefined;
    const code = findWireFault(wireFaults, packet.bytes, this.headers, this.env.clock.nowMs);
    return code && drop(code, "lost on the wire behind the adapter");
  }

  /** @returns true when the frame goes later, or not at all. */
  private isPaced(target: SwitchPort, packet: Packet): boolean {
    if (target.pace === undefined || this.headers.protocol !== IpProtocol.tcp) return false;
    const waitMs = target.pace.admit(packet.length, this.env.clock.nowMs);
    if (waitMs === 0) return false;
    if (waitMs === undefined) {
      const full = drop("receive-coalescing-slow", "too much waits in the switch");
      this.discard(target, packet, full, "in");
      return true;
    }
    target.count("in", packet.length);
    this.env.clock.schedule(waitMs, new LateFrame(target.device, packet));
    return true;
  }

  /** Keeps a frame at its port until its next hop is known. */
  private hold(port: SwitchPort, packet: Packet, direction: VfpDirection): void {
    const { clock } = this.env;
    const untilMs = clock.nowMs + LIMITS.pendingTimeoutMs;
    if (port.wait({ packet, direction, untilMs })) {
      port.patience ??= clock.schedule(LIMITS.pendingTimeoutMs, new PortEvents(this, port));
      return;
    }
    const full = drop("pending-packets-full", "too many packets wait for a next hop");
    this.discard(port, packet, full, direction);
  }

  /** What frames at `port` wait for has happened: they go their way once more. */
  resume(port: SwitchPort): void {
    const frames = port.takeWaiting();
    if (port.patience !== undefined) this.env.clock.cancel(port.patience);
    port.patience = undefined;
    for (const { packet, direction } of frames) {
      if (direction === "out") {
        this.handleFrame(port, packet);
        continue;
      }
      const malformed = this.headers.parse(packet);
      assert(malformed === undefined, "a frame that waits is as it came");
      this.deliver(port, packet, "its next hop is known now");
    }
  }

  /** Ends frames that have waited at `port` too long. */
  endLate(port: SwitchPort, nowMs: number): void {
    const frames = port.takeWaiting(nowMs);
    const nextMs = port.waitsUntilMs;
    port.patience =
      nextMs === undefined ? undefined : this.env.clock.schedule(nextMs - nowMs, new PortEvents(this, port));
    const late = drop("next-hop-unresolved", "the next hop was not resolved in time");
    for (const { packet, direction } of frames) this.discard(port, packet, late, direction);
  }

  /** Ends a frame here, counted and told. `direction` is the way that it went through `port`. */
  private discard(
    port: SwitchPort,
    packet: Packet,
    { code, text }: Drop,
    direction: VfpDirection = "out",
  ): void {
    this.drops.set(code, (this.drops.get(code) ?? 0) + 1);
    port.countDrop(direction, "switch", code);
    this.record(packet, { kind: "drop", node: this.node, place: port.description, code, text });
  }

  /** Tells the recorder what a followed frame meets in the extension. */
  private witnessOf({ tag }: Packet, place: string): PipelineWitness | undefined {
    const { recorder, clock } = this.env;
    if (tag === 0 || recorder === undefined) return undefined;
    return (pipeline, frame) =>
      recorder.record(tag, { kind: "pipeline", node: this.node, place, ...pipeline }, frame, clock.nowMs);
  }

  private recordChoice(target: SwitchPort, packet: Packet, reason: string): void {
    if (packet.tag === 0) return;
    this.record(packet, { kind: "switch", node: this.node, place: target.description, text: reason });
  }

  private record(packet: Packet, event: TraceEvent): void {
    if (packet.tag !== 0) this.env.recorder?.record(packet.tag, event, packet.frame, this.env.clock.nowMs);
  }
}

/** On a wire of our own they stay whole; where frames are lost by their number, each counts. */
function isCutForWire({ device, wireFaults }: SwitchPort): boolean {
  return device.carriesSuperFrames !== true || wireFaults !== undefined;
}

/** The adapter takes packets up to its MTU; outer headers with DF make one too long (dataplane.md §5.4). */
function findTooLong({ mtuBytes }: Device, packet: Packet, { network }: Headers): Drop | undefined {
  const bytes = segmentLength(packet, packet.end - network);
  if (bytes <= mtuBytes) return undefined;
  const text = packet.tag === 0 ? "" : `${bytes} bytes with all headers, the adapter takes ${mtuBytes}`;
  return drop("mtu-exceeded", text);
}

/** What happens at a port: a frame comes over its cable, a next hop is known, the time of a frame that waits is over. */
class PortEvents implements Listener, NextHopWaiter, Task {
  private readonly virtualSwitch: VirtualSwitch;
  private readonly port: SwitchPort;

  constructor(virtualSwitch: VirtualSwitch, port: SwitchPort) {
    this.virtualSwitch = virtualSwitch;
    this.port = port;
  }

  receive(packet: Packet): void {
    this.virtualSwitch.handleFrame(this.port, packet);
  }

  hear(requests: ArpRequests, by: Device): Hearing {
    return this.virtualSwitch.hear(this.port, requests, by);
  }

  nextHopSettled(): void {
    this.virtualSwitch.resume(this.port);
  }

  run(nowMs: number): void {
    this.virtualSwitch.endLate(this.port, nowMs);
  }
}

/**
 * A frame that passed a port's pipeline and waits for its turn under a rate (dataplane.md §1.6). What waits is
 * bounded: a rate's queue has a length in bytes, and what does not fit in is dropped by the engine.
 */
class DelayedFrame implements Task {
  private readonly virtualSwitch: VirtualSwitch;
  private readonly passage: Passage;

  constructor(virtualSwitch: VirtualSwitch, passage: Passage) {
    this.virtualSwitch = virtualSwitch;
    this.passage = passage;
  }

  run(): void {
    this.virtualSwitch.goOn(this.passage);
  }
}

/** A frame on its way out of a port that gives frames out one after the other. */
class LateFrame implements Task {
  private readonly device: Device;
  private readonly packet: Packet;

  constructor(device: Device, packet: Packet) {
    this.device = device;
    this.packet = packet;
  }

  run(): void {
    this.device.transmit(this.packet);
  }
}
