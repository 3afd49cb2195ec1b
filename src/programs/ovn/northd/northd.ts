/**
 * Translates a northbound database to a southbound one, as ovn-northd 23.03 does (ovn-northd(8)): datapaths, ports, groups of
 * ports, sets, load balancers, and the logical flows. It reaches both through OVSDB calls alone.
 */
import {
  type OvsdbClient,
  type OvsdbOperation,
  type OvsdbResult,
  type OvsdbRow,
  errorOf,
  mapOf,
  membersOf,
  referencesOf,
  setOf,
  textsOf,
} from "#contracts/ovsdb/client.ts";
import { OVN_NORTHBOUND } from "#contracts/ovsdb/northbound-schema.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/southbound-schema.ts";
import { Replica } from "../replica.ts";
import { WantedRows, reference } from "../wanted-rows.ts";
import { Bindings, datapathOf, portOf } from "./bindings.ts";
import { dialectOf } from "./dialect.ts";
import type { WrittenFlow } from "./flow-list.ts";
import { type LogicalRouter, type NorthboundObjects, numberOf, readNorthbound, textOf } from "./objects.ts";
import { routerFlows } from "./router-flows.ts";
import { switchFlows } from "./switch-flows.ts";
import { answeredVips } from "./translation-flows.ts";

const NORTHBOUND_TABLES = [
  "NB_Global",
  "Logical_Switch",
  "Logical_Switch_Port",
  "Logical_Router",
  "Logical_Router_Port",
  "Logical_Router_Static_Route",
  "Logical_Router_Policy",
  "NAT",
  "ACL",
  "Port_Group",
  "Address_Set",
  "Load_Balancer",
  "Load_Balancer_Group",
  "Gateway_Chassis",
  "Static_MAC_Binding",
];
/** Tables whose rows are all northd's. */
const OWNED = [
  "Datapath_Binding",
  "Port_Binding",
  "Logical_Flow",
  "Multicast_Group",
  "Address_Set",
  "Port_Group",
  "Load_Balancer",
  "Static_MAC_Binding",
];
const SOUTHBOUND_TABLES = [...OWNED, "SB_Global", "Chassis", "Chassis_Private", "Encap", "Gateway_Chassis"];

/** Keys of tunnels: VXLAN leaves 12 bits for that of a datapath (control-planes.md §4.3). */
const DATAPATHS_MAX = 16_711_680;
const DATAPATHS_MAX_WITH_VXLAN = 4_095;

/** A transaction that a database refused: what northd wrote is not what its schema takes. */
export class TransactionRefused extends Error {
  override readonly name = "TransactionRefused";
}

async function transact(client: OvsdbClient, operations: readonly OvsdbOperation[]): Promise<void> {
  if (operations.length === 0) return;
  const failed: OvsdbResult | undefined = errorOf(await client.transact(operations));
  if (failed !== undefined) throw new TransactionRefused(`${failed.error ?? ""}: ${failed.details ?? ""}`);
}

function balancedSet(key: number): string {
  return `_rtr_lb_${key}_ip4`;
}

export class Northd {
  private readonly northbound: OvsdbClient;
  private readonly southbound: OvsdbClient;
  private readonly nb: Replica;
  private readonly sb: Replica;

  private constructor(
    clients: { northbound: OvsdbClient; southbound: OvsdbClient },
    nb: Replica,
    sb: Replica,
  ) {
    this.northbound = clients.northbound;
    this.southbound = clients.southbound;
    this.nb = nb;
    this.sb = sb;
  }

  static async start(northbound: OvsdbClient, southbound: OvsdbClient): Promise<Northd> {
    const nb = await Replica.follow(northbound, OVN_NORTHBOUND, NORTHBOUND_TABLES);
    const sb = await Replica.follow(southbound, OVN_SOUTHBOUND, SOUTHBOUND_TABLES);
    return new Northd({ northbound, southbound }, nb, sb);
  }

  /** Brings the southbound database to what the northbound one says, and tells that one what chassis have done. */
  async sync(): Promise<void> {
    const wanted = new WantedRows();
    const objects = readNorthbound(this.nb);
    const keys = new Bindings(this.nb, this.sb, wanted).put(objects);
    this.putFlows(wanted, objects, keys);
    this.putSets(wanted, objects, keys);
    this.putBalancers(wanted, objects);
    this.putGlobal(wanted);
    for (const row of this.nb.rows("Static_MAC_Binding").values())
      this.putStaticBinding(wanted, objects, row);
    await transact(this.southbound, wanted.operations(this.sb, OWNED));
    await this.report();
  }

  private putFlows(wanted: WantedRows, objects: NorthboundObjects, keys: ReadonlyMap<string, number>): void {
    const dialect = dialectOf([...this.sb.rows("Chassis").values()]);
    const put = (id: string, flows: readonly WrittenFlow[]): void => {
      for (const { stage, table, priority, match, actions, hint } of flows) {
        const ids = { "stage-name": stage, ...(hint === undefined ? {} : { "stage-hint": hint }) };
        const pipeline = stage.startsWith("ls_in") || stage.startsWith("lr_in") ? "ingress" : "egress";
        wanted.put("Logical_Flow", `${id} ${stage} ${priority} ${match} ${actions} ${hint ?? ""}`, {
          logical_datapath: reference(datapathOf(id)),
          pipeline,
          table_id: table,
          priority,
          match,
          actions,
          external_ids: mapOf(ids),
        });
      }
    };
    for (const each of objects.switches) put(each.id, switchFlows(each, objects, dialect));
    for (const each of objects.routers)
      put(each.id, routerFlows(each, objects, dialect, balancedSet(keys.get(each.id) ?? 0)));
  }

  private putSets(wanted: WantedRows, objects: NorthboundObjects, keys: ReadonlyMap<string, number>): void {
    for (const row of this.nb.rows("Address_Set").values())
      wanted.put("Address_Set", textOf(row, "name"), {
        name: textOf(row, "name"),
        addresses: row["addresses"] ?? "",
      });
    for (const router of objects.routers) this.putBalancedSet(wanted, router, keys.get(router.id) ?? 0);
    const ports = this.nb.rows("Logical_Switch_Port");
    for (const group of this.nb.rows("Port_Group").values()) {
      const members = new Set(referencesOf(group["ports"]));
      for (const { id, ports: own } of objects.switches) {
        const names = own
          .filter((port) => members.has(port.id))
          .map((port) => textOf(ports.get(port.id) ?? {}, "name"));
        const name = `${keys.get(id) ?? 0}_${textOf(group, "name")}`;
        if (names.length > 0) wanted.put("Port_Group", name, { name, ports: setOf(names) });
      }
    }
  }

  private putBalancedSet(wanted: WantedRows, router: LogicalRouter, key: number): void {
    const name = balancedSet(key);
    const ips = answeredVips(router).toSorted();
    if (ips.length > 0) wanted.put("Address_Set", name, { name, addresses: setOf(ips) });
  }

  /** Chassis look hairpins up in the load balancers of switches. */
  private putBalancers(wanted: WantedRows, { switches }: NorthboundObjects): void {
    for (const [id, row] of this.nb.rows("Load_Balancer")) {
      const datapaths = switches.filter(({ balancers }) => balancers.some((each) => each.id === id));
      if (datapaths.length === 0) continue;
      wanted.put("Load_Balancer", id, {
        name: textOf(row, "name"),
        vips: row["vips"] ?? mapOf({}),
        protocol: row["protocol"] ?? "tcp",
        datapaths: setOf(datapaths.map((each) => reference(datapathOf(each.id)))),
        options: mapOf({ ...Object.fromEntries(textsOf(row["options"])), hairpin_orig_tuple: "true" }),
        external_ids: mapOf({ lb_id: id }),
      });
    }
  }

  private putStaticBinding(wanted: WantedRows, { routers }: NorthboundObjects, row: OvsdbRow): void {
    const port = textOf(row, "logical_port");
    const router = routers.find(({ ports }) => ports.some(({ name }) => name === port));
    if (router === undefined) return;
    wanted.put("Static_MAC_Binding", `${port} ${textOf(row, "ip")}`, {
      logical_port: port,
      ip: textOf(row, "ip"),
      mac: textOf(row, "mac"),
      override_dynamic_mac: row["override_dynamic_mac"] ?? false,
      datapath: reference(datapathOf(router.id)),
    });
  }

  private get global(): OvsdbRow {
    return [...this.nb.rows("NB_Global").values()][0] ?? {};
  }

  private maxKeys(): number {
    const hasVxlan = [...this.sb.rows("Encap").values()].some((row) => row["type"] === "vxlan");
    return hasVxlan ? DATAPATHS_MAX_WITH_VXLAN : DATAPATHS_MAX;
  }

  private putGlobal(wanted: WantedRows): void {
    const options = Object.fromEntries(textsOf(this.global["options"]));
    wanted.put("SB_Global", "global", {
      nb_cfg: numberOf(this.global, "nb_cfg"),
      options: mapOf({ ...options, max_tunid: String(this.maxKeys()) }),
    });
  }

  /** What has come of it goes back: which ports are up, and how far all chassis are (ovn-controller(8)). */
  private async report(): Promise<void> {
    const operations: OvsdbOperation[] = [];
    const bindings = this.sb.rows("Port_Binding");
    for (const [id, row] of this.nb.rows("Logical_Switch_Port")) {
      const binding = bindings.get(portOf(textOf(row, "name")));
      const isUp = membersOf(binding?.["up"])[0] === true || textOf(row, "type") === "router";
      const known = membersOf(row["up"])[0];
      if (known !== isUp)
        operations.push({
          op: "update",
          table: "Logical_Switch_Port",
          where: [["_uuid", "==", ["uuid", id]]],
          row: { up: isUp },
        });
    }
    const wanted = numberOf(this.global, "nb_cfg");
    const done = [...this.sb.rows("Chassis_Private").values()].map((row) => numberOf(row, "nb_cfg"));
    const hypervisors = Math.min(wanted, ...done);
    const options = {
      ...Object.fromEntries(textsOf(this.global["options"])),
      max_tunid: String(this.maxKeys()),
    };
    const isSame =
      numberOf(this.global, "sb_cfg") === wanted &&
      numberOf(this.global, "hv_cfg") === hypervisors &&
      textsOf(this.global["options"]).get("max_tunid") === options.max_tunid;
    if (!isSame && this.nb.rows("NB_Global").size > 0)
      operations.push({
        op: "update",
        table: "NB_Global",
        where: [],
        row: { sb_cfg: wanted, hv_cfg: hypervisors, options: mapOf(options) },
      });
    await transact(this.northbound, operations);
  }
}
