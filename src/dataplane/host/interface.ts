/** A network interface of a compartment: a device with a MAC, addresses and neighbours. */
import { readU8, writeU16, writeU48 } from "#core/base/bytes.ts";
import type { ArpRequests } from "../device/arp-requests.ts";
import type { Device } from "../device/device.ts";
import type { Hearing, Listener } from "../device/memory-pair.ts";
import { type InterfaceAddress, type Ip, type Ipv6, lastIp, prefixOf } from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { ETHERNET_HEADER_BYTES, EtherType } from "#core/wire/ethernet.ts";
import type { Packet } from "#core/wire/packet.ts";
import { UNSPECIFIED, isLinkLocal } from "./ip/address-scope.ts";
import { Ipv6Link } from "./ip/ipv6-link.ts";
import { NeighborTable } from "./ip/neighbor-table.ts";
import type { InterfaceNames } from "./resolver/candidate-names.ts";
import type { FilterProgram } from "./windows-filtering/filter-program.ts";
import type { OutgoingPacket, BridgeSegment, Stack, StackInterface } from "./stack.ts";

/** What `Compartment.addInterface` takes. */
export interface InterfaceOptions {
  /** The name that people and route listings use: `eth0`, `vEthernet (Ethernet)`. */
  readonly name: string;
  readonly mac: Mac;
  readonly device: Device;
  /** The largest IP packet in bytes; default: the device's. */
  readonly mtuBytes?: number;
  /** Routes packets that arrive here for others. Default: the compartment's setting, off at first. */
  readonly isForwarding?: boolean;
  /** Added to the metric of each route over the interface. Default: Windows 15, Linux 0. */
  readonly metric?: number;
  /** Asks whether a new IPv6 address is somebody else's (Linux' `accept_dad`). Default true. */
  readonly isDuplicateChecked?: boolean;
}

export class Interface implements Listener, StackInterface {
  readonly name: string;
  readonly mac: Mac;
  readonly device: Device;
  /** Changed by `Compartment.setMetric` only, which keeps the routes in order. */
  metric: number;
  readonly neighbors: NeighborTable;
  readonly ipv6: Ipv6Link;
  mtuBytes: number;
  isForwarding: boolean;
  /** What arrives here for others is not routed, whatever `isForwarding` says. */
  refusesRouting = false;
  /** Linux' `proxy_arp` and `proxy_ndp`: answers for addresses that the stack routes over other interfaces. */
  isProxyArp = false;
  /** Set on the interface of a bridge whose frames the machine's rules see (`bridge-nf-call-iptables` is 1). */
  bridge: BridgeSegment | undefined;
  /** What WFP does with packets and connections of the interface; undefined: nothing. Windows only. */
  filters: FilterProgram | undefined;
  /** What the interface's key of the registry says of name servers and suffixes. Windows only. */
  names: InterfaceNames | undefined;
  /** False once the interface was removed: nothing is sent or taken any more. */
  isAttached = true;
  private readonly compartment: Stack;
  private readonly assigned: InterfaceAddress[] = [];

  /** Made by `Compartment.addInterface` only. */
  constructor(compartment: Stack, options: InterfaceOptions, isForwarding: boolean) {
    this.compartment = compartment;
    this.name = options.name;
    this.mac = options.mac;
    this.device = options.device;
    this.metric = options.metric ?? compartment.profile.interfaceMetric;
    this.mtuBytes = options.mtuBytes ?? options.device.mtuBytes;
    this.isForwarding = isForwarding;
    this.neighbors = new NeighborTable(compartment, this);
    this.ipv6 = new Ipv6Link(compartment, this, options.isDuplicateChecked ?? true);
    options.device.attach(this);
  }

  get carriesSuperFrames(): boolean {
    return this.device.carriesSuperFrames === true;
  }

  /** In the order in which they were added. */
  get addresses(): readonly InterfaceAddress[] {
    return this.assigned;
  }

  /** True for an address that is served: one that may be somebody else's is not yet. */
  hasAddress(ip: Ip): boolean {
    return this.isAssigned(ip) && this.ipv6.isUsable(ip);
  }

  /** True for an address of the interface, whether or not it is served. */
  isAssigned(ip: Ip): boolean {
    return this.assigned.some((address) => address.ip === ip);
  }

  /** Addresses that packets may be sent from. */
  get usableAddresses(): readonly InterfaceAddress[] {
    return this.assigned.filter(({ ip }) => this.ipv6.isUsable(ip));
  }

  /** The link-local address; `::` while there is none. */
  linkLocal(): Ipv6 {
    return (this.assigned.find(({ ip }) => isLinkLocal(ip))?.ip ?? UNSPECIFIED) as Ipv6;
  }

  /** True for the all-ones address of a subnet of this interface. Subnets of one or two addresses have none. */
  isSubnetBroadcast(ip: Ip): boolean {
    if (typeof ip !== "number") return false;
    return this.assigned.some(
      (address) =>
        typeof address.ip === "number" &&
        address.length < 31 &&
        lastIp(prefixOf(address.ip, address.length)) === ip,
    );
  }

  /** Called by the compartment, which keeps the routes in step. */
  assign(address: InterfaceAddress): void {
    this.assigned.push(address);
  }

  /** Called by the compartment. @returns the address as it was assigned. */
  unassign(ip: Ip): InterfaceAddress | undefined {
    const index = this.assigned.findIndex((address) => address.ip === ip);
    return index < 0 ? undefined : this.assigned.splice(index, 1)[0];
  }

  receive(packet: Packet): void {
    if (this.isAttached) this.compartment.receive(this, packet);
  }

  /** Requests for others change nothing where their sender is not known; a conflict is not even counted. */
  hear(requests: ArpRequests, by: Device): Hearing {
    if (!this.isAttached) return undefined;
    if (this.isProxyArp || requests.areFrom(this.neighbors, by)) return "listens";
    const own = this.compartment.listInterfaces().flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
    return requests.askFor(own, by) ? "listens" : undefined;
  }

  /** Writes the Ethernet header of an IP packet and hands the frame to the device. */
  transmit(outgoing: OutgoingPacket, destinationMac: Mac): void {
    const packet = outgoing.packet;
    writeU48(packet.bytes, packet.start, destinationMac);
    if (outgoing.isBridged === true && this.bridge !== undefined) {
      this.bridge.inject(packet);
      return;
    }
    writeU48(packet.bytes, packet.start + 6, this.mac);
    const isIpv6 = readU8(packet.bytes, packet.start + ETHERNET_HEADER_BYTES) >>> 4 === 6;
    writeU16(packet.bytes, packet.start + 12, isIpv6 ? EtherType.ipv6 : EtherType.ipv4);
    this.compartment.record(packet, outgoing.kind, outgoing.text, outgoing.inferred);
    this.transmitFrame(packet);
  }

  /** Hands a finished frame to the device. */
  transmitFrame(packet: Packet): void {
    if (!this.isAttached || !this.device.transmit(packet))
      this.compartment.drop(packet, "interface-down", `${this.name} takes no frames`);
  }

  /** Formats name and MAC for people. */
  describe(): string {
    return `${this.name} (${formatMac(this.mac)})`;
  }
}
