// What a real ovsdb-server 3.1 answered to the same operations (ovsdb-server(7), ovn-sb(5)).
import { describe, expect, it } from "vitest";
import { type OvsdbOperation, type OvsdbUpdates, errorOf, mapOf } from "./client.ts";
import { MemoryDatabase } from "./memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "./schema.ts";

function northbound(): MemoryDatabase {
  return new MemoryDatabase(OVN_NORTHBOUND, "test");
}

const SWITCH: OvsdbOperation = { op: "insert", table: "Logical_Switch", row: { name: "win1" } };
const BY_NAME = [["name", "==", "win1"]] as const;

function port(name: string): OvsdbOperation {
  return { op: "insert", table: "Logical_Switch_Port", row: { name }, "uuid-name": "p" };
}
const JOIN: OvsdbOperation = {
  op: "mutate",
  table: "Logical_Switch",
  where: BY_NAME,
  mutations: [["ports", "insert", ["named-uuid", "p"]]],
};

describe("rows of a transaction", () => {
  it("CP-O10: a port that no switch refers to is answered with a UUID, and is not there", () => {
    const database = northbound();
    const [result] = database.transact([port("default_a")]);
    expect(result?.uuid?.[1]).toMatch(/^[0-9a-f-]{36}$/);
    expect(database.rowsOf("Logical_Switch_Port").size).toBe(0);
    database.transact([SWITCH, port("default_a"), JOIN]);
    expect([...database.rowsOf("Logical_Switch_Port").values()]).toMatchObject([{ name: "default_a" }]);
    const remove = { op: "mutate", table: "Logical_Switch", where: BY_NAME } as const;
    const [id = ""] = database.rowsOf("Logical_Switch_Port").keys();
    database.transact([{ ...remove, mutations: [["ports", "delete", ["uuid", id]]] }]);
    expect(database.rowsOf("Logical_Switch_Port").size).toBe(0);
  });

  it("CP-O11: a column that this version of the schema has not fails its operation, and all of them", () => {
    const database = northbound();
    const acl = { priority: 1001, direction: "to-lport", match: "1", action: "allow", tier: 2 } as const;
    const results = database.transact([SWITCH, { op: "insert", table: "ACL", row: acl }, SWITCH]);
    expect(results).toMatchObject([
      { uuid: ["uuid", expect.any(String)] },
      { error: "unknown column", details: "No column tier in table ACL." },
      null,
    ]);
    expect(database.rowsOf("Logical_Switch").size).toBe(0);
  });

  it("CP-O34, CP-O38: a chassis without encapsulation fails at the commit, as one result more", () => {
    const database = new MemoryDatabase(OVN_SOUTHBOUND, "test");
    const results = database.transact([{ op: "insert", table: "Chassis", row: { name: "win1" } }]);
    expect(results).toHaveLength(2);
    expect(results[0]).toHaveProperty("uuid");
    expect(errorOf(results)).toMatchObject({ error: "referential integrity violation" });
    expect(database.rowsOf("Chassis").size).toBe(0);
  });

  it("a second chassis with the same encapsulation address is refused", () => {
    const database = new MemoryDatabase(OVN_SOUTHBOUND, "test");
    const register = (name: string): OvsdbOperation[] => [
      { op: "insert", table: "Encap", row: { type: "geneve", ip: "10.0.0.11" }, "uuid-name": "e" },
      { op: "insert", table: "Chassis", row: { name, encaps: ["named-uuid", "e"] } },
    ];
    expect(errorOf(database.transact(register("win1")))).toBeUndefined();
    expect(errorOf(database.transact(register("win2")))).toMatchObject({ error: "constraint violation" });
  });

  it("CP-O37: a wait that does not hold and may not wait fails the whole transaction", () => {
    const database = northbound();
    const wait = {
      op: "wait",
      timeout: 0,
      table: "Logical_Switch",
      where: BY_NAME,
      columns: ["name"],
    } as const;
    const results = database.transact([SWITCH, { ...wait, until: "==", rows: [] }]);
    expect(results).toMatchObject([{}, { error: "timed out" }]);
    expect(database.rowsOf("Logical_Switch").size).toBe(0);
    expect(errorOf(database.transact([{ ...wait, until: "==", rows: [] }, SWITCH]))).toBeUndefined();
  });

  it("CP-O39: inserting into a map leaves the value of a key that is there", () => {
    const database = northbound();
    const options = mapOf({ "requested-chassis": "win1" });
    database.transact([
      { op: "insert", table: "Logical_Switch", row: { name: "win1", other_config: options } },
    ]);
    const mutate = (mutations: Extract<OvsdbOperation, { op: "mutate" }>["mutations"]): void => {
      database.transact([{ op: "mutate", table: "Logical_Switch", where: BY_NAME, mutations }]);
    };
    const after = (): unknown => [...database.rowsOf("Logical_Switch").values()][0]?.["other_config"];
    mutate([["other_config", "insert", mapOf({ "requested-chassis": "win2", a: "1" })]]);
    expect(after()).toEqual(mapOf({ a: "1", "requested-chassis": "win1" }));
    mutate([
      ["other_config", "delete", ["set", ["requested-chassis"]]],
      ["other_config", "insert", mapOf({ "requested-chassis": "win2" })],
    ]);
    expect(after()).toEqual(mapOf({ a: "1", "requested-chassis": "win2" }));
  });

  it("CP-O43: a set of one is its bare atom both ways", () => {
    const database = northbound();
    const row = { name: "as", addresses: ["set", ["10.0.0.1"]] } as const;
    database.transact([{ op: "insert", table: "Address_Set", row }]);
    const select = { op: "select", table: "Address_Set", where: [], columns: ["addresses"] } as const;
    expect(database.transact([select])).toEqual([{ rows: [{ addresses: "10.0.0.1" }] }]);
    const where = [["addresses", "includes", "10.0.0.1"]] as const;
    const add = { op: "mutate", table: "Address_Set", where } as const;
    database.transact([{ ...add, mutations: [["addresses", "insert", "10.0.0.2"]] }]);
    expect(database.transact([select])).toEqual([
      { rows: [{ addresses: ["set", ["10.0.0.1", "10.0.0.2"]] }] },
    ]);
  });

  it("deleting a row clears weak references to it, and fails while a strong one is left", () => {
    const database = northbound();
    database.transact([
      { op: "insert", table: "Load_Balancer", row: { name: "lb" }, "uuid-name": "lb" },
      {
        op: "insert",
        table: "Load_Balancer_Group",
        row: { name: "g", load_balancer: ["named-uuid", "lb"] },
        "uuid-name": "g",
      },
      {
        op: "insert",
        table: "Logical_Switch",
        row: { name: "win1", load_balancer_group: ["named-uuid", "g"] },
      },
    ]);
    expect(
      errorOf(database.transact([{ op: "delete", table: "Load_Balancer_Group", where: [] }])),
    ).toMatchObject({
      error: "referential integrity violation",
    });
    database.transact([{ op: "delete", table: "Load_Balancer", where: [] }]);
    expect([...database.rowsOf("Load_Balancer_Group").values()]).toMatchObject([
      { load_balancer: ["set", []] },
    ]);
  });
});

describe("a monitor", () => {
  it("CP-O41: what a transaction changed is heard before its answer, and only what is asked for", async () => {
    const database = northbound();
    const client = database.client();
    await client.transact([SWITCH]);
    const heard: (OvsdbUpdates | string)[] = [];
    const monitor = await client.monitor({ Logical_Switch: ["name"] }, (updates) => heard.push(updates));
    const [id = ""] = database.rowsOf("Logical_Switch").keys();
    expect(heard).toEqual([{ Logical_Switch: { [id]: { new: { name: "win1" } } } }]);
    const update = (row: Record<string, string | readonly ["map", []]>): OvsdbOperation => ({
      op: "update",
      table: "Logical_Switch",
      where: [],
      row,
    });
    await client.transact([update({ name: "win2" })]).then(() => heard.push("answer"));
    await client.transact([update({ other_config: ["map", []] })]);
    expect(heard.slice(1)).toEqual([
      { Logical_Switch: { [id]: { old: { name: "win1" }, new: { name: "win2" } } } },
      "answer",
    ]);
    monitor.cancel();
    await client.transact([{ op: "delete", table: "Logical_Switch", where: [] }]);
    expect(heard).toHaveLength(3);
  });
});

describe("what is refused", () => {
  it.each<[string, OvsdbOperation, string]>([
    ["another table", { op: "insert", table: "Switch", row: {} }, "unknown table"],
    ["a text for a number", { op: "insert", table: "ACL", row: { priority: "1" } }, "syntax error"],
    [
      "a priority that is too high",
      { op: "insert", table: "ACL", row: { priority: 40_000 } },
      "constraint violation",
    ],
    [
      "an action that is none",
      { op: "insert", table: "ACL", row: { action: "pass" } },
      "constraint violation",
    ],
    [
      "a name of no row",
      { op: "insert", table: "Logical_Switch", row: { ports: ["named-uuid", "x"] } },
      "syntax error",
    ],
    [
      "a map for a text",
      { op: "insert", table: "Logical_Switch", row: { name: ["map", []] } },
      "syntax error",
    ],
    [
      "a reference to no row",
      { op: "insert", table: "Logical_Switch", row: { ports: ["uuid", "1"] } },
      "referential integrity violation",
    ],
    ["an abort", { op: "abort" }, "aborted"],
  ])("%s", (_title, operation, error) => {
    expect(errorOf(northbound().transact([operation]))).toMatchObject({ error });
  });
});
