/** Rows of the northbound database as northd works with them. */
import { type OvsdbRow, membersOf, referencesOf, textsOf } from "#contracts/ovsdb/client.ts";
import {
  type Prefix,
  formatIp,
  lastIp,
  parseInterfaceAddress,
  parseIpv4,
  parsePrefix,
  prefixOf,
} from "#core/net/ip.ts";
import type { Replica } from "../replica.ts";

export interface SwitchPort {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly options: ReadonlyMap<string, string>;
  readonly isEnabled: boolean;
  readonly addresses: readonly string[];
  readonly portSecurity: readonly string[];
  /** MAC and IPv4 addresses of `addresses`; those of the router's port on the other side, where it is one. */
  readonly ends: readonly { readonly mac: string; readonly ips: readonly string[] }[];
  readonly hasUnknown: boolean;
}

export interface Acl {
  readonly id: string;
  readonly priority: number;
  readonly direction: string;
  readonly match: string;
  readonly action: string;
  readonly isAfterLb: boolean;
  readonly name: string;
  readonly hasLog: boolean;
  readonly severity: string;
  readonly label: number;
}

export interface Vip {
  readonly ip: string;
  /** 0: all ports. */
  readonly port: number;
  readonly backEnds: readonly string[];
}

export interface Balancer {
  readonly id: string;
  readonly name: string;
  readonly protocol: string;
  readonly vips: readonly Vip[];
  readonly rejects: boolean;
  readonly skipsSnat: boolean;
  /** Seconds; 0: clients do not stay with a back end. */
  readonly affinitySeconds: number;
  readonly options: ReadonlyMap<string, string>;
  readonly row: OvsdbRow;
}

export interface LogicalSwitch {
  readonly id: string;
  readonly name: string;
  readonly otherConfig: ReadonlyMap<string, string>;
  readonly ports: readonly SwitchPort[];
  readonly balancers: readonly Balancer[];
}

export interface RouterPort {
  readonly id: string;
  readonly name: string;
  readonly mac: string;
  /** Address and network: `10.0.1.1` in `10.0.1.0/24`. */
  readonly networks: readonly { readonly ip: string; readonly prefix: Prefix }[];
  readonly gatewayChassis: readonly {
    readonly id: string;
    readonly chassis: string;
    readonly priority: number;
  }[];
  readonly options: ReadonlyMap<string, string>;
  /** The port of a switch on the other side. */
  readonly peer: string | undefined;
}

export interface Route {
  readonly id: string;
  readonly prefix: Prefix;
  readonly isSource: boolean;
  readonly nextHop: string;
  readonly port: string | undefined;
}

export interface RouterPolicy {
  readonly id: string;
  readonly priority: number;
  readonly match: string;
  readonly action: string;
  readonly nextHops: readonly string[];
}

export interface Translation {
  readonly id: string;
  readonly type: string;
  readonly external: string;
  readonly logical: Prefix;
  /** With both, each chassis translates for its own pods (`dnat_and_snat` alone). */
  readonly logicalPort: string | undefined;
  readonly externalMac: string | undefined;
  /** Id of the port of the router where it is done, where there are several. */
  readonly gatewayPort: string | undefined;
}

export interface LogicalRouter {
  readonly id: string;
  readonly name: string;
  readonly options: ReadonlyMap<string, string>;
  readonly ports: readonly RouterPort[];
  readonly routes: readonly Route[];
  readonly policies: readonly RouterPolicy[];
  readonly translations: readonly Translation[];
  readonly balancers: readonly Balancer[];
}

export interface NorthboundObjects {
  readonly switches: readonly LogicalSwitch[];
  readonly routers: readonly LogicalRouter[];
}

export function textOf(row: OvsdbRow, column: string): string {
  const [value] = membersOf(row[column]);
  return typeof value === "string" ? value : "";
}

export function numberOf(row: OvsdbRow, column: string): number {
  const [value] = membersOf(row[column]);
  return typeof value === "number" ? value : 0;
}

export function listOf(row: OvsdbRow, column: string): readonly string[] {
  return membersOf(row[column]).map(String);
}

function rowsAt(
  replica: Replica,
  table: string,
  row: OvsdbRow,
  column: string,
): readonly (readonly [string, OvsdbRow])[] {
  const rows = replica.rows(table);
  return referencesOf(row[column]).flatMap((id) => {
    const found = rows.get(id);
    return found === undefined ? [] : [[id, found] as const];
  });
}

/** `0a:58:0a:80:01:05 10.128.1.5`. */
function endOf(address: string): { mac: string; ips: readonly string[] } | undefined {
  const [mac = "", ...ips] = address.split(" ").filter((word) => word !== "");
  if (!mac.includes(":")) return undefined;
  return { mac, ips: ips.map((ip) => ip.split("/")[0] ?? "").filter((ip) => parseIpv4(ip) !== undefined) };
}

function toRouterPort(
  replica: Replica,
  id: string,
  row: OvsdbRow,
  peers: ReadonlyMap<string, string>,
): RouterPort {
  const name = textOf(row, "name");
  return {
    id,
    name,
    mac: textOf(row, "mac"),
    networks: listOf(row, "networks").flatMap((text) => {
      const address = parseInterfaceAddress(text);
      if (address === undefined || typeof address.ip !== "number") return [];
      return [{ ip: formatIp(address.ip), prefix: prefixOf(address.ip, address.length) }];
    }),
    gatewayChassis: rowsAt(replica, "Gateway_Chassis", row, "gateway_chassis").map(([each, gateway]) => ({
      id: each,
      chassis: textOf(gateway, "chassis_name"),
      priority: numberOf(gateway, "priority"),
    })),
    options: textsOf(row["options"]),
    peer: peers.get(name),
  };
}

function toSwitchPort(id: string, row: OvsdbRow, routerPorts: ReadonlyMap<string, RouterPort>): SwitchPort {
  const options = textsOf(row["options"]);
  const addresses = listOf(row, "addresses");
  const router = routerPorts.get(options.get("router-port") ?? "");
  const ends = addresses.flatMap((address) => {
    if (address === "router" && router !== undefined)
      return [{ mac: router.mac, ips: router.networks.map(({ ip }) => ip) }];
    return endOf(address) ?? [];
  });
  return {
    id,
    name: textOf(row, "name"),
    type: textOf(row, "type"),
    options,
    isEnabled: membersOf(row["enabled"])[0] !== false,
    addresses,
    portSecurity: listOf(row, "port_security"),
    ends,
    hasUnknown: addresses.includes("unknown"),
  };
}

export function toAcl(id: string, row: OvsdbRow): Acl {
  return {
    id,
    priority: numberOf(row, "priority"),
    direction: textOf(row, "direction"),
    match: textOf(row, "match"),
    action: textOf(row, "action"),
    isAfterLb: textsOf(row["options"]).get("apply-after-lb") === "true",
    name: textOf(row, "name"),
    hasLog: row["log"] === true,
    severity: textOf(row, "severity"),
    label: numberOf(row, "label"),
  };
}

/** `10.96.0.10:80`; an address alone is all its ports. */
function toVip(text: string, backEnds: string): Vip | undefined {
  const [ip = "", port = "0", ...more] = text.split(":");
  if (parseIpv4(ip) === undefined || !/^\d{1,5}$/.test(port) || more.length > 0) return undefined;
  return { ip, port: Number(port), backEnds: backEnds.split(",").filter((each) => each !== "") };
}

function toBalancer(id: string, row: OvsdbRow): Balancer {
  const options = textsOf(row["options"]);
  return {
    id,
    name: textOf(row, "name"),
    protocol: textOf(row, "protocol") || "tcp",
    vips: [...textsOf(row["vips"])].flatMap(([vip, backEnds]) => toVip(vip, backEnds) ?? []),
    rejects: options.get("reject") === "true",
    skipsSnat: options.get("skip_snat") === "true",
    affinitySeconds: Number(options.get("affinity_timeout") ?? "0"),
    options,
    row,
  };
}

function balancersOf(replica: Replica, row: OvsdbRow): readonly Balancer[] {
  const groups = rowsAt(replica, "Load_Balancer_Group", row, "load_balancer_group");
  const found = new Map(
    [row, ...groups.map(([, group]) => group)].flatMap((holder) =>
      rowsAt(replica, "Load_Balancer", holder, "load_balancer"),
    ),
  );
  return [...found]
    .map(([id, balancer]) => toBalancer(id, balancer))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A network, or an address alone; undefined for what cannot be read, and for IPv6. */
function ipv4Prefix(text: string): Prefix | undefined {
  const prefix = parsePrefix(text.includes("/") ? text : `${text}/32`);
  return typeof prefix?.address === "number" ? prefix : undefined;
}

/** What of the northbound database no flow is written for, since it cannot be read or is not of IPv4: a line for each. */
export function leftOutOf(replica: Replica): readonly string[] {
  const balanced = [...replica.rows("Load_Balancer").values()].flatMap((row) =>
    [...textsOf(row["vips"])]
      .filter(([vip, backEnds]) => toVip(vip, backEnds) === undefined)
      .map(([vip]) => `load balancer ${textOf(row, "name")}: ${vip}`),
  );
  const others = (table: string, column: string, what: string): readonly string[] =>
    [...replica.rows(table).values()]
      .map((row) => textOf(row, column))
      .filter((text) => ipv4Prefix(text) === undefined)
      .map((text) => `${what} ${text}`);
  return [
    ...balanced,
    ...others("Logical_Router_Static_Route", "ip_prefix", "route to"),
    ...others("NAT", "logical_ip", "translation of"),
  ].map((what) => `northd writes no flow for ${what}: it is no IPv4 address`);
}

function toRouter(
  replica: Replica,
  id: string,
  row: OvsdbRow,
  ports: ReadonlyMap<string, RouterPort>,
): LogicalRouter {
  return {
    id,
    name: textOf(row, "name"),
    options: textsOf(row["options"]),
    ports: rowsAt(replica, "Logical_Router_Port", row, "ports").flatMap(
      ([, port]) => ports.get(textOf(port, "name")) ?? [],
    ),
    routes: rowsAt(replica, "Logical_Router_Static_Route", row, "static_routes").flatMap(([each, route]) => {
      const prefix = ipv4Prefix(textOf(route, "ip_prefix"));
      if (prefix === undefined) return [];
      const port = textOf(route, "output_port");
      const isSource = textOf(route, "policy") === "src-ip";
      return [
        {
          id: each,
          prefix,
          isSource,
          nextHop: textOf(route, "nexthop"),
          port: port === "" ? undefined : port,
        },
      ];
    }),
    policies: rowsAt(replica, "Logical_Router_Policy", row, "policies").map(([each, policy]) => ({
      id: each,
      priority: numberOf(policy, "priority"),
      match: textOf(policy, "match"),
      action: textOf(policy, "action"),
      nextHops: [...listOf(policy, "nexthops"), ...listOf(policy, "nexthop")],
    })),
    translations: rowsAt(replica, "NAT", row, "nat").flatMap(([each, nat]) => {
      const logical = ipv4Prefix(textOf(nat, "logical_ip"));
      if (logical === undefined) return [];
      const optional = (column: string): string | undefined => textOf(nat, column) || undefined;
      return [
        {
          id: each,
          type: textOf(nat, "type"),
          external: textOf(nat, "external_ip"),
          logical,
          logicalPort: optional("logical_port"),
          externalMac: optional("external_mac"),
          gatewayPort: referencesOf(nat["gateway_port"])[0],
        },
      ];
    }),
    balancers: balancersOf(replica, row),
  };
}

/** Whether the switch at a port of a router is on the wire. */
export function isOnWire({ switches }: Pick<NorthboundObjects, "switches">, { peer }: RouterPort): boolean {
  const beside = switches.find(({ ports }) => ports.some(({ name }) => name === peer));
  return beside?.ports.some(({ type }) => type === "localnet") ?? false;
}

/** Everything that flows are written for, but ACLs, groups of ports and sets of addresses. */
export function readNorthbound(replica: Replica): NorthboundObjects {
  const peers = new Map(
    [...replica.rows("Logical_Switch_Port").values()].flatMap((row) => {
      const port = textsOf(row["options"]).get("router-port");
      return port === undefined || textOf(row, "type") !== "router"
        ? []
        : [[port, textOf(row, "name")] as const];
    }),
  );
  const ports = new Map(
    [...replica.rows("Logical_Router_Port")].map(([id, row]) => [
      textOf(row, "name"),
      toRouterPort(replica, id, row, peers),
    ]),
  );
  const switches = [...replica.rows("Logical_Switch")].map(([id, row]) => {
    return {
      id,
      name: textOf(row, "name"),
      otherConfig: textsOf(row["other_config"]),
      ports: rowsAt(replica, "Logical_Switch_Port", row, "ports").map(([each, port]) =>
        toSwitchPort(each, port, ports),
      ),
      balancers: balancersOf(replica, row),
    };
  });
  const routers = [...replica.rows("Logical_Router")].map(([id, row]) => toRouter(replica, id, row, ports));
  const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
    a.name < b.name ? -1 : 1;
  return { switches: switches.toSorted(byName), routers: routers.toSorted(byName) };
}

/** The tunnel key that an object asks for; undefined when northd is to choose (ovn-nb(5), `requested-tnl-key`). */
export function requestedKey(options: ReadonlyMap<string, string>): number | undefined {
  const key = Number(options.get("requested-tnl-key") ?? "");
  return Number.isInteger(key) && key > 0 ? key : undefined;
}

/** The broadcast address of a network. */
export function broadcastOf(prefix: Prefix): string {
  return formatIp(lastIp(prefix));
}
