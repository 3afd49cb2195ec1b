// Our northd beside Debian's: the same northbound database, the flows of both.
import { afterAll, describe, expect, it } from "vitest";
import { type OvsdbOperation, type OvsdbRow, type OvsdbValue, errorOf } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { Northd } from "#programs/ovn/northd/northd.ts";
import { OvnCentral } from "./ovn-central.ts";
import { KUBERNETES } from "./kubernetes-topology.ts";
import { TOPOLOGIES } from "./topologies.ts";

const central: OvnCentral[] = [];
afterAll(() => central.forEach((each) => each.stop()));

interface DumpedTable {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly data: readonly (readonly OvsdbValue[])[];
}

function tablesOf(dump: string): readonly DumpedTable[] {
  return dump
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as DumpedTable);
}

function inserts(dump: string): readonly OvsdbOperation[] {
  return tablesOf(dump).flatMap(({ caption, headings, data }) =>
    data.map((cells): OvsdbOperation => {
      const all = headings.map((name, index) => [name, cells[index] ?? ""] as const);
      const [, uuid] = (all.find(([name]) => name === "_uuid")?.[1] ?? ["uuid", ""]) as ["uuid", string];
      const row = Object.fromEntries(all.filter(([name]) => !name.startsWith("_"))) as OvsdbRow;
      return { op: "insert", table: caption.replace(" table", ""), uuid, row };
    }),
  );
}

/** What a flow of IPv4 says; the other family is not ours yet, nor are probes of back ends. */
function isCompared(text: string): boolean {
  return !/ip6|xxreg0|nd_|\bnd\b|icmp6|\$svc_monitor_mac|log\(/.test(
    text.replaceAll(/nd \|\| nd_r[as] \|\| nd_r[as][^)]*/g, ""),
  );
}

function texts(rows: readonly OvsdbRow[], nameOf: (id: string) => string): readonly string[] {
  return rows
    .flatMap((row) => {
      const ids = new Map((row["external_ids"] as ["map", [string, string][]])[1]);
      const datapath = row["logical_datapath"] as readonly unknown[];
      const tail =
        `${ids.get("stage-name") ?? ""} ${String(row["table_id"])} ${String(row["priority"])} ${String(row["match"])} => ${String(row["actions"])}`.replaceAll(
          /_rtr_lb_\d+_/g,
          "_rtr_lb_N_",
        );
      return [`${nameOf(String(datapath[1]))} ${tail}`];
    })
    .filter(isCompared)
    .toSorted();
}

/** The rows of the real southbound database, each flow once per datapath. */
function realTexts(dump: string): readonly string[] {
  const rows = new Map(
    tablesOf(dump).map(({ caption, headings, data }) => [
      caption.replace(" table", ""),
      data.map(
        (cells) => Object.fromEntries(headings.map((name, index) => [name, cells[index] ?? ""])) as OvsdbRow,
      ),
    ]),
  );
  const idOf = (row: OvsdbRow): string => (row["_uuid"] as readonly [string, string])[1];
  const names = new Map(
    (rows.get("Datapath_Binding") ?? []).map((row) => [
      idOf(row),
      new Map((row["external_ids"] as ["map", [string, string][]])[1]).get("name") ?? "",
    ]),
  );
  const groups = new Map(
    (rows.get("Logical_DP_Group") ?? []).map((row) => {
      const value = row["datapaths"] as readonly [string, unknown];
      return [
        idOf(row),
        value[0] === "set" ? (value[1] as readonly OvsdbValue[]) : [row["datapaths"] ?? ""],
      ] as const;
    }),
  );
  const flows = (rows.get("Logical_Flow") ?? []).flatMap((row) => {
    const group = row["logical_dp_group"] as readonly [string, string];
    const members = group[0] === "uuid" ? (groups.get(group[1]) ?? []) : [row["logical_datapath"] ?? ""];
    return members.map((logical_datapath): OvsdbRow => ({ ...row, logical_datapath }));
  });
  return texts(flows, (id) => names.get(id) ?? id);
}

async function oursOf(northbound: string, chassis: readonly OvsdbOperation[]): Promise<readonly string[]> {
  const [nb, sb] = [new MemoryDatabase(OVN_NORTHBOUND, "t"), new MemoryDatabase(OVN_SOUTHBOUND, "t")];
  expect(errorOf(nb.transact(inserts(northbound)))).toBeUndefined();
  expect(errorOf(sb.transact(chassis))).toBeUndefined();
  const northd = await Northd.start(nb.client(), sb.client());
  await northd.sync();
  const names = new Map(
    [...sb.rowsOf("Datapath_Binding")].map(([id, row]) => [
      id,
      new Map((row["external_ids"] as ["map", [string, string][]])[1]).get("name") ?? "",
    ]),
  );
  return texts([...sb.rowsOf("Logical_Flow").values()], (id) => names.get(id) ?? id);
}

const TABLES = [
  "NB_Global",
  "Logical_Switch",
  "Logical_Switch_Port",
  "Logical_Router",
  "Logical_Router_Port",
  "Logical_Router_Static_Route",
  "Logical_Router_Policy",
  "NAT",
  "ACL",
  "Port_Group",
  "Address_Set",
  "Load_Balancer",
  "Load_Balancer_Group",
  "Gateway_Chassis",
];

describe("the flows of both", () => {
  it.each([{ name: "as ovn-kubernetes has it", script: KUBERNETES }, ...TOPOLOGIES])(
    "$name",
    async ({ script }) => {
      const real = new OvnCentral();
      central.push(real);
      real.script(script);
      const northbound = real.northbound(TABLES);
      const southbound = real.dump();
      const chassis = inserts(real.dumpOf(["Encap", "Chassis"]));
      const [theirs, ours] = [realTexts(southbound), await oursOf(northbound, chassis)];
      const [a, b] = [new Set(theirs), new Set(ours)];
      expect({
        missing: theirs.filter((text) => !b.has(text)),
        further: ours.filter((text) => !a.has(text)),
      }).toEqual({ missing: [], further: [] });
      expect(theirs.length).toBeGreaterThan(100);
    },
    60_000,
  );
});
