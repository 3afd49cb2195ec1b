/** Lists of what OVN consists of in a cluster, as tables: switches, routers, their ports, load balancers, ACLs and chassis. */
import type { OvnDatabaseName, OvnRow, OvnRows } from "#cluster/views/ovn-view.ts";
import { compareTexts, listOf, mapOf, referred, sorted, textOf } from "../ovn/rows.ts";
import type { Column, Listing } from "../table.ts";

/** Kinds of OVN that can be listed, as its own tables are called. */
export const OVN_KINDS = [
  "logicalswitches",
  "logicalrouters",
  "logicalswitchports",
  "logicalrouterports",
  "ovnloadbalancers",
  "acls",
  "chassis",
] as const;
export type OvnKind = (typeof OVN_KINDS)[number];

interface OvnListing {
  readonly database: OvnDatabaseName;
  readonly list: (rows: OvnRows) => Listing<OvnRow>;
}

const NAME: Column<OvnRow> = { title: "NAME", text: nameOf };
const UUID: Column<OvnRow> = { title: "UUID", isWide: true, text: (row) => textOf(row, "_uuid") };

function nameOf(row: OvnRow): string {
  return textOf(row, "name");
}

function join(texts: readonly string[]): string {
  return texts.join(",");
}

/** What has names. */
function listing(
  singular: string,
  plural: string,
  rows: readonly OvnRow[],
  columns: readonly Column<OvnRow>[],
): Listing<OvnRow> {
  return { singular, plural, rows, name: nameOf, columns };
}

/** How many a column names. */
function count(title: string, column: string): Column<OvnRow> {
  return { title, isRightAligned: true, text: (row) => String(listOf(row, column).length) };
}

/** By UUID of what a column names: the name of the row that names it. */
function ownersOf(rows: OvnRows, tables: readonly string[], column: string): ReadonlyMap<string, string> {
  const owners = tables.flatMap((table) => rows[table] ?? []);
  return new Map(owners.flatMap((row) => listOf(row, column).map((id) => [id, nameOf(row)] as const)));
}

function owner(title: string, owners: ReadonlyMap<string, string>): Column<OvnRow> {
  return { title, text: (row) => owners.get(textOf(row, "_uuid")) ?? "" };
}

/** The object of Kubernetes that ovn-kubernetes wrote a row for. */
function kubernetesObject(row: OvnRow): string {
  const ids = mapOf(row, "external_ids");
  const kind = ids["k8s.ovn.org/kind"] ?? ids["k8s.ovn.org/owner-type"];
  const name = ids["k8s.ovn.org/owner"] ?? ids["k8s.ovn.org/name"];
  if (kind !== undefined && name !== undefined) return `${kind} ${name}`;
  return ids["pod"] === "true" ? `Pod ${nameOf(row).replace("_", "/")}` : "";
}

const KUBERNETES: Column<OvnRow> = { title: "KUBERNETES OBJECT", text: kubernetesObject };

function switches(rows: OvnRows): Listing<OvnRow> {
  return listing("logicalswitch", "logical switches", sorted(rows, "Logical_Switch"), [
    NAME,
    { title: "SUBNET", text: (row) => mapOf(row, "other_config")["subnet"] ?? "" },
    count("PORTS", "ports"),
    count("ACLS", "acls"),
    {
      title: "LOAD BALANCERS",
      isRightAligned: true,
      text: (row) => String(loadBalancersOf(rows, row)),
    },
    UUID,
  ]);
}

/** Of a switch or router, by itself and by its groups. */
function loadBalancersOf(rows: OvnRows, row: OvnRow): number {
  const groups = referred(rows, row, "load_balancer_group", "Load_Balancer_Group");
  const all = [row, ...groups].flatMap((each) => listOf(each, "load_balancer"));
  return new Set(all).size;
}

function routers(rows: OvnRows): Listing<OvnRow> {
  return listing("logicalrouter", "logical routers", sorted(rows, "Logical_Router"), [
    NAME,
    { title: "CHASSIS", text: (row) => mapOf(row, "options")["chassis"] ?? "" },
    count("PORTS", "ports"),
    count("ROUTES", "static_routes"),
    count("POLICIES", "policies"),
    count("NAT", "nat"),
    {
      title: "LOAD BALANCERS",
      isRightAligned: true,
      text: (row) => String(loadBalancersOf(rows, row)),
    },
    UUID,
  ]);
}

function switchPorts(rows: OvnRows): Listing<OvnRow> {
  return listing("logicalswitchport", "ports of logical switches", sorted(rows, "Logical_Switch_Port"), [
    owner("SWITCH", ownersOf(rows, ["Logical_Switch"], "ports")),
    NAME,
    { title: "TYPE", text: (row) => textOf(row, "type") },
    { title: "ADDRESSES", text: (row) => join(listOf(row, "addresses")) },
    { title: "UP", text: (row) => (row["up"] === true ? "true" : "false") },
    { title: "PORT SECURITY", isWide: true, text: (row) => join(listOf(row, "port_security")) },
    { title: "ROUTER PORT", isWide: true, text: (row) => mapOf(row, "options")["router-port"] ?? "" },
    {
      title: "REQUESTED CHASSIS",
      isWide: true,
      text: (row) => mapOf(row, "options")["requested-chassis"] ?? "",
    },
    { ...KUBERNETES, isWide: true },
    UUID,
  ]);
}

function routerPorts(rows: OvnRows): Listing<OvnRow> {
  return listing("logicalrouterport", "ports of logical routers", sorted(rows, "Logical_Router_Port"), [
    owner("ROUTER", ownersOf(rows, ["Logical_Router"], "ports")),
    NAME,
    { title: "MAC", text: (row) => textOf(row, "mac") },
    { title: "NETWORKS", text: (row) => join(listOf(row, "networks")) },
    {
      title: "GATEWAY CHASSIS",
      text: (row) =>
        join(
          referred(rows, row, "gateway_chassis", "Gateway_Chassis").map((each) =>
            textOf(each, "chassis_name"),
          ),
        ),
    },
    UUID,
  ]);
}

/** `10.96.0.10:53 → 10.244.0.3:53,10.244.1.3:53`; without back ends the address alone. */
function balanced(row: OvnRow): string {
  return Object.entries(mapOf(row, "vips"))
    .map(([vip, backEnds]) => (backEnds === "" ? vip : `${vip} → ${backEnds}`))
    .join("; ");
}

function loadBalancers(rows: OvnRows): Listing<OvnRow> {
  return listing("ovnloadbalancer", "load balancers of OVN", sorted(rows, "Load_Balancer"), [
    NAME,
    { title: "PROTOCOL", text: (row) => textOf(row, "protocol") },
    { title: "ADDRESSES", text: balanced },
    { ...KUBERNETES, isWide: true },
    {
      title: "AFFINITY SECONDS",
      isWide: true,
      isRightAligned: true,
      text: (row) => mapOf(row, "options")["affinity_timeout"] ?? "",
    },
    UUID,
  ]);
}

function acls(rows: OvnRows): Listing<OvnRow> {
  const owners = ownersOf(rows, ["Logical_Switch", "Port_Group"], "acls");
  return {
    singular: "acl",
    plural: "ACLs of OVN",
    rows: (rows["ACL"] ?? []).toSorted(
      (a, b) =>
        compareTexts(textOf(a, "direction"), textOf(b, "direction")) ||
        Number(b["priority"]) - Number(a["priority"]) ||
        compareTexts(textOf(a, "match"), textOf(b, "match")),
    ),
    // Names of ACLs are for logs: many rows have none, and several may have one.
    name: (row) => nameOf(row) || textOf(row, "_uuid"),
    columns: [
      { title: "DIRECTION", text: (row) => textOf(row, "direction") },
      { title: "PRIORITY", isRightAligned: true, text: (row) => textOf(row, "priority") },
      { title: "ACTION", text: (row) => textOf(row, "action") },
      { title: "MATCH", text: (row) => textOf(row, "match") },
      KUBERNETES,
      { ...owner("ON", owners), isWide: true },
      { ...NAME, isWide: true },
      UUID,
    ],
  };
}

function chassis(rows: OvnRows): Listing<OvnRow> {
  const encapsulations = (row: OvnRow): readonly OvnRow[] => referred(rows, row, "encaps", "Encap", "type");
  return listing("chassis", "chassis", sorted(rows, "Chassis"), [
    NAME,
    { title: "HOSTNAME", text: (row) => textOf(row, "hostname") },
    {
      title: "ENCAPSULATION",
      text: (row) =>
        join(encapsulations(row).map((encap) => `${textOf(encap, "type")} ${textOf(encap, "ip")}`)),
    },
    {
      title: "PORTS",
      isRightAligned: true,
      text: (row) =>
        String((rows["Port_Binding"] ?? []).filter((port) => port["chassis"] === row["_uuid"]).length),
    },
    {
      title: "BRIDGE MAPPINGS",
      isWide: true,
      text: (row) => mapOf(row, "other_config")["ovn-bridge-mappings"] ?? "",
    },
    UUID,
  ]);
}

export const OVN_LISTINGS: Readonly<Record<OvnKind, OvnListing>> = {
  logicalswitches: { database: "nb", list: switches },
  logicalrouters: { database: "nb", list: routers },
  logicalswitchports: { database: "nb", list: switchPorts },
  logicalrouterports: { database: "nb", list: routerPorts },
  ovnloadbalancers: { database: "nb", list: loadBalancers },
  acls: { database: "nb", list: acls },
  chassis: { database: "sb", list: chassis },
};
