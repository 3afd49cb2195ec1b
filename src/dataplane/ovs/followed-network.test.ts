import { describe, expect, it } from "vitest";
import { FollowedNetwork } from "./followed-network.ts";

const NAMES = { southbound: ["Datapath_Binding", "Logical_Flow"], northbound: [] };

/** Flows of table 0 as the database shows them; with one it changes one row, whose UUID stays. */
function flowRow(match: string): Readonly<Record<string, unknown>> {
  return {
    logical_datapath: ["uuid", "d1"],
    pipeline: "ingress",
    table_id: 0,
    priority: 1,
    match,
    actions: "drop;",
  };
}

function change(network: FollowedNetwork, match: string): void {
  network.take(new Map([["Logical_Flow", new Map([["f1", flowRow(match)]])]]), new Map());
}

describe("a row of a flow that changes in its place", () => {
  it("is compared with packets once its match can be read", () => {
    const followed = new FollowedNetwork(NAMES);
    change(followed, "ip4.nothing == 1");
    expect(followed.network.unreadable).toHaveLength(1);
    change(followed, "ip4");
    expect(followed.network.unreadable).toEqual([]);
    expect(followed.network.flowsOf("d1", "ingress", 0)).toMatchObject([{ row: { match: "ip4" } }]);
  });

  it("is compared no more once its match cannot be read", () => {
    const followed = new FollowedNetwork(NAMES);
    change(followed, "ip4");
    change(followed, "ip4.nothing == 1");
    expect(followed.network.unreadable).toHaveLength(1);
    expect(followed.network.flowsOf("d1", "ingress", 0)).toEqual([]);
  });
});

// Another schema may have other types; RFC 7047 leaves it to the client what it makes of them.
describe("a row with a value of another schema", () => {
  it("is left out by its name, and everything else is taken over", () => {
    const followed = new FollowedNetwork(NAMES);
    const rows = new Map<string, Record<string, unknown>>([
      ["f1", { ...flowRow("ip4"), table_id: "five" }],
      ["f2", flowRow("ip6")],
    ]);
    followed.take(new Map([["Logical_Flow", rows]]), new Map());
    expect([...followed.problems]).toEqual([
      ["logical flow f1", "column table_id is not a number from 0 to 254"],
    ]);
    expect(followed.network.flowsOf("d1", "ingress", 0)).toMatchObject([{ row: { match: "ip6" } }]);
    change(followed, "ip4");
    expect(followed.problems.size).toBe(0);
    expect(followed.network.flowsOf("d1", "ingress", 0)).toHaveLength(2);
  });

  it("leaves ports and datapaths as they were", () => {
    const followed = new FollowedNetwork({ southbound: ["Port_Binding"], northbound: [] });
    const port = { logical_port: "a", datapath: ["uuid", "d1"], tunnel_key: 1 };
    const take = (row: Readonly<Record<string, unknown>>): void =>
      followed.take(new Map([["Port_Binding", new Map([["p1", row]])]]), new Map());
    take(port);
    take({ ...port, logical_port: "b", tunnel_key: 1.5 });
    expect([...followed.network.ports.keys()]).toEqual(["a"]);
    expect([...followed.problems.values()]).toEqual(["column tunnel_key is not a number from 0 to 32767"]);
    take({ ...port, logical_port: "b" });
    expect([[...followed.network.ports.keys()], followed.problems.size]).toEqual([["b"], 0]);
  });
});
