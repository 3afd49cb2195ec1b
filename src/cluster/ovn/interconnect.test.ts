// Each node a zone of its own, with databases of its own: what nodes agree on are keys (ovn-nb(5),
// `requested-tnl-key`, ports of type `remote`).
import { describe, expect, it } from "vitest";
import type { OvsdbOperation, OvsdbRow } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { VirtualClock } from "#core/base/clock.ts";
import { parseMac } from "#core/net/mac.ts";
import { toOvnGeneveOption } from "#core/wire/tunnels/ovn-metadata.ts";
import { Chassis } from "#dataplane/ovs/chassis.ts";
import { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import { receiveFromTunnel, runLogicalFlows } from "#dataplane/ovs/logical-pipeline.ts";
import { rowsOfTables } from "#dataplane/ovs/ovsdb-tables.ts";
import { toSouthbound } from "#dataplane/ovs/southbound.ts";
import { Northd } from "#programs/ovn/northd/northd.ts";
import { PacketFields } from "#dataplane/ovs/packet-fields.ts";
import { frameOf, tell, tellEnding } from "#test/support/dataplane/logical-world.ts";

const NETWORK_KEY = 16_711_683;

function named(names: readonly string[]): OvsdbRow[string] {
  return ["set", names.map((name) => ["named-uuid", name] as const)];
}

function portMac(id: number): string {
  return `0a:58:64:58:00:0${id}`;
}

/** What ovnkube writes into the databases of node `own`, whose one neighbour is `other`. */
function zone(own: number, other: number, settings: { key?: number } = {}): readonly OvsdbOperation[] {
  const { key = NETWORK_KEY } = settings;
  const port = (name: string, row: OvsdbRow): OvsdbOperation => {
    const insert = {
      op: "insert",
      table: "Logical_Switch_Port",
      "uuid-name": name.replaceAll("-", "_"),
    } as const;
    return { ...insert, row: { name, ...row } };
  };
  const routerPort = (name: string, mac: string, networks: string): OvsdbOperation => {
    const insert = { op: "insert", table: "Logical_Router_Port", "uuid-name": name } as const;
    return { ...insert, row: { name, mac, networks } };
  };
  const router = (peer: string, wanted: string): OvsdbRow => ({
    type: "router",
    addresses: "router",
    options: [
      "map",
      [["router-port", peer], ...(wanted === "" ? [] : [["requested-tnl-key", wanted] as const])],
    ],
  });
  const pod = `0a:58:0a:80:0${own}:05 10.128.${own}.5`;
  const route = { ip_prefix: `10.128.${other}.0/24`, nexthop: `100.88.0.${other}` };
  return [
    { op: "insert", table: "NB_Global", row: { nb_cfg: 1 } },
    port("pod", { addresses: pod, port_security: pod }),
    port("stor", router("rtos", "")),
    port("tstor_own", router("rtots", String(own))),
    port("tstor_other", {
      type: "remote",
      addresses: `${portMac(other)} 100.88.0.${other}/16`,
      options: [
        "map",
        [
          ["requested-tnl-key", String(other)],
          ["requested-chassis", `win-${other}`],
        ],
      ],
    }),
    {
      op: "insert",
      table: "Logical_Switch",
      row: {
        name: "transit_switch",
        ports: named(["tstor_own", "tstor_other"]),
        other_config: [
          "map",
          [
            ["interconn-ts", "transit_switch"],
            ["requested-tnl-key", String(key)],
          ],
        ],
      },
    },
    { op: "insert", table: "Logical_Switch", row: { name: `win-${own}`, ports: named(["pod", "stor"]) } },
    routerPort("rtos", `0a:58:0a:80:0${own}:01`, `10.128.${own}.1/24`),
    routerPort("rtots", portMac(own), `100.88.0.${own}/16`),
    { op: "insert", table: "Logical_Router_Static_Route", row: route, "uuid-name": "r" },
    {
      op: "insert",
      table: "Logical_Router",
      row: {
        name: "ovn_cluster_router",
        ports: named(["rtos", "rtots"]),
        static_routes: ["named-uuid", "r"],
      },
    },
  ];
}

/** Chassis by name, and the remote port bound to the other one by hand, as ovnkube does. */
function chassis(own: number, other: number): readonly OvsdbOperation[] {
  return [own, other].flatMap((id): readonly OvsdbOperation[] => [
    { op: "insert", table: "Encap", row: { type: "geneve", ip: `10.0.0.${id}` }, "uuid-name": `e${id}` },
    {
      op: "insert",
      table: "Chassis",
      row: {
        name: `win-${id}`,
        hostname: `win-${id}`,
        encaps: ["named-uuid", `e${id}`],
        other_config: ["map", id === own ? [] : [["is-remote", "true"]]],
      },
      "uuid-name": `c${id}`,
    },
    ...(id === own
      ? []
      : [
          {
            op: "update",
            table: "Port_Binding",
            where: [["logical_port", "==", "tstor_other"]],
            row: { chassis: ["named-uuid", `c${id}`] },
          } as const,
        ]),
  ]);
}

async function translated(
  ...northbound: readonly OvsdbOperation[]
): Promise<{ nb: MemoryDatabase; sb: MemoryDatabase; northd: Northd }> {
  const nb = new MemoryDatabase(OVN_NORTHBOUND, "zone");
  const sb = new MemoryDatabase(OVN_SOUTHBOUND, "zone");
  nb.transact(northbound);
  const northd = await Northd.start(nb.client(), sb.client());
  await northd.sync();
  return { nb, sb, northd };
}

async function zoneOf(own: number, other: number): Promise<{ network: LogicalNetwork; chassis: Chassis }> {
  const { sb, northd } = await translated(...zone(own, other));
  sb.transact(chassis(own, other));
  await northd.sync();
  const network = new LogicalNetwork(toSouthbound(rowsOfTables(sb)));
  const here = ["pod", "stor", "rtos", "rtots", "tstor_own"];
  return { network, chassis: new Chassis(new Set(here), new VirtualClock(), `win-${own}`) };
}

function keysOf(sb: MemoryDatabase, table: string, column: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...sb.rowsOf(table).values()].map((row) => {
      const name = JSON.stringify(row[column]).match(/"name","([^"]+)"/)?.[1] ?? String(row[column]);
      return [name, row["tunnel_key"]];
    }),
  );
}

describe("interconnected zones", () => {
  it("CP-O28: a packet to another node has the transit switch for its VNI, and the node's id for its port", async () => {
    const sender = await zoneOf(2, 3);
    const frame = frameOf({
      inport: "pod",
      from: "0a:58:0a:80:02:05",
      to: "0a:58:0a:80:02:01",
      source: "10.128.2.5",
      destination: "10.128.3.5",
    });
    const [ending] = runLogicalFlows(sender.network, sender.chassis, "pod", frame).endings;
    if (ending?.kind !== "tunnel") throw new Error(ending === undefined ? "nothing" : tellEnding(ending));
    expect([ending.chassis, ending.keys]).toEqual([
      "win-3",
      { datapath: NETWORK_KEY, ingressPort: 2, egressPort: 3 },
    ]);
    expect([...toOvnGeneveOption(ending.keys).data]).toEqual([0, 2, 0, 3]);
    const fields = new PacketFields(ending.packet);
    expect([fields.read("eth.dst"), fields.read("eth.src")]).toEqual(
      [portMac(3), portMac(2)].map((mac) => BigInt(parseMac(mac) ?? 0)),
    );
    const receiver = await zoneOf(3, 2);
    const passage = receiveFromTunnel(receiver.network, receiver.chassis, ending.keys, ending.packet);
    expect(passage.endings.map((each) => tellEnding(each))).toEqual([
      "pod: 10.128.2.5:5000 > 10.128.3.5:80 tcp 0x2 ttl 62",
    ]);
    expect(tell(frame)).toContain("ttl 64");
  });
});

describe("requested-tnl-key", () => {
  it("goes before a key that another has, stays with who has it, and the first of two gets it", async () => {
    const { nb, sb, northd } = await translated(...zone(2, 3));
    const before = keysOf(sb, "Datapath_Binding", "external_ids");
    expect(before).toMatchObject({ transit_switch: NETWORK_KEY });
    const ask = (key: number): OvsdbOperation => ({
      op: "update",
      table: "Logical_Switch",
      where: [["name", "==", "win-2"]],
      row: { other_config: ["map", [["requested-tnl-key", String(key)]]] },
    });
    nb.transact([ask(Number(before["ovn_cluster_router"]))]);
    await northd.sync();
    const after = keysOf(sb, "Datapath_Binding", "external_ids");
    expect(after["win-2"]).toBe(before["ovn_cluster_router"]);
    expect(new Set(Object.values(after)).size).toBe(3);
    nb.transact([ask(NETWORK_KEY)]);
    await northd.sync();
    const shared = keysOf(sb, "Datapath_Binding", "external_ids");
    expect(Object.values(shared).filter((key) => key === NETWORK_KEY)).toHaveLength(1);
  });

  it.each([
    ["of 24 bits", 0xff_ffff, true],
    ["that is too large", 0x100_0000, false],
    ["of no number", Number.NaN, false],
  ])("a key %s", async (_title, key, isGiven) => {
    const { sb } = await translated(...zone(2, 3, { key }));
    expect(keysOf(sb, "Datapath_Binding", "external_ids")["transit_switch"] === key).toBe(isGiven);
  });

  it("with VXLAN anywhere a key of more than 12 bits is not given, but for a transit switch", async () => {
    const { nb, sb, northd } = await translated(...zone(2, 3));
    sb.transact([
      { op: "insert", table: "Encap", row: { type: "vxlan", ip: "10.0.0.9" }, "uuid-name": "e" },
      { op: "insert", table: "Chassis", row: { name: "old", encaps: ["named-uuid", "e"] } },
    ]);
    await northd.sync();
    expect(keysOf(sb, "Datapath_Binding", "external_ids")["transit_switch"]).toBe(NETWORK_KEY);
    const row = { other_config: ["map", [["requested-tnl-key", String(NETWORK_KEY)]]] } as const;
    nb.transact([{ op: "update", table: "Logical_Switch", where: [], row }]);
    await northd.sync();
    expect(Number(keysOf(sb, "Datapath_Binding", "external_ids")["transit_switch"])).toBeLessThan(4_096);
  });
});
