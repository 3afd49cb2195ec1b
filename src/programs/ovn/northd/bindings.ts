/** Datapaths and ports of the southbound database: what is there of the northbound one, with the keys that packets carry. */
import { type OvsdbValue, mapOf, setOf } from "#contracts/ovsdb/client.ts";
import type { Replica } from "../replica.ts";
import { type WantedRows, reference, uuidOf } from "../wanted-rows.ts";
import {
  type LogicalRouter,
  type LogicalSwitch,
  type NorthboundObjects,
  type RouterPort,
  type SwitchPort,
  numberOf,
  requestedKey,
  textOf,
} from "./objects.ts";
import { isRedirected } from "./distributed-translation-flows.ts";
import { isGateway } from "./router-flows.ts";

/** Groups that every switch with ports has (ovn-northd: `_MC_…`). */
const FLOOD = { name: "_MC_flood", key: 32_768 };
const UNKNOWN = { name: "_MC_unknown", key: 32_769 };
const FLOOD_L2 = { name: "_MC_flood_l2", key: 32_772 };

/** What a key is given to: the one it asks for, and the one that it has (0: none). */
interface Keyed {
  readonly name: string;
  readonly requested: number | undefined;
  readonly known: number;
  readonly max: number;
}

/**
 * Keys by name. Who asks for one gets it, the first of two that ask for the same; the others keep what they have, and new ones get
 * the lowest that is free (ovn-nb(5), `requested-tnl-key`).
 */
function assignKeys(all: readonly Keyed[]): ReadonlyMap<string, number> {
  const keys = new Map<string, number>();
  const taken = new Set<number>();
  const give = ({ name, max }: Keyed, key: number): void => {
    if (key === 0 || key > max || taken.has(key) || keys.has(name)) return;
    keys.set(name, key);
    taken.add(key);
  };
  for (const each of all) give(each, each.requested ?? 0);
  for (const each of all) give(each, each.known);
  let next = 1;
  for (const each of all) {
    while (taken.has(next)) next += 1;
    give(each, next);
  }
  return keys;
}

/** Bits of a key: of a datapath, with VXLAN anywhere, of a port (control-planes.md §4.3, key ranges). */
const DATAPATH_KEY_MAX = 0xff_ffff;
const VXLAN_DATAPATH_KEY_MAX = 4_095;
const PORT_KEY_MAX = 32_767;

interface WantedPort {
  readonly name: string;
  readonly type: string;
  readonly options: ReadonlyMap<string, string>;
  readonly mac: readonly string[];
  readonly portSecurity: readonly string[];
  readonly natAddresses: readonly string[];
  readonly externalIds: OvsdbValue | undefined;
  readonly requested: string | undefined;
  readonly requestedKey: number | undefined;
}

type Sort = "router" | "switch";

function portOfSwitch(port: SwitchPort, routers: readonly LogicalRouter[]): WantedPort {
  const { name, type, options, addresses, portSecurity } = port;
  const peer = options.get("router-port");
  const router = routers.find(({ ports }) => ports.some((each) => each.name === peer));
  const chassis = router?.options.get("chassis");
  const requested = options.get("requested-chassis");
  const key = { requestedKey: requestedKey(options) };
  const common = { name, mac: addresses, portSecurity, externalIds: undefined, requested, ...key };
  if (type !== "router" || peer === undefined) return { ...common, type, options, natAddresses: [] };
  const nat =
    options.get("nat-addresses") === "router" ? port.ends.map(({ mac, ips }) => [mac, ...ips].join(" ")) : [];
  const own = new Map([
    ["peer", peer],
    ...(chassis === undefined ? [] : [["l3gateway-chassis", chassis] as const]),
  ]);
  return { ...common, type: chassis === undefined ? "patch" : "l3gateway", options: own, natAddresses: nat };
}

function portsOfRouter(router: LogicalRouter, port: RouterPort): readonly WantedPort[] {
  const chassis = router.options.get("chassis");
  const common = {
    mac: [`${port.mac} ${port.networks.map(({ ip, prefix }) => `${ip}/${prefix.length}`).join(" ")}`],
    portSecurity: [],
    natAddresses: [],
    externalIds: undefined,
    requested: undefined,
    requestedKey: requestedKey(port.options),
  };
  const options = new Map([
    ...(port.peer === undefined ? [] : [["peer", port.peer] as const]),
    ...(chassis === undefined ? [] : [["l3gateway-chassis", chassis] as const]),
    ...(isRedirected(port) ? [["chassis-redirect-port", `cr-${port.name}`] as const] : []),
  ]);
  const own: WantedPort = {
    ...common,
    name: port.name,
    type: isGateway(router) ? "l3gateway" : "patch",
    options,
  };
  if (!isRedirected(port)) return [own];
  const redirect = new Map([
    ["distributed-port", port.name],
    ["always-redirect", "true"],
  ]);
  const cr = { name: `cr-${port.name}`, type: "chassisredirect", options: redirect, requestedKey: undefined };
  return [own, { ...common, ...cr }];
}

export class Bindings {
  private readonly southbound: Replica;
  private readonly northbound: Replica;
  private readonly wanted: WantedRows;
  /** Names of chassis, and of their hosts, to UUIDs. */
  private readonly chassis = new Map<string, string>();

  constructor(northbound: Replica, southbound: Replica, wanted: WantedRows) {
    this.northbound = northbound;
    this.southbound = southbound;
    this.wanted = wanted;
    for (const [id, row] of southbound.rows("Chassis"))
      for (const name of [textOf(row, "hostname"), textOf(row, "name")])
        if (name !== "") this.chassis.set(name, id);
  }

  /** Wants the rows of all switches and routers. @returns the key of each datapath, by the northbound UUID */
  put({ switches, routers }: NorthboundObjects): ReadonlyMap<string, number> {
    const keys = this.datapathKeys([...routers, ...switches]);
    for (const router of routers) {
      const ports = router.ports.flatMap((port) => portsOfRouter(router, port));
      this.putDatapath("router", router, keys.get(router.id) ?? 0, ports);
      for (const port of router.ports) this.putGateways(port);
    }
    for (const each of switches) {
      const ports = each.ports.map((port) => ({
        ...portOfSwitch(port, routers),
        externalIds: this.northbound.rows("Logical_Switch_Port").get(port.id)?.["external_ids"],
      }));
      this.putDatapath("switch", each, keys.get(each.id) ?? 0, ports);
      this.putGroups(each);
    }
    return keys;
  }

  private datapathKeys(all: readonly (LogicalSwitch | LogicalRouter)[]): ReadonlyMap<string, number> {
    const hasVxlan = [...this.southbound.rows("Encap").values()].some((row) => row["type"] === "vxlan");
    const rows = this.southbound.rows("Datapath_Binding");
    const keyed = all.map((each) => {
      const requested = requestedKey("options" in each ? each.options : each.otherConfig);
      const row = rows.get(datapathOf(each.id));
      // The key of a transit switch is that of other zones, too: northd 23.03 leaves it as it is beside VXLAN.
      const isShort = hasVxlan && transitOf(each) === undefined;
      const max = isShort ? VXLAN_DATAPATH_KEY_MAX : DATAPATH_KEY_MAX;
      return { name: each.id, requested, known: row === undefined ? 0 : numberOf(row, "tunnel_key"), max };
    });
    return assignKeys(keyed);
  }

  private putDatapath(
    sort: Sort,
    of: LogicalSwitch | LogicalRouter,
    key: number,
    ports: readonly WantedPort[],
  ): void {
    const id = datapathOf(of.id);
    const zone = "options" in of ? of.options.get("snat-ct-zone") : undefined;
    const transit = transitOf(of);
    const ids = {
      [`logical-${sort}`]: of.id,
      name: of.name,
      ...(transit === undefined ? {} : { "interconn-ts": transit }),
      ...(zone === undefined ? {} : { "snat-ct-zone": zone }),
    };
    this.wanted.put("Datapath_Binding", of.id, { tunnel_key: key, external_ids: mapOf(ids) });
    const rows = this.southbound.rows("Port_Binding");
    const keyed = ports.map(({ name, requestedKey: requested }) => {
      const row = rows.get(portOf(name));
      const known = row === undefined ? 0 : numberOf(row, "tunnel_key");
      return { name, requested, known, max: PORT_KEY_MAX };
    });
    const keys = assignKeys(keyed);
    for (const port of ports) this.putPort(id, port, keys.get(port.name) ?? 0);
  }

  private putPort(datapath: string, port: WantedPort, key: number): void {
    const requested = port.requested === undefined ? undefined : this.chassis.get(port.requested);
    this.wanted.put("Port_Binding", port.name, {
      logical_port: port.name,
      datapath: reference(datapath),
      tunnel_key: key,
      type: port.type,
      options: mapOf(Object.fromEntries(port.options)),
      mac: setOf(port.mac),
      port_security: setOf(port.portSecurity),
      nat_addresses: setOf(port.natAddresses),
      requested_chassis: setOf(requested === undefined ? [] : [reference(requested)]),
      ...(port.externalIds === undefined ? {} : { external_ids: port.externalIds }),
    });
  }

  private putGateways(port: RouterPort): void {
    if (!isRedirected(port)) return;
    const rows = port.gatewayChassis.map(({ chassis, priority }) => {
      const name = `${port.name}-${chassis}`;
      const found = this.chassis.get(chassis);
      return this.wanted.put("Gateway_Chassis", name, {
        name,
        priority,
        chassis: setOf(found === undefined ? [] : [reference(found)]),
      });
    });
    this.wanted.put("Port_Binding", `cr-${port.name}`, {
      ...this.wanted.get("Port_Binding", `cr-${port.name}`),
      gateway_chassis: setOf(rows.map(reference)),
    });
  }

  private putGroups({ id, ports }: LogicalSwitch): void {
    const datapath = datapathOf(id);
    const put = ({ name, key }: typeof FLOOD, members: readonly SwitchPort[]): void => {
      if (members.length === 0) return;
      this.wanted.put("Multicast_Group", `${id} ${name}`, {
        datapath: reference(datapath),
        name,
        tunnel_key: key,
        ports: setOf(members.map((port) => reference(portOf(port.name)))),
      });
    };
    put(FLOOD, ports);
    put(
      FLOOD_L2,
      ports.filter(({ type }) => type !== "router"),
    );
    put(
      UNKNOWN,
      ports.filter(({ hasUnknown }) => hasUnknown),
    );
  }
}

/** The name of a switch between zones (ovn-nb(5), `interconn-ts`). */
function transitOf(of: LogicalSwitch | LogicalRouter): string | undefined {
  return "otherConfig" in of ? of.otherConfig.get("interconn-ts") : undefined;
}

/** UUIDs of the southbound rows. */
export function datapathOf(northboundId: string): string {
  return uuidOf("Datapath_Binding", northboundId);
}

export function portOf(name: string): string {
  return uuidOf("Port_Binding", name);
}
