/**
 * One Windows node W1 on the underlay of dataplane.md §0.4, with networks and pods made through HNS, for the drivers.
 * R is the router 10.0.0.1, X an outside host 203.0.113.10, E an external client 198.51.100.7, W2 another machine of the
 * segment. What a followed packet meets is told in rows like those of the walks.
 */
import { readU16, readU48, readU8 } from "#core/base/bytes.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { defined } from "#core/base/assert.ts";
import { Prng } from "#core/base/prng.ts";
import type { PacketTag, Recorder, TraceEvent } from "#core/base/recorder.ts";
import type { Device, Receiver } from "#dataplane/device/device.ts";
import type { OutsideHost } from "#dataplane/fabric/outside-host.ts";
import { DenyRules, type FabricDenial } from "#dataplane/fabric/fabric-rules.ts";
import { PhysicalHostSwitch } from "#dataplane/fabric/physical-host-switch.ts";
import { ROUTER_MAC, Underlay, outsideIpv6 } from "#dataplane/fabric/underlay.ts";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
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
import { EchoProbe, TcpProbe, UdpProbe, type ProbeResult } from "#dataplane/host/probes/probe.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { parseProfile } from "#core/catalogue/profiles.ts";
import {
  ANY_IPV4,
  ANY_IPV6,
  type Ip,
  formatIp,
  parseInterfaceAddress,
  parseIp,
  parsePrefix,
} from "#core/net/ip.ts";
import { BROADCAST_MAC, type Mac, formatMac, parseMac } from "#core/net/mac.ts";
import { FABRIC_GATEWAY_MAC } from "#dataplane/switch/forwarding.ts";
import { Headers, destinationIp, sourceIp } from "#core/wire/headers.ts";
import type { Packet } from "#core/wire/packet.ts";

export const W1_MAC: Mac = defined(parseMac("00-22-48-00-00-11"), "the fixture's MAC is one");
const W2_MAC = defined(parseMac("00-22-48-00-00-12"), "the fixture's MAC is one");

export function ip(text: string): Ip {
  return defined(parseIp(text), `${text} is an address`);
}

/** An endpoint that is attached. */
export interface DriverPod {
  readonly endpoint: string;
  readonly namespace: string;
  readonly compartment: Compartment;
}

/** The node's end of its cable, with an ear on it. */
class TappedDevice implements Device {
  readonly mtuBytes: number;
  heard: ((packet: Packet) => void) | undefined;
  isEcho = false;
  private readonly inner: Device;
  private receiver: Receiver | undefined;

  constructor(inner: Device) {
    this.inner = inner;
    this.mtuBytes = inner.mtuBytes;
  }

  attach(receiver: Receiver): void {
    this.receiver = receiver;
    this.inner.attach(receiver);
  }

  /** As if the packet had come over the cable. */
  hear(packet: Packet): void {
    this.receiver?.receive(packet);
  }

  transmit(packet: Packet): boolean {
    this.heard?.(packet);
    const copy = packet.copy();
    const isSent = this.inner.transmit(packet);
    if (this.isEcho) this.receiver?.receive(copy);
    return isSent;
  }
}

/** One row of a walk: `send pod a | Am→Gm | A→X | p→443 | 128`. */
class Rows implements Recorder {
  readonly rows: string[] = [];
  readonly codes: string[] = [];
  private readonly world: DriverWorld;

  constructor(world: DriverWorld) {
    this.world = world;
  }

  record(tag: PacketTag, event: TraceEvent, frame: Uint8Array): void {
    if (event.kind === "drop") this.codes.push(event.code);
    if (event.kind === "layer" || event.kind === "unified-flow" || event.kind === "switch") return;
    const who = event.kind === "wire" ? "" : ` ${this.world.nameOf(event.node, event.place)}`;
    this.rows.push(`${tag === 2 ? "reply " : ""}${event.kind}${who} | ${this.world.describe(frame)}`);
  }
}

/** Neighbour discovery has names of its own. */
function icmpName(frame: Uint8Array, { family, transport }: Headers): string {
  if (family === 4) return "icmp";
  const type = readU8(frame, transport);
  return type === 135 ? "NS" : type === 136 ? "NA" : "icmpv6";
}

export type Protocol = "tcp" | "udp" | "icmp";

export interface DriverWorldOptions {
  /** Default `ws2022`. */
  readonly profile?: string;
  /** Off: W1 is a virtual machine whose hypervisor lets its own MAC pass alone. */
  readonly macSpoofing?: "on" | "off";
  /** W1 and W2 hang on a physical host's switch, which knows these addresses of W1's pods, and not on the segment. */
  readonly fabricAddresses?: readonly string[];
  /**
   * Everybody has an IPv6 address, too: R fd00:10::1, W1 fd00:10::11 (in rows W1v6), W2 fd00:10::12 (W2v6), X
   * 2001:db8::cb00:710a (X6).
   */
  readonly hasIpv6?: boolean;
}

export class DriverWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly env: { clock: VirtualClock; prng: Prng; recorder: Recorder | undefined } = {
    clock: this.clock,
    prng: new Prng(7),
    recorder: undefined,
  };
  readonly underlay: Underlay;
  readonly node: Host = new Host(this.env, { name: "w1", os: "windows" });
  readonly neighbour: Host = new Host(this.env, { name: "w2", os: "linux" });
  /** What the fabric denies. */
  readonly denials: FabricDenial[] = [];
  readonly fabric: PhysicalHostSwitch = new PhysicalHostSwitch(
    this.env,
    "fabric",
    new DenyRules(this.denials),
  );
  readonly datapath: SwitchDatapath = new SwitchDatapath(this.env, this.node);
  readonly service: HnsService;
  readonly client: InProcessHcnClient;
  readonly x: OutsideHost;
  readonly e: OutsideHost;
  private readonly uplink: TappedDevice;
  private readonly macs = new Map<Mac, string>([
    [W1_MAC, "W1m"],
    [W2_MAC, "W2m"],
    [ROUTER_MAC, "Rm"],
    [BROADCAST_MAC, "all"],
    [FABRIC_GATEWAY_MAC, "gw"],
  ]);
  private readonly ips = new Map<Ip, string>([
    [ip("10.0.0.1"), "R"],
    [ip("10.0.0.11"), "W1"],
    [ip("10.0.0.12"), "W2"],
    [ip("203.0.113.10"), "X"],
    [ip("198.51.100.7"), "E"],
  ]);

  constructor(options: DriverWorldOptions = {}) {
    const { profile = "ws2022", macSpoofing = "on", fabricAddresses, hasIpv6 = false } = options;
    const outside = [
      { name: "x", ip: ip("203.0.113.10") },
      { name: "e", ip: ip("198.51.100.7") },
    ];
    const subnet = defined(parsePrefix("10.0.0.0/24"), "a prefix");
    const ipv6 = {
      subnet: defined(parsePrefix("fd00:10::/64"), "a prefix"),
      routerIp: ip("fd00:10::1"),
    };
    this.underlay = new Underlay(this.env, {
      subnet,
      routerIp: ip("10.0.0.1"),
      outside,
      ...(hasIpv6 && { ipv6 }),
    });
    this.x = defined(this.underlay.getOutsideHost("x"), "X is there");
    this.e = defined(this.underlay.getOutsideHost("e"), "E is there");
    const [device, other] =
      fabricAddresses === undefined
        ? [
            this.underlay.connect("w1", macSpoofing === "off" ? { onlyMac: W1_MAC } : {}),
            this.underlay.connect("w2"),
          ]
        : this.joinFabric(fabricAddresses);
    this.uplink = new TappedDevice(device);
    this.plug(this.node, "Ethernet", W1_MAC, "10.0.0.11/24", this.uplink);
    this.plug(this.neighbour, "eth0", W2_MAC, "10.0.0.12/24", other);
    if (hasIpv6) {
      this.addIpv6(this.node, "fd00:10::11/64", "W1v6");
      this.addIpv6(this.neighbour, "fd00:10::12/64", "W2v6");
      this.name(formatIp(outsideIpv6(this.x.ip)), "X6");
    }
    this.service = new HnsService(this.env, {
      node: "w1",
      windows: defined(parseProfile(profile), "a profile"),
      datapath: this.datapath,
      adapters: [{ name: "Ethernet", mac: W1_MAC, device: this.uplink, addresses: [] }],
    });
    this.client = new InProcessHcnClient(this.service);
  }

  private addIpv6(host: Host, address: string, symbol: string): void {
    const each = defined(host.root.listInterfaces()[0], "it has an adapter");
    const assigned = defined(parseInterfaceAddress(address), "an address");
    host.root.addAddress(each, assigned);
    host.root.addRoute({ prefix: ANY_IPV6, nextHop: ip("fd00:10::1"), interface: each, metric: 256 });
    this.ips.set(assigned.ip, symbol);
  }

  private joinFabric(pods: readonly string[]): readonly [Device, Device] {
    const { fabric } = this;
    const addresses = [ip("10.0.0.11"), ...pods.map(ip)];
    const first = fabric.connect({ name: "w1", mac: W1_MAC, addresses });
    const second = fabric.connect({ name: "w2", mac: W2_MAC, addresses: [ip("10.0.0.12")] });
    const router = { name: "router", mac: ROUTER_MAC, addresses: [ip("10.0.0.1")], isRouter: true };
    this.underlay.segment.addPort("fabric", fabric.connect(router));
    return [first, second];
  }

  private plug(host: Host, name: string, mac: Mac, address: string, device: Device): void {
    const each = host.root.addInterface({ name, mac, device });
    host.root.addAddress(each, defined(parseInterfaceAddress(address), "an address"));
    host.root.addRoute({ prefix: ANY_IPV4, nextHop: ip("10.0.0.1"), interface: each, metric: 256 });
  }

  /** A network with one subnet and a default route to `gateway`, if there is one. */
  async network(
    type: NonNullable<HostComputeNetwork["Type"]>,
    subnet?: { readonly prefix: string; readonly gateway: string },
    fields: HostComputeNetwork = {},
  ): Promise<string> {
    const Routes = [{ NextHop: subnet?.gateway ?? "", DestinationPrefix: "0.0.0.0/0" }];
    const Subnets = subnet === undefined ? [] : [{ IpAddressPrefix: subnet.prefix, Routes }];
    const network = await createNetwork(this.client, {
      Name: "n",
      Type: type,
      SchemaVersion: { Major: 2, Minor: 0 },
      ...(subnet !== undefined && { Ipams: [{ Type: "Static", Subnets }] }),
      ...fields,
    });
    const gateway = this.node.root.getInterface("vEthernet (n)");
    if (gateway !== undefined) {
      this.macs.set(gateway.mac, "Gm");
      for (const address of gateway.addresses) this.ips.set(address.ip, "G");
    }
    return defined(network.ID, "a network has an id");
  }

  /** A pod known as `symbol`: `A` has the MAC `Am`. */
  async pod(symbol: string, network: string, fields: HostComputeEndpoint): Promise<DriverPod> {
    const endpoint = await createEndpoint(this.client, network, { Name: symbol.toLowerCase(), ...fields });
    const namespace = await createNamespace(this.client);
    await addNamespaceEndpoint(this.client, defined(namespace.ID, "an id"), defined(endpoint.ID, "an id"));
    const compartment = defined(this.node.getCompartment(namespace.NamespaceId ?? 0), "a compartment");
    compartment.name = `pod ${symbol}`;
    for (const { mac, addresses } of compartment.listInterfaces()) {
      this.macs.set(mac, `${symbol}m`);
      for (const address of addresses) this.ips.set(address.ip, symbol);
    }
    return {
      endpoint: defined(endpoint.ID, "an id"),
      namespace: defined(namespace.ID, "an id"),
      compartment,
    };
  }

  run(ms = 5_000): void {
    this.clock.runUntil(this.clock.nowMs + ms);
  }

  serve(compartment: Compartment, protocol: "tcp" | "udp", port: number): IdentificationServer {
    const server = new IdentificationServer(compartment, compartment.name);
    const failure = protocol === "tcp" ? server.listenTcp(port) : server.listenUdp(port);
    if (failure !== undefined) throw new Error(failure);
    return server;
  }

  /** One question and its answer. */
  ask(from: Compartment, protocol: Protocol, to: string, port = 0, isFollowed = false): ProbeResult {
    const options = { compartment: from, destination: ip(to), isFollowed };
    const probe =
      protocol === "icmp"
        ? new EchoProbe(options)
        : new (protocol === "tcp" ? TcpProbe : UdpProbe)({ ...options, port });
    probe.start();
    for (let ran = 0; probe.result === undefined && ran < 20_000; ran += 100) this.run(100);
    return defined(probe.result, "a probe ends");
  }

  /** Follows the first packet of a question and the answer to it; ARP is settled before. */
  walk(from: Compartment, protocol: Protocol, to: string, port = 0): readonly string[] {
    this.ask(from, protocol, to, port);
    return this.follow(from, protocol, to, port).rows;
  }

  /** The same with the codes of what ended, and without a question before. */
  follow(from: Compartment, protocol: Protocol, to: string, port = 0): Rows {
    const rows = new Rows(this);
    this.env.recorder = rows;
    this.ask(from, protocol, to, port, true);
    this.env.recorder = undefined;
    return rows;
  }

  /** What leaves the node by its adapter meanwhile, in rows without a place. */
  uplinkRows(work: () => unknown): readonly string[] {
    const rows: string[] = [];
    const { uplink } = this;
    uplink.heard = (packet) => rows.push(this.describe(packet.frame));
    work();
    uplink.heard = undefined;
    return rows;
  }

  /** The same, with the packets themselves for `heard`. */
  uplinkPackets(heard: (packet: Packet) => void, work: () => unknown): readonly string[] {
    const rows: string[] = [];
    this.uplink.heard = (packet) => {
      heard(packet.copy());
      rows.push(this.describe(packet.frame));
    };
    work();
    this.uplink.heard = undefined;
    return rows;
  }

  /** Sends a frame as the stack of a pod would; it is followed. @returns what it met, in rows. */
  send(from: Compartment, packet: Packet): readonly string[] {
    const rows = new Rows(this);
    this.env.recorder = rows;
    packet.tag = 1;
    defined(from.listInterfaces()[0], "a pod has a vNIC").device.transmit(packet);
    this.run();
    this.env.recorder = undefined;
    return rows.rows;
  }

  /** A frame comes to the node from the wire; it is followed. @returns what it met, in rows. */
  receive(packet: Packet): readonly string[] {
    const rows = new Rows(this);
    this.env.recorder = rows;
    packet.tag = 1;
    this.uplink.hear(packet);
    this.run();
    this.env.recorder = undefined;
    return rows.rows;
  }

  /** Names an address in rows. */
  name(address: string, symbol: string): void {
    this.ips.set(ip(address), symbol);
  }

  /** From now on what leaves the node comes back to it. */
  uplinkEcho(): void {
    this.uplink.isEcho = true;
  }

  /** How often the node's switches and stacks have dropped something under a code. */
  dropsOf(code: KnowledgeCode): number {
    const switches = this.datapath.listSwitches().map(({ drops }) => drops.get(code) ?? 0);
    return switches.reduce((sum, count) => sum + count, this.node.root.drops.get(code));
  }

  nameOf(node: string, place: string): string {
    const pod = /^pod (.+)$/.exec(place);
    if (pod?.[1] !== undefined) return pod[1];
    return node.startsWith("router") ? "R" : node.toUpperCase();
  }

  /** `Am→Gm | A→X | p→443 | 128`; ports of the dynamic ranges are p for 49152 and above. */
  describe(frame: Uint8Array): string {
    const headers = new Headers();
    const problem = headers.parseBytes(frame, 0, frame.length);
    const mac = (at: number): string => {
      const value = readU48(frame, at) as Mac;
      return this.macs.get(value) ?? formatMac(value);
    };
    const eth = `${mac(6)}→${mac(0)}${headers.vlan === 0 ? "" : ` vlan ${headers.vlan}`}`;
    if (problem !== undefined || headers.family === 0) return eth;
    const name = (address: Ip): string => this.ips.get(address) ?? formatIp(address);
    const addresses = `${name(sourceIp(frame, headers))}→${name(destinationIp(frame, headers))}`;
    const isTransport = headers.protocol === 6 || headers.protocol === 17;
    const port = (at: number): string => {
      const value = readU16(frame, headers.transport + at);
      return value >= 32_768 ? "p" : String(value);
    };
    const l4 = isTransport ? `${port(0)}→${port(2)}` : icmpName(frame, headers);
    const ttl = readU8(frame, headers.network + (headers.family === 4 ? 8 : 7));
    return `${eth} | ${addresses} | ${l4} | ${ttl}`;
  }
}
