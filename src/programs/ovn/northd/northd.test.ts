// What a real northd 23.03 and ovn-controller did with the same tables (control-planes.md §4.3; ovn-sb(5)).
import { describe, expect, it } from "vitest";
import {
  type OvsdbOperation,
  type OvsdbRow,
  membersOf,
  referencesOf,
  textsOf,
} from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { type ChassisSettings, OvnController } from "../controller.ts";
import { Northd } from "./northd.ts";

class World {
  readonly nb = new MemoryDatabase(OVN_NORTHBOUND, "test");
  readonly sb = new MemoryDatabase(OVN_SOUTHBOUND, "test");
  private northd: Northd | undefined;

  async sync(...operations: readonly OvsdbOperation[]): Promise<void> {
    this.nb.transact(operations);
    this.northd ??= await Northd.start(this.nb.client(), this.sb.client());
    await this.northd.sync();
  }

  controller(name: string, settings: Partial<ChassisSettings> = {}): Promise<OvnController> {
    const address = `10.0.0.${name.length + 10}`;
    const own = {
      name,
      hostname: `${name}.example`,
      encapsulation: "geneve",
      address,
      bridgeMappings: "",
    } as const;
    return OvnController.start(this.sb.client(), { ...own, ...settings });
  }

  port(name: string): OvsdbRow {
    return [...this.sb.rowsOf("Port_Binding").values()].find((row) => row["logical_port"] === name) ?? {};
  }

  leftOut(): readonly string[] {
    return this.northd?.leftOut() ?? [];
  }

  isUp(name: string): unknown {
    const rows = [...this.nb.rowsOf("Logical_Switch_Port").values()];
    return membersOf(rows.find((row) => row["name"] === name)?.["up"])[0];
  }

  global(column: string): unknown {
    return [...this.nb.rowsOf("NB_Global").values()][0]?.[column];
  }

  flows(stage: string): readonly string[] {
    return [...this.sb.rowsOf("Logical_Flow").values()]
      .filter((row) => textsOf(row["external_ids"]).get("stage-name") === stage)
      .map((row) => `${String(row["priority"])} ${String(row["match"])} ${String(row["actions"])}`);
  }
}

const GLOBAL: OvsdbOperation = { op: "insert", table: "NB_Global", row: { nb_cfg: 1 } };
const NEXT: OvsdbOperation = {
  op: "mutate",
  table: "NB_Global",
  where: [],
  mutations: [["nb_cfg", "+=", 1]],
};

function switchWith(options: Readonly<Record<string, string>>): readonly OvsdbOperation[] {
  const port = {
    name: "default_web",
    options: ["map", Object.entries(options)],
    addresses: "0a:58:0a:80:01:05 10.128.1.5",
  } as const;
  return [
    { op: "insert", table: "Logical_Switch_Port", row: port, "uuid-name": "p" },
    { op: "insert", table: "Logical_Switch", row: { name: "win1", ports: ["named-uuid", "p"] } },
  ];
}

const ACLS: readonly OvsdbOperation[] = [
  {
    op: "insert",
    table: "ACL",
    row: { priority: 1000, direction: "to-lport", match: "outport == @pg", action: "drop" },
    "uuid-name": "deny",
  },
  {
    op: "insert",
    table: "ACL",
    row: { priority: 1001, direction: "to-lport", match: "outport == @pg && tcp", action: "allow-related" },
    "uuid-name": "allow",
  },
  {
    op: "insert",
    table: "Port_Group",
    row: {
      name: "pg",
      ports: ["named-uuid", "p"],
      acls: [
        "set",
        [
          ["named-uuid", "deny"],
          ["named-uuid", "allow"],
        ],
      ],
    },
  },
];

/** A chassis as an old or careless agent registers it. */
function bareChassis(
  name: string,
  type = "geneve",
  features: Readonly<Record<string, string>> = {},
): readonly OvsdbOperation[] {
  return [
    { op: "insert", table: "Encap", row: { type, ip: "10.0.9.9" }, "uuid-name": "e" },
    {
      op: "insert",
      table: "Chassis",
      row: { name, encaps: ["named-uuid", "e"], other_config: ["map", Object.entries(features)] },
    },
  ];
}

describe("ports", () => {
  it("CP-O35: a port is up in the northbound database when its chassis says so, and not before", async () => {
    const world = new World();
    await world.sync(GLOBAL, ...switchWith({}));
    const controller = await world.controller("win1");
    expect(await controller.register()).toBeUndefined();
    const claim = {
      op: "update",
      table: "Port_Binding",
      where: [["logical_port", "==", "default_web"]],
    } as const;
    const [chassis = ""] = world.sb.rowsOf("Chassis").keys();
    world.sb.transact([{ ...claim, row: { chassis: ["uuid", chassis] } }]);
    await world.sync();
    expect(world.isUp("default_web")).toBe(false);
    await controller.sync([{ id: "default_web", version: "" }]);
    await world.sync();
    expect(world.isUp("default_web")).toBe(true);
    await controller.sync([]);
    await world.sync();
    expect([referencesOf(world.port("default_web")["chassis"]), world.isUp("default_web")]).toEqual([
      [],
      false,
    ]);
  });

  it.each([
    ["its name", "win1", 1],
    ["its host's name", "win1.example", 1],
    ["another name", "win2", 0],
  ])("CP-O44: a port that asks for a chassis by %s", async (_title, requested, count) => {
    const world = new World();
    const controller = await world.controller("win1");
    await controller.register();
    await world.sync(GLOBAL, ...switchWith({ "requested-chassis": requested }));
    expect(referencesOf(world.port("default_web")["requested_chassis"])).toHaveLength(count);
    expect((await controller.sync([{ id: "default_web", version: "" }])).size).toBe(count);
  });

  it("an interface of another pod of the same name is not claimed", async () => {
    const world = new World();
    const controller = await world.controller("win1");
    await controller.register();
    await world.sync(GLOBAL, ...switchWith({ "iface-id-ver": "uid-2" }));
    expect((await controller.sync([{ id: "default_web", version: "uid-1" }])).size).toBe(0);
    expect((await controller.sync([{ id: "default_web", version: "uid-2" }])).size).toBe(1);
  });
});

describe("progress", () => {
  it("CP-O36: a chassis that does not write how far it is holds everybody back", async () => {
    const world = new World();
    const [a, b] = [await world.controller("win1"), await world.controller("lin10")];
    for (const each of [a, b]) await each.register();
    await world.sync(GLOBAL);
    for (const each of [a, b]) await each.sync([]);
    await world.sync(NEXT);
    await a.sync([]);
    await world.sync();
    expect([world.global("sb_cfg"), world.global("hv_cfg")]).toEqual([2, 1]);
    await b.sync([]);
    await world.sync();
    expect(world.global("hv_cfg")).toBe(2);
  });

  it("CP-O49: one without a row of Chassis_Private is not waited for", async () => {
    const world = new World();
    const controller = await world.controller("win1");
    await controller.register();
    world.sb.transact(bareChassis("lazy"));
    await world.sync(GLOBAL, NEXT);
    await controller.sync([]);
    await world.sync();
    expect(world.global("hv_cfg")).toBe(2);
  });
});

describe("what chassis understand", () => {
  const LB: OvsdbOperation = {
    op: "mutate",
    table: "Logical_Switch",
    where: [],
    mutations: [
      [
        "acls",
        "insert",
        [
          "set",
          [
            ["named-uuid", "deny"],
            ["named-uuid", "allow"],
          ],
        ],
      ],
    ],
  };
  const ALL = { "ct-no-masked-label": "true", "ovn-ct-lb-related": "true" };

  it.each([
    [
      "CP-O47: without ct-no-masked-label",
      { ...ALL, "ct-no-masked-label": "false" },
      ["ct_label.blocked", "ct_lb;"],
    ],
    ["with all of it", ALL, ["ct_mark.blocked", "ct_lb_mark;"]],
  ])("%s: the words of all datapaths", async (_title, features, [blocked, balance]) => {
    const world = new World();
    world.sb.transact(bareChassis("win1", "geneve", features));
    await world.sync(GLOBAL, ...switchWith({}), ...ACLS, LB);
    expect(world.flows("ls_out_stateful").join("\n")).toContain(`ct_commit { ${blocked} = 0; }`);
    expect(world.flows("ls_in_pre_stateful")).toContain(`110 reg0[2] == 1 ${balance}`);
  });

  it("CP-O48: without ovn-ct-lb-related no flow has ct_commit_nat", async () => {
    const world = new World();
    const setUp = [GLOBAL, ...switchWith({}), ...ACLS];
    await world.sync(...setUp);
    expect(world.flows("ls_out_acl").join("\n")).toContain("ct_commit_nat");
    world.sb.transact(bareChassis("win1", "geneve", { ...ALL, "ovn-ct-lb-related": "false" }));
    await world.sync();
    expect(world.flows("ls_out_acl").join("\n")).not.toContain("ct_commit_nat");
  });

  it("CP-O30: with VXLAN anywhere, keys have 12 bits", async () => {
    const world = new World();
    await world.sync(GLOBAL);
    expect(textsOf(world.global("options") as OvsdbRow[string]).get("max_tunid")).toBe("16711680");
    world.sb.transact(bareChassis("win1", "vxlan"));
    await world.sync();
    expect(textsOf(world.global("options") as OvsdbRow[string]).get("max_tunid")).toBe("4095");
  });
});

describe("flows of ACLs", () => {
  it("CP-O12, CP-O45: priority 1000 becomes 2000, and the group is there once for each datapath", async () => {
    const world = new World();
    await world.sync(GLOBAL, ...switchWith({}), ...ACLS);
    expect(world.flows("ls_out_acl")).toEqual(
      expect.arrayContaining([
        "2000 reg0[9] == 1 && (outport == @pg) /* drop */",
        "2000 reg0[10] == 1 && (outport == @pg) ct_commit { ct_mark.blocked = 1; }; /* drop */",
        "2001 reg0[7] == 1 && (outport == @pg && tcp) reg0[1] = 1; next;",
      ]),
    );
    const key = [...world.sb.rowsOf("Datapath_Binding").values()][0]?.["tunnel_key"];
    expect([...world.sb.rowsOf("Port_Group").values()]).toMatchObject([
      { name: `${String(key)}_pg`, ports: "default_web" },
    ]);
  });

  it("a change of an address set is a change of that set alone", async () => {
    const world = new World();
    await world.sync(GLOBAL, ...switchWith({}), ...ACLS, {
      op: "insert",
      table: "Address_Set",
      row: { name: "as", addresses: "10.0.0.1" },
    });
    const heard: string[] = [];
    await world.sb
      .client()
      .monitor({ Address_Set: ["addresses"], Logical_Flow: ["match"] }, (updates) =>
        heard.push(...Object.keys(updates)),
      );
    heard.length = 0;
    await world.sync({ op: "update", table: "Address_Set", where: [], row: { addresses: "10.0.0.2" } });
    expect(heard).toEqual(["Address_Set"]);
  });

  it("keys of ports and datapaths stay while others come and go", async () => {
    const world = new World();
    await world.sync(GLOBAL, ...switchWith({}));
    const before = world.port("default_web")["tunnel_key"];
    await world.sync({ op: "insert", table: "Logical_Switch", row: { name: "a-first" } });
    expect(world.port("default_web")["tunnel_key"]).toBe(before);
    const keys = [...world.sb.rowsOf("Datapath_Binding").values()].map((row) => row["tunnel_key"]);
    expect(new Set(keys).size).toBe(2);
    await world.sync({ op: "delete", table: "Logical_Switch", where: [] });
    expect(
      ["Datapath_Binding", "Port_Binding", "Logical_Flow"].map((table) => world.sb.rowsOf(table).size),
    ).toEqual([0, 0, 0]);
  });
});

describe("what is no address of IPv4", () => {
  const named = (name: string): OvsdbRow[string] => ["named-uuid", name];
  const withRows = (prefix: string, logical: string, vip: string): readonly OvsdbOperation[] => [
    GLOBAL,
    {
      op: "insert",
      table: "Logical_Router_Static_Route",
      row: { ip_prefix: prefix, nexthop: "10.0.0.1" },
      "uuid-name": "route",
    },
    {
      op: "insert",
      table: "NAT",
      row: { type: "snat", external_ip: "10.0.0.2", logical_ip: logical },
      "uuid-name": "nat",
    },
    {
      op: "insert",
      table: "Load_Balancer",
      row: { name: "lb", vips: ["map", [[vip, "10.0.0.3:80"]]] },
      "uuid-name": "lb",
    },
    {
      op: "insert",
      table: "Logical_Router",
      row: { name: "r", static_routes: named("route"), nat: named("nat"), load_balancer: named("lb") },
    },
  ];

  it.each([
    ["10.1.0.0/99", "fd00::/64", "^vip:80"],
    ["fd00::/64", "10.2.0.0/33", "10.96.0.9:http"],
    ["default", "10.2", "[fd00::9]:80"],
  ])("has no flow, and is told: %s, %s, %s", async (prefix, logical, vip) => {
    const world = new World();
    await world.sync(...withRows(prefix, logical, vip));
    expect(world.leftOut()).toEqual(
      [`load balancer lb: ${vip}`, `route to ${prefix}`, `translation of ${logical}`].map(
        (what) => `northd writes no flow for ${what}: it is no IPv4 address`,
      ),
    );
  });

  it("and what is one has its flows", async () => {
    const world = new World();
    await world.sync(...withRows("10.1.0.0/16", "10.2.0.5", "10.96.0.9"));
    expect(world.leftOut()).toEqual([]);
  });
});
