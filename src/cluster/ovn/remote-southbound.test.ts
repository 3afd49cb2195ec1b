// Chassis in a southbound database that is not the cluster's own. With real programs: test/live/ovn/chassis.live.test.ts.
import { describe, expect, it } from "vitest";
import { RemoteSouthbound } from "./remote-southbound.node.ts";
import { type OvsdbOperation, errorOf } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { defined } from "#core/base/assert.ts";
import { heldSession } from "#test/support/cluster/held-session.ts";
import { EXAMPLE } from "#test/support/cluster/ovn-world.ts";
import { clusterText, openSessionWorld } from "#test/support/cluster/session-world.ts";

function southbound(...operations: readonly OvsdbOperation[]): MemoryDatabase {
  const database = new MemoryDatabase(OVN_SOUTHBOUND, "other");
  expect(errorOf(database.transact(operations))).toBeUndefined();
  return database;
}

/** Another host, which has registered this name. */
function registered(name: string, ip: string): readonly OvsdbOperation[] {
  return [
    { op: "insert", table: "Encap", "uuid-name": "e", row: { type: "geneve", ip, chassis_name: name } },
    { op: "insert", table: "Chassis", row: { name, hostname: "elsewhere", encaps: ["named-uuid", "e"] } },
  ];
}

function chassisIn(database: MemoryDatabase): ReadonlySet<unknown> {
  return new Set([...database.rowsOf("Chassis").values()].map((row) => row["name"]));
}

describe("a southbound database of others", () => {
  it("gets the chassis of all nodes, and loses them when they leave", async () => {
    const { session } = await openSessionWorld(EXAMPLE);
    const ovn = defined(session.ovn, "the cluster has OVN");
    const database = southbound(...registered("lin-1", "10.0.0.50"));
    await ovn.joinSouthbound(database);
    expect([ovn.refused, chassisIn(database)]).toEqual([[], new Set(["lin-1", "win-1", "win-2"])]);
    await ovn.leaveSouthbound();
    expect(chassisIn(database)).toEqual(new Set(["lin-1"]));
  });

  // ovn-sb(5): names of chassis are unique, and so are type and address of an encapsulation.
  it.each([
    ["whose name another host has", registered("win-1", "10.0.0.99"), /registered by host elsewhere/],
    ["whose address another chassis has", registered("old", "10.0.0.11"), /constraint violation/],
  ])("says why it refuses a chassis %s", async (_title, rows, reason) => {
    const { session } = await openSessionWorld(EXAMPLE);
    const ovn = defined(session.ovn, "the cluster has OVN");
    await ovn.joinSouthbound(southbound(...rows));
    expect(ovn.refused.map(({ node }) => node)).toEqual(["win-1"]);
    expect(ovn.refused[0]?.reason).toMatch(reason);
    const [note, ...others] = session.notes().filter(({ code }) => code === "ovn-chassis-refused");
    expect(others).toEqual([]);
    expect(note?.message).toMatch(new RegExp(`^ovn-controller on win-1: .*${reason.source}`));
  });
});

describe("mullion up --ovn-remote", () => {
  it("needs a cluster of ovn-kubernetes, and a database at the place that is named", async () => {
    const other = heldSession((await openSessionWorld(clusterText())).session);
    await expect(RemoteSouthbound.join(other, { remote: "unix:/nowhere" })).rejects.toThrow(
      /network\.plugin ovn-kubernetes/,
    );
    const ovn = heldSession((await openSessionWorld(EXAMPLE)).session);
    await expect(RemoteSouthbound.join(ovn, { remote: "unix:/nowhere" })).rejects.toThrow(/\/nowhere/);
    await expect(RemoteSouthbound.join(ovn, { remote: "10.0.0.1:6642" })).rejects.toThrow(
      /none of unix:PATH/,
    );
  });

  it.each([
    ["without files", {}, /--private-key, --certificate, --ca-cert is missing/],
    ["without a CA", { privateKey: "k", certificate: "c" }, /--ca-cert is missing/],
    [
      "with files that are not there",
      { privateKey: "/no/k", certificate: "/no/c", caCertificate: "/no/ca" },
      /^--private-key: .*\/no\/k/,
    ],
  ])("says what ssl: %s needs", async (_title, files, message) => {
    const ovn = heldSession((await openSessionWorld(EXAMPLE)).session);
    const joined = RemoteSouthbound.join(ovn, { remote: "ssl:127.0.0.1:1", ...files });
    await expect(joined).rejects.toThrow(message);
    const plain = RemoteSouthbound.join(ovn, { remote: "tcp:127.0.0.1:1", caCertificate: "ca" });
    await expect(plain).rejects.toThrow(/reached without TLS/);
  });
});
