/**
 * What ovn-controller writes into the southbound database about packets that it has met (controller/pinctrl.c, OVN 23.03): virtual ports
 * that answered behind one of its own, connections to Services without back ends, members of multicast groups.
 */
import {
  type OvsdbClient,
  type OvsdbOperation,
  type OvsdbRow,
  errorOf,
  mapOf,
  referencesOf,
  setOf,
  textsOf,
} from "#contracts/ovsdb/client.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { textOf } from "./northd/objects.ts";
import { Replica } from "./replica.ts";
import { reference } from "./wanted-rows.ts";

const TABLES = ["Chassis", "Port_Binding", "Datapath_Binding", "Controller_Event", "IGMP_Group"];
/** Events that wait; further ones are not kept (controller/pinctrl.c, `event_table`). */
const EVENTS_MAX = 1_000;
const EVENT_TYPE = "empty_lb_backends";

/** What the data plane of a chassis has met. */
export interface MetPackets {
  /** Virtual ports, each with the port that has answered for it. */
  readonly virtualPorts: ReadonlyMap<string, string>;
  /** Connections to addresses without a back end. */
  readonly events: readonly {
    readonly vip: string;
    readonly protocol: string;
    readonly loadBalancer: string;
  }[];
  /** All members of multicast groups that are known now, by the id of the datapath and names of ports. */
  readonly groups: readonly {
    readonly datapath: string;
    readonly address: string;
    readonly ports: readonly string[];
  }[];
}

function where(id: string): readonly (readonly ["_uuid", "==", readonly ["uuid", string]])[] {
  return [["_uuid", "==", ["uuid", id]]];
}

export class ChassisReporter {
  private readonly southbound: OvsdbClient;
  private readonly sb: Replica;
  private readonly name: string;
  private lastEvent = 0;
  /** What the database has refused, or did not hear. */
  private unheard: Pick<MetPackets, "virtualPorts" | "events"> = { virtualPorts: new Map(), events: [] };

  private constructor(southbound: OvsdbClient, sb: Replica, name: string) {
    this.southbound = southbound;
    this.sb = sb;
    this.name = name;
  }

  /** `name`: of the chassis, which somebody else registers. */
  static async start(southbound: OvsdbClient, name: string): Promise<ChassisReporter> {
    return new ChassisReporter(southbound, await Replica.follow(southbound, OVN_SOUTHBOUND, TABLES), name);
  }

  close(): void {
    this.sb.close();
  }

  /**
   * Writes what is not there yet. What the database refuses is written with the next report. Without a registered chassis nothing is.
   * @returns what the database refused; undefined: nothing
   */
  async report(given: MetPackets): Promise<string | undefined> {
    const met = {
      virtualPorts: new Map([...this.unheard.virtualPorts, ...given.virtualPorts]),
      events: [...this.unheard.events, ...given.events].slice(0, EVENTS_MAX),
      groups: given.groups,
    };
    const [chassis] = [...this.sb.rows("Chassis")].find(([, row]) => row["name"] === this.name) ?? [];
    if (chassis === undefined) return undefined;
    const ports = new Map(
      [...this.sb.rows("Port_Binding")].map(([id, row]) => [textOf(row, "logical_port"), { id, row }]),
    );
    const operations = [
      ...[...met.virtualPorts].flatMap(([port, parent]) => {
        const [own, behind] = [ports.get(port), ports.get(parent)];
        const isKnown = own?.row["type"] === "virtual" && behind !== undefined;
        return isKnown ? [this.claim(own.id, chassis, parent)] : [];
      }),
      ...met.events.flatMap((event) => this.eventOf(event, chassis)),
      ...this.groupsOf(met.groups, chassis, new Map([...ports].map(([name, { id }]) => [name, id]))),
    ];
    const failed = operations.length === 0 ? undefined : errorOf(await this.southbound.transact(operations));
    this.unheard = failed === undefined ? { virtualPorts: new Map(), events: [] } : met;
    return failed === undefined ? undefined : `${failed.error ?? ""}: ${failed.details ?? ""}`;
  }

  private claim(id: string, chassis: string, parent: string): OvsdbOperation {
    const row = { chassis: reference(chassis), virtual_parent: parent };
    return { op: "update", table: "Port_Binding", where: where(id), row };
  }

  private isOurs(row: OvsdbRow, chassis: string): boolean {
    return referencesOf(row["chassis"])[0] === chassis;
  }

  /** An event that is there already waits for who removes it, and is written once. */
  private eventOf(
    { vip, protocol, loadBalancer }: MetPackets["events"][number],
    chassis: string,
  ): readonly OvsdbOperation[] {
    const isThere = [...this.sb.rows("Controller_Event").values()].some((row) => {
      const info = textsOf(row["event_info"]);
      return (
        this.isOurs(row, chassis) &&
        row["event_type"] === EVENT_TYPE &&
        info.get("vip") === vip &&
        info.get("protocol") === protocol &&
        info.get("load_balancer") === loadBalancer
      );
    });
    if (isThere) return [];
    this.lastEvent += 1;
    const row = {
      event_type: EVENT_TYPE,
      event_info: mapOf({ vip, protocol, load_balancer: loadBalancer }),
      chassis: reference(chassis),
      seq_num: this.lastEvent,
    };
    return [{ op: "insert", table: "Controller_Event", row }];
  }

  private groupsOf(
    groups: MetPackets["groups"],
    chassis: string,
    ports: ReadonlyMap<string, string>,
  ): readonly OvsdbOperation[] {
    const keyOf = (datapath: string, address: string): string => `${datapath} ${address}`;
    const known = new Map(
      [...this.sb.rows("IGMP_Group")]
        .filter(([, row]) => this.isOurs(row, chassis))
        .map(([id, row]) => [
          keyOf(referencesOf(row["datapath"])[0] ?? "", textOf(row, "address")),
          { id, row },
        ]),
    );
    const operations: OvsdbOperation[] = [];
    for (const { datapath, address, ports: names } of groups) {
      const members = names.flatMap((name) => ports.get(name) ?? []);
      const key = keyOf(datapath, address);
      const before = known.get(key);
      known.delete(key);
      if (!this.sb.rows("Datapath_Binding").has(datapath)) continue;
      const row = { ports: setOf(members.map((id) => reference(id))) };
      if (before === undefined)
        operations.push({
          op: "insert",
          table: "IGMP_Group",
          row: { ...row, address, datapath: reference(datapath), chassis: reference(chassis) },
        });
      else if (referencesOf(before.row["ports"]).toSorted().join() !== members.toSorted().join())
        operations.push({ op: "update", table: "IGMP_Group", where: where(before.id), row });
    }
    for (const { id } of known.values())
      operations.push({ op: "delete", table: "IGMP_Group", where: where(id) });
    return operations;
  }
}
