// What agents of OVN do with what cannot be right: routers that route to one another, chassis that are there twice.
import { describe, expect, it } from "vitest";
import type { OvsdbOperation, OvsdbRow } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { rowsOfTables } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { type ChassisSettings, OvnController } from "#programs/ovn/controller.ts";
import { Northd } from "#programs/ovn/northd/northd.ts";
import { LogicalWorld } from "#test/support/dataplane/logical-world.ts";

const set = (...names: readonly string[]): OvsdbRow[string] => [
  "set",
  names.map((name) => ["named-uuid", name] as const),
];

const POD = "0a:58:0a:80:01:05";
const macOf = (router: number, port: number): string => `0a:58:00:00:0${router}:0${port}`;

function row(table: string, name: string, fields: OvsdbRow): OvsdbOperation {
  return { op: "insert", table, "uuid-name": name, row: { name, ...fields } };
}

/** pod – (left) – r1 – (join) – r2, and each router has the other for all that it does not know. */
function circle(): readonly OvsdbOperation[] {
  const behind = (name: string, port: string): OvsdbOperation =>
    row("Logical_Switch_Port", name, {
      type: "router",
      addresses: "router",
      options: ["map", [["router-port", port]]],
    });
  const route = (name: string, nexthop: string): OvsdbOperation => ({
    op: "insert",
    table: "Logical_Router_Static_Route",
    "uuid-name": name,
    row: { ip_prefix: "0.0.0.0/0", nexthop },
  });
  return [
    { op: "insert", table: "NB_Global", row: { nb_cfg: 1 } },
    row("Logical_Switch_Port", "pod", { addresses: `${POD} 10.128.1.5` }),
    behind("left_r1", "r1_left"),
    behind("join_r1", "r1_join"),
    behind("join_r2", "r2_join"),
    row("Logical_Switch", "left", { ports: set("pod", "left_r1") }),
    row("Logical_Switch", "join", { ports: set("join_r1", "join_r2") }),
    row("Logical_Router_Port", "r1_left", { mac: macOf(1, 1), networks: "10.128.1.1/24" }),
    row("Logical_Router_Port", "r1_join", { mac: macOf(1, 2), networks: "100.64.0.1/16" }),
    row("Logical_Router_Port", "r2_join", { mac: macOf(2, 1), networks: "100.64.0.2/16" }),
    route("to_r2", "100.64.0.2"),
    route("to_r1", "100.64.0.1"),
    row("Logical_Router", "r1", { ports: set("r1_left", "r1_join"), static_routes: set("to_r2") }),
    row("Logical_Router", "r2", { ports: set("r2_join"), static_routes: set("to_r1") }),
  ];
}

describe("routers that route to one another", () => {
  async function world(): Promise<LogicalWorld> {
    const [nb, sb] = [new MemoryDatabase(OVN_NORTHBOUND, "loop"), new MemoryDatabase(OVN_SOUTHBOUND, "loop")];
    nb.transact(circle());
    const northd = await Northd.start(nb.client(), sb.client());
    await northd.sync();
    return new LogicalWorld(toSouthbound(rowsOfTables(sb)));
  }
  const asked = {
    inport: "pod",
    from: POD,
    to: macOf(1, 1),
    source: "10.128.1.5",
    destination: "203.0.113.9",
  };

  // RFC 1812, 5.3.1: each router takes one of the hops, and the one that takes the last tells the sender.
  it.each([
    [1, "10.128.1.1"],
    [2, "100.64.0.2"],
  ])("end a packet with %i hops left, and the sender hears it from %s", async (ttl, router) => {
    const endings = (await world()).send({ ...asked, ttl });
    expect(endings).toEqual([expect.stringMatching(`^pod: ${router} > 10\\.128\\.1\\.5 icmp 11/0 ttl `)]);
  });

  // The first router says it to the second, which sends it back: there it has an address of the router (CP-O22).
  it("end a packet whose last hop is the first router's again, and the sender hears nothing", async () => {
    const endings = (await world()).send({ ...asked, ttl: 3 });
    expect(endings).toEqual([expect.stringMatching(/^drop: lr_in_ip_input, priority 100, /)]);
  });

  it("end one with as many as there can be, and it goes nowhere else", async () => {
    const endings = (await world()).send({ ...asked, ttl: 255 });
    expect(endings).toEqual([
      expect.stringMatching(/^loop: the packet goes round between logical datapaths/),
    ]);
  });
});

describe("a chassis that is there already", () => {
  const OWN: ChassisSettings = {
    name: "win-1",
    hostname: "win-1.example",
    encapsulation: "geneve",
    address: "10.0.0.11",
    bridgeMappings: "",
  };
  async function second(settings: Partial<ChassisSettings>): Promise<string | undefined> {
    const sb = new MemoryDatabase(OVN_SOUTHBOUND, "twice");
    expect(await (await OvnController.start(sb.client(), OWN)).register()).toBeUndefined();
    const refused = await (await OvnController.start(sb.client(), { ...OWN, ...settings })).register();
    expect(sb.rowsOf("Chassis").size).toBe(1);
    return refused;
  }

  it("is our own after a restart", async () => {
    expect(await second({})).toBeUndefined();
  });

  it.each([
    ["another address", { address: "10.0.0.12" }],
    ["another host", { hostname: "win-9.example" }],
    ["another encapsulation", { encapsulation: "stt" }],
  ] as const)("is not taken over under its name by %s", async (_, settings) => {
    expect(await second(settings)).toBe(
      "the chassis win-1 is registered by host win-1.example with geneve 10.0.0.11: give this one another system-id, " +
        "or remove the other with ovn-sbctl chassis-del win-1",
    );
  });

  // Encap has an index over type and address (ovn-sb(5)).
  it("keeps its address of the encapsulation: the database refuses a second one", async () => {
    expect(await second({ name: "win-2" })).toMatch(/^constraint violation: .*Encap/);
  });
});
