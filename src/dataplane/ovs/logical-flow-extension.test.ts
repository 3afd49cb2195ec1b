import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { parseIp } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { describeFrame } from "#core/wire/text/format.ts";
import { encapsulateGeneve } from "#core/wire/tunnels/encapsulation.ts";
import { toOvnGeneveOption } from "#core/wire/tunnels/ovn-metadata.ts";
import { type DriverPod, DriverWorld } from "#test/support/dataplane/driver-world.ts";
import type { Decision } from "../switch/decision.ts";
import { NatBindings } from "../switch/nat-bindings.ts";
import { SwitchTables } from "../switch/switch-tables.ts";
import { LogicalFlowExtension } from "./logical-flow-extension.ts";
import { LogicalNetwork } from "./logical-network.ts";
import { readDump } from "./ovsdb-tables.ts";
import { type Southbound, toSouthbound } from "./southbound.ts";

const DUMP = readFileSync("test/support/dataplane/southbound-dump.ndjson", "utf8");

async function joined(
  macOfB: string,
): Promise<{ world: DriverWorld; a: DriverPod; network: LogicalNetwork; southbound: Southbound }> {
  const world = new DriverWorld();
  const id = await world.network("Transparent");
  const a = await world.pod("A", id, {
    MacAddress: "50-54-00-00-00-02",
    IpConfigurations: [{ IpAddress: "10.0.0.2", PrefixLength: 24 }],
  });
  await world.pod("B", id, {
    MacAddress: macOfB,
    IpConfigurations: [{ IpAddress: "10.0.0.3", PrefixLength: 24 }],
  });
  const virtualSwitch = world.datapath.listSwitches()[0]!;
  const [first, second] = virtualSwitch.listPorts().filter(({ kind }) => kind === "container");
  const bindings = new Map([
    [first!.name, "p02"],
    [second!.name, "p03"],
  ]);
  const southbound = toSouthbound(readDump(DUMP));
  const network = new LogicalNetwork(southbound);
  virtualSwitch.extension = new LogicalFlowExtension(network, bindings, world.clock);
  return { world, a, network, southbound };
}

it("pods of a Transparent network reach each other where the flows of ovn-northd let them, also in a fork", async () => {
  const { world, a, network, southbound } = await joined("50-54-00-00-00-03");
  // The ACL of the port group lets nothing but port 80 to A; without members it concerns no port.
  expect(world.ask(a.compartment, "icmp", "10.0.0.3").outcome).not.toBe("answered");
  for (const { name } of southbound.portGroups) network.setPortGroup({ name, members: [] });
  expect(world.ask(a.compartment, "icmp", "10.0.0.3")).toMatchObject({ outcome: "answered" });
  const { client: _client, ...state } = world;
  const copy = fork({ state, pod: a });
  const [own] = world.datapath.listSwitches();
  const [forked] = copy.state.datapath.listSwitches();
  // `not.toBe` of two that differ compares all that they reach.
  expect(forked?.extension === own?.extension).toBe(false);
});

it("CP-O46: an endpoint whose MAC is not that of its logical port is cut off by port security", async () => {
  const { world, a } = await joined("50-54-00-00-00-77");
  expect(world.ask(a.compartment, "icmp", "10.0.0.3").outcome).not.toBe("answered");
  expect(world.datapath.listSwitches()[0]?.drops.get("ovn-packet-dropped")).toBeGreaterThan(0);
});

it("CP-O19: the router of the logical network refuses a connection to itself, and the pod's stack hears it", async () => {
  const { world, a, network, southbound } = await joined("50-54-00-00-00-03");
  // The stateless ACL lets no answers to A; without members its group concerns no port.
  for (const { name } of southbound.portGroups) network.setPortGroup({ name, members: [] });
  expect(world.ask(a.compartment, "tcp", "10.0.0.1", 80).outcome).toBe("refused");
});

describe("between two nodes", () => {
  const ENDS = [
    { name: "hv1", ip: "10.0.0.11", mac: 0x0015_5d00_0011 as Mac },
    { name: "hv2", ip: "10.0.0.12", mac: 0x0015_5d00_0012 as Mac },
  ] as const;

  /** A node with one pod, whose other pod is at the other node. */
  async function node(
    index: 0 | 1,
    pod: "p02" | "p03",
  ): Promise<{ world: DriverWorld; pod: DriverPod; extension: LogicalFlowExtension }> {
    const world = new DriverWorld();
    const id = await world.network("Transparent");
    const last = pod.slice(-1);
    const made = await world.pod("A", id, {
      MacAddress: `50-54-00-00-00-0${last}`,
      IpConfigurations: [{ IpAddress: `10.0.0.${last}`, PrefixLength: 24 }],
    });
    const southbound = toSouthbound(readDump(DUMP));
    const network = new LogicalNetwork({
      ...southbound,
      portGroups: [],
      chassis: ENDS.map(({ name, ip }) => ({ id: name, name, encapsulations: [{ type: "geneve", ip }] })),
      ports: southbound.ports.map((port) => ({
        ...port,
        chassis: port.name === "p02" ? "hv1" : port.name === "p03" ? "hv2" : "",
      })),
    });
    const virtualSwitch = world.datapath.listSwitches()[0]!;
    const named = (kind: string): string =>
      virtualSwitch.listPorts().find((port) => port.kind === kind)!.name;
    const tunnels = {
      chassis: ENDS[index].name,
      switchPort: named("external"),
      mac: ENDS[index].mac,
      peers: new Map(ENDS.map(({ ip, mac }) => [ip, mac])),
    };
    const bindings = new Map([[named("container"), pod]]);
    const extension = new LogicalFlowExtension(network, bindings, world.clock, new Set(), tunnels);
    virtualSwitch.extension = extension;
    return { world, pod: made, extension };
  }

  function decided(to: Awaited<ReturnType<typeof node>>, packet: Packet): Decision | undefined {
    const ports = to.world.datapath.listSwitches()[0]!.listPorts();
    const headers = new Headers();
    headers.parse(packet);
    const uplink = ports.find(({ kind }) => kind === "external")!;
    return to.extension.decide(
      new SwitchTables(ports, new NatBindings(new Map(), to.world.clock)),
      uplink,
      packet,
      headers,
    );
  }

  it("a pod's packet leaves in GENEVE with OVN's keys, and the other node brings it to its pod", async () => {
    const [first, second] = [await node(0, "p02"), await node(1, "p03")];
    const heard: Packet[] = [];
    first.world.uplinkPackets(
      (packet) => heard.push(packet),
      () => first.world.ask(first.pod.compartment, "icmp", "10.0.0.3"),
    );
    const sent = heard.filter((packet) => describeFrame(packet.frame).includes("ICMP 10.0.0.2"));
    const [packet] = sent;
    if (packet === undefined)
      throw new Error(`nothing is in GENEVE: ${heard.map(({ frame }) => describeFrame(frame)).join("; ")}`);
    const decision = decided(second, packet);
    if (decision?.kind === "drop") throw new Error(decision.text);
    expect(decision).toMatchObject({ kind: "to", ports: [{ kind: "container" }] });
    const frame = decision?.kind === "to" ? decision.frame?.frame : undefined;
    expect(frame === undefined ? "" : describeFrame(frame)).toMatch(
      /^ICMP 10\.0\.0\.2 → 10\.0\.0\.3 echo request/,
    );
  });

  it("an option that is critical and not OVN's ends the packet", async () => {
    const second = await node(1, "p03");
    const packet = Packet.ofLength(60);
    encapsulateGeneve(packet, {
      link: { sourceMac: ENDS[0].mac, destinationMac: ENDS[1].mac },
      ip: {
        source: parseIp("10.0.0.11")!,
        destination: parseIp("10.0.0.12")!,
        ttl: 64,
        identification: 0,
        isDontFragment: true,
      },
      sourcePort: 40_000,
      vni: 2,
      options: [
        toOvnGeneveOption({ datapath: 2, ingressPort: 1, egressPort: 2 }),
        { optionClass: 0x999, type: 0x81, data: new Uint8Array(4) },
      ],
    });
    expect(decided(second, packet)).toMatchObject({ kind: "drop", code: "ovn-packet-dropped" });
  });
});
