/** One port of a virtual switch: a cable, a VFP pipeline, and what the switch knows of who is behind it. */
import type { Clock, Task, Timer } from "#core/base/clock.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Device, Receiver } from "../device/device.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip, Ipv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { NextHopResolver, NextHopWaiter } from "../vfp/actions/next-hop.ts";
import type { PrefixSets } from "../vfp/matching/condition-matcher.ts";
import type { VfpDirection, LayerDefinition } from "../vfp/rule.ts";
import { VfpPort } from "../vfp/vfp-port.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { ReceivePace, WireFaults } from "./wire-faults.ts";

/** What a client behind a port is told. */
export interface DhcpLease {
  readonly ip: Ipv4;
  readonly subnetMask: Ipv4;
  /** Stands for the server, too. */
  readonly router: Ipv4;
  readonly routerMac: Mac;
  readonly dnsServers: readonly Ipv4[];
}

/**
 * `external`: the uplink to the wire. `host`: a vNIC of the host; the first one carries the node's address.
 * `container`: an endpoint's vNIC. `router`: the vNIC of an overlay network's distributed router.
 */
export type SwitchPortKind = "external" | "host" | "container" | "router";

export interface SwitchPortOptions {
  /** A GUID, as the switch port of a vNIC has one. */
  readonly id: string;
  /** Its friendly name, as listings print it. */
  readonly name: string;
  /** As traces name it. Default: `name`. */
  readonly description?: string;
  readonly kind: SwitchPortKind;
  /** The MAC of the machine behind the port. */
  readonly mac: Mac;
  /** The switch's end of the cable. */
  readonly device: Device;
  readonly layers: readonly LayerDefinition[];
  readonly nextHopResolver?: NextHopResolver | undefined;
  /** The vNIC behind it belongs to the host's own stack. Default: true for kind `host`. */
  readonly leadsToHost?: boolean;
  /** L2Bridge: what leaves the node carries the host's MAC, in ARP too (dataplane.md §2.13). Default false. */
  readonly usesHostMac?: boolean;
  /**
   * Overlay: the virtual subnets (VNIs) that the port is in. Who is behind it reaches ports of these, the host and the
   * wire, and no other port. Default: none, the switch itself.
   */
  readonly virtualSubnets?: readonly number[];
  /** L2Tunnel: all that comes from behind the port goes to the uplink. Default false. */
  readonly sendsToFabric?: boolean;
  /** The VLAN that the port is in, in access mode. Default 0: untagged. */
  readonly vlan?: number;
}

/** TCP or UDP port of an address that belongs to a switch port, whatever MAC a frame carries. */
export interface StaticBinding {
  readonly ip: Ip;
  readonly protocol: number;
  readonly port: number;
}

export function bindingKey({ ip, protocol, port }: StaticBinding): string {
  return `${ip}|${protocol}|${port}`;
}

/** What has passed a port one way, and what was dropped on the way. */
export interface PortCounters {
  packets: number;
  bytes: number;
  drops: number;
}

/** Who dropped a frame: the port's pipeline, or the switch around it. */
export type DropSource = "vfp" | "switch";

/** Frames that went one way and were dropped for one reason. */
export interface PortDrops {
  readonly direction: VfpDirection;
  readonly source: DropSource;
  readonly code: KnowledgeCode;
  readonly frames: number;
}

/** What a port asks its switch to do. */
export interface PortOwner {
  readonly clock: Clock;
  readonly prefixSets: PrefixSets;
  /** Ends a frame that waited at `port`, counted and told. */
  drop(port: SwitchPort, packet: Packet, code: KnowledgeCode, text: string, direction: VfpDirection): void;
  handleFrame(port: SwitchPort, packet: Packet): void;
  /** Brings a frame to `port` once more: it has waited there for its next hop. */
  deliverAgain(port: SwitchPort, packet: Packet): void;
  addressesChanged(): void;
  /** A binding came or went; the last of the ports that have it owns it. */
  bindingChanged(binding: StaticBinding): void;
}

/** Which way a frame was going that waits for its next hop. */
interface WaitingFrame {
  readonly packet: Packet;
  readonly direction: VfpDirection;
  readonly untilMs: number;
}

const NO_NEIGHBORS: ReadonlyMap<Ip, Mac> = new Map();

export class SwitchPort implements Receiver, NextHopWaiter, Task {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly kind: SwitchPortKind;
  readonly mac: Mac;
  readonly device: Device;
  readonly vfp: VfpPort;
  readonly usesHostMac: boolean;
  readonly leadsToHost: boolean;
  readonly virtualSubnets: readonly number[];
  readonly sendsToFabric: boolean;
  /** In access mode; 0: untagged. */
  vlan: number;
  /** Since the port was made; `out` is what came from behind it. */
  readonly counters: Readonly<Record<VfpDirection, PortCounters>> = {
    in: { packets: 0, bytes: 0, drops: 0 },
    out: { packets: 0, bytes: 0, drops: 0 },
  };
  /**
   * Frames from the uplink that carry the host's MAC and one of this port's addresses go to this port: pods that have
   * addresses of the node's own subnet. Without it the host stack routes them
   * (Inferred: joins dataplane.md §2.17 step 4 with walk B-2a, where the host routes).
   */
  deliversByAddress = false;
  /** On a router's port: who has which address in its virtual subnets, for those who ask. */
  neighbors: ReadonlyMap<Ip, Mac> = NO_NEIGHBORS;
  /** What a DHCP client behind the port is told; undefined: the switch answers none. */
  lease: DhcpLease | undefined;
  private addresses: readonly Ip[] = [];
  private readonly bindings = new Map<string, StaticBinding>();
  private waiting: WaitingFrame[] = [];
  /** Of an uplink: what is wrong with the wire behind it. */
  wireFaults: WireFaults | undefined;
  /** TCP to the machine behind the port comes at this pace; undefined: as it comes. */
  pace: ReceivePace | undefined;
  /** By direction, source and code; undefined until the first: most ports drop nothing. */
  private dropBook: Map<string, PortDrops> | undefined;
  private patience: Timer | undefined;
  private readonly owner: PortOwner;

  constructor(options: SwitchPortOptions, owner: PortOwner, node: string) {
    this.id = options.id;
    this.name = options.name;
    this.description = options.description ?? options.name;
    this.kind = options.kind;
    this.mac = options.mac;
    this.device = options.device;
    this.usesHostMac = options.usesHostMac ?? false;
    this.leadsToHost = options.leadsToHost ?? options.kind === "host";
    this.virtualSubnets = options.virtualSubnets ?? [];
    this.sendsToFabric = options.sendsToFabric ?? false;
    this.vlan = options.vlan ?? 0;
    this.owner = owner;
    this.vfp = new VfpPort({
      id: options.id,
      name: this.description,
      node,
      layers: options.layers,
      nextHopResolver: options.nextHopResolver,
      nextHopWaiter: this,
    });
    this.vfp.prefixSets = owner.prefixSets;
    options.device.attach(this);
  }

  /** Addresses of the machine behind the port: the switch answers for none, but knows where to bring ARP. */
  get ips(): readonly Ip[] {
    return this.addresses;
  }

  setIps(ips: readonly Ip[]): void {
    this.addresses = [...ips];
    this.owner.addressesChanged();
  }

  /** The UDP port of VXLAN behind this port; `others` are those of further networks that it serves. */
  setVxlanPort(vxlanPort: number, others: readonly number[] = []): void {
    const { vfp } = this;
    const isNew = vfp.vxlanPort !== vxlanPort;
    const { otherVxlanPorts: _known, ...settings } = vfp.parserSettings;
    vfp.parserSettings = {
      ...settings,
      vxlanPort,
      ...(others.length > 0 && { otherVxlanPorts: Object.freeze([...others]) }),
    };
    if (isNew) this.owner.addressesChanged();
  }

  get staticBindings(): Iterable<StaticBinding> {
    return this.bindings.values();
  }

  hasStaticBinding(binding: StaticBinding): boolean {
    return this.bindings.has(bindingKey(binding));
  }

  addStaticBinding(binding: StaticBinding): void {
    this.bindings.set(bindingKey(binding), binding);
    this.owner.bindingChanged(binding);
  }

  removeStaticBinding(binding: StaticBinding): void {
    if (this.bindings.delete(bindingKey(binding))) this.owner.bindingChanged(binding);
  }

  receive(packet: Packet): void {
    this.owner.handleFrame(this, packet);
  }

  /** Counts a frame of `length` bytes that passed the port. */
  count(direction: VfpDirection, length: number): void {
    const counters = this.counters[direction];
    counters.packets++;
    counters.bytes += length;
  }

  countDrop(direction: VfpDirection, source: DropSource, code: KnowledgeCode): void {
    this.counters[direction].drops++;
    this.dropBook ??= new Map();
    const key = [direction, source, code].join(" ");
    const frames = (this.dropBook.get(key)?.frames ?? 0) + 1;
    this.dropBook.set(key, { direction, source, code, frames });
  }

  /** In the order in which they happened first. */
  listDrops(): readonly PortDrops[] {
    return [...(this.dropBook?.values() ?? [])];
  }

  /** Keeps a packet whose next hop is being resolved. @returns false when too many wait already. */
  wait(packet: Packet, direction: VfpDirection): boolean {
    if (this.waiting.length >= LIMITS.pendingPacketsPerPortMax) return false;
    const { clock } = this.owner;
    this.waiting.push({ packet, direction, untilMs: clock.nowMs + LIMITS.pendingTimeoutMs });
    this.patience ??= clock.schedule(LIMITS.pendingTimeoutMs, this);
    return true;
  }

  nextHopSettled(): void {
    const frames = this.waiting;
    this.waiting = [];
    if (this.patience !== undefined) this.owner.clock.cancel(this.patience);
    this.patience = undefined;
    for (const { packet, direction } of frames) {
      if (direction === "out") this.owner.handleFrame(this, packet);
      else this.owner.deliverAgain(this, packet);
    }
  }

  /** The timer of frames that wait: those that came first may have waited too long. */
  run(nowMs: number): void {
    const late = this.waiting.filter(({ untilMs }) => untilMs <= nowMs);
    this.waiting = this.waiting.slice(late.length);
    const [next] = this.waiting;
    this.patience = next === undefined ? undefined : this.owner.clock.schedule(next.untilMs - nowMs, this);
    for (const { packet, direction } of late)
      this.owner.drop(
        this,
        packet,
        "next-hop-unresolved",
        "the next hop was not resolved in time",
        direction,
      );
  }
}
