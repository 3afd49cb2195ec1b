/**
 * Two Windows nodes with an overlay network each, made through HNS by hand, a scripted VXLAN peer in the place of a Linux
 * node, and a host outside: the world of the walks of dataplane.md §2.3, with its names and MACs.
 */
import { defined } from "#core/base/assert.ts";
import { VirtualClock } from "#core/base/clock.ts";
import type { Environment } from "#core/base/environment.ts";
import { Prng } from "#core/base/prng.ts";
import type { PacketTag, Recorder, TraceEvent } from "#core/base/recorder.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import type { FrameFilter } from "#dataplane/fabric/learning-switch.ts";
import { Underlay } from "#dataplane/fabric/underlay.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import {
  addNamespaceEndpoint,
  createEndpoint,
  createNamespace,
  createNetwork,
} from "#contracts/hcn/operations.ts";
import { HnsService } from "#hns/service/hns-service.ts";
import { InProcessHcnClient } from "#hns/service/in-process-client.ts";
import { SwitchDatapath } from "#hns/ports/switch-datapath.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import { Host } from "#dataplane/host/host.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "#dataplane/host/udp.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import type { QuirkSettings } from "#core/catalogue/quirks.ts";
import {
  ANY_IPV4,
  type Ip,
  formatIp,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
  type Ipv4,
} from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import type { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame } from "#core/wire/segmentation.ts";
import { OVERLAY_MACS, type OverlayStage, describeStage, stageName } from "./overlay-stages.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import { ArpOperation, ArpView } from "#core/wire/arp.ts";
import { buildArpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { EtherType } from "#core/wire/ethernet.ts";

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

interface Heard {
  readonly tag: PacketTag;
  readonly event: TraceEvent;
  readonly frame: Uint8Array;
}

class Listener implements Recorder {
  readonly heard: Heard[] = [];

  record(tag: PacketTag, event: TraceEvent, frame: Uint8Array): void {
    this.heard.push({ tag, event, frame: frame.slice() });
  }
}

/** Notes every frame on the segment between the nodes. */
class Capture implements FrameFilter {
  readonly frames: Packet[] = [];

  filterFrame(_from: string, packet: Packet): readonly Packet[] {
    this.frames.push(...(cutSuperFrame(packet) ?? [packet.copy()]));
    return [packet];
  }
}
/** Hears datagrams; an echoing one answers them. */
export class Ear implements UdpOwner {
  readonly heard: string[] = [];
  private readonly echoes: boolean;

  constructor(echoes: boolean) {
    this.echoes = echoes;
  }

  udpReceived(socket: UdpSocket, datagram: UdpDatagram): void {
    const { source, sourcePort: port, destination, bytes } = datagram;
    this.heard.push(`${formatIp(source)}:${port}`);
    if (this.echoes) socket.send({ destination: source, port, bytes, source: destination });
  }

  udpFailed(): void {}
}
/** A node and its HNS. */
export class OverlayNode {
  readonly host: Host;
  readonly datapath: SwitchDatapath;
  readonly client: InProcessHcnClient;
  readonly service: HnsService;
  network = "";

  constructor(
    env: Environment,
    device: Device,
    options: { name: string; address: string; mac: Mac; profile: string; quirks: QuirkSettings },
  ) {
    const { name, address } = options;
    this.host = new Host(env, { name, os: "windows" });
    this.datapath = new SwitchDatapath(env, this.host);
    const { root } = this.host;
    const ethernet = root.addInterface({ name: "Ethernet", mac: options.mac, device });
    root.addAddress(ethernet, parseInterfaceAddress(`${address}/24`)!);
    root.addRoute({ prefix: ANY_IPV4, nextHop: ip("10.0.0.1"), interface: ethernet, metric: 256 });
    const service = new HnsService(env, {
      node: name,
      windows: parseProfile(options.profile)!,
      datapath: this.datapath,
      adapters: [{ name: "Ethernet", mac: options.mac, device, addresses: [] }],
      quirks: options.quirks,
    });
    this.service = service;
    this.client = new InProcessHcnClient(service);
  }

  /** An overlay network as flannel makes it: HostRoute, a VNI, and the MAC of its router. */
  async overlay(
    prefix: string,
    options: {
      readonly name?: string;
      readonly vni?: number;
      readonly router?: Mac;
      readonly policies?: readonly PolicyDocument[];
    } = {},
  ): Promise<string> {
    const { name = "vxlan0", vni = 4096, router, policies = [{ Type: "HostRoute", Settings: {} }] } = options;
    const gateway = prefix.replace(/\.0\/\d+$/, ".1");
    const network = await createNetwork(this.client, {
      Name: name,
      Type: "Overlay",
      Ipams: [
        {
          Type: "Static",
          Subnets: [
            {
              IpAddressPrefix: prefix,
              Routes: [{ NextHop: gateway, DestinationPrefix: "0.0.0.0/0" }],
              Policies: [{ Type: "VSID", Settings: { IsolationId: vni } }],
            },
          ],
        },
      ],
      Policies: [
        ...(router === undefined ? [] : [{ Type: "DrMacAddress", Settings: { Address: formatMac(router) } }]),
        ...policies,
      ],
    });
    this.network = defined(network.ID, "a network has an id");
    return this.network;
  }

  /** A pod in a namespace; its compartment is where its programs run. */
  async pod(
    address: string,
    document: HostComputeEndpoint = {},
    network: string = this.network,
  ): Promise<OverlayPod> {
    const hex = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
    const endpoint = await createEndpoint(this.client, network, {
      Name: `pod ${address}`,
      IpConfigurations: [{ IpAddress: address }],
      Routes: [{ NextHop: address.replace(/\.\d+$/, ".1"), DestinationPrefix: "0.0.0.0/0" }],
      MacAddress: `0E-2A-${hex.join("-")}`,
      ...document,
    });
    const namespace = await createNamespace(this.client);
    const id = defined(endpoint.ID, "an endpoint has an id");
    await addNamespaceEndpoint(this.client, defined(namespace.ID, "a namespace has an id"), id);
    const compartment = this.host.getCompartment(defined(namespace.NamespaceId, "a compartment"));
    return { endpoint: id, compartment: defined(compartment, "a compartment") };
  }
}

/** A pod of a node. */
export interface OverlayPod {
  readonly endpoint: string;
  readonly compartment: Compartment;
}

export function remoteSubnet(prefix: string, node: string, router: Mac, vni = 4096): PolicyDocument {
  return {
    Type: "RemoteSubnetRoute",
    Settings: {
      DestinationPrefix: prefix,
      IsolationId: vni,
      ProviderAddress: node,
      DistributedRouterMacAddress: formatMac(router),
    },
  };
}

/** The world of §2.3; networks and pods are the test's to make. */
export class OverlayWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly listener: Listener = new Listener();
  readonly wire: Capture = new Capture();
  readonly w1: OverlayNode;
  readonly w2: OverlayNode;
  readonly l1: ScriptedPeer;
  readonly underlay: Underlay;

  /** `mtuBytes` is that of the nodes' adapters, `quirks` are those of both nodes. */
  constructor(profile = "ws2022", mtuBytes = 1_500, quirks: QuirkSettings = {}) {
    const env: Environment = { clock: this.clock, prng: new Prng(7), recorder: this.listener };
    this.underlay = new Underlay(env, {
      subnet: parsePrefix("10.0.0.0/24")!,
      routerIp: ip("10.0.0.1"),
      outside: [{ name: "X", ip: ip("203.0.113.10") }],
      mtuBytes,
    });
    this.underlay.segment.filter = this.wire;
    const { W1m, W2m } = OVERLAY_MACS;
    this.w1 = new OverlayNode(env, this.underlay.connect("w1"), {
      name: "W1",
      address: "10.0.0.11",
      mac: W1m,
      profile,
      quirks,
    });
    this.w2 = new OverlayNode(env, this.underlay.connect("w2"), {
      name: "W2",
      address: "10.0.0.12",
      mac: W2m,
      profile,
      quirks,
    });
    this.l1 = new ScriptedPeer(this.underlay.connect("l1"));
  }

  run(): void {
    this.clock.runUntil(this.clock.nowMs + 5_000);
  }

  /** Binds an echo server. */
  serve(compartment: Compartment, port: number): Ear {
    const ear = new Ear(true);
    compartment.udp.bind({ owner: ear, port });
    return ear;
  }

  /** Sends one datagram that is followed, from port 50000; what comes back is in the ear. */
  ask(from: Compartment, to: string, port: number): Ear {
    const ear = new Ear(false);
    const socket = from.udp.bind({ owner: ear, port: 50_000 });
    if (typeof socket === "string") throw new Error(socket);
    this.listener.heard.length = 0;
    this.wire.frames.length = 0;
    socket.send({ destination: ip(to), port, bytes: Uint8Array.of(1, 2, 3), tag: 1 });
    this.run();
    socket.close();
    return ear;
  }

  /** Asks twice: the first time neighbours are found, the second is the walk. */
  walk(from: Compartment, to: string, port: number): Ear {
    this.ask(from, to, port);
    return this.ask(from, to, port);
  }

  /** What the packet with `tag` met: stacks, layers with a rule or flow, the wire, drops. */
  stages(tag: PacketTag = 1): readonly OverlayStage[] {
    return this.listener.heard
      .filter((each) => each.tag === tag)
      .flatMap(({ event, frame }) => {
        const at = stageName(event);
        return at === undefined ? [] : [describeStage(at, frame)];
      });
  }

  drops(): readonly string[] {
    return this.listener.heard.flatMap(({ event }) => (event.kind === "drop" ? [event.code] : []));
  }
}
