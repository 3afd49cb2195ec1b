// Rows that a chassis writes about packets that it has met, as ovn-controller 23.03 does (controller/pinctrl.c; ovn-sb(5)).
import { describe, expect, it } from "vitest";
import type { OvsdbOperation, OvsdbRow } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { ChassisReporter, type MetPackets } from "./chassis-reports.ts";

const NOTHING: MetPackets = { virtualPorts: new Map(), events: [], groups: [] };
const EVENT = { vip: "10.96.0.11:80", protocol: "tcp", loadBalancer: "lb-1" };

function chassis(name: string, ip: string): readonly OvsdbOperation[] {
  return [
    {
      op: "insert",
      table: "Encap",
      "uuid-name": `e${name}`,
      row: { type: "geneve", ip, chassis_name: name },
    },
    { op: "insert", table: "Chassis", row: { name, encaps: ["named-uuid", `e${name}`] } },
  ];
}

function port(name: string, key: number, type = ""): OvsdbOperation {
  return {
    op: "insert",
    table: "Port_Binding",
    row: { logical_port: name, type, tunnel_key: key, datapath: ["named-uuid", "dp"] },
  };
}

async function world() {
  const sb = new MemoryDatabase(OVN_SOUTHBOUND, "reports");
  sb.transact([
    { op: "insert", table: "Datapath_Binding", "uuid-name": "dp", row: { tunnel_key: 1 } },
    port("a", 1),
    port("b", 2),
    port("vip", 3, "virtual"),
    ...chassis("one", "192.0.2.1"),
    ...chassis("two", "192.0.2.2"),
  ]);
  const idOf = (table: string, column: string, value: string): string =>
    [...sb.rowsOf(table)].find(([, row]) => row[column] === value)?.[0] ?? "";
  const rows = (table: string): readonly OvsdbRow[] => [...sb.rowsOf(table).values()];
  const [datapath = ""] = sb.rowsOf("Datapath_Binding").keys();
  const start = (name: string): Promise<ChassisReporter> => ChassisReporter.start(sb.client(), name);
  return { sb, idOf, rows, datapath, start };
}

describe("virtual ports", () => {
  it("are claimed with the parent that answered, and taken over by the chassis where it answers next", async () => {
    const { start, rows, idOf } = await world();
    const vip = (): OvsdbRow | undefined => rows("Port_Binding").find((row) => row["logical_port"] === "vip");
    const [one, two] = [await start("one"), await start("two")];
    expect(await one.report({ ...NOTHING, virtualPorts: new Map([["vip", "a"]]) })).toBeUndefined();
    expect(vip()).toMatchObject({ chassis: ["uuid", idOf("Chassis", "name", "one")], virtual_parent: "a" });
    await two.report({ ...NOTHING, virtualPorts: new Map([["vip", "b"]]) });
    expect(vip()).toMatchObject({ chassis: ["uuid", idOf("Chassis", "name", "two")], virtual_parent: "b" });
  });

  it.each([
    ["of another type", "a", "b"],
    ["behind an unknown port", "vip", "nobody"],
    ["that is unknown", "nothing", "a"],
  ])("%s are left alone", async (_, name, parent) => {
    const { start, sb } = await world();
    const before = sb.revision;
    await (await start("one")).report({ ...NOTHING, virtualPorts: new Map([[name, parent]]) });
    expect(sb.revision).toBe(before);
  });
});

describe("events", () => {
  it("are rows of Controller_Event with rising numbers, each once until somebody removes it", async () => {
    const { start, rows, sb, idOf } = await world();
    const one = await start("one");
    const other = { ...EVENT, vip: "10.96.0.12:80" };
    await one.report({ ...NOTHING, events: [EVENT] });
    await one.report({ ...NOTHING, events: [EVENT, other] });
    const info = (vip: string): unknown => [
      "map",
      expect.arrayContaining([
        ["vip", vip],
        ["protocol", "tcp"],
        ["load_balancer", "lb-1"],
      ]),
    ];
    const own = { event_type: "empty_lb_backends", chassis: ["uuid", idOf("Chassis", "name", "one")] };
    expect(rows("Controller_Event")).toMatchObject([
      { ...own, seq_num: 1, event_info: info(EVENT.vip) },
      { ...own, seq_num: 2, event_info: info(other.vip) },
    ]);
    sb.transact([{ op: "delete", table: "Controller_Event", where: [["seq_num", "==", 1]] }]);
    await one.report({ ...NOTHING, events: [EVENT] });
    expect(rows("Controller_Event").map((row) => row["seq_num"])).toEqual([2, 3]);
  });

  it("of each chassis are its own", async () => {
    const { start, rows } = await world();
    for (const name of ["one", "two"]) await (await start(name)).report({ ...NOTHING, events: [EVENT] });
    expect(rows("Controller_Event")).toHaveLength(2);
  });

  it("of a chassis that nobody has registered are not written", async () => {
    const { start, rows } = await world();
    await (await start("three")).report({ ...NOTHING, events: [EVENT] });
    expect(rows("Controller_Event")).toEqual([]);
  });
});

describe("multicast groups", () => {
  it("have the ports that are members now, and go with the last", async () => {
    const { start, rows, idOf, datapath } = await world();
    const [one, two] = [await start("one"), await start("two")];
    const group = (...ports: readonly string[]) => ({ datapath, address: "239.1.1.1", ports });
    const portsOf = (): readonly unknown[] => rows("IGMP_Group").map((row) => row["ports"]);
    const id = (name: string) => ["uuid", idOf("Port_Binding", "logical_port", name)];
    await one.report({ ...NOTHING, groups: [group("a")] });
    expect(rows("IGMP_Group")).toMatchObject([
      {
        address: "239.1.1.1",
        datapath: ["uuid", datapath],
        chassis: ["uuid", idOf("Chassis", "name", "one")],
      },
    ]);
    expect(portsOf()).toEqual([id("a")]);
    await one.report({ ...NOTHING, groups: [group("a", "b")] });
    expect(portsOf()).toEqual([["set", expect.arrayContaining([id("a"), id("b")])]]);
    await two.report({ ...NOTHING, groups: [group("b")] });
    expect(rows("IGMP_Group")).toHaveLength(2);
    await one.report(NOTHING);
    expect(portsOf()).toEqual([id("b")]);
  });
});
