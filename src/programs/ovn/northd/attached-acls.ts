/**
 * Which ACLs hold on which switches: those of the switch itself, and those of groups that have one of its ports. Groups and ACLs
 * change one at a time; only what has to do with them is looked at again.
 */
import { referencesOf } from "#contracts/ovsdb/client.ts";
import type { Replica } from "../replica.ts";
import { type AclSummary, isStateful } from "./acl-flows.ts";
import { type LogicalSwitch, textOf } from "./objects.ts";

/** Where a port is. */
interface Place {
  /** UUID of the switch, and the key of its datapath. */
  readonly of: string;
  readonly key: number;
  readonly name: string;
}

interface PlacedGroup {
  /** UUIDs of its ports that are somewhere. */
  readonly members: readonly string[];
  readonly acls: ReadonlySet<string>;
  /** Names of its ports, by switch. */
  readonly ports: ReadonlyMap<string, { readonly key: number; readonly names: readonly string[] }>;
}

/** What is to be written again. */
export interface AclChanges {
  /** UUIDs of groups. */
  readonly groups: ReadonlySet<string>;
  /** UUIDs of ACLs, by switch. */
  readonly acls: ReadonlyMap<string, ReadonlySet<string>>;
}

const NO_GROUP: PlacedGroup = { members: [], acls: new Set(), ports: new Map() };

export class AttachedAcls {
  private readonly nb: Replica;
  private places: ReadonlyMap<string, Place> = new Map();
  private readonly groups = new Map<string, PlacedGroup>();
  private readonly direct = new Map<string, ReadonlySet<string>>();
  /** How often each ACL is attached, by switch; a switch without any is not there. */
  private readonly attached = new Map<string, Map<string, number>>();
  /** Those that look connections up, by switch; as above. */
  private readonly stateful = new Map<string, Set<string>>();

  constructor(nb: Replica) {
    this.nb = nb;
  }

  /** UUIDs of the ACLs of a switch. */
  of(id: string): Iterable<string> {
    return this.attached.get(id)?.keys() ?? [];
  }

  isAttached(id: string, acl: string): boolean {
    return this.attached.get(id)?.has(acl) === true;
  }

  summary(id: string): AclSummary {
    return { hasAny: this.attached.has(id), hasStateful: this.stateful.has(id) };
  }

  group(id: string): PlacedGroup {
    return this.groups.get(id) ?? NO_GROUP;
  }

  /**
   * The northbound database has changed in these rows. `switches` are all there are, with their keys, where they are others now;
   * undefined where they are as they were.
   */
  update(
    touched: ReadonlyMap<string, ReadonlySet<string>>,
    switches: readonly (readonly [LogicalSwitch, number])[] | undefined,
  ): AclChanges {
    const acls = new Map<string, Set<string>>();
    const mark = (id: string, acl: string): void => {
      const marked = acls.get(id) ?? new Set<string>();
      acls.set(id, marked);
      marked.add(acl);
    };
    const groups = new Set(touched.get("Port_Group"));
    if (switches !== undefined) {
      for (const group of this.settle(switches)) groups.add(group);
      this.attachDirect(switches, mark);
    }
    for (const id of groups) this.placeGroup(id, mark);
    for (const acl of touched.get("ACL") ?? [])
      for (const [id, counts] of this.attached) if (counts.has(acl)) mark(id, acl);
    for (const [id, changed] of acls) for (const acl of changed) this.weigh(id, acl);
    return { groups, acls };
  }

  /** Ports are here and there now. @returns groups with a port that is elsewhere than before */
  private settle(switches: readonly (readonly [LogicalSwitch, number])[]): readonly string[] {
    const places = new Map(
      switches.flatMap(([{ id, ports }, key]) =>
        ports.map((port) => [port.id, { of: id, key, name: port.name }] as const),
      ),
    );
    const moved = new Set<string>();
    for (const id of new Set([...this.places.keys(), ...places.keys()])) {
      const [before, after] = [this.places.get(id), places.get(id)];
      const isSame = before?.of === after?.of && before?.key === after?.key && before?.name === after?.name;
      if (!isSame) moved.add(id);
    }
    this.places = places;
    if (moved.size === 0) return [];
    return [...this.nb.rows("Port_Group")].flatMap(([id, row]) =>
      [...referencesOf(row["ports"]), ...this.group(id).members].some((port) => moved.has(port)) ? [id] : [],
    );
  }

  private attachDirect(
    switches: readonly (readonly [LogicalSwitch, number])[],
    mark: (id: string, acl: string) => void,
  ): void {
    const rows = this.nb.rows("Logical_Switch");
    const ids = new Set(switches.map(([{ id }]) => id));
    for (const id of new Set([...this.direct.keys(), ...ids])) {
      const before = this.direct.get(id) ?? new Set<string>();
      const after = new Set(referencesOf(rows.get(id)?.["acls"]));
      for (const acl of after) if (!before.has(acl)) this.count(id, acl, 1, mark);
      for (const acl of before) if (!after.has(acl)) this.count(id, acl, -1, mark);
      if (after.size === 0) this.direct.delete(id);
      else this.direct.set(id, after);
    }
  }

  private placeGroup(id: string, mark: (id: string, acl: string) => void): void {
    const row = this.nb.rows("Port_Group").get(id) ?? {};
    const ports = new Map<string, { key: number; names: string[] }>();
    const members: string[] = [];
    for (const port of referencesOf(row["ports"])) {
      const place = this.places.get(port);
      if (place === undefined) continue;
      members.push(port);
      const here = ports.get(place.of) ?? { key: place.key, names: [] };
      ports.set(place.of, here);
      here.names.push(place.name);
    }
    const after: PlacedGroup = { members, acls: new Set(referencesOf(row["acls"])), ports };
    const before = this.group(id);
    for (const of of after.ports.keys())
      for (const acl of after.acls)
        if (!before.ports.has(of) || !before.acls.has(acl)) this.count(of, acl, 1, mark);
    for (const of of before.ports.keys())
      for (const acl of before.acls)
        if (!after.ports.has(of) || !after.acls.has(acl)) this.count(of, acl, -1, mark);
    if (this.nb.rows("Port_Group").has(id)) this.groups.set(id, after);
    else this.groups.delete(id);
  }

  private count(id: string, acl: string, more: 1 | -1, mark: (id: string, acl: string) => void): void {
    const counts = this.attached.get(id) ?? new Map<string, number>();
    this.attached.set(id, counts);
    const count = (counts.get(acl) ?? 0) + more;
    if (count === 0) counts.delete(acl);
    else counts.set(acl, count);
    if (counts.size === 0) this.attached.delete(id);
    mark(id, acl);
  }

  private weigh(id: string, acl: string): void {
    const row = this.nb.rows("ACL").get(acl);
    const stateful = this.stateful.get(id) ?? new Set<string>();
    if (row !== undefined && this.isAttached(id, acl) && isStateful({ action: textOf(row, "action") }))
      stateful.add(acl);
    else stateful.delete(acl);
    if (stateful.size === 0) this.stateful.delete(id);
    else this.stateful.set(id, stateful);
  }
}
