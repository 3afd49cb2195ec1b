/**
 * What a frame of a connection is known by in the flow cache: all of its headers that a logical flow can ask for. Only IPv4 with
 * TCP, UDP or an ICMP echo has one, untagged and in one piece; all other frames go through the tables. It allocates nothing.
 */
import { readU8 } from "#core/base/bytes.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IcmpType } from "#core/wire/icmp.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { OvnTunnelKeys } from "#core/wire/tunnels/ovn-metadata.ts";
import type { SwitchPort } from "../switch/switch-port.ts";

/** A checksum that an update in one step and one in many do not leave the same: RFC 1624 §3 has two zeros. */
const OTHER_ZERO = 0xffff;

/** Where frames come from: a port of the switch, the wire as a logical port, or by its keys a tunnel. */
export type FlowOrigin = SwitchPort | string | OvnTunnelKeys;

function isTunnel(origin: FlowOrigin): origin is OvnTunnelKeys {
  return typeof origin === "object" && "datapath" in origin;
}

export class FrameKey {
  /** Undefined for a tunnel, which is known by its keys: each packet brings them anew. */
  origin: SwitchPort | string | undefined = undefined;
  tunnelDatapath = 0;
  /** Both ports of a tunnel's keys. */
  tunnelPorts = 0;
  /** Both MACs. */
  link0 = 0;
  link1 = 0;
  link2 = 0;
  /** Protocol, time to live, DSCP with ECN. */
  network = 0;
  source = 0;
  destination = 0;
  /** Both ports; of an echo its identifier, type and code. */
  transport = 0;
  tcpFlags = 0;
  hash = 0;

  /** Reads a frame that `headers` describes. @returns false for one that has no key */
  read(origin: FlowOrigin, packet: Packet, headers: Headers): boolean {
    const { network, transport, protocol, ethernet } = headers;
    if (headers.family !== 4 || transport < 0 || headers.isFragment || headers.isTagged) return false;
    const { view } = packet;
    const lives = view.getInt32(network + 8);
    if ((lives & 0xffff) === OTHER_ZERO) return false;
    this.tcpFlags = 0;
    switch (protocol) {
      case IpProtocol.tcp:
        if (view.getUint16(transport + 16) === OTHER_ZERO) return false;
        this.tcpFlags = view.getUint16(transport + 12) & 0x0fff;
        this.transport = view.getInt32(transport);
        break;
      case IpProtocol.udp:
        this.transport = view.getInt32(transport);
        break;
      case IpProtocol.icmp: {
        const type = readU8(packet.bytes, transport);
        if (type !== IcmpType.echoRequest && type !== IcmpType.echoReply) return false;
        if (view.getUint16(transport + 2) === OTHER_ZERO) return false;
        this.transport = (view.getUint16(transport + 4) << 16) | view.getUint16(transport);
        break;
      }
      default:
        return false;
    }
    this.link0 = view.getInt32(ethernet);
    this.link1 = view.getInt32(ethernet + 4);
    this.link2 = view.getInt32(ethernet + 8);
    this.network = (lives & ~0xffff) | readU8(packet.bytes, network + 1);
    this.source = view.getInt32(network + 12);
    this.destination = view.getInt32(network + 16);
    if (isTunnel(origin)) {
      this.origin = undefined;
      this.tunnelDatapath = origin.datapath;
      this.tunnelPorts = (origin.ingressPort << 16) | origin.egressPort;
    } else {
      this.origin = origin;
      this.tunnelDatapath = 0;
      this.tunnelPorts = 0;
    }
    this.hash = this.mix();
    return true;
  }

  private mix(): number {
    let hash = Math.imul(this.source, 0x85eb_ca6b) ^ Math.imul(this.destination, 0x9e37_79b1);
    hash = (hash + Math.imul(this.transport, 0xc2b2_ae35)) | 0;
    hash = (hash ^ Math.imul(this.network ^ (this.tcpFlags << 8), 0x27d4_eb2f)) | 0;
    hash = (hash ^ Math.imul(this.tunnelDatapath ^ this.tunnelPorts, 0x2545_f491)) | 0;
    hash = (hash ^ Math.imul(this.link1 ^ this.link2, 0x1656_67b1)) | 0;
    return hash ^ (hash >>> 15);
  }

  equals(other: FrameKey): boolean {
    return (
      this.source === other.source &&
      this.destination === other.destination &&
      this.transport === other.transport &&
      this.network === other.network &&
      this.tcpFlags === other.tcpFlags &&
      this.link0 === other.link0 &&
      this.link1 === other.link1 &&
      this.link2 === other.link2 &&
      this.origin === other.origin &&
      this.tunnelDatapath === other.tunnelDatapath &&
      this.tunnelPorts === other.tunnelPorts
    );
  }

  /** Becomes the same as `other`. */
  protected assign(other: FrameKey): void {
    this.origin = other.origin;
    this.tunnelDatapath = other.tunnelDatapath;
    this.tunnelPorts = other.tunnelPorts;
    this.link0 = other.link0;
    this.link1 = other.link1;
    this.link2 = other.link2;
    this.network = other.network;
    this.source = other.source;
    this.destination = other.destination;
    this.transport = other.transport;
    this.tcpFlags = other.tcpFlags;
    this.hash = other.hash;
  }
}
