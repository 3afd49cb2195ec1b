/**
 * The network that the nodes hang on: one layer-2 segment, a router on it, and hosts outside behind the router.
 * Addresses follow the notation of docs: dataplane.md §0.4 unless the cluster says otherwise.
 */
import type { DhcpServer } from "./dhcp-server.ts";
import { assert, defined } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import { CABLE_DELAYS, type MemoryDevice } from "../device/memory-pair.ts";
import {
  type Ip,
  type Ipv6,
  type Prefix,
  addToIp,
  formatPrefix,
  prefixContains,
  prefixOf,
} from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { type ConnectOptions, LearningSwitch } from "./learning-switch.ts";
import { OutsideHost } from "./outside-host.ts";
import type { PhysicalHostSwitch } from "./physical-host-switch.ts";
import { Router } from "./router.ts";

/** docs: dataplane.md §6.10, `Rm`: the router's MAC on the segment. */
export const ROUTER_MAC: Mac = 0x5254_0000_0001 as Mac;
/** MACs of machines beside the nodes that are none of them count up from here. */
const MACHINE_MAC = 0x5254_0000_0010;
/** MACs of the router towards outside hosts, and of those, count up from here. */
const ROUTER_OUTSIDE_MAC = 0x5254_0000_0100;
const OUTSIDE_HOST_MAC = 0x5254_0000_0200;
const OUTSIDE_HOSTS_MAX = 250;
/** Length of an outside host's network, when none is given. */
const OUTSIDE_PREFIX_LENGTH = 24;

export interface OutsideHostSpec {
  /** Name in traces and answers. */
  readonly name: string;
  readonly ip: Ip;
  /** Length of the network it shares with the router. Default 24. */
  readonly prefixLength?: number;
}

export interface UnderlaySpec {
  /** The nodes' network. */
  readonly subnet: Prefix;
  /** The router's address in it. */
  readonly routerIp: Ip;
  readonly outside: readonly OutsideHostSpec[];
  /** MTU of the segment's cables. Default 1500. */
  readonly mtuBytes?: number;
  /** The second family: the nodes' network and the router's address in it. Hosts outside have one then, too. */
  readonly ipv6?: { readonly subnet: Prefix; readonly routerIp: Ip };
}

/** Outside hosts have their IPv4 address behind this in IPv6: 2001:db8::/32 is for documentation (RFC 3849). */
const OUTSIDE_IPV6 = 0x2001_0db8_0000_0000_0000_0000_0000_0000n;

/** The IPv6 address of a host outside that has `ip`. */
export function outsideIpv6(ip: Ip): Ip {
  return typeof ip === "number" ? ((OUTSIDE_IPV6 | BigInt(ip)) as Ipv6) : ip;
}

/** The end of a cable, and the MAC that goes with it. */
interface MachineCable {
  readonly device: MemoryDevice;
  readonly mac: Mac;
}

export class Underlay {
  readonly subnet: Prefix;
  private readonly routerIp: Ip;
  readonly segment: LearningSwitch;
  readonly router: Router;
  /** The physical host's switch that the nodes hang on; undefined: they hang on the segment. */
  physicalHost: PhysicalHostSwitch | undefined;
  /** Those that serve its machines. */
  readonly dhcpServers: DhcpServer[] = [];
  private readonly env: Environment;
  private readonly hasIpv6: boolean;
  private readonly mtuBytes: number | undefined;
  private readonly hosts = new Map<string, OutsideHost>();
  private readonly networks = new Map<string, OutsideNetwork>();
  private machineCount = 0;

  constructor(env: Environment, spec: UnderlaySpec) {
    assert(prefixContains(spec.subnet, spec.routerIp), "the router's address is in the nodes' network");
    this.env = env;
    this.subnet = spec.subnet;
    this.routerIp = spec.routerIp;
    this.mtuBytes = spec.mtuBytes;
    this.segment = new LearningSwitch(env, { node: "underlay", place: "segment", kind: "wire" });
    this.router = new Router(env, "router");
    const address = { ip: spec.routerIp, length: spec.subnet.length };
    const device = this.connect("router");
    const inside = this.router.addInterface({ name: "eth0", mac: ROUTER_MAC, device, address });
    if (spec.ipv6 !== undefined) {
      const { subnet, routerIp } = spec.ipv6;
      this.router.compartment.addAddress(inside, { ip: routerIp, length: subnet.length });
      this.router.compartment.advertiseRouter(inside, { prefixes: [{ prefix: subnet }] });
    }
    this.hasIpv6 = spec.ipv6 !== undefined;
    for (const host of spec.outside) this.addOutsideHost(host);
  }

  /** Gives a node its cable to the segment. @returns the node's end. */
  connect(name: string, options: ConnectOptions = {}): MemoryDevice {
    const mtuBytes = options.mtuBytes ?? this.mtuBytes;
    return this.segment.connect(name, mtuBytes === undefined ? options : { ...options, mtuBytes });
  }

  /** Takes a node's cable away. */
  disconnect(name: string): void {
    this.segment.removePort(name);
  }

  /** Adds a host outside; hosts of one network share it. */
  addOutsideHost(spec: OutsideHostSpec): OutsideHost {
    const index = this.hosts.size + 1;
    assert(
      index <= OUTSIDE_HOSTS_MAX && !this.hosts.has(spec.name),
      "outside hosts are few and have unique names",
    );
    const length = spec.prefixLength ?? OUTSIDE_PREFIX_LENGTH;
    const network = this.outsideNetwork(spec.ip, length);
    assert(network.gateway !== spec.ip, "the router's outside address is unique");
    const host = new OutsideHost(this.env, {
      name: spec.name,
      address: { ip: spec.ip, length },
      gateway: network.gateway,
      mac: (OUTSIDE_HOST_MAC + index) as Mac,
      device: network.segment.connect(spec.name, { delayMs: CABLE_DELAYS.outsideMs }),
      ...(this.hasIpv6 && {
        ipv6: {
          address: { ip: outsideIpv6(spec.ip), length: ipv6Length(length) },
          gateway: outsideIpv6(network.gateway),
        },
      }),
    });
    this.hosts.set(spec.name, host);
    return host;
  }

  /** Gives a machine of the nodes' own network that is none of them its cable and its MAC. */
  connectMachine(name: string, addresses: readonly Ip[]): MachineCable {
    const isNear = addresses.some((ip) => prefixContains(this.subnet, ip));
    assert(isNear, "the machine's address is in the nodes' network");
    const mac = (MACHINE_MAC + this.machineCount) as Mac;
    this.machineCount++;
    return { mac, device: this.physicalHost?.connect({ name, mac, addresses }) ?? this.connect(name) };
  }

  /** Adds a machine to the nodes' own network, which the router leads to all others. It has IPv4 alone. */
  addMachine({ name, ip }: { readonly name: string; readonly ip: Ip }): OutsideHost {
    const { device, mac } = this.connectMachine(name, [ip]);
    const address = { ip, length: this.subnet.length };
    return new OutsideHost(this.env, { name, address, gateway: this.routerIp, mac, device });
  }

  getOutsideHost(name: string): OutsideHost | undefined {
    return this.hosts.get(name);
  }

  /** In the order in which they were added. */
  listOutsideHosts(): readonly OutsideHost[] {
    return [...this.hosts.values()];
  }

  /** The network outside that holds `ip`; the router is connected to it by an interface of its own. */
  private outsideNetwork(ip: Ip, length: number): OutsideNetwork {
    const prefix = formatPrefix(prefixOf(ip, length));
    const known = this.networks.get(prefix);
    if (known !== undefined) return known;
    const index = this.networks.size + 1;
    const gateway = gatewayFor(ip, length);
    const segment = new LearningSwitch(this.env, {
      node: "underlay",
      place: `outside ${prefix}`,
      kind: "wire",
    });
    const leg = this.router.addInterface({
      name: `eth${index}`,
      mac: (ROUTER_OUTSIDE_MAC + index) as Mac,
      device: segment.connect("router"),
      address: { ip: gateway, length },
    });
    if (this.hasIpv6)
      this.router.compartment.addAddress(leg, { ip: outsideIpv6(gateway), length: ipv6Length(length) });
    const network = { segment, gateway };
    this.networks.set(prefix, network);
    return network;
  }
}

/** The length of an outside network in IPv6, from that in IPv4. */
function ipv6Length(length: number): number {
  return 96 + length;
}

interface OutsideNetwork {
  readonly segment: LearningSwitch;
  readonly gateway: Ip;
}

/** The first address of the host's network, or the second when the host has the first. */
function gatewayFor(ip: Ip, length: number): Ip {
  const { address } = prefixOf(ip, length);
  const first = defined(addToIp(address, 1), "an outside network has a first address");
  return first === ip ? defined(addToIp(address, 2), "an outside network has a second address") : first;
}
