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
