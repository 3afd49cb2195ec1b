/**
 * Two switch extensions of each chassis, one with a flow cache and one without, that get the same random packets and the same
 * changes: what they decide, send and remember must be the same, byte for byte.
 */
import { defined } from "#core/base/assert.ts";
import { formatHex } from "#core/base/encodings.ts";
import { VirtualClock } from "#core/base/clock.ts";
import type { Prng } from "#core/base/prng.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { Packet } from "#core/wire/packet.ts";
import { TcpFlag } from "#core/wire/tcp.ts";
import { pushVlan } from "#core/wire/vlan.ts";
import { readI32, readU16, readU8, writeU16, writeU8 } from "#core/base/bytes.ts";
import type { TunnelPort } from "#dataplane/ovs/chassis-tunnels.ts";
import { type CachedFlow, FlowCache } from "#dataplane/ovs/flow-cache.ts";
import type { FlowOrigin } from "#dataplane/ovs/frame-key.ts";
import { LogicalFlowExtension } from "#dataplane/ovs/logical-flow-extension.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import type { NamedSet, Southbound } from "#dataplane/ovs/southbound.ts";
import { WireGateway, type WireGatewayOptions } from "#dataplane/ovs/wire-gateway.ts";
import type { Decision } from "#dataplane/switch/decision.ts";
import type { SwitchPort } from "#dataplane/switch/switch-port.ts";
import { headersOf } from "./engine-kit.ts";
import { type Asked, frameOf } from "./logical-world.ts";
import { KnownPorts, type PortFacts } from "./switch-kit.ts";

const UPLINK = "uplink";
/** Bytes of an outer frame: ports and checksum of UDP, GENEVE and its option. A wrong length the switch would not let in. */
const OUTER_AT = Array.from({ length: 24 }, (_, index) => 34 + index).filter((at) => at !== 38 && at !== 39);

/** A cache that counts what it knew. */
class CountingCache extends FlowCache {
  hits = 0;

  override find(origin: FlowOrigin, packet: Packet, headers: Headers, nowMs: number): CachedFlow | undefined {
    const found = super.find(origin, packet, headers, nowMs);
    if (found !== undefined) this.hits += 1;
    return found;
  }
}

/** A machine of the network, as its logical port has it. */
export interface Host {
  readonly port: string;
  readonly chassis: string;
  readonly mac: string;
  readonly ip: string;
  /** Where packets to other subnets go. */
  readonly routerMac: string;
}

interface Destination {
  readonly ip: string;
  readonly protocol?: "tcp" | "udp";
  readonly port?: number;
}

export interface TwinOptions {
  readonly southbound: Southbound;
  readonly hosts: readonly Host[];
  /** Besides the hosts: services, routers, the outside. */
  readonly destinations: readonly Destination[];
  /** Names of the chassis, with the addresses of their tunnels. */
  readonly chassis: ReadonlyMap<string, { readonly ip: string; readonly mac: Mac }>;
  readonly claimed: ReadonlySet<string>;
  readonly gateways?: ReadonlyMap<string, WireGatewayOptions>;
}

/** A frame that may be sent again and again, with small changes. */
interface Known {
  readonly chassis: string;
  readonly port: string;
  readonly frame: Uint8Array;
}

const KNOWN_MAX = 400;
const MESSAGE_KEYS = ["kind", "code", "text"] as const;

/** What a decision sends, in order, with the bytes: `port: bytes`. */
function sendings(decision: Decision, packet: Packet): readonly { port: string; frame: Uint8Array }[] {
  if (decision.kind === "reply") return [{ port: "reply", frame: decision.frame.frame }];
  if (decision.kind !== "to") return [];
  const { ports, frame, further = [] } = decision;
  return [
    ...ports.map((port) => ({ port: port.name, frame: (frame ?? packet).frame })),
    ...further.flatMap((each) => sendings(each, packet)),
  ];
}

function told(decision: Decision | undefined, packet: Packet): string {
  if (decision === undefined) return "left to the switch";
  const fields = decision.kind === "drop" ? MESSAGE_KEYS.map((key) => decision[key]) : [decision.kind];
  const sent = sendings(decision, packet).map(({ port, frame }) => `${port}: ${formatHex(frame)}`);
  return [...fields, ...sent].join("\n");
}

function plainNumbers(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** The switch goes on with the headers that it had the frame read into. @throws Error when they are not the frame's any more */
function compareHeaders(headers: Headers, packet: Packet): void {
  const [given, found] = [headers, headersOf(packet)].map((each) => JSON.stringify(each));
  if (given !== found) throw new Error(`headers ${given} of a frame with ${found}`);
}

class Twins {
  readonly cache = new CountingCache();
  readonly ports: KnownPorts<string>;
  private readonly all: readonly LogicalFlowExtension[];
  private networks: readonly LogicalNetwork[];
  private readonly clock: VirtualClock;
  private readonly tunnels: TunnelPort;
  private readonly bindings: ReadonlyMap<string, string>;
  private readonly options: TwinOptions;
  private readonly services: ReadonlySet<string>;
  private southbound: Southbound;

  constructor(name: string, options: TwinOptions, clock: VirtualClock) {
    this.options = options;
    this.southbound = options.southbound;
    this.clock = clock;
    const own = options.hosts.filter(({ chassis }) => chassis === name);
    const facts: Record<string, PortFacts> = { [UPLINK]: { kind: "external", mac: 1 as Mac } };
    own.forEach(({ port }, index) => (facts[port] = { kind: "container", mac: (index + 2) as Mac }));
    this.ports = new KnownPorts(facts);
    this.bindings = new Map(own.map(({ port }) => [port, port]));
    const peers = new Map([...options.chassis.values()].map(({ ip, mac }) => [ip, mac]));
    const { mac } = defined(options.chassis.get(name), "a chassis");
    this.tunnels = { chassis: name, switchPort: UPLINK, mac, peers };
    const gateway = options.gateways?.get(name);
    this.services = gateway?.services ?? new Set();
    this.networks = [0, 1].map(() => new LogicalNetwork(options.southbound));
    this.all = [this.cache, new FlowCache(0)].map(
      (cache, index) =>
        new LogicalFlowExtension(
          defined(this.networks[index], "a network"),
          this.bindings,
          clock,
          options.claimed,
          this.tunnels,
          gateway && new WireGateway(gateway),
          cache,
        ),
    );
  }

  /** New rows, and only some of the ports bound. */
  renew(southbound: Southbound, unbound?: string): void {
    const changes = [
      ...this.southbound.flows.map((before) => ({ before, after: undefined })),
      ...southbound.flows.map((after) => ({ before: undefined, after })),
    ];
    for (const network of this.networks) {
      network.lay(southbound);
      network.changeFlows(changes);
      for (const { name } of this.southbound.addressSets) network.removeAddressSet(name);
      for (const { name } of this.southbound.portGroups) network.removePortGroup(name);
      for (const set of southbound.addressSets) network.setAddressSet(set);
      for (const group of southbound.portGroups) network.setPortGroup(group);
    }
    this.southbound = southbound;
    const bindings = new Map([...this.bindings].filter(([, port]) => port !== unbound));
    for (const [index, extension] of this.all.entries()) {
      const network = defined(this.networks[index], "a network");
      extension.renew(network, bindings, this.options.claimed, this.tunnels, this.services);
    }
  }

  set(kind: "setAddressSet" | "setPortGroup", set: NamedSet): void {
    for (const network of this.networks) network[kind](set);
  }

  /** @throws Error when the twins do otherwise */
  decide(source: string, frame: Uint8Array, tag: 0 | 1): readonly { port: string; frame: Uint8Array }[] {
    const port: SwitchPort = this.ports.port(source);
    const results = this.all.map((extension) => {
      const packet = Packet.fromFrame(frame, tag);
      const headers = headersOf(packet);
      const decision = extension.decide(this.ports.tables, port, packet, headers);
      if (decision?.kind === "to" && decision.frame === undefined) compareHeaders(headers, packet);
      return { text: told(decision, packet), sent: decision === undefined ? [] : sendings(decision, packet) };
    });
    const [cached, plain] = results.map(({ text }) => text);
    if (cached !== plain)
      throw new Error(`from ${source}, ${formatHex(frame)}:\ncached ${cached}\nwithout ${plain}`);
    return defined(results[1], "two").sent.map((each) =>
      each.port === "reply" ? { ...each, port: source } : each,
    );
  }

  /** What both remember. @throws Error when it is not the same */
  compareMemory(): void {
    const { nowMs } = this.clock;
    const [cached, plain] = this.all.map((extension) => {
      const { zones } = extension["chassis"];
      return [...zones["trackers"].keys()]
        .flatMap((zone) =>
          zones
            .list(zone, nowMs)
            .map((connection) => [zone, JSON.stringify(connection, plainNumbers)].join(" ")),
        )
        .toSorted();
    });
    if (cached?.join("\n") !== plain?.join("\n")) {
      const other = cached?.find((each) => plain?.includes(each) !== true);
      throw new Error(`connections differ, first ${other}`);
    }
  }
}

/** What happened, so that a test can see that all of it was met. */
interface Told {
  packets: number;
  hits: number;
  delivered: number;
  tunnelled: number;
  dropped: number;
}

export class TwinWorld {
  readonly clock: VirtualClock = new VirtualClock();
  private readonly twins: ReadonlyMap<string, Twins>;
  private readonly known: Known[] = [];
  private readonly options: TwinOptions;
  private readonly prng: Prng;
  private readonly told: Told = { packets: 0, hits: 0, delivered: 0, tunnelled: 0, dropped: 0 };

  constructor(options: TwinOptions, prng: Prng) {
    this.options = options;
    this.prng = prng;
    this.twins = new Map(
      [...options.chassis.keys()].map((name) => [name, new Twins(name, options, this.clock)]),
    );
  }

  private pick<T>(from: readonly T[]): T {
    return defined(from[this.prng.below(from.length)], "one of them");
  }

  private chance(oneIn: number): boolean {
    return this.prng.below(oneIn) === 0;
  }

  /** Sends so many packets, with changes in between. */
  run(packets: number): Told {
    while (this.told.packets < packets) {
      if (this.chance(80)) this.change();
      if (this.chance(5))
        this.clock.runUntil(this.clock.nowMs + this.prng.below(this.chance(40) ? 500_000 : 900));
      const from =
        this.known.length === 0 || this.chance(10) ? this.begin() : this.pick(this.known.slice(-16));
      this.send(from.chassis, from.port, this.vary(from.frame));
      if (this.chance(100)) for (const twins of this.twins.values()) twins.compareMemory();
    }
    for (const twins of this.twins.values()) {
      twins.compareMemory();
      this.told.hits += twins.cache.hits;
    }
    return this.told;
  }

  private remember(known: Known): void {
    if (this.known.length >= KNOWN_MAX) this.known.splice(0, KNOWN_MAX >> 1);
    this.known.push(known);
  }

  /** A first packet. */
  private begin(): Known {
    const host = this.pick(this.options.hosts);
    const other = this.pick(this.options.hosts);
    const isFar = this.chance(2);
    const target: Destination = isFar ? this.pick(this.options.destinations) : { ip: other.ip };
    const isNear = !isFar && other.routerMac === host.routerMac;
    const asked: Asked = {
      inport: host.port,
      from: this.chance(40) ? other.mac : host.mac,
      to: isNear ? other.mac : host.routerMac,
      source: this.chance(40) ? other.ip : host.ip,
      destination: target.ip,
      protocol: target.protocol ?? this.pick(["tcp", "udp", "icmp"] as const),
      sourcePort: 5_000 + this.prng.below(30),
      port: target.port ?? this.pick([80, 53, 8_080, 9_090, 7_777]),
      payloadBytes: this.pick([3, 3, 12, 1_200]),
    };
    const known = { chassis: host.chassis, port: host.port, frame: frameOf(asked).frame };
    this.remember(known);
    return known;
  }

  /** Another packet of the same connection, mostly; sometimes one that is not fit for it. */
  private vary(frame: Uint8Array): Uint8Array {
    const packet = Packet.fromFrame(frame);
    const { bytes } = packet;
    const { family, network, transport, protocol } = headersOf(packet);
    if (family !== 4 || transport < 0) return packet.frame;
    const write = (at: number, value: number): void => {
      const before = readU16(bytes, at);
      writeU16(bytes, at, value);
      // A changed word, with its checksum: RFC 1624, by the sum anew.
      const sum = (~readU16(bytes, network + 10) & 0xffff) + (~before & 0xffff) + value;
      const folded = (sum & 0xffff) + (sum >>> 16);
      writeU16(bytes, network + 10, ~((folded & 0xffff) + (folded >>> 16)) & 0xffff);
    };
    write(network + 4, this.prng.below(65_536));
    if (this.chance(25)) write(network + 8, (this.pick([1, 2, 63]) << 8) | readU8(bytes, network + 9));
    if (this.chance(30)) write(network + 0, (readU8(bytes, network) << 8) | this.pick([0, 4, 0xb8]));
    if (this.chance(60)) write(network + 6, this.pick([0x2000, 0x2001, 0]));
    if (protocol === IpProtocol.tcp && !this.chance(4)) writeU8(bytes, transport + 13, this.flags());
    if (protocol === IpProtocol.icmp && this.chance(20)) writeU8(bytes, transport, 0);
    this.spoil(packet, network + 10, transport, protocol);
    if (this.chance(80)) pushVlan(packet, { id: 5 });
    return packet.frame;
  }

  private flags(): number {
    const { ack, syn, fin, rst, psh } = TcpFlag;
    if (this.chance(30)) return fin | ack;
    if (this.chance(50)) return this.pick([rst, rst | ack, 0, fin]);
    return this.pick([ack, ack, ack, ack | psh, syn | ack]);
  }

  /** Checksums that are wrong, or one of both zeros. */
  private spoil({ bytes }: Packet, ip: number, transport: number, protocol: number): void {
    const value = this.pick([0, 0xffff, 0x1234]);
    if (this.chance(25)) writeU16(bytes, ip, value);
    const at = protocol === IpProtocol.tcp ? 16 : protocol === IpProtocol.udp ? 6 : 2;
    if (this.chance(10)) writeU16(bytes, transport + at, value);
  }

  /** Now and then a bit of the outer UDP and GENEVE headers falls over. */
  private spoilOuter(frame: Uint8Array): Uint8Array {
    if (!this.chance(10)) return frame;
    const at = this.pick(OUTER_AT);
    const spoiled = frame.slice();
    writeU8(spoiled, at, readU8(frame, at) ^ (1 << this.prng.below(8)));
    return spoiled;
  }

  private send(chassis: string, port: string, frame: Uint8Array, depth = 0): void {
    const twins = defined(this.twins.get(chassis), "a chassis");
    this.told.packets += 1;
    const sent = twins.decide(port, frame, this.chance(20) ? 1 : 0);
    if (sent.length === 0) this.told.dropped += 1;
    for (const each of sent) {
      const peer = each.port === UPLINK ? this.peerOf(each.frame) : undefined;
      if (peer !== undefined && depth < 3) {
        this.told.tunnelled += 1;
        this.send(peer, UPLINK, this.spoilOuter(each.frame), depth + 1);
      } else {
        this.told.delivered += 1;
        this.answer(chassis, each.port, each.frame);
      }
    }
  }

  /** The chassis that a frame on the underlay goes to. */
  private peerOf(frame: Uint8Array): string | undefined {
    const mac = readU16(frame, 0) * 0x1_0000_0000 + (readI32(frame, 2) >>> 0);
    return [...this.options.chassis].find(([, end]) => end.mac === mac)?.[0];
  }

  /** Who got a frame answers it later on, perhaps. */
  private answer(chassis: string, port: string, frame: Uint8Array): void {
    const packet = Packet.fromFrame(frame);
    const { bytes, start } = packet;
    const { family, network, transport, protocol } = headersOf(packet);
    if (family !== 4 || transport < 0 || this.chance(3)) return;
    const swap = (at: number, length: number): void => {
      const first = bytes.slice(at, at + length);
      bytes.copyWithin(at, at + length, at + 2 * length);
      bytes.set(first, at + length);
    };
    swap(start, 6);
    swap(network + 12, 4);
    if (protocol === IpProtocol.icmp) {
      if (readU8(bytes, transport) !== 8) return;
      writeU8(bytes, transport, 0);
      writeU16(bytes, transport + 2, (readU16(bytes, transport + 2) + 0x0800) & 0xffff);
    } else swap(transport, 2);
    if (protocol === IpProtocol.tcp) writeU8(bytes, transport + 13, TcpFlag.syn | TcpFlag.ack);
    this.remember({ chassis, port, frame: packet.frame });
  }

  /** Something else than a packet happens. */
  private change(): void {
    const { southbound, hosts } = this.options;
    const addresses = hosts.map(({ ip }) => ip).filter(() => this.chance(2));
    const set = southbound.addressSets.length === 0 ? undefined : this.pick(southbound.addressSets);
    const group = southbound.portGroups.length === 0 ? undefined : this.pick(southbound.portGroups);
    const ports = hosts.map(({ port }) => port).filter(() => this.chance(2));
    const what = this.prng.below(5);
    const isAcl = (stage: string): boolean => stage.endsWith("_acl") || stage.endsWith("_acl_eval");
    const flows = southbound.flows.filter(
      ({ stage, priority }) => !isAcl(stage) || priority < 1_000 || !this.chance(4),
    );
    const unbound = this.chance(2) ? this.pick(hosts).port : undefined;
    for (const twins of this.twins.values()) {
      if (what === 0 && set !== undefined) twins.set("setAddressSet", { name: set.name, members: addresses });
      else if (what === 1 && group !== undefined)
        twins.set("setPortGroup", { name: group.name, members: ports });
      else if (what === 2) twins.renew({ ...southbound, flows });
      else if (what === 3) twins.renew(southbound, unbound);
      else if (what === 4) twins.renew(southbound);
    }
  }
}
