/**
 * A bridge of Open vSwitch that does what its flows say and nothing else (`fail-mode=secure`), with one port into the machine
 * and one tunnel port whose remote address and key the flows set (`remote_ip=flow`, `key=flow`): `br-ext` of the hybrid overlay
 * (control-planes.md §4.1).
 */
import type { Device, Receiver } from "../../device/device.ts";
import type { Compartment } from "../../host/compartment.ts";
import { NO_LINK } from "../../host/ip/ip-output.ts";
import type { UdpTunnel } from "../../host/udp.ts";
import { PacketFields } from "../../ovs/packet-fields.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { readU32, readU48 } from "#core/base/bytes.ts";
import type { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";
import { decapsulateVxlan, encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { tunnelSourcePort } from "../linux-vxlan.ts";
import { dataPlane } from "#data/words.js";
import { type FlowCondition, type FlowField, type OpenFlowRule, parseFlow } from "./flow-text.ts";

const WORDS = dataPlane();

/** ofproto/ofproto-dpif-xlate.c of Open vSwitch: MAX_DEPTH. */
const DEPTH_MAX = 64;
const FLOWS_MAX = 65_536;
const IPV4_SOURCE_OFFSET = 12;

export interface OpenFlowBridgeOptions {
  /** `br-ext`. */
  readonly name: string;
  /** The node's own compartment, by which tunnels go. */
  readonly compartment: Compartment;
  /** The cable into the machine, and what flows call its port. */
  readonly cable: Device;
  readonly cablePort: string;
  /** What flows call the tunnel port. */
  readonly tunnelPort: string;
  /** The node's address, where tunnels begin. */
  readonly local: Ipv4;
  /** Of UDP. */
  readonly vxlanPort: number;
}

/** A packet on its way through the tables. */
interface Passage {
  readonly packet: Packet;
  readonly fields: PacketFields;
  readonly inPort: string;
  /** Registers and what the tunnel says. */
  readonly kept: Map<string, number>;
  depth: number;
  isSent: boolean;
  /** The table in which it ended without being sent. */
  lastTable: number;
}

export class OpenFlowBridge implements UdpTunnel, Receiver {
  private readonly options: OpenFlowBridgeOptions;
  /** By table, highest priority first. */
  private tables: ReadonlyMap<number, readonly OpenFlowRule[]> = new Map();
  /** While a frame is taken out: a tunnel to this bridge inside one ends. */
  private isTaking = false;

  constructor(options: OpenFlowBridgeOptions) {
    this.options = options;
    options.cable.attach(this);
    options.compartment.udp.tunnels.set(options.vxlanPort, this);
  }

  /** Takes the tunnel port off the machine. */
  close(): void {
    const { compartment, vxlanPort } = this.options;
    if (compartment.udp.tunnels.get(vxlanPort) === this) compartment.udp.tunnels.delete(vxlanPort);
    this.tables = new Map();
  }

  /** Swaps all flows at once, as a bundle of `ovs-ofctl replace-flows` does. @throws FlowTextError, and nothing has changed. */
  replaceFlows(lines: readonly string[]): void {
    if (lines.length > FLOWS_MAX) throw new RangeError(`${lines.length} flows are too many`);
    const tables = new Map<number, OpenFlowRule[]>();
    for (const rule of lines.map(parseFlow)) {
      const table = tables.get(rule.table) ?? [];
      table.push(rule);
      tables.set(rule.table, table);
    }
    for (const table of tables.values()) table.sort((a, b) => b.priority - a.priority);
    this.tables = tables;
  }

  receive(packet: Packet): void {
    this.pass(packet, this.options.cablePort, new Map());
  }

  tunnelReceived(packet: Packet, headers: Headers): void {
    const { compartment, name, tunnelPort } = this.options;
    if (this.isTaking) {
      compartment.drop(packet, "tunnel-refused", `a tunnel of ${name} inside a tunnel of ${name}`);
      return;
    }
    const source = readU32(packet.bytes, headers.network + IPV4_SOURCE_OFFSET);
    const vni = decapsulateVxlan(packet, headers);
    if (typeof vni === "string") {
      compartment.dropMalformed(packet, vni);
      return;
    }
    this.isTaking = true;
    this.pass(
      packet,
      tunnelPort,
      new Map([
        ["tun_id", vni],
        ["tun_src", source],
      ]),
    );
    this.isTaking = false;
  }

  private pass(packet: Packet, inPort: string, kept: Map<string, number>): void {
    const fields = new PacketFields(packet);
    const passage: Passage = { packet, fields, inPort, kept, depth: 0, isSent: false, lastTable: 0 };
    this.enter(passage, 0);
    if (passage.isSent || packet.tag === 0) return;
    const { compartment, name } = this.options;
    const to = formatMac(readU48(packet.bytes, packet.start) as Mac);
    const destination = fields.family === 4 ? ` for ${formatIp(Number(fields.read("ip4.dst")) as Ipv4)}` : "";
    const table = passage.lastTable;
    const text = WORDS.bridgeWithoutFlow({ name, table, destination, to, inPort });
    compartment.drop(packet, "hybrid-overlay-no-flow", text);
  }

  private enter(passage: Passage, table: number): void {
    const { packet } = passage;
    passage.lastTable = table;
    if (++passage.depth > DEPTH_MAX) {
      this.options.compartment.drop(
        packet,
        "forwarding-loop",
        `${this.options.name}: the flows lead round in a circle`,
      );
      passage.isSent = true;
      return;
    }
    const rule = this.tables.get(table)?.find((each) => this.matches(passage, each));
    for (const action of rule?.actions ?? []) {
      switch (action.do) {
        case "move":
          this.write(passage, action.to, this.read(passage, action.from));
          break;
        case "set":
          this.write(passage, action.field, action.value);
          break;
        case "output":
          this.output(passage, action.port ?? passage.inPort, action.port === undefined);
          break;
        case "table":
          this.enter(passage, action.table);
          if (action.isLast) return;
          break;
        case "drop":
          return;
      }
    }
  }

  private matches(passage: Passage, { inPort, conditions }: OpenFlowRule): boolean {
    return (
      (inPort === undefined || inPort === passage.inPort) &&
      conditions.every((condition) => this.holds(passage, condition))
    );
  }

  private holds(passage: Passage, { field, value, ignoredBits }: FlowCondition): boolean {
    const unit = 2 ** ignoredBits;
    return Math.floor(this.read(passage, field) / unit) === Math.floor(value / unit);
  }

  /** No field here has more than 48 bits. */
  private read({ fields, kept }: Passage, { kind, name }: FlowField): number {
    return kind === "kept" ? (kept.get(name) ?? 0) : Number(fields.read(name));
  }

  private write({ fields, kept }: Passage, { kind, name }: FlowField, value: number): void {
    if (kind === "kept") kept.set(name, value);
    else fields.write(name, BigInt(value));
  }

  /** A packet does not leave by the port that it came by unless the flow says IN_PORT (ovs-actions(7)). */
  private output(passage: Passage, port: string, isInPort: boolean): void {
    const { cable, cablePort, tunnelPort, name, compartment } = this.options;
    if (port === passage.inPort && !isInPort) return;
    // The packet itself goes: no flow here sends one twice.
    if (passage.isSent) return;
    passage.isSent = true;
    const { packet } = passage;
    if (port === cablePort) {
      compartment.record(packet, "forward", `${name}: out of port ${port}`);
      cable.transmit(packet);
    } else if (port === tunnelPort) this.encapsulate(passage);
    else compartment.drop(packet, "hybrid-overlay-no-flow", `${name} has no port ${port}`);
  }

  private encapsulate({ packet, kept }: Passage): void {
    const node = (kept.get("tun_dst") ?? 0) as Ipv4;
    const vni = kept.get("tun_id") ?? 0;
    for (const each of cutSuperFrame(packet) ?? [packet]) this.wrap(each, node, vni);
  }

  private wrap(packet: Packet, node: Ipv4, vni: number): void {
    const { compartment, local, vxlanPort, name } = this.options;
    const path = compartment.output.findPath(node, local);
    if (path?.route === undefined) {
      compartment.drop(packet, "no-route", `${name} has no way to ${formatIp(node)}`);
      return;
    }
    const sourcePort = tunnelSourcePort(packet);
    // Open vSwitch sets DF on tunnels (ovs-vswitchd.conf.db(5), options:df_default).
    const ip = compartment.output.header(path, { isDontFragment: true });
    encapsulateVxlan(packet, { link: NO_LINK, ip, sourcePort, destinationPort: vxlanPort, vni });
    const text = packet.tag === 0 ? "" : `into VXLAN ${vni} to ${formatIp(node)} by ${name}`;
    compartment.output.emit(
      { packet, kind: "forward", text },
      path.route.interface,
      path.nextHop,
      path.mtuBytes,
    );
  }
}
