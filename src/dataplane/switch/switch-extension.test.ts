import { expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { type DriverPod, DriverWorld } from "#test/support/dataplane/driver-world.ts";
import { type Decision, type SwitchExtension, drop, toPorts } from "./decision.ts";
import type { SwitchPort } from "./switch-port.ts";
import type { SwitchTables } from "./switch-tables.ts";
import type { VirtualSwitch } from "./virtual-switch.ts";

/** Keeps one port from the others. */
class Isolation implements SwitchExtension {
  readonly name = "isolation";
  private readonly portName: string;

  constructor(portName: string) {
    this.portName = portName;
  }

  decide(_tables: SwitchTables, source: SwitchPort): Decision | undefined {
    if (!source.description.includes(this.portName)) return undefined;
    return drop("switch-port-blocked", "the extension isolates this port");
  }
}

/** A hub: all that comes in goes out of every other port. */
class Hub implements SwitchExtension {
  readonly name = "hub";

  decide({ ports }: SwitchTables, source: SwitchPort): Decision {
    const others = ports.filter((port) => port !== source);
    return toPorts(others, "the hub sends it everywhere");
  }
}

/** Sends two frames for one, one after the other. */
class Twice extends Hub {
  override decide(tables: SwitchTables, source: SwitchPort): Decision {
    const first = super.decide(tables, source);
    return first.kind === "to" ? { ...first, further: [first] } : first;
  }
}

async function joined(): Promise<{
  world: DriverWorld;
  a: DriverPod;
  b: DriverPod;
  virtualSwitch: VirtualSwitch;
}> {
  const world = new DriverWorld();
  const network = await world.network("Transparent");
  const a = await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.50", PrefixLength: 24 }],
  });
  const b = await world.pod("B", network, {
    IpConfigurations: [{ IpAddress: "10.0.0.51", PrefixLength: 24 }],
  });
  return { world, a, b, virtualSwitch: world.datapath.listSwitches()[0]! };
}

it("an extension may end a frame, counted under its code, and leave others to the switch", async () => {
  const { world, a, b, virtualSwitch } = await joined();
  virtualSwitch.extension = new Isolation("(a)");
  expect(world.ask(a.compartment, "icmp", "10.0.0.51").outcome).not.toBe("answered");
  expect(virtualSwitch.drops.get("switch-port-blocked")).toBeGreaterThan(0);
  expect(world.ask(b.compartment, "icmp", "10.0.0.12")).toMatchObject({ outcome: "answered" });
  virtualSwitch.extension = undefined;
  expect(world.ask(a.compartment, "icmp", "10.0.0.51")).toMatchObject({ outcome: "answered" });
});

it("an extension may forward in place of the switch, also in a fork", async () => {
  const { world, a, virtualSwitch } = await joined();
  virtualSwitch.extension = new Hub();
  const { client: _client, ...state } = world;
  const copy = fork({ state, pod: a });
  expect(copy.state.datapath.listSwitches()[0]?.extension).not.toBe(virtualSwitch.extension);
  const rows = world.walk(a.compartment, "icmp", "10.0.0.51");
  expect(rows.filter((row) => row.startsWith("deliver"))).toEqual(["deliver B | Am→Bm | A→B | icmp | 128"]);
  expect(rows).toContain("drop W1 | Am→Bm | A→B | icmp | 128");
});

it("an extension may send further frames behind the first", async () => {
  const { world, a, virtualSwitch } = await joined();
  virtualSwitch.extension = new Twice();
  const rows = world.walk(a.compartment, "icmp", "10.0.0.51");
  const delivered = rows.filter((row) => row.startsWith("deliver B"));
  expect(delivered).toEqual(Array(2).fill("deliver B | Am→Bm | A→B | icmp | 128"));
});
