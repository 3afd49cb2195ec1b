/** Datapaths and ports of the southbound database: what is there of the northbound one, with the keys that packets carry. */
import { type OvsdbRow, type OvsdbValue, mapOf, setOf } from "#contracts/ovsdb/client.ts";
import type { Replica } from "../replica.ts";
import { type WantedRows, reference, uuidOf } from "../wanted-rows.ts";
import {
  type LogicalRouter,
  type LogicalSwitch,
  type NorthboundObjects,
  type RouterPort,
  type SwitchPort,
  numberOf,
  textOf,
} from "./objects.ts";
import { isGateway, isRedirected } from "./router-flows.ts";

/** Groups that every switch with ports has (ovn-northd: `_MC_…`). */
const FLOOD = { name: "_MC_flood", key: 32_768 };
const UNKNOWN = { name: "_MC_unknown", key: 32_769 };
const FLOOD_L2 = { name: "_MC_flood_l2", key: 32_772 };

/** Keys that go on belonging to what has them; new ones are the lowest that are free. */
class Keys {
  private readonly taken = new Set<number>();
  private next = 1;

  keep(key: number): void {
    this.taken.add(key);
  }

  draw(): number {
    while (this.taken.has(this.next)) this.next += 1;
    this.taken.add(this.next);
    return this.next;
  }
}

interface WantedPort {
  readonly name: string;
  readonly type: string;
  readonly options: ReadonlyMap<string, string>;
  readonly mac: readonly string[];
  readonly portSecurity: readonly string[];
  readonly natAddresses: readonly string[];
  readonly externalIds: OvsdbValue | undefined;
  readonly requested: string | undefined;
}

type Sort = "router" | "switch";

function portOfSwitch(port: SwitchPort, routers: readonly LogicalRouter[]): WantedPort {
  const { name, type, options, addresses, portSecurity } = port;
  const peer = options.get("router-port");
  const router = routers.find(({ ports }) => ports.some((each) => each.name === peer));
  const chassis = router?.options.get("chassis");
  const requested = options.get("requested-chassis");
  const common = { name, mac: addresses, portSecurity, externalIds: undefined, requested };
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
  return [own, { ...common, name: `cr-${port.name}`, type: "chassisredirect", options: redirect }];
}

export class Bindings {
  private readonly southbound: Replica;
  private readonly northbound: Replica;
  private readonly wanted: WantedRows;
  /** Names of chassis, and of their hosts, to UUIDs. */
  private readonly chassis = new Map<string, string>();
  private readonly datapathKeys = new Keys();

  constructor(northbound: Replica, southbound: Replica, wanted: WantedRows) {
    this.northbound = northbound;
    this.southbound = southbound;
    this.wanted = wanted;
    for (const [id, row] of southbound.rows("Chassis"))
      for (const name of [textOf(row, "hostname"), textOf(row, "name")])
        if (name !== "") this.chassis.set(name, id);
    for (const row of southbound.rows("Datapath_Binding").values())
      this.datapathKeys.keep(numberOf(row, "tunnel_key"));
  }

  /** Wants the rows of all switches and routers. @returns the key of each datapath, by the northbound UUID */
  put({ switches, routers }: NorthboundObjects): ReadonlyMap<string, number> {
    const keys = new Map<string, number>();
    for (const router of routers) {
      const ports = router.ports.flatMap((port) => portsOfRouter(router, port));
      keys.set(router.id, this.putDatapath("router", router, ports));
      for (const port of router.ports) this.putGateways(port);
    }
    for (const each of switches) {
      const ports = each.ports.map((port) => ({
        ...portOfSwitch(port, routers),
        externalIds: this.northbound.rows("Logical_Switch_Port").get(port.id)?.["external_ids"],
      }));
      keys.set(each.id, this.putDatapath("switch", each, ports));
      this.putGroups(each);
    }
    return keys;
  }

  private putDatapath(sort: Sort, of: LogicalSwitch | LogicalRouter, ports: readonly WantedPort[]): number {
    const id = datapathOf(of.id);
    const known = this.southbound.rows("Datapath_Binding").get(id);
    const key = known === undefined ? this.datapathKeys.draw() : numberOf(known, "tunnel_key");
    const zone = "options" in of ? of.options.get("snat-ct-zone") : undefined;
    const ids = {
      [`logical-${sort}`]: of.id,
      name: of.name,
      ...(zone === undefined ? {} : { "snat-ct-zone": zone }),
    };
    this.wanted.put("Datapath_Binding", of.id, { tunnel_key: key, external_ids: mapOf(ids) });
    const keys = new Keys();
    const rows = this.southbound.rows("Port_Binding");
    for (const { name } of ports) {
      const row = rows.get(portOf(name));
      if (row !== undefined) keys.keep(numberOf(row, "tunnel_key"));
    }
    for (const port of ports) this.putPort(id, port, rows.get(portOf(port.name)), keys);
    return key;
  }

  private putPort(datapath: string, port: WantedPort, known: OvsdbRow | undefined, keys: Keys): void {
    const requested = port.requested === undefined ? undefined : this.chassis.get(port.requested);
    this.wanted.put("Port_Binding", port.name, {
      logical_port: port.name,
      datapath: reference(datapath),
      tunnel_key: known === undefined ? keys.draw() : numberOf(known, "tunnel_key"),
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

/** UUIDs of the southbound rows. */
export function datapathOf(northboundId: string): string {
  return uuidOf("Datapath_Binding", northboundId);
}

export function portOf(name: string): string {
  return uuidOf("Port_Binding", name);
}
