/**
 * Copies of a cluster that hold a part of its nodes. The other nodes are looked at and never run: their cables end at a
 * receiver that says when a frame needs them, which ends the attempt. It begins again on a copy that has the node.
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { AssertionError } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { Ip } from "#core/net/ip.ts";
import { type Mac, isGroupMac } from "#core/net/mac.ts";
import { ArpView } from "#core/wire/arp.ts";
import { ETHERNET_HEADER_BYTES, EtherType } from "#core/wire/ethernet.ts";
import type { Packet } from "#core/wire/packet.ts";
import type { ArpRequests } from "#dataplane/device/arp-requests.ts";
import { type Hearing, type Listener, MemoryDevice } from "#dataplane/device/memory-pair.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Cluster, CopiedPart, Demand } from "./cluster.ts";

const ETHER_TYPE_AT = 12;

/** An attempt cannot go on without a machine. */
export class MachineAbsent extends AssertionError {
  constructor(node: string) {
    super(`${node} is not part of this copy of the cluster`);
  }
}

/** Who has an address. Frozen, so that copies share it. */
class Owners {
  private readonly nodes = new Map<Ip, string[]>();

  constructor({ nodes, pods, outside, apiServers, underlay }: Cluster) {
    for (const { spec, host } of nodes)
      for (const each of host.listCompartments()) this.enter(spec.name, each);
    for (const { isAtRest, node, address } of pods) if (isAtRest === true) this.own(node.spec.name, address);
    this.enter("", underlay.router.compartment);
    for (const { host } of [...outside, ...apiServers]) this.enter("", host.root);
    Object.freeze(this);
  }

  /** Names of nodes, empty for a machine that is none; undefined: nobody is known to have it. */
  of(ip: Ip): readonly string[] | undefined {
    return this.nodes.get(ip);
  }

  private enter(name: string, compartment: Compartment): void {
    for (const { addresses } of compartment.listInterfaces())
      for (const { ip } of addresses) this.own(name, ip);
  }

  private own(name: string, ip: Ip): void {
    addToList(this.nodes, ip, name);
  }
}

/** The far end of the cable of a machine that is not there. */
class AbsentMachine implements Listener {
  private readonly node: string;
  private readonly demand: Demand;
  private readonly owners: Owners;

  constructor(node: string, demand: Demand, owners: Owners) {
    this.node = node;
    this.demand = demand;
    this.owners = owners;
  }

  receive(packet: Packet): void {
    if (!this.isNeeded(packet)) return;
    this.demand.nodes.add(this.node);
    throw new MachineAbsent(this.node);
  }

  /** It would note the senders, and no more, where others are asked. */
  hear(requests: ArpRequests): Hearing {
    for (const ip of requests.targets())
      if (this.owners.of(ip)?.includes(this.node) !== false) return "listens";
    return undefined;
  }

  /** All but a question for the MAC of somebody else, of which it would note the sender. */
  private isNeeded(packet: Packet): boolean {
    const { bytes, start, end, tag } = packet;
    if (tag !== 0 || !isGroupMac(readU48(bytes, start) as Mac)) return true;
    if (readU16(bytes, start + ETHER_TYPE_AT) !== EtherType.arp) return true;
    const arp = ArpView.parse(bytes, start + ETHERNET_HEADER_BYTES, end);
    const owners = typeof arp === "string" ? undefined : this.owners.of(arp.targetIp);
    return owners === undefined || owners.includes(this.node);
  }
}

/** The nodes of a cluster that its copies hold. Frozen, so that copies share it. */
export class ClusterPart implements CopiedPart {
  private readonly names: ReadonlySet<string>;
  private readonly owners: Owners;
  private readonly demand: Demand;

  private constructor(names: ReadonlySet<string>, owners: Owners, demand: Demand) {
    this.names = names;
    this.owners = owners;
    this.demand = demand;
    Object.freeze(this);
  }

  /** A part without nodes. */
  static of(cluster: Cluster): ClusterPart {
    return new ClusterPart(new Set(), new Owners(cluster), cluster.demand);
  }

  with(nodes: Iterable<string>): ClusterPart {
    return new ClusterPart(new Set([...this.names, ...nodes]), this.owners, this.demand);
  }

  has(node: string): boolean {
    return this.names.has(node);
  }

  only(nodes: Iterable<string>): ClusterPart {
    const names = [...nodes].filter((node) => this.names.has(node));
    return new ClusterPart(new Set(names), this.owners, this.demand);
  }

  require(node: string): void {
    if (this.names.has(node)) return;
    this.demand.nodes.add(node);
    throw new MachineAbsent(node);
  }

  /** The cables of the other nodes end here, and the rest of them stays as it is. */
  standIns({ nodes, pods, clock }: Cluster): ReadonlyMap<object, object> {
    const standIns = new Map<object, object>();
    const stays = (...objects: readonly (object | undefined)[]): void => {
      for (const each of objects) if (each !== undefined) standIns.set(each, each);
    };
    for (const node of nodes) {
      const { spec, host, hns, uplink } = node;
      if (this.names.has(spec.name)) continue;
      stays(node, host, hns, ...host.listCompartments());
      const end = new MemoryDevice(clock, uplink.mtuBytes, 0);
      end.isUp = uplink.isUp;
      end.attach(new AbsentMachine(spec.name, this.demand, this.owners));
      standIns.set(uplink, end);
    }
    for (const pod of pods)
      if (!this.names.has(pod.node.spec.name)) stays(pod, pod.isAtRest === true ? undefined : pod.server);
    return standIns;
  }
}
