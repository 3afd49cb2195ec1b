// From a packet of a pod to a row that its chassis writes (ovn-controller(8); ovn-sb(5), Controller_Event, Port_Binding, IGMP_Group).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import { parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { buildIpFrame } from "#core/wire/build-frame.ts";
import { type OvsdbOperation, type OvsdbRow, errorOf, mapOf, textsOf } from "#contracts/ovsdb/client.ts";
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { EXAMPLE, OBJECTS } from "#test/support/cluster/ovn-world.ts";
import { type SessionWorld, openSessionWorld, remove } from "#test/support/cluster/session-world.ts";

const COPIED = [
  "Datapath_Binding",
  "Port_Binding",
  "Logical_Flow",
  "Multicast_Group",
  "IP_Multicast",
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

function isSwitch([, row]: readonly [string, OvsdbRow]): boolean {
  return JSON.stringify(row["external_ids"]).includes('"name","win-1"');
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

/** The pod sends a message of IGMP to a group, whose MAC follows from it (RFC 1112, 6.4). */
function tell({ session }: SessionWorld, group: string, message: string): void {
  const client = defined(
    session.cluster.pods.find(({ spec }) => spec.name === "client"),
    "the pod",
  );
  const [destination, own] = [
    defined(parseIp(group), "a group"),
    client.compartment.interfaceOf(client.address),
  ];
  const low = Number(destination) & 0x7f_ffff;
  const octets = [low >> 16, (low >> 8) & 0xff, low & 0xff].map((each) => each.toString(16).padStart(2, "0"));
  const frame = buildIpFrame({
    link: {
      sourceMac: defined(own, "its interface").mac,
      destinationMac: defined(parseMac(`01:00:5e:${octets.join(":")}`), "a MAC"),
    },
    ip: { source: client.address, destination, ttl: 1, identification: 0, isDontFragment: false },
    protocol: 2,
    payload: annotatedHex(message),
  });
  own?.transmitFrame(frame);
  const { clock } = session.cluster;
  clock.runUntil(clock.nowMs + 1);
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

  // RFC 2236, 2: a report (0x16) for 239.1.1.1 and a leave (0x17), which goes to all routers.
  it("is who wants a group: a row of IGMP_Group with the port of the pod, until the pod leaves it", async () => {
    const opened = await world([["igmp", "igmp;"]]);
    const ovn = defined(opened.session.ovn, "OVN");
    const datapath = defined(
      [...opened.sb.rowsOf("Datapath_Binding")].find(isSwitch)?.[0],
      "the switch of win-1",
    );
    const snooping = {
      datapath: ["uuid", datapath],
      enabled: true,
      table_size: 2048,
      idle_timeout: 300,
    } as const;
    expect(
      errorOf(opened.sb.transact([{ op: "insert", table: "IP_Multicast", row: snooping }])),
    ).toBeUndefined();
    await ovn.follow();
    const chassis = [...opened.sb.rowsOf("Chassis")].find(([, row]) => row["name"] === "win-1")?.[0];
    const port = [...opened.sb.rowsOf("Port_Binding")].find(
      ([, row]) => row["logical_port"] === "default_client",
    );

    tell(opened, "239.1.1.1", "1600f9fcef010101");
    expect(ovn.hasReports()).toBe(true);
    await ovn.follow();
    expect(rowsOf(opened.sb, "IGMP_Group")).toMatchObject([
      {
        address: "239.1.1.1",
        chassis: ["uuid", chassis],
        datapath: ["uuid", datapath],
        ports: ["uuid", port?.[0]],
      },
    ]);

    tell(opened, "224.0.0.2", "1700f8fcef010101");
    await ovn.follow();
    expect(rowsOf(opened.sb, "IGMP_Group")).toEqual([]);
  });
});
