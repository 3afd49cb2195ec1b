/**
 * The switch of the physical host that nodes of an L2Tunnel network run on, as far as they see it: it routes by address,
 * whatever the MAC, and its rules hold between any two addresses, also of one node (dataplane.md §2.5).
 * Inferred: the TTL stays, and the sender's MAC becomes that of the gateway (§2.5, row 3).
 */
import { assert } from "#core/base/assert.ts";
import { readU16, readU32, readU48, writeU48 } from "#core/base/bytes.ts";
import type { Environment } from "#core/base/environment.ts";
import type { TraceEvent } from "#core/base/recorder.ts";
import type { Device, Receiver } from "../device/device.ts";
import { CABLE_DELAYS, type MemoryDevice, memoryPair } from "../device/memory-pair.ts";
import { DropCounters } from "../host/drop-counters.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip, Ipv4 } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { FABRIC_GATEWAY_MAC } from "../switch/forwarding.ts";
import { buildArpFrame } from "#core/wire/build-frame.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { type FabricMachine, type FabricMachines, type FabricRules, hasAddress } from "./fabric-rules.ts";

class FabricPort implements Receiver {
  readonly machine: FabricMachine;
  readonly device: Device;
  private readonly owner: PhysicalHostSwitch;

  constructor(owner: PhysicalHostSwitch, machine: FabricMachine, device: Device) {
    this.owner = owner;
    this.machine = machine;
    this.device = device;
    device.attach(this);
  }

  receive(packet: Packet): void {
    this.owner.forward(this, packet);
  }
}

export class PhysicalHostSwitch implements FabricMachines {
  readonly drops: DropCounters = new DropCounters();
  private readonly env: Environment;
  private readonly node: string;
  private readonly ports: FabricPort[] = [];
  readonly rules: FabricRules;
  /** Addresses of load balancers, by the machine that each leads to. */
  private readonly floating = new Map<Ip, string>();

  /** `node` is what traces call the physical host. */
  constructor(env: Environment, node: string, rules: FabricRules) {
    this.env = env;
    this.node = node;
    this.rules = rules;
  }

  /** Plugs a machine in. @returns its end of the cable. */
  connect(machine: FabricMachine): MemoryDevice {
    const known = this.ports.some((port) => port.machine.name === machine.name);
    assert(!known, `the fabric has a machine ${machine.name} already`);
    const [near, far] = memoryPair(this.env.clock, { delayMs: CABLE_DELAYS.segmentMs });
    this.ports.push(new FabricPort(this, machine, near));
    return far;
  }

  /**
   * An address that is nobody's own goes to `machine` as it is, as with the floating IP of an Azure load balancer
   * (dataplane.md §2.4 B-7); undefined: to nobody any more.
   */
  setFloating(address: Ip, machine: string | undefined): void {
    if (machine === undefined) this.floating.delete(address);
    else this.floating.set(address, machine);
  }

  /** Called by a port: takes a frame. */
  forward(from: FabricPort, packet: Packet): void {
    const headers = new Headers();
    const { name, mac, refusesOtherMacs } = from.machine;
    if (headers.parse(packet) !== undefined) {
      this.drop(packet, "malformed-frame", "the frame is broken");
    } else if (refusesOtherMacs === true && readU48(packet.bytes, packet.start + 6) !== mac) {
      const text = `${name} may send from ${formatMac(mac)} alone`;
      this.drop(packet, "mac-spoofing-refused", text);
    } else if (headers.etherType === EtherType.arp) {
      this.answerArp(from, packet, headers.network);
    } else if (headers.family === 0) {
      this.drop(packet, "destination-not-local", "the fabric carries IP alone");
    } else {
      this.route(from, packet, headers);
    }
  }

  private route(from: FabricPort, packet: Packet, headers: Headers): void {
    const decision = this.rules.decide(from.machine, packet.bytes, headers, this, this.env.clock.nowMs);
    for (const text of decision.steps) this.recordStep(packet, text);
    if (decision.kind === "drop") {
      this.drop(packet, decision.code, decision.text);
      return;
    }
    const { machine } = decision;
    writeU48(packet.bytes, packet.start, machine.mac);
    writeU48(packet.bytes, packet.start + 6, FABRIC_GATEWAY_MAC);
    this.recordStep(packet, `from ${from.machine.name} to ${machine.name}`);
    const port = this.ports.find((each) => each.machine === machine);
    if (port?.device.transmit(packet) !== true) this.drop(packet, "interface-down", "the cable is down");
  }

  /** Who has the address, or is given it as a load balancer's. */
  ownerOf(ip: Ip): FabricMachine | undefined {
    const floating = this.floating.get(ip);
    return (
      this.ports.find(({ machine }) => hasAddress(machine, ip)) ??
      this.ports.find(({ machine }) => machine.name === floating)
    )?.machine;
  }

  get router(): FabricMachine | undefined {
    return this.ports.find(({ machine }) => machine.isRouter === true)?.machine;
  }

  /** One MAC for all addresses (dataplane.md §2.5). Announcements and answers tell it nothing. */
  private answerArp(from: FabricPort, { bytes, start }: Packet, at: number): void {
    const senderIp = readU32(bytes, at + 14) as Ipv4;
    const targetIp = readU32(bytes, at + 24) as Ipv4;
    if (readU16(bytes, at + 6) !== 1 || senderIp === targetIp) return;
    const targetMac = readU48(bytes, start + 6) as Mac;
    const arp = { senderMac: FABRIC_GATEWAY_MAC, senderIp: targetIp, targetMac, targetIp: senderIp };
    const link = { sourceMac: FABRIC_GATEWAY_MAC, destinationMac: targetMac };
    from.device.transmit(buildArpFrame({ link, arp: { operation: "reply", ...arp } }));
  }

  private recordStep(packet: Packet, text: string): void {
    this.record(packet, { kind: "wire", node: this.node, place: "physical host", text });
  }

  private drop(packet: Packet, code: KnowledgeCode, text: string): void {
    this.drops.add(code);
    this.record(packet, { kind: "drop", node: this.node, place: "physical host", code, text });
  }

  private record(packet: Packet, event: TraceEvent): void {
    if (packet.tag !== 0) this.env.recorder?.record(packet.tag, event, packet.frame, this.env.clock.nowMs);
  }
}
