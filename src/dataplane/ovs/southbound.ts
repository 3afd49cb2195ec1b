/** The rows of a southbound database that forwarding needs, as values (ovn-sb(5)). */
import { OvsdbError, type OvsdbTables, type Row } from "./ovsdb-tables.ts";

export interface DatapathBinding {
  readonly id: string;
  readonly name: string;
  readonly key: number;
  readonly kind: "switch" | "router";
  /** UUID of the northbound switch or router; empty when the row has none. */
  readonly northbound: string;
  /** True for a router whose sources have the common zone of its translations (`snat-ct-zone`). */
  readonly hasSourceZone: boolean;
}

export interface PortBinding {
  readonly name: string;
  readonly datapath: string;
  readonly type: string;
  readonly key: number;
  readonly options: ReadonlyMap<string, string>;
  readonly portSecurity: readonly string[];
  /** MACs, each with its addresses: `0a:58:0a:80:01:05 10.128.1.5`; a router's with their prefixes; or `unknown`. */
  readonly mac: readonly string[];
  /** Id of the chassis that has claimed it; empty for none. */
  readonly chassis: string;
}

/** An end of tunnels. */
export interface Encapsulation {
  readonly type: string;
  readonly ip: string;
  /** Who sends to it is to compute checksums (ovn-sb(5), Encap, `options:csum`). Default: not. */
  readonly wantsChecksum?: boolean;
}

/** A machine that carries flows out, with the tunnels that end there. */
export interface ChassisBinding {
  readonly id: string;
  readonly name: string;
  readonly encapsulations: readonly Encapsulation[];
}

export interface LogicalFlowRow {
  readonly id: string;
  readonly datapaths: readonly string[];
  readonly pipeline: "ingress" | "egress";
  readonly table: number;
  readonly priority: number;
  readonly match: string;
  readonly actions: string;
  readonly stage: string;
  /** First digits of the UUID of the northbound object that the flow was written for; empty for none. */
  readonly hint: string;
  /** Where northd writes it: `northd.c:5731`. */
  readonly source: string;
  /** The northbound object that it was written for, in words; absent where nobody looked. */
  readonly object?: string;
}

/** Values of the variables in flows and load balancers, on one chassis (ovn-sb(5), Chassis_Template_Var). */
export interface ChassisVariables {
  readonly chassis: string;
  readonly values: ReadonlyMap<string, string>;
}

/** Addresses that stand for back ends. */
export interface LoadBalancer {
  readonly name: string;
  /** `10.96.0.10:53` to its back ends, `10.244.0.3:53,10.244.1.3:53`. */
  readonly vips: ReadonlyMap<string, string>;
  readonly protocol: string;
  readonly options: ReadonlyMap<string, string>;
}

/** A MAC that was met behind a port of a switch. */
export interface FdbEntry {
  readonly datapathKey: number;
  readonly portKey: number;
  readonly mac: string;
}

/** Names that logical switches answer for. */
export interface DnsRecords {
  readonly datapaths: readonly string[];
  /** `web.example` to its addresses; a name of in-addr.arpa to its name. */
  readonly records: ReadonlyMap<string, string>;
}

export interface NamedSet {
  readonly name: string;
  readonly members: readonly string[];
}

export interface MulticastGroup extends NamedSet {
  readonly datapath: string;
  readonly key: number;
}

/** How a chassis learns who wants which multicast group on a switch (ovn-sb(5), IP_Multicast). Only switches where it does. */
export interface MulticastSettings {
  readonly datapath: string;
  readonly groupsMax: number;
  readonly idleSeconds: number;
  /** All that was learned is forgotten when this changes (`seq_no`). */
  readonly flushes: number;
}

export interface MacBinding {
  readonly port: string;
  readonly ip: string;
  readonly mac: string;
}

export interface Southbound {
  readonly datapaths: readonly DatapathBinding[];
  readonly ports: readonly PortBinding[];
  readonly flows: readonly LogicalFlowRow[];
  readonly groups: readonly MulticastGroup[];
  readonly addressSets: readonly NamedSet[];
  readonly portGroups: readonly NamedSet[];
  readonly macBindings: readonly MacBinding[];
  readonly loadBalancers: readonly LoadBalancer[];
  readonly fdb: readonly FdbEntry[];
  readonly chassis: readonly ChassisBinding[];
  readonly dns: readonly DnsRecords[];
  /** Absent where nobody snoops. */
  readonly multicast?: readonly MulticastSettings[];
  /** Absent where no chassis has any. */
  readonly variables?: readonly ChassisVariables[];
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function texts(row: Row, column: string): readonly string[] {
  return listOf(row.get(column)).map(String);
}

/** A column that a database file leaves out has its default. */
function text(row: Row, column: string): string {
  const value = row.get(column) ?? "";
  if (typeof value !== "string") throw new OvsdbError(`column ${column} is not a text`);
  return value;
}

function integer(row: Row, column: string, max: number): number {
  const value = row.get(column) ?? 0;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > max) {
    throw new OvsdbError(`column ${column} is not a number from 0 to ${max}`);
  }
  return value;
}

function mapOf(row: Row, column: string): ReadonlyMap<string, string> {
  const pairs = listOf(row.get(column)).filter((pair): pair is unknown[] => Array.isArray(pair));
  return new Map(pairs.map(([key, value]) => [String(key), String(value)]));
}

/** Datapaths by group. */
export function toDatapathGroups(rows: readonly Row[]): ReadonlyMap<string, readonly string[]> {
  return new Map(rows.map((row) => [text(row, "_uuid"), texts(row, "datapaths")]));
}

/** A logical flow; `sets` are the groups of datapaths. @throws OvsdbError */
export function toFlow(row: Row, sets: ReadonlyMap<string, readonly string[]>): LogicalFlowRow {
  const pipeline = text(row, "pipeline");
  if (pipeline !== "ingress" && pipeline !== "egress")
    throw new OvsdbError(`pipeline ${pipeline} is not known`);
  const ids = mapOf(row, "external_ids");
  return {
    id: text(row, "_uuid"),
    datapaths: [
      ...texts(row, "logical_datapath"),
      ...texts(row, "logical_dp_group").flatMap((group) => sets.get(group) ?? []),
    ],
    pipeline,
    table: integer(row, "table_id", 254),
    priority: integer(row, "priority", 65_535),
    match: text(row, "match"),
    actions: text(row, "actions"),
    stage: ids.get("stage-name") ?? "",
    hint: ids.get("stage-hint") ?? "",
    source: ids.get("source") ?? "",
  };
}

function toDatapath(row: Row): DatapathBinding {
  const ids = mapOf(row, "external_ids");
  const router = ids.get("logical-router");
  return {
    id: text(row, "_uuid"),
    name: ids.get("name") ?? "",
    key: integer(row, "tunnel_key", 0xff_ffff),
    kind: router === undefined ? "switch" : "router",
    northbound: router ?? ids.get("logical-switch") ?? "",
    hasSourceZone: ids.has("snat-ct-zone"),
  };
}

/** OVN_MCAST_DEFAULT_MAX_ENTRIES, OVN_MCAST_DEFAULT_IDLE_TIMEOUT_S (lib/ip-mcast-index.h of OVN). */
const [GROUPS_MAX, IDLE_SECONDS] = [2_048, 300];

function toMulticast(row: Row): readonly MulticastSettings[] {
  if (listOf(row.get("enabled"))[0] !== true) return [];
  const number = (column: string, absent: number): number => Number(listOf(row.get(column))[0] ?? absent);
  return [
    {
      datapath: text(row, "datapath"),
      groupsMax: number("table_size", GROUPS_MAX),
      idleSeconds: number("idle_timeout", IDLE_SECONDS),
      flushes: number("seq_no", 0),
    },
  ];
}

function toMacBinding(row: Row): MacBinding {
  return { port: text(row, "logical_port"), ip: text(row, "ip"), mac: text(row, "mac") };
}

/** Static bindings stand last, where they win, unless what was learned goes before them. */
function toMacBindings(learned: readonly Row[], fixed: readonly Row[]): readonly MacBinding[] {
  const winning = fixed.filter((row) => row.get("override_dynamic_mac") === true);
  const losing = fixed.filter((row) => row.get("override_dynamic_mac") !== true);
  return [...losing, ...learned, ...winning].map((row) => toMacBinding(row));
}

function toChassis(rows: readonly Row[], encaps: readonly Row[]): readonly ChassisBinding[] {
  const ends = new Map(
    encaps.map((row): [string, Encapsulation] => {
      const wantsChecksum = mapOf(row, "options").get("csum") === "true";
      return [text(row, "_uuid"), { type: text(row, "type"), ip: text(row, "ip"), wantsChecksum }];
    }),
  );
  return rows.map((row) => ({
    id: text(row, "_uuid"),
    name: text(row, "name"),
    encapsulations: texts(row, "encaps").flatMap((id) => ends.get(id) ?? []),
  }));
}

function toPort(row: Row): PortBinding {
  return {
    name: text(row, "logical_port"),
    datapath: text(row, "datapath"),
    type: text(row, "type"),
    key: integer(row, "tunnel_key", 32_767),
    options: mapOf(row, "options"),
    portSecurity: texts(row, "port_security"),
    mac: texts(row, "mac"),
    chassis: texts(row, "chassis")[0] ?? "",
  };
}

/** An address set, or a group of ports. @throws OvsdbError */
export function toNamedSet(row: Row, column: "addresses" | "ports"): NamedSet {
  return { name: text(row, "name"), members: texts(row, column) };
}

/** What there is besides flows and sets: little beside them, and read as a whole. */
export type SouthboundLayout = Omit<Southbound, "flows" | "addressSets" | "portGroups">;

/** @throws OvsdbError */
export function toLayout(tables: OvsdbTables): SouthboundLayout {
  const rows = (name: string): readonly Row[] => tables.get(name) ?? [];
  const portNames = new Map(
    rows("Port_Binding").map((row) => [text(row, "_uuid"), text(row, "logical_port")]),
  );
  return {
    datapaths: rows("Datapath_Binding").map((row) => toDatapath(row)),
    ports: rows("Port_Binding").map((row) => toPort(row)),
    groups: rows("Multicast_Group").map((row) => ({
      name: text(row, "name"),
      datapath: text(row, "datapath"),
      key: integer(row, "tunnel_key", 65_535),
      members: texts(row, "ports").flatMap((port) => portNames.get(port) ?? []),
    })),
    macBindings: toMacBindings(rows("MAC_Binding"), rows("Static_MAC_Binding")),
    loadBalancers: rows("Load_Balancer").map((row) => ({
      name: text(row, "name"),
      vips: mapOf(row, "vips"),
      protocol: texts(row, "protocol")[0] ?? "tcp",
      options: mapOf(row, "options"),
    })),
    chassis: toChassis(rows("Chassis"), rows("Encap")),
    dns: rows("DNS").map((row) => ({ datapaths: texts(row, "datapaths"), records: mapOf(row, "records") })),
    multicast: rows("IP_Multicast").flatMap((row) => toMulticast(row)),
    variables: rows("Chassis_Template_Var").map((row) => ({
      chassis: text(row, "chassis"),
      values: mapOf(row, "variables"),
    })),
    fdb: rows("FDB").map((row) => ({
      datapathKey: integer(row, "dp_key", 0xff_ffff),
      portKey: integer(row, "port_key", 0xff_ffff),
      mac: text(row, "mac"),
    })),
  };
}

/** The rows of a southbound database. Tables that it lacks are empty. @throws OvsdbError */
export function toSouthbound(tables: OvsdbTables): Southbound {
  const rows = (name: string): readonly Row[] => tables.get(name) ?? [];
  const groups = toDatapathGroups(rows("Logical_DP_Group"));
  return {
    ...toLayout(tables),
    flows: rows("Logical_Flow").map((row) => toFlow(row, groups)),
    addressSets: rows("Address_Set").map((row) => toNamedSet(row, "addresses")),
    portGroups: rows("Port_Group").map((row) => toNamedSet(row, "ports")),
  };
}
