// From a packet of a pod to a row that its chassis writes (ovn-controller(8); ovn-sb(5), Controller_Event, Port_Binding, IGMP_Group).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { type OvsdbOperation, type OvsdbRow, errorOf, mapOf, textsOf } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/southbound-schema.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { EXAMPLE, OBJECTS } from "#test/support/cluster/ovn-world.ts";
import { type SessionWorld, openSessionWorld, remove } from "#test/support/cluster/session-world.ts";

const COPIED = [
  "Datapath_Binding",
  "Port_Binding",
  "Logical_Flow",
  "Multicast_Group",
  "Address_Set",
  "Port_Group",
];
const EVENT = { vip: "10.96.0.77:80", protocol: "tcp", load_balancer: "lb-1" };

/** A flow of switch win-1, as ovn-northd writes it. */
function flow(datapath: string, match: string, actions: string): OvsdbOperation {
  const row: OvsdbRow = {
    logical_datapath: ["uuid", datapath],
    pipeline: "ingress",
    table_id: 5,
    priority: 130,
    match,
    actions,
  };
  return { op: "insert", table: "Logical_Flow", row };
}

/** A cluster whose chassis are in a database that nobody else writes, with these flows more on the switch of win-1. */
async function world(
  flows: readonly (readonly [match: string, actions: string])[],
  ports: readonly string[] = [],
): Promise<SessionWorld & { readonly sb: MemoryDatabase }> {
  const opened = await openSessionWorld(EXAMPLE, OBJECTS);
  const ovn = defined(opened.session.ovn, "the cluster has OVN");
  const sb = new MemoryDatabase(OVN_SOUTHBOUND, "reports");
  const copied = COPIED.flatMap((table) =>
    [...ovn.sb.rowsOf(table)].map(([uuid, row]): OvsdbOperation => {
      const { chassis: _chassis, requested_chassis: _requested, gateway_chassis: _gateway, ...rest } = row;
      // No northd is there to say which chassis was meant.
      const options = [...textsOf(row["options"])].filter(([name]) => name !== "requested-chassis");
      const free = table === "Port_Binding" ? { options: mapOf(Object.fromEntries(options)) } : {};
      return { op: "insert", table, uuid, row: { ...rest, ...free } };
    }),
  );
  const isSwitch = ([, row]: readonly [string, OvsdbRow]): boolean =>
    JSON.stringify(row["external_ids"]).includes('"name","win-1"');
  const [datapath] = defined([...ovn.sb.rowsOf("Datapath_Binding")].find(isSwitch), "the switch of win-1");
  const virtual = ports.map((name, index): OvsdbOperation => {
    const row: OvsdbRow = {
      logical_port: name,
      type: "virtual",
      tunnel_key: 900 + index,
      datapath: ["uuid", datapath],
    };
    return { op: "insert", table: "Port_Binding", row };
  });
  const results = sb.transact([...copied, ...virtual, ...flows.map((each) => flow(datapath, ...each))]);
  expect(errorOf(results)).toBeUndefined();
  await ovn.joinSouthbound(sb);
  return { ...opened, sb };
}

function send({ session }: SessionWorld, to: string): void {
  tracePacket(session.cluster, { from: "pod/client", to, protocol: "tcp", port: 80, isInjected: true });
}

function rowsOf(sb: MemoryDatabase, table: string): readonly OvsdbRow[] {
  return [...sb.rowsOf(table).values()];
}

describe("what a packet teaches a chassis", () => {
  it("is an event, where a Service has no back ends: written once, with the chassis", async () => {
    const info = `event = "empty_lb_backends", vip = "${EVENT.vip}", protocol = "tcp", load_balancer = "lb-1"`;
    const opened = await world([["ip4.dst == 10.96.0.77 && tcp", `trigger_event(${info});`]]);
    const ovn = defined(opened.session.ovn, "OVN");
    expect(ovn.hasReports()).toBe(false);
    send(opened, "10.96.0.77");
    expect(ovn.hasReports()).toBe(true);
    await ovn.follow();
    await ovn.follow();
    const chassis = [...opened.sb.rowsOf("Chassis")].find(([, row]) => row["name"] === "win-1")?.[0];
    expect(rowsOf(opened.sb, "Controller_Event")).toMatchObject([
      {
        event_type: "empty_lb_backends",
        event_info: mapOf(Object.fromEntries(Object.entries(EVENT).toSorted(([a], [b]) => (a < b ? -1 : 1)))),
        chassis: ["uuid", chassis],
      },
    ]);
  });

  it("is the parent of a virtual port, which the chassis keeps while that is here", async () => {
    const opened = await world([['inport == "default_client"', 'bind_vport("vip", inport); next;']], ["vip"]);
    const ovn = defined(opened.session.ovn, "OVN");
    const vip = (): OvsdbRow | undefined =>
      rowsOf(opened.sb, "Port_Binding").find((row) => row["logical_port"] === "vip");
    const chassis = [...opened.sb.rowsOf("Chassis")].find(([, row]) => row["name"] === "win-1")?.[0];
    send(opened, "10.96.0.77");
    for (let round = 0; round < 2; round++) {
      await ovn.follow();
      expect(vip()).toMatchObject({ chassis: ["uuid", chassis], virtual_parent: "default_client" });
    }
    await remove(opened, "Pod/client");
    expect(vip()).toMatchObject({ chassis: ["set", []], virtual_parent: ["set", []] });
  });
});
