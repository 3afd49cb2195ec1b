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
  setOf,
  textsOf,
} from "#contracts/ovsdb/client.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { Replica, TouchedRows } from "../replica.ts";
import { WantedParts, WantedRows, reference } from "../wanted-rows.ts";
import { type AclSummary, aclFlows } from "./acl-flows.ts";
import { AttachedAcls } from "./attached-acls.ts";
import { Bindings, datapathOf, portOf } from "./bindings.ts";
import { type Dialect, dialectOf, isSameDialect } from "./dialect.ts";
import type { WrittenFlow } from "./flow-list.ts";
import {
  type LogicalRouter,
  type NorthboundObjects,
  leftOutOf,
  numberOf,
  readNorthbound,
  textOf,
  toAcl,
} from "./objects.ts";
import { routerFlows } from "./router-flows.ts";
import { isTracked, switchFlows } from "./switch-flows.ts";
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
const OWNED: ReadonlySet<string> = new Set([
  "Datapath_Binding",
  "Port_Binding",
  "Logical_Flow",
  "Multicast_Group",
  "Address_Set",
  "Port_Group",
  "Load_Balancer",
  "Static_MAC_Binding",
]);
const SOUTHBOUND_TABLES = [...OWNED, "SB_Global", "Chassis", "Chassis_Private", "Encap", "Gateway_Chassis"];

/** Northbound tables that flows come from one row at a time, each in a part of its own. */
const SINGLE: ReadonlySet<string> = new Set(["ACL", "Port_Group", "Address_Set", "NB_Global"]);
/** Southbound tables that decide what is written: names of chassis, what they understand, keys that are given. */
const DECIDING: ReadonlySet<string> = new Set(["Chassis", "Encap", "Datapath_Binding", "Port_Binding"]);

/** Keys of tunnels: VXLAN leaves 12 bits for that of a datapath (control-planes.md §4.3). */
const DATAPATHS_MAX = 16_711_680;
const DATAPATHS_MAX_WITH_VXLAN = 4_095;

/** A transaction that a database refused: what northd wrote is not what its schema takes. */
export class TransactionRefused extends Error {
  override readonly name = "TransactionRefused";
}

function refuse(failed: OvsdbResult | undefined): void {
  if (failed !== undefined) throw new TransactionRefused(`${failed.error ?? ""}: ${failed.details ?? ""}`);
}

async function transact(client: OvsdbClient, operations: readonly OvsdbOperation[]): Promise<void> {
  if (operations.length > 0) refuse(errorOf(await client.transact(operations)));
}

function balancedSet(key: number): string {
  return `_rtr_lb_${key}_ip4`;
}

/** Wants the flows of a datapath. */
function putFlows(wanted: WantedRows, id: string, flows: readonly WrittenFlow[]): void {
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
}

/** Everything but ACLs, groups of ports and sets of addresses, as it was read last. */
interface Layout {
  readonly objects: NorthboundObjects;
  readonly keys: ReadonlyMap<string, number>;
  readonly dialect: Dialect;
}

const NO_LAYOUT: Layout = {
  objects: { switches: [], routers: [] },
  keys: new Map(),
  dialect: dialectOf([]),
};

export class Northd {
  private readonly northbound: OvsdbClient;
  private readonly southbound: OvsdbClient;
  private readonly nb: Replica;
  private readonly sb: Replica;
  private readonly parts: WantedParts;
  private readonly touched: { readonly nb: TouchedRows; readonly sb: TouchedRows };
  private readonly acls: AttachedAcls;
  private layout: Layout | undefined;
  /** What was written of each switch: whether its packets have connections, and has it ACLs. */
  private readonly switches = new Map<string, AclSummary & { readonly isTracked: boolean }>();

  private constructor(
    clients: { northbound: OvsdbClient; southbound: OvsdbClient },
    replicas: { nb: Replica; sb: Replica },
    touched: { nb: TouchedRows; sb: TouchedRows },
    parts: WantedParts,
  ) {
    this.northbound = clients.northbound;
    this.southbound = clients.southbound;
    this.nb = replicas.nb;
    this.sb = replicas.sb;
    this.touched = touched;
    this.parts = parts;
    this.acls = new AttachedAcls(this.nb);
  }

  static async start(northbound: OvsdbClient, southbound: OvsdbClient): Promise<Northd> {
    const touched = { nb: new TouchedRows(), sb: new TouchedRows() };
    const parts = new WantedParts();
    const nb = await Replica.follow(northbound, OVN_NORTHBOUND, NORTHBOUND_TABLES, (updates) =>
      touched.nb.add(updates),
    );
    const sb = await Replica.follow(southbound, OVN_SOUTHBOUND, SOUTHBOUND_TABLES, (updates) => {
      touched.sb.add(updates);
      parts.touched(updates);
    });
    return new Northd({ northbound, southbound }, { nb, sb }, touched, parts);
  }

  /** Brings the southbound database to what the northbound one says, and tells that one what chassis have done. */
  async sync(): Promise<void> {
    const [nb, sb] = [this.touched.nb.take(), this.touched.sb.take()];
    const isNew = this.layout === undefined;
    const isOther =
      isNew ||
      [...nb.keys()].some((table) => !SINGLE.has(table)) ||
      [...sb.keys()].some((table) => DECIDING.has(table));
    const dialect = this.layout?.dialect;
    if (isOther) this.layout = this.readLayout();
    this.putAcls(nb, isOther, this.layout?.dialect !== dialect);
    for (const id of nb.get("Address_Set") ?? []) this.putAddressSet(id);
    const global = new WantedRows();
    this.putGlobal(global);
    this.parts.set("global", global);
    refuse(await this.parts.write(this.southbound, this.sb, OWNED));
    await this.report();
  }

  /** Reads what is not written one row at a time, and wants all of it but the flows of switches. */
  private readLayout(): Layout {
    const wanted = new WantedRows();
    const objects = readNorthbound(this.nb);
    const keys = new Bindings(this.nb, this.sb, wanted).put(objects);
    const now = dialectOf([...this.sb.rows("Chassis").values()]);
    const dialect = isSameDialect(now, this.layout?.dialect) ? (this.layout?.dialect ?? now) : now;
    for (const each of objects.routers) {
      putFlows(wanted, each.id, routerFlows(each, objects, dialect, balancedSet(keys.get(each.id) ?? 0)));
      this.putBalancedSet(wanted, each, keys.get(each.id) ?? 0);
    }
    this.putBalancers(wanted, objects);
    for (const row of this.nb.rows("Static_MAC_Binding").values())
      this.putStaticBinding(wanted, objects, row);
    this.parts.set("layout", wanted);
    return { objects, keys, dialect };
  }

  /** The flows of switches: of ACLs those that have changed, and all others where something else has. */
  private putAcls(
    nb: ReadonlyMap<string, ReadonlySet<string>>,
    isOther: boolean,
    isOtherDialect: boolean,
  ): void {
    const { objects, keys, dialect } = this.layout ?? NO_LAYOUT;
    const { switches } = objects;
    const changes = this.acls.update(
      nb,
      isOther ? switches.map((each) => [each, keys.get(each.id) ?? 0] as const) : undefined,
    );
    for (const id of changes.groups) this.putGroup(id);
    const known = new Set(switches.map(({ id }) => id));
    for (const [id, acls] of changes.acls)
      if (!known.has(id)) for (const acl of acls) this.parts.set(`acl ${id} ${acl}`, undefined);
    if (isOther)
      for (const id of this.switches.keys())
        if (!known.has(id)) {
          this.switches.delete(id);
          this.parts.set(`switch ${id}`, undefined);
        }
    for (const each of switches) {
      const { id } = each;
      const before = this.switches.get(id);
      const summary = this.acls.summary(id);
      const now = { ...summary, isTracked: isTracked(each, summary) };
      const isSame =
        before?.hasAny === now.hasAny &&
        before.hasStateful === now.hasStateful &&
        before.isTracked === now.isTracked;
      this.switches.set(id, now);
      if (isOther || !isSame) {
        const wanted = new WantedRows();
        putFlows(wanted, id, switchFlows(each, objects, summary, dialect));
        this.parts.set(`switch ${id}`, wanted);
      }
      const isAll = isOtherDialect || before?.isTracked !== now.isTracked;
      const changed = changes.acls.get(id) ?? [];
      for (const acl of isAll ? new Set([...this.acls.of(id), ...changed]) : changed)
        this.putAcl(id, acl, now.isTracked, dialect);
    }
  }

  private putAcl(of: string, id: string, hasConnections: boolean, dialect: Dialect): void {
    const row = this.acls.isAttached(of, id) ? this.nb.rows("ACL").get(id) : undefined;
    const wanted = new WantedRows();
    if (row !== undefined) putFlows(wanted, of, aclFlows(toAcl(id, row), hasConnections, dialect));
    this.parts.set(`acl ${of} ${id}`, wanted);
  }

  private putAddressSet(id: string): void {
    const row = this.nb.rows("Address_Set").get(id);
    const wanted = new WantedRows();
    const name = row === undefined ? "" : textOf(row, "name");
    if (row !== undefined) wanted.put("Address_Set", name, { name, addresses: row["addresses"] ?? "" });
    this.parts.set(`set ${id}`, wanted);
  }

  /** A group stands once for each switch that has one of its ports. */
  private putGroup(id: string): void {
    const wanted = new WantedRows();
    const name = textOf(this.nb.rows("Port_Group").get(id) ?? {}, "name");
    for (const { key, names } of this.acls.group(id).ports.values())
      wanted.put("Port_Group", `${key}_${name}`, { name: `${key}_${name}`, ports: setOf(names) });
    this.parts.set(`group ${id}`, wanted);
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

  /** What no flow is written for, in words. */
  leftOut(): readonly string[] {
    return leftOutOf(this.nb);
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
