/** The scripted Linux node L1 of the overlay walks. */
import { defined } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { PacketTag } from "#core/base/recorder.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import { type Ip, type Ipv4, parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { ArpOperation, ArpView } from "#core/wire/arp.ts";
import { buildArpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { EtherType } from "#core/wire/ethernet.ts";
import type { Packet } from "#core/wire/packet.ts";
import { OVERLAY_MACS } from "./overlay-stages.ts";

const ip = (text: string): Ip => defined(parseIp(text), "an address");
const L1_ADDRESS = ip("10.0.0.21") as Ipv4;

/** The Linux node L1: it answers ARP, keeps what it hears, and says what a test tells it to. */
export class ScriptedPeer implements Receiver {
  readonly heard: Packet[] = [];
  private readonly device: Device;

  constructor(device: Device) {
    this.device = device;
    device.attach(this);
  }

  receive(packet: Packet): void {
    const { bytes, start, end } = packet;
    const arp =
      readU16(bytes, start + 12) === EtherType.arp ? ArpView.parse(bytes, start + 14, end) : undefined;
    if (arp === undefined || typeof arp === "string") {
      if (readU48(bytes, start) === OVERLAY_MACS.L1m) this.heard.push(packet.copy());
      return;
    }
    if (arp.operation !== ArpOperation.request || arp.targetIp !== L1_ADDRESS) return;
    const { senderMac, senderIp } = arp;
    const { L1m } = OVERLAY_MACS;
    this.device.transmit(
      buildArpFrame({
        link: { sourceMac: L1m, destinationMac: senderMac },
        arp: {
          operation: "reply",
          senderMac: L1m,
          senderIp: L1_ADDRESS,
          targetMac: senderMac,
          targetIp: senderIp,
        },
      }),
    );
  }

  /** Sends a frame as it is. */
  sendFrame(packet: Packet): void {
    this.device.transmit(packet);
  }

  /** Sends a datagram of a pod as Linux' VXLAN device does (walk O-3 row 7): TTL 64 outside, no DF, and no checksum. */
  sendInTunnel(
    from: readonly [address: string, port: number],
    to: readonly [address: string, port: number],
    options: { readonly vni?: number; readonly routerMac?: Mac; readonly tag?: PacketTag } = {},
  ): void {
    const { vni = 4096, routerMac = OVERLAY_MACS.W1dr, tag = 2 } = options;
    const packet = buildUdpFrame({
      link: { sourceMac: OVERLAY_MACS.L1v, destinationMac: routerMac },
      ip: { source: ip(from[0]), destination: ip(to[0]), ttl: 63, identification: 1, isDontFragment: false },
      udp: { sourcePort: from[1], destinationPort: to[1] },
      payload: Uint8Array.of(4, 5, 6),
      checksum: "computed",
    });
    encapsulateVxlan(packet, {
      link: { sourceMac: OVERLAY_MACS.L1m, destinationMac: OVERLAY_MACS.W1m },
      ip: {
        source: L1_ADDRESS,
        destination: ip("10.0.0.11"),
        ttl: 64,
        identification: 9,
        isDontFragment: false,
      },
      sourcePort: 40_000,
      vni,
    });
    packet.tag = tag;
    this.device.transmit(packet);
  }
}
