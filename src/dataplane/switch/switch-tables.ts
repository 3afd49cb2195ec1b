/**
 * What a switch knows of its ports, as rules of forwarding read it: who has which MAC, address, virtual subnet and NAT
 * binding. Made anew when ports come, go or get other addresses; nothing alters it.
 */
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { NatBindings } from "./nat-bindings.ts";
import type { SwitchPort, SwitchPortKind } from "./switch-port.ts";
import { VirtualSubnets } from "./virtual-subnets.ts";

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
