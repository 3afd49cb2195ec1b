/**
 * What a cluster's answers depend on, as digests: each machine, what lies between the machines, and what machines hold of
 * Services. A machine's state is all that a packet can reach on it: everything that its stack and its cable refer to,
 * walked as `fork` walks it.
 */
import { type Digest, type NamedObjects, StateWalk } from "#core/base/state-digest.ts";
import type { Ip } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Cluster } from "../../cluster.ts";
import {
  type FrozenState,
  type ServicePart,
  ServiceParts,
  type TouchedPackets,
  packetsTouchedBy,
} from "./service-parts.ts";

/** What is no node: the router, hosts outside, machines of the API server, and all that nodes have in common. */
export const BETWEEN = "between";

interface MachineState {
  readonly digest: string;
  readonly parts: ReadonlyMap<string, ServicePart>;
}

/** Packets that a change can touch. */
export interface ChangedPackets extends TouchedPackets {
  /** Only on this machine; undefined: wherever they go. */
  readonly machine: string | undefined;
}

/** What makes a difference between two states of a cluster. */
export interface StateChange {
  /** Machines whose own state differs. */
  readonly machines: ReadonlySet<string>;
  /** What pieces of Services that differ can touch. */
  readonly packets: readonly ChangedPackets[];
  /** Names of Services that lead elsewhere than before. */
  readonly labels: ReadonlySet<string>;
}

/** Objects that a walk stops at: they belong to others. Gathered once for all machines. */
class OwnedObjects {
  /** Of nobody: each walk stops there. */
  private readonly common: ReadonlyMap<object, string>;
  /** Of what lies between machines: no walk of a machine goes on there. */
  private readonly between: ReadonlyMap<object, string>;
  private readonly ofNodes = new Map<object, { readonly owner: string; readonly text: string }>();
  /** The other end of each node's cable. */
  private readonly cables = new Map<string, object>();

  constructor(cluster: Cluster) {
    const { env, clock, underlay, nodes, outside, apiServers, objects, file } = cluster;
    this.common = new Map<object, string>([
      [cluster, "cluster"],
      [env, "environment"],
      [clock, "clock"],
      [objects, "objects"],
    ]);
    this.between = new Map<object, string>([
      [file, "file"],
      [underlay, "underlay"],
      [underlay.segment, "segment"],
      ...[...outside, ...apiServers].map((machine) => [machine, "machine"] as const),
    ]);
    for (const { spec, host, uplink, hns } of nodes) {
      const owner = spec.name;
      this.ofNodes.set(host, { owner, text: `host ${owner}` });
      this.ofNodes.set(uplink, { owner, text: `uplink ${owner}` });
      if (hns !== undefined) this.ofNodes.set(hns, { owner, text: `hns ${owner}` });
      for (const each of host.listCompartments())
        this.ofNodes.set(each, { owner, text: `compartment of ${owner}` });
      const peer = uplink["peer"];
      if (peer !== undefined) this.cables.set(owner, peer);
    }
  }

  /** As the walk of one machine, or of what lies between them, meets them. */
  seenFrom(own: string): NamedObjects {
    const { common, between, ofNodes } = this;
    const cable = this.cables.get(own);
    return {
      get(value) {
        if (value === cable) return "cable";
        const node = ofNodes.get(value);
        if (node !== undefined && node.owner !== own) return node.text;
        return common.get(value) ?? (own === BETWEEN ? undefined : between.get(value));
      },
    };
  }
}

function walkOf(
  named: NamedObjects,
  frozen: FrozenState,
  roots: readonly unknown[],
): { readonly digest: Digest; readonly found: ServiceParts } {
  const found = new ServiceParts(frozen);
  const walk = new StateWalk(frozen.digests, named, found.readers());
  for (const root of roots) walk.add(root);
  return { digest: walk.finish(), found };
}

/** Collects what parts that differ can touch: the same parts differ on many machines. */
class PacketChanges {
  private readonly byPorts = new Map<
    string,
    { readonly addresses: Set<Ip>; readonly ports: TouchedPackets["ports"]; readonly machine: undefined }
  >();
  private readonly onMachines = new Map<string, ChangedPackets>();

  add(machine: string, part: ServicePart): void {
    for (const { addresses, ports } of packetsTouchedBy(part)) {
      const key = ports?.join() ?? "";
      if (addresses === undefined) {
        this.onMachines.set(`${machine} ${key}`, { addresses, ports, machine });
        continue;
      }
      let known = this.byPorts.get(key);
      if (known === undefined)
        this.byPorts.set(key, (known = { addresses: new Set(), ports, machine: undefined }));
      for (const each of addresses) known.addresses.add(each);
    }
  }

  get list(): readonly ChangedPackets[] {
    return [...this.byPorts.values(), ...this.onMachines.values()];
  }
}

export class ClusterState {
  private readonly machines = new Map<string, MachineState>();
  /** Who has an address: names of nodes, or `BETWEEN`. */
  private readonly owners = new Map<Ip, string[]>();
  private readonly nameServers: string[] = [];
  private readonly nodes: readonly string[];

  constructor(cluster: Cluster, frozen: FrozenState) {
    const { nodes, underlay, outside, apiServers, file, clock } = cluster;
    this.nodes = nodes.map(({ spec }) => spec.name);
    const owned = new OwnedObjects(cluster);
    for (const { spec, host, uplink, hns } of nodes) {
      hns?.settle();
      this.enter(spec.name, walkOf(owned.seenFrom(spec.name), frozen, [spec, host, uplink]));
      for (const each of host.listCompartments()) this.own(spec.name, each);
    }
    // Work that waits for its time is no machine's; none waits in a cluster that has settled.
    const waits = clock.nextAtMs() === undefined ? undefined : clock.nowMs;
    const roots = [file, underlay, outside, apiServers, waits];
    this.enter(BETWEEN, walkOf(owned.seenFrom(BETWEEN), frozen, roots));
    this.own(BETWEEN, underlay.router.compartment);
    for (const { host } of [...outside, ...apiServers])
      for (const each of host.listCompartments()) this.own(BETWEEN, each);
  }

  /** Machines that have one of these addresses; undefined when nobody is known to have one of them. */
  ownersOf(addresses: Iterable<Ip>): ReadonlySet<string> | undefined {
    const found = new Set<string>();
    for (const address of addresses) {
      const owners = this.owners.get(address);
      if (owners === undefined) return undefined;
      for (const owner of owners) found.add(owner);
    }
    return found;
  }

  /** Machines that answer names of the cluster. */
  get namesServedBy(): readonly string[] {
    return this.nameServers;
  }

  get all(): readonly string[] {
    return this.nodes;
  }

  /** What is otherwise than in `before`. */
  changesSince(before: ClusterState): StateChange {
    const machines = new Set<string>();
    const packets = new PacketChanges();
    const labels = new Set<string>();
    for (const name of new Set([...this.machines.keys(), ...before.machines.keys()])) {
      const [old, now] = [before.machines.get(name), this.machines.get(name)];
      if (old?.digest !== now?.digest) machines.add(name);
      for (const key of new Set([...(old?.parts.keys() ?? []), ...(now?.parts.keys() ?? [])])) {
        const [was, is] = [old?.parts.get(key), now?.parts.get(key)];
        if (was?.digest.text === is?.digest.text) continue;
        for (const part of [was, is]) {
          if (part !== undefined) packets.add(name, part);
          if (part?.label !== undefined) labels.add(part.label);
        }
      }
    }
    return { machines, packets: packets.list, labels };
  }

  private enter(
    name: string,
    { digest, found }: { readonly digest: Digest; readonly found: ServiceParts },
  ): void {
    this.machines.set(name, { digest: digest.text, parts: found.parts });
    if (found.servesNames) this.nameServers.push(name);
  }

  private own(machine: string, compartment: Compartment): void {
    for (const { addresses } of compartment.listInterfaces())
      for (const { ip } of addresses) {
        const owners = this.owners.get(ip);
        if (owners === undefined) this.owners.set(ip, [machine]);
        else if (!owners.includes(machine)) owners.push(machine);
      }
  }
}
