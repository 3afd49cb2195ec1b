/**
 * What a switch knows of its ports, as rules of forwarding read it: who has which MAC, address, virtual subnet and NAT
 * binding. Made anew when ports come, go or get other addresses; nothing alters it.
 */
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { NatBindings } from "./nat-bindings.ts";
import type { SwitchPort, SwitchPortKind } from "./switch-port.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Packet } from "#core/wire/packet.ts";
import { TunnelHeaders } from "#core/wire/tunnels/tunnel.ts";

// Who is in which virtual subnet of a switch. Addresses and MACs count inside one virtual subnet only, so two overlay
// networks may hold the same ones (dataplane.md §2.17 step 2).

/** Ports of one virtual subnet. */
interface Members {
  readonly byMac: Map<Mac, SwitchPort>;
  /** The UDP port of its tunnels: a frame with its number to another port is none of its own. */
  vxlanPort: number;
  router: SwitchPort | undefined;
}

/** What a frame in a tunnel is for. */
interface InnerDestination {
  readonly virtualSubnet: number;
  readonly mac: Mac;
  /** Undefined: nobody here has the MAC. */
  readonly port: SwitchPort | undefined;
  /** A port of this switch is in the virtual subnet. */
  readonly isKnown: boolean;
}

class VirtualSubnets {
  private readonly subnets = new Map<number, Members>();
  /** Over all virtual subnets; undefined where several have the MAC. */
  private readonly anywhere = new Map<Mac, SwitchPort | undefined>();
  private readonly vxlanPorts = new Set<number>();
  private readonly tunnel = new TunnelHeaders();

  constructor(ports: Iterable<SwitchPort>) {
    for (const port of ports) for (const each of port.virtualSubnets) this.add(each, port);
  }

  private add(virtualSubnet: number, port: SwitchPort): void {
    const members = this.subnets.get(virtualSubnet) ?? {
      byMac: new Map(),
      vxlanPort: port.vfp.vxlanPort,
      router: undefined,
    };
    this.subnets.set(virtualSubnet, members);
    members.byMac.set(port.mac, port);
    if (port.kind === "router") {
      members.router = port;
      members.vxlanPort = port.vfp.vxlanPort;
    }
    this.vxlanPorts.add(port.vfp.vxlanPort);
    const known = this.anywhere.get(port.mac);
    this.anywhere.set(port.mac, this.anywhere.has(port.mac) && known !== port ? undefined : port);
  }

  get isEmpty(): boolean {
    return this.subnets.size === 0;
  }

  /** The port that has `mac` in one of these. */
  find(virtualSubnets: readonly number[], mac: Mac): SwitchPort | undefined {
    for (const each of virtualSubnets) {
      const found = this.subnets.get(each)?.byMac.get(mac);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The port that has `mac`, when one has: for frames of the host, which is in none of the subnets. */
  findAnywhere(mac: Mac): SwitchPort | undefined {
    return this.anywhere.get(mac);
  }

  /** The MAC that `ip` has in one of these. */
  neighbor(virtualSubnets: readonly number[], ip: Ip): Mac | undefined {
    for (const each of virtualSubnets) {
      const found = this.subnets.get(each)?.router?.neighbors.get(ip);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Looks into a frame in a VXLAN tunnel; undefined for all others. */
  lookInside(packet: Packet, headers: Headers): InnerDestination | undefined {
    if (headers.protocol !== IpProtocol.udp || headers.transport < 0 || this.isEmpty) return undefined;
    const port = readU16(packet.bytes, headers.transport + 2);
    if (!this.vxlanPorts.has(port)) return undefined;
    const { tunnel } = this;
    if (tunnel.locate(packet.bytes, headers, port) !== undefined || tunnel.kind !== "vxlan") return undefined;
    const mac = readU48(packet.bytes, tunnel.innerStart) as Mac;
    const numbered = this.subnets.get(tunnel.id);
    const members = numbered?.vxlanPort === port ? numbered : undefined;
    return {
      virtualSubnet: tunnel.id,
      mac,
      port: members?.byMac.get(mac),
      isKnown: members !== undefined,
    };
  }
}

export class SwitchTables {
  /** In the order in which they were made. */
  readonly ports: readonly SwitchPort[];
  /** The uplink; undefined on an internal switch. */
  readonly externalPort: SwitchPort | undefined;
  /** The vNIC that carries the node's address: the first of the host's. */
  readonly hostPort: SwitchPort | undefined;
  /** Ports by virtual subnet: those of overlay networks. */
  readonly virtualSubnets: VirtualSubnets;
  /** Who owns which NAT binding. */
  readonly bindings: NatBindings;
  private readonly portsByMac = new Map<Mac, SwitchPort>();
  private readonly portsByIp = new Map<Ip, SwitchPort>();

  constructor(ports: readonly SwitchPort[], bindings: NatBindings) {
    this.ports = ports;
    this.bindings = bindings;
    this.externalPort = firstOf(ports, "external");
    this.hostPort = firstOf(ports, "host");
    this.virtualSubnets = new VirtualSubnets(ports);
    for (const port of ports) {
      // MACs and addresses of a virtual subnet count inside it only.
      if (port.kind === "external" || port.virtualSubnets.length > 0) continue;
      this.portsByMac.set(port.mac, port);
      for (const ip of port.ips) this.portsByIp.set(ip, port);
    }
  }

  findPortByMac(mac: Mac): SwitchPort | undefined {
    return this.portsByMac.get(mac);
  }

  findPortByIp(ip: Ip): SwitchPort | undefined {
    return this.portsByIp.get(ip);
  }

  /** True when a port is in this VLAN, in access mode. */
  hasVlan(vlan: number): boolean {
    return this.ports.some((port) => port.vlan === vlan);
  }
}

function firstOf(ports: readonly SwitchPort[], kind: SwitchPortKind): SwitchPort | undefined {
  return ports.find((port) => port.kind === kind);
}
