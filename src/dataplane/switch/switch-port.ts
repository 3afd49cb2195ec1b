/** One port of a virtual switch: a cable, a VFP pipeline, and what the switch knows of who is behind it. */
import type { Timer } from "#core/base/clock.ts";
import type { FlowRoom } from "#core/base/environment.ts";
import { LIMITS } from "#core/base/limits.ts";
import type { Device } from "../device/device.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Ip, Ipv4 } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { NextHopResolver } from "../vfp/actions/next-hop.ts";
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
export const SWITCH_PORT_KINDS = ["external", "host", "container", "router"] as const;
export type SwitchPortKind = (typeof SWITCH_PORT_KINDS)[number];

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

/** A frame goes out of these ports, through the pipeline of each. */
export interface Delivery {
  readonly kind: "to";
  /** One gets the frame itself, several get a copy each. */
  readonly ports: readonly SwitchPort[];
  /** Why there, for who follows the frame. */
  readonly reason: string;
  /** What goes there in place of the frame that came, which is left as it is. */
  readonly frame: Packet | undefined;
  /** Other frames that go out besides, in order: segments of a tunnel, copies that differ. */
  readonly further?: readonly Delivery[];
}

/** A frame that waits at a port for its next hop, and the way that it was going. */
export interface WaitingFrame {
  readonly packet: Packet;
  readonly direction: VfpDirection;
  readonly untilMs: number;
}

const NO_NEIGHBORS: ReadonlyMap<Ip, Mac> = new Map();

/** Data: what happens at a port, its switch does. What the tables of a switch are made of is changed through the switch. */
export class SwitchPort {
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
  /** Addresses of the machine behind the port: the switch answers for none, but knows where to bring ARP. */
  ips: readonly Ip[] = [];
  private waiting: WaitingFrame[] = [];
  /** Ends the wait of the first of them. */
  patience: Timer | undefined;
  /** Made once: most frames go to one port, and no trace follows them. */
  readonly delivery: Delivery;
  /** Of an uplink: what is wrong with the wire behind it. */
  wireFaults: WireFaults | undefined;
  /** TCP to the machine behind the port comes at this pace; undefined: as it comes. */
  pace: ReceivePace | undefined;
  /** By direction, source and code; undefined until the first: most ports drop nothing. */
  private dropBook: Map<string, PortDrops> | undefined;

  /** `node`: as traces name it. `flowRoom`: what all ports of the world share. */
  constructor(options: SwitchPortOptions, node: string, flowRoom?: FlowRoom) {
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
    this.delivery = { kind: "to", ports: [this], reason: "", frame: undefined };
    this.vfp = new VfpPort({
      id: options.id,
      name: this.description,
      node,
      layers: options.layers,
      nextHopResolver: options.nextHopResolver,
      flowRoom,
    });
  }

  /** Counts frames, of `length` bytes together, that passed the port. */
  count(direction: VfpDirection, length: number, frames = 1): void {
    const counters = this.counters[direction];
    counters.packets += frames;
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
  wait(frame: WaitingFrame): boolean {
    if (this.waiting.length >= LIMITS.pendingPacketsPerPortMax) return false;
    this.waiting.push(frame);
    return true;
  }

  /** When the first of those that wait has waited too long; undefined: none waits. */
  get waitsUntilMs(): number | undefined {
    return this.waiting[0]?.untilMs;
  }

  /** Those whose wait is over at `nowMs`, in the order in which they came; they wait no more. */
  takeWaiting(nowMs: number = Number.POSITIVE_INFINITY): readonly WaitingFrame[] {
    const taken = this.waiting.filter(({ untilMs }) => untilMs <= nowMs);
    this.waiting = this.waiting.slice(taken.length);
    return taken;
  }
}
