// A southbound database of another schema than ours: what it lacks has its default (RFC 7047, 5.2.1), what it has besides is left alone,
// and what has another type is refused by its name, so that no packet goes by a value that nobody understood.
import { describe, expect, it } from "vitest";
import { OvsdbError, readDump } from "./ovsdb-tables.ts";
import { type Southbound, toSouthbound } from "./southbound.ts";

const DATAPATH = ["uuid", "d1"];

function read(
  ...tables: readonly (readonly [name: string, row: Readonly<Record<string, unknown>>])[]
): Southbound {
  const lines = tables.map(([name, row]) =>
    JSON.stringify({ caption: `${name} table`, headings: Object.keys(row), data: [Object.values(row)] }),
  );
  return toSouthbound(readDump(lines.join("\n")));
}

const FLOW = {
  _uuid: ["uuid", "f1"],
  logical_datapath: DATAPATH,
  pipeline: "ingress",
  table_id: 0,
  priority: 1,
  match: "1",
  actions: "drop;",
};
const PORT = { _uuid: ["uuid", "p1"], logical_port: "a", datapath: DATAPATH, tunnel_key: 1 };

describe("a southbound database of another schema", () => {
  it("without most tables and columns has them empty", () => {
    const { ports, flows, dns, chassis, multicast } = read(["Port_Binding", PORT], ["Logical_Flow", FLOW]);
    expect(ports).toMatchObject([{ name: "a", type: "", chassis: "", portSecurity: [] }]);
    expect(flows).toMatchObject([{ datapaths: ["d1"], stage: "", hint: "" }]);
    expect([dns, chassis, multicast]).toEqual([[], [], []]);
  });

  it("with further tables and columns is read as without them", () => {
    const more = read(
      ["Port_Binding", { ...PORT, flux: 9 }],
      ["Wormhole", { _uuid: ["uuid", "w1"], mouths: ["set", [1, 2]] }],
    );
    expect(more).toEqual(read(["Port_Binding", PORT]));
  });

  it.each([
    ["Port_Binding", "column tunnel_key is not a number from 0 to 32767", { ...PORT, tunnel_key: "one" }],
    ["Port_Binding", "column tunnel_key is not a number from 0 to 32767", { ...PORT, tunnel_key: 1.5 }],
    ["Port_Binding", "column logical_port is not a text", { ...PORT, logical_port: 7 }],
    ["Logical_Flow", "column priority is not a number from 0 to 65535", { ...FLOW, priority: true }],
    ["Logical_Flow", "column match is not a text", { ...FLOW, match: ["set", ["1", "0"]] }],
    ["Logical_Flow", "pipeline sideways is not known", { ...FLOW, pipeline: "sideways" }],
  ] as const)("%s is refused by name: %s: %j", (table, message, row) => {
    expect(() => read([table, row])).toThrow(new OvsdbError(message));
  });
});
