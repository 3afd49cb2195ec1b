/**
 * The VXLAN device of a Linux node (`flannel.1`): an interface whose cable is a tunnel. Frames to a MAC that it knows go to
 * that node inside UDP, from the node's own stack; datagrams to its port come out as frames of the interface. Nothing is
 * learned or flooded: whoever runs it writes neighbours and forwarding entries, as flanneld does (control-planes.md §1.8).
 */
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { Device, Receiver } from "../device/device.ts";
import type { Compartment } from "../host/compartment.ts";
import type { Interface } from "../host/interface.ts";
import { NO_LINK } from "../host/ip/ip-output.ts";
import type { UdpTunnel } from "../host/udp.ts";
import { type Ip, type Ipv4, type Prefix, formatIp, hostPrefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { formatMac } from "#core/net/mac.ts";
import { decapsulateVxlan, encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { Headers } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";

/** Outer Ethernet is the adapter's; what is around the inner packet is 50 bytes with the inner Ethernet header. */
const OVERHEAD_BYTES = 50;
/** Linux spreads flows over its local ports (`ip_local_port_range`). */
const SOURCE_PORT_FIRST = 32_768;
const SOURCE_PORTS = 28_232;
/** FNV-1a, 32 bits. */
const FNV = { offset: 0x811c_9dc5, prime: 0x0100_0193 } as const;

export interface LinuxVxlanOptions {
  /** `flannel.1`. */
  readonly name: string;
  /** The node's own compartment. */
  readonly compartment: Compartment;
  readonly mac: Mac;
  /** The interface's own address; absent: it gets one later. */
  readonly address?: Ip;
  /** The node's address, where tunnels begin. */
  readonly local: Ipv4;
  readonly vni: number;
  readonly port: number;
  /** Of the adapter. */
  readonly mtuBytes: number;
}

/** Another node of the network. */
export interface VxlanPeer {
  readonly prefix: Prefix;
  /** Of its VXLAN device, or of its distributed router. */
  readonly mac: Mac;
  readonly node: Ipv4;
}

export class LinuxVxlan implements Device, UdpTunnel {
  readonly mtuBytes: number;
  readonly interface: Interface;
  readonly options: LinuxVxlanOptions;
  private readonly nodes = new Map<Mac, Ipv4>();
  private receiver: Receiver | undefined;
  /** While a frame is taken out: one that holds a tunnel to this device again ends, however deep it is. */
  private isTaking = false;

  constructor(options: LinuxVxlanOptions) {
    const { compartment, name, mac, address, port, mtuBytes } = options;
    this.options = options;
    this.mtuBytes = mtuBytes - OVERHEAD_BYTES;
    this.interface = compartment.addInterface({ name, mac, device: this });
    this.interface.isForwarding = true;
    if (address !== undefined) compartment.addAddress(this.interface, { ip: address, length: 32 });
    compartment.udp.tunnels.set(port, this);
  }

  attach(receiver: Receiver): void {
    this.receiver = receiver;
  }

  /** The route to a node's pods by its device, whose MAC and node are written down. */
  addPeer({ prefix, mac, node }: VxlanPeer): void {
    const { compartment } = this.options;
    const gateway = prefix.address as Ipv4;
    this.nodes.set(mac, node);
    // `onlink`: the gateway is no neighbour by any address of the interface.
    compartment.addRoute({ prefix: hostPrefix(gateway), interface: this.interface, metric: 0 });
    compartment.addRoute({ prefix, nextHop: gateway, interface: this.interface, metric: 0 });
    this.interface.neighbors.setPermanent(gateway, mac);
  }

  /** Frames to `mac` go to that node from now on. */
  setForwarding(mac: Mac, node: Ipv4): void {
    this.nodes.set(mac, node);
  }

  /** @returns false when frames to `mac` do not go to that node. */
  removeForwarding(mac: Mac, node: Ipv4): boolean {
    return this.nodes.get(mac) === node && this.nodes.delete(mac);
  }

  listForwarding(): readonly { readonly mac: Mac; readonly destination: Ipv4 }[] {
    return [...this.nodes].map(([mac, destination]) => ({ mac, destination }));
  }

  /** Takes the device out of the machine, with its addresses, routes and neighbours. */
  close(): void {
    const { compartment, port } = this.options;
    if (compartment.udp.tunnels.get(port) === this) compartment.udp.tunnels.delete(port);
    compartment.removeInterface(this.interface);
    this.nodes.clear();
    this.receiver = undefined;
  }

  transmit(packet: Packet): boolean {
    for (const each of cutSuperFrame(packet) ?? [packet]) this.wrap(each);
    return true;
  }

  private wrap(packet: Packet): void {
    const { compartment, vni, port, name } = this.options;
    const mac = readU48(packet.bytes, packet.start) as Mac;
    const node = this.nodes.get(mac);
    const path = node === undefined ? undefined : compartment.output.findPath(node, this.options.local);
    if (node === undefined || path?.route === undefined) {
      compartment.drop(packet, "mac-not-local", `${name} has no node for ${formatMac(mac)}`);
      return;
    }
    const sourcePort = tunnelSourcePort(packet);
    // Without DF and with the system's TTL (dataplane.md §2.3).
    const ip = compartment.output.header(path, { isDontFragment: false });
    encapsulateVxlan(packet, { link: NO_LINK, ip, sourcePort, destinationPort: port, vni });
    const text = packet.tag === 0 ? "" : `into VXLAN ${vni} to ${formatIp(node)} by ${name}`;
    compartment.output.emit(
      { packet, kind: "forward", text },
      path.route.interface,
      path.nextHop,
      path.mtuBytes,
    );
  }

  tunnelReceived(packet: Packet, headers: Headers): void {
    const { compartment, vni, name } = this.options;
    if (this.isTaking) {
      compartment.drop(packet, "tunnel-refused", `a tunnel of ${name} inside a tunnel of ${name}`);
      return;
    }
    const found = decapsulateVxlan(packet, headers);
    if (typeof found === "string") compartment.dropMalformed(packet, found);
    else if (found !== vni)
      compartment.drop(packet, "virtual-subnet-unknown", `this node has no VXLAN device with VNI ${found}`);
    else {
      this.isTaking = true;
      this.receiver?.receive(packet);
      this.isTaking = false;
    }
  }
}

/** The UDP port that a tunnel's packet leaves by: one for all packets of a flow. */
export function tunnelSourcePort(packet: Packet): number {
  return SOURCE_PORT_FIRST + (hashOf(packet) % SOURCE_PORTS);
}

/** Of the addresses and ports inside. */
function hashOf(packet: Packet): number {
  const headers = new Headers();
  if (headers.parse(packet) !== undefined || headers.family === 0) return 0;
  const { network, transport, family } = headers;
  const from = network + (family === 4 ? 12 : 8);
  const to = from + (family === 4 ? 8 : 32);
  let hash: number = FNV.offset;
  const add = (word: number): void => {
    hash = Math.imul(hash ^ word, FNV.prime) >>> 0;
  };
  for (let at = from; at < to; at += 2) add(readU16(packet.bytes, at));
  if (transport >= 0 && transport + 4 <= packet.end) {
    add(readU16(packet.bytes, transport));
    add(readU16(packet.bytes, transport + 2));
  }
  return hash;
}
