// A packet through the flows of saved databases: a dump, a database file, a list of flows, as people have them.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { trace } from "./trace.ts";

const DUMP = readFileSync("test/support/dataplane/southbound-services.ndjson", "utf8");

async function run(
  files: Readonly<Record<string, string>>,
  ...argv: readonly string[]
): Promise<MemoryTerminal & { code: number }> {
  const terminal = new MemoryTerminal(files);
  const named = Object.keys(files).flatMap((file) => ["-f", file]);
  const code = await runMullion({
    argv: ["ovn", "trace", ...named, ...argv],
    verbs: { ovn: { trace } },
    terminal,
    version: "0",
    isDebug: false,
  });
  return Object.assign(terminal, { code });
}

interface Table {
  readonly caption: string;
  readonly headings: readonly string[];
  readonly data: readonly (readonly unknown[])[];
}

function tablesOf(dump: string): readonly Table[] {
  return dump
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Table);
}

/** Rows as a transaction in a database file holds them. */
function transactionOf(tables: readonly Table[]): Record<string, Record<string, Record<string, unknown>>> {
  const transaction: Record<string, Record<string, Record<string, unknown>>> = {};
  for (const { caption, headings, data } of tables) {
    const rows = (transaction[caption.replace(" table", "")] ??= {});
    for (const cells of data) {
      const row = Object.fromEntries(headings.map((heading, column) => [heading, cells[column]]));
      const [, id] = row["_uuid"] as [string, string];
      const { _uuid, ...columns } = row;
      rows[id] = columns;
    }
  }
  return transaction;
}

function record(kind: "JSON" | "CLUSTER", value: unknown): string {
  const text = `${JSON.stringify(value)}\n`;
  const sha = createHash("sha1").update(text).digest("hex");
  return `OVSDB ${kind} ${Buffer.byteLength(text)} ${sha}\n${text}`;
}

const SET = { type: { key: "string", min: 0, max: "unlimited" } };
const SCHEMA = {
  name: "OVN_Southbound",
  version: "20.27.0",
  tables: { Port_Group: { columns: { ports: SET } } },
};

const FROM_P04 = 'inport == "p04" && eth.src == 50:54:00:00:00:04 && ip4.src == 10.0.0.4';
const TO_P02 = "eth.dst == 50:54:00:00:00:02 && ip4.dst == 10.0.0.2";
const TO_ROUTER = "eth.dst == 00:00:00:00:ff:00";

describe("a dump of the southbound database", () => {
  it("is followed as ovn-trace prints it, to the port where the packet arrives", async () => {
    const { code, output, errors } = await run(
      { "sb.json": DUMP },
      `${FROM_P04} && ${TO_P02} && tcp.dst == 8080`,
    );
    expect([code, errors]).toEqual([0, ""]);
    expect(output).toContain('\ningress(dp="sw0", inport="p04")\n-------------------------------\n');
    expect(output).toMatch(
      /\n 0\. ls_in_check_port_sec \(northd\.c:\d+\): 1, priority 50, uuid [0-9a-f]{8}\n {4}reg0\[15\] = check_in_port_sec\(\);\n {4}next;\n/,
    );
    expect(output).toContain('    /* output to "p02", type "" */\n');
    expect(output).toMatch(/\narrives at p02: TCP 10\.0\.0\.4:0 → 10\.0\.0\.2:8080 SYN\n$/);
  });

  it("names the flow that drops the packet, and ends with 1", async () => {
    const { code, output } = await run({ "sb.json": DUMP }, `${FROM_P04} && ${TO_P02} && udp.dst == 99`);
    expect(code).toBe(1);
    expect(output).toMatch(/\ndropped: ls_out_acl, priority 2000, uuid [0-9a-f]{8}\n$/);
  });

  it("a state given with --ct is what a look-up finds", async () => {
    const answer = `${FROM_P04} && ${TO_P02} && tcp.src == 80 && tcp.flags == 0x12`;
    expect((await run({ "sb.json": DUMP }, answer)).code).toBe(1);
    const given = await run({ "sb.json": DUMP }, answer, "--ct", "est,rpl", "--ct", "est,rpl");
    expect(given.output).toContain("ct_lb_mark (ct_state=est|rpl|trk)");
    expect(given.code).toBe(0);
  });

  it("says which back end a service has for these addresses and ports", async () => {
    const { output } = await run(
      { "sb.json": DUMP },
      "sw0",
      `${FROM_P04} && ${TO_ROUTER} && ip4.dst == 10.96.0.10 && tcp.dst == 80`,
    );
    expect(output).toMatch(/ct_lb_mark\(ip4\.dst=10\.0\.[01]\.2\) \(ct_state=new\|trk\|dnat\)/);
    expect(output).toMatch(/arrives at p[01]2: /);
  });

  it("with a northbound one beside it, a flow has its object and the object of Kubernetes behind it", async () => {
    const flows = tablesOf(DUMP).find(({ caption }) => caption === "Logical_Flow table");
    const acl = flows?.data
      .map((cells) => JSON.stringify(cells))
      .find((cells) => cells.includes('"ls_out_acl"') && cells.includes("2000"));
    const hint = /"stage-hint","([0-9a-f]{8})"/.exec(acl ?? "")?.[1] ?? "none";
    const northbound = [
      { caption: "NB_Global table", headings: ["_uuid"], data: [] },
      {
        caption: "ACL table",
        headings: ["_uuid", "name", "direction", "priority", "action", "external_ids"],
        data: [
          [
            ["uuid", `${hint}-0000-0000-0000-000000000000`],
            "NP:shop:Ingress",
            "to-lport",
            1000,
            "drop",
            [
              "map",
              [
                ["k8s.ovn.org/owner-type", "NetpolNamespace"],
                ["k8s.ovn.org/name", "shop"],
              ],
            ],
          ],
        ],
      },
    ];
    const files = { "sb.json": DUMP, "nb.json": northbound.map((table) => JSON.stringify(table)).join("\n") };
    const { output } = await run(files, `${FROM_P04} && ${TO_P02} && udp.dst == 99`);
    expect(output).toMatch(
      /ls_out_acl .*priority 2000.*\n {4}# ACL NP:shop:Ingress, to-lport 1000 drop, NetpolNamespace shop\n/,
    );
  });
});

describe("a database file", () => {
  const rows = transactionOf(tablesOf(DUMP));
  const microflow = `${FROM_P04} && ${TO_P02} && tcp.dst == 8080`;

  it.each([
    ["alone", record("JSON", SCHEMA) + record("JSON", { _date: 1, ...rows })],
    [
      "of a cluster",
      record("CLUSTER", { server_id: "a", prev_data: [SCHEMA, rows] }) +
        record("CLUSTER", { term: 1, index: 2 }),
    ],
  ])("%s gives what its dump gives", async (_title, file) => {
    const [of, dump] = [await run({ "sb.db": file }, microflow), await run({ "sb.json": DUMP }, microflow)];
    expect([of.code, of.errors]).toEqual([0, ""]);
    expect(of.output).toBe(dump.output);
  });

  it("has what later records changed, deleted or added; half a record at its end is left", async () => {
    const [group = "", members] =
      Object.entries(rows["Port_Group"] ?? {}).find(([, { name }]) => String(name).endsWith("_denied")) ?? [];
    const removal = { _is_diff: true, Port_Group: { [group]: { ports: members?.["ports"] } } };
    const start = record("JSON", SCHEMA) + record("JSON", rows);
    const denied = `${FROM_P04} && ${TO_P02} && udp.dst == 99`;
    expect((await run({ "sb.db": start }, denied)).code).toBe(1);
    // The set without its member: the port is not denied any more.
    expect((await run({ "sb.db": start + record("JSON", removal) }, denied)).code).toBe(0);
    const half = record("JSON", removal).slice(0, -20);
    expect((await run({ "sb.db": start + half }, denied)).code).toBe(1);
    const gone = record("JSON", { Port_Group: { [group]: null } });
    const without = await run({ "sb.db": start + gone }, denied);
    expect(without.code).toBe(0);
    expect(without.errors).toMatch(/^note: without members, for the input has none: .*@denied/);
  });
});

// Forms of lists that people paste: with and without `--uuid`, with an alias, folded in documents, of OVN up to 2026.
const LIST = `
$ ovn-sbctl --uuid lflow-list
Datapath: "sw" aka "frontend" (43cd23e2-8666-45dc-ac3a-67acec1a9273)  Pipeline: ingress
  uuid=0x0000aaaa, table=0 (ls_in_check_port_sec), priority=100  , match=(eth.src[40]), action=(drop;)
  table=0 (ls_in_check_port_sec), priority=50   , match=(1), action=(reg0[15] = check_in_port_sec(); next;)
  table= 1(   ls_in_apply_port_sec), priority=    0,
    match=(1),
    action=(next(29);)
  table=29(ls_in_l2_lkup      ), priority=70   , match=(eth.mcast), action=(outport = "_MC_flood"; output;)
  table=29(ls_in_l2_lkup      ), priority=50   , match=(eth.dst == 0a:58:0a:00:00:05), action=(outport = "pod"; output;)
  table=29(ls_in_l2_lkup      ), priority=50   , match=(eth.dst == { 0a:58:a9:fe:01:01, 0a:58:0a:00:00:01 }), action=(outport = "stor"; output;)
  table=29(ls_in_l2_lkup      ), priority=0    , match=(eth.dst == $svc_monitor_mac), action=(handle_svc_check(inport);)
Datapath: "sw" aka "frontend" (43cd23e2-8666-45dc-ac3a-67acec1a9273)  Pipeline: egress
  table=0 (ls_out_apply_port_sec), priority=0    , match=(1), action=(output;)
Datapath: "router" (53cd23e2-8666-45dc-ac3a-67acec1a9273)  Pipeline: ingress
  table=0 (lr_in_admission    ), priority=50   , match=(eth.dst == { 0a:58:a9:fe:01:01, 0a:58:0a:00:00:01 } && inport == "rtos" && is_chassis_resident("cr-rtos")), action=(mac_cache_use; flags.network_id = 0; next;)
  table=1 (lr_in_ip_routing   ), priority=74   , match=(reg7 == 0 && ip4.dst == 10.0.0.0/24), action=(ip.ttl--; eth.src = 0a:58:0a:00:00:01; eth.dst = 0a:58:0a:00:00:05; outport = "rtos"; flags.loopback = 1; output;)
Datapath: "router" (53cd23e2-8666-45dc-ac3a-67acec1a9273)  Pipeline: egress
  table=0 (lr_out_delivery    ), priority=100  , match=(outport == "rtos"), action=(output;)
`;

describe("a destination in a switch's own range", () => {
  /** The recorded database with the addresses of its router's ports, as whole ones have them. */
  const whole = tablesOf(DUMP)
    .map((table) => {
      if (table.caption !== "Port_Binding table") return table;
      const at = table.headings.indexOf("logical_port");
      const macs: Readonly<Record<string, string>> = { "lr0-sw0": "00:00:00:00:ff:00 10.0.0.1/24" };
      const data = table.data.map((cells) => [...cells, macs[String(cells[at])] ?? ["set", []]]);
      return { ...table, headings: [...table.headings, "mac"], data };
    })
    .map((table) => JSON.stringify(table))
    .join("\n");
  const to = (address: string): string =>
    `${FROM_P04} && eth.dst == 00:00:00:00:ff:00 && ip4.dst == ${address} && ip.ttl == 64 && tcp.dst == 80`;

  it("that nobody has is an error which says what there is, and ends with 2", async () => {
    const { code, errors, output } = await run({ "sb.json": whole }, to("10.0.0.99"));
    expect([code, output]).toEqual([2, ""]);
    expect(errors).toMatch(/no port of sw0 has 10\.0\.0\.99, of its range 10\.0\.0\.0\/24/);
  });

  it.each(["10.0.0.2", "10.0.0.1", "10.0.0.255", "10.0.1.2", "192.0.2.1"])(
    "%s is followed",
    async (address) => {
      expect((await run({ "sb.json": whole }, to(address))).code).not.toBe(2);
    },
  );
});

describe("a list of logical flows", () => {
  it("leads through the router, whose port is known by its MAC, and back", async () => {
    const { code, output, errors } = await run(
      { "flows.txt": LIST },
      'inport == "pod" && eth.dst == 0a:58:a9:fe:01:01 && ip4.src == 10.0.0.5 && ip4.dst == 10.0.0.5 && tcp',
    );
    expect(output).toContain('ingress(dp="router", inport="rtos")');
    expect(output).toMatch(/\narrives at pod: /);
    expect(code).toBe(0);
    expect(errors).toMatch(
      /^note: a list of flows has no ports[^\n]*\nnote: without members[^\n]*\$svc_monitor_mac\n$/,
    );
  });

  it("tells a broadcast to all ports that its flows name", async () => {
    const { output } = await run(
      { "flows.txt": LIST },
      'inport == "pod" && eth.dst == ff:ff:ff:ff:ff:ff && arp.tpa == 10.0.0.1',
    );
    expect(output).toContain('egress(dp="sw", inport="pod", outport="stor")');
  });
});

describe("what is refused", () => {
  it.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
    [
      "a file of something else beside a database",
      { "sb.json": DUMP, "a.txt": "kind: Pod\n" },
      'inport == "p"',
      /a\.txt cannot be read: .* is not JSON.*\[ovn-database-unreadable\]/,
    ],
    ["a file of something else alone", { "a.txt": "ingress(dp=sw0)\n" }, 'inport == "p"', /a\.txt/],
    [
      "a northbound database alone",
      { "nb.json": '{"caption":"NB_Global table","headings":[],"data":[]}' },
      'inport == "p"',
      /no file has logical flows/,
    ],
    [
      "a dump without flows",
      { "a.json": '{"caption":"Chassis table","headings":[],"data":[]}' },
      'inport == "p"',
      /neither logical flows nor logical switches/,
    ],
    [
      "a port that is not there",
      { "sb.json": DUMP },
      'inport == "p0"',
      /there is no port "p0".*\n.*p02, p03, p04/,
    ],
    ["no port", { "sb.json": DUMP }, "tcp.dst == 80", /the microflow names no inport/],
    [
      "a match that cannot be read",
      { "sb.json": DUMP },
      'inport == "p04" & tcp',
      /the microflow cannot be read: .*character 17/,
    ],
    ["two values", { "sb.json": DUMP }, 'inport == "p04" && tcp && udp', /ip\.proto has two values/],
    ["a range", { "sb.json": DUMP }, 'inport == "p04" && tcp.dst > 5', /tcp\.dst is compared by == only/],
    ["a set", { "sb.json": DUMP }, "ip4.src == $as", /address set as stands for several values/],
  ])("%s", async (_title, files, microflow, message) => {
    const { code, errors, output } = await run(files, microflow);
    expect([code, output]).toEqual([2, ""]);
    expect(errors).toMatch(message);
  });

  it("a state and a datapath that are none", async () => {
    expect((await run({ "sb.json": DUMP }, FROM_P04, "--ct", "open")).errors).toMatch(
      /--ct open is no state/,
    );
    expect((await run({ "sb.json": DUMP }, "sw", FROM_P04)).errors).toMatch(
      /there is no datapath "sw".*\n.*sw0, sw1/,
    );
  });
});
