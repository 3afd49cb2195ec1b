import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { type DriverPod, DriverWorld } from "#test/support/dataplane/driver-world.ts";
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
  expect(copy.state.datapath.listSwitches()[0]?.extension).not.toBe(
    world.datapath.listSwitches()[0]?.extension,
  );
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
