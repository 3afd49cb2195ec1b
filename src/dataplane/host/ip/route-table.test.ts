import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryPair } from "../../device/memory-pair.ts";
import { parseIp } from "#core/net/ip.ts";
import { cidr, ip, mac, makeEnvironment, prefix } from "#test/support/dataplane/stack-world.ts";
import { Host } from "../host.ts";
import { SharedRoutes, formatRoute } from "./route-table.ts";
import { selectSource } from "./address-scope.ts";
import type { OperatingSystem } from "../stack-profile.ts";

function stack(os: OperatingSystem = "linux") {
  const env = makeEnvironment();
  const { root } = new Host(env, { name: "n", os });
  const eth0 = root.addInterface({
    name: "eth0",
    mac: mac("02-00-00-00-00-01"),
    device: memoryPair(env.clock, { delayMs: 1 })[0],
  });
  const eth1 = root.addInterface({
    name: "eth1",
    mac: mac("02-00-00-00-00-02"),
    device: memoryPair(env.clock, { delayMs: 1 })[0],
  });
  return { root, eth0, eth1 };
}

describe("routes", () => {
  const { root, eth0, eth1 } = stack();
  root.addAddress(eth0, cidr("10.0.0.11/24"));
  root.addAddress(eth1, cidr("10.1.0.11/16"));
  root.addRoute({ prefix: prefix("0.0.0.0/0"), nextHop: ip("10.0.0.1"), interface: eth0, metric: 10 });
  root.addRoute({ prefix: prefix("0.0.0.0/0"), nextHop: ip("10.1.0.1"), interface: eth1, metric: 20 });
  root.addRoute({ prefix: prefix("10.244.0.0/16"), nextHop: ip("10.1.0.1"), interface: eth1, metric: 5 });
  root.addRoute({ prefix: prefix("10.244.2.0/24"), nextHop: ip("10.0.0.12"), interface: eth0, metric: 500 });

  it.each([
    ["10.0.0.12", "10.0.0.0/24 on-link on eth0", "an address implies its on-link route"],
    ["10.1.255.1", "10.1.0.0/16 on-link on eth1", "an address implies its on-link route"],
    ["10.244.2.9", "10.244.2.0/24 via 10.0.0.12 on eth0", "the longest prefix wins over a lower metric"],
    ["10.244.3.9", "10.244.0.0/16 via 10.1.0.1 on eth1", "the shorter prefix serves the rest"],
    ["203.0.113.10", "0.0.0.0/0 via 10.0.0.1 on eth0", "the lowest metric wins among equal prefixes"],
  ])("%s goes %s: %s", (destination, expected) => {
    expect(formatRoute(root.output.routeFor(ip(destination))!)).toBe(expected);
  });

  it.each([
    ["0.0.0.0/0", ["0.0.0.0/0 via 10.0.0.1 on eth0", "0.0.0.0/0 via 10.1.0.1 on eth1"]],
    ["10.244.2.0/24", ["10.244.2.0/24 via 10.0.0.12 on eth0"]],
    ["10.244.2.0/25", []],
    ["10.244.3.0/24", []],
  ])("to exactly %s: %j", (text, expected) => {
    expect(root.routesTo(prefix(text)).map(formatRoute)).toEqual(expected);
  });

  it("lists the most specific first", () => {
    expect(root.listRoutes().map((route) => `${formatRoute(route)} ${route.metric} ${route.origin}`)).toEqual(
      [
        "10.0.0.0/24 on-link on eth0 0 address",
        "10.244.2.0/24 via 10.0.0.12 on eth0 500 static",
        "10.1.0.0/16 on-link on eth1 0 address",
        "10.244.0.0/16 via 10.1.0.1 on eth1 5 static",
        "0.0.0.0/0 via 10.0.0.1 on eth0 10 static",
        "0.0.0.0/0 via 10.1.0.1 on eth1 20 static",
      ],
    );
  });
});

describe("changes of routes", () => {
  it("replaces a route with the same prefix, next hop and interface", () => {
    const { root, eth0 } = stack();
    const route = { prefix: prefix("10.2.0.0/16"), nextHop: ip("10.0.0.1"), interface: eth0 };
    root.addRoute({ ...route, metric: 1 });
    root.addRoute({ ...route, metric: 2 });
    expect(root.listRoutes().map((entry) => entry.metric)).toEqual([2]);
    expect(root.removeRoute(route)).toBe(true);
    expect(root.removeRoute(route)).toBe(false);
    expect(root.listRoutes()).toEqual([]);
  });

  it("adds the interface's metric: an equal route over the faster interface wins", () => {
    const env = makeEnvironment();
    const { root } = new Host(env, { name: "n", os: "windows" });
    const names = [
      ["slow", 25],
      ["fast", 15],
    ] as const;
    for (const [index, [name, metric]] of names.entries()) {
      const device = memoryPair(env.clock, { delayMs: 1 })[0];
      const added = root.addInterface({ name, mac: mac(`02-00-00-00-00-0${index + 1}`), device, metric });
      root.addRoute({ prefix: prefix("10.2.0.0/16"), interface: added, metric: 256 });
    }
    expect(root.output.routeFor(ip("10.2.3.4"))!.interface.name).toBe("fast");
  });

  it("takes the on-link route away with the last address that implies it", () => {
    const { root, eth0 } = stack();
    root.addAddress(eth0, cidr("10.0.0.11/24"));
    root.addAddress(eth0, cidr("10.0.0.12/24"));
    root.removeAddress(eth0, ip("10.0.0.12"));
    expect(root.listRoutes()).toHaveLength(1);
    root.removeAddress(eth0, ip("10.0.0.11"));
    expect(root.listRoutes()).toEqual([]);
  });

  it("takes addresses and routes away with the interface", () => {
    const { root, eth0 } = stack();
    root.addAddress(eth0, cidr("10.0.0.11/24"));
    root.addRoute({ prefix: prefix("0.0.0.0/0"), nextHop: ip("10.0.0.1"), interface: eth0, metric: 0 });
    root.removeInterface(eth0);
    expect(root.listRoutes()).toEqual([]);
    expect(root.isLocal(ip("10.0.0.11"))).toBe(false);
  });
});

describe("source address", () => {
  const addresses = [cidr("10.0.0.11/24"), cidr("10.244.1.2/24"), cidr("10.0.0.14/24")];
  const none = undefined;
  const rows: [OperatingSystem, string, string, string | undefined, string][] = [
    // os, destination, next hop, source
    [
      "windows",
      "10.244.9.9",
      "10.0.0.1",
      "10.244.1.2",
      "shares most bits with the destination (RFC 6724 rule 8)",
    ],
    [
      "windows",
      "10.0.0.15",
      "10.0.0.15",
      "10.0.0.11",
      "bits count up to the prefix length only, the older wins",
    ],
    [
      "windows",
      "203.0.113.10",
      "10.244.1.1",
      "10.244.1.2",
      "shares as many: the subnet of the next hop decides",
    ],
    ["linux", "10.244.9.9", "10.0.0.1", "10.0.0.11", "the first address in the subnet of the next hop"],
    ["linux", "10.9.9.9", "10.9.9.9", "10.0.0.11", "no subnet holds the next hop: the first address"],
    ["linux", "2001:db8::1", "2001:db8::1", none, "no address of the family"],
    ["windows", "2001:db8::1", "2001:db8::1", none, "no address of the family"],
  ];
  it.each(rows)("%s to %s by %s: %s, %s", (os, destination, nextHop, expected) => {
    const chosen = selectSource(os, addresses, {
      destination: ip(destination),
      nextHop: ip(nextHop),
      isDeprecated: () => false,
    });
    expect(chosen).toBe(expected === undefined ? undefined : parseIp(expected));
  });
});

describe("routes that many machines share", () => {
  const WAYS = [1, 2, 3, 4].map((node) => ({
    prefix: prefix(`10.244.${node}.0/24`),
    nextHop: ip(`10.0.0.1${node}`),
  }));
  const SHARED = new SharedRoutes(WAYS);
  const CHANGE = fc.record({
    what: fc.constantFrom("add", "remove", "address", "forget"),
    to: fc.constantFrom("10.244.1.0/24", "10.244.2.0/24", "10.244.4.0/24", "10.244.0.0/16"),
    via: fc.constantFrom("10.0.0.11", "10.0.0.12", "10.0.0.14"),
    over: fc.constantFrom("eth0", "eth1"),
    metric: fc.constantFrom(0, 5),
  });

  type Change = typeof CHANGE extends fc.Arbitrary<infer T> ? T : never;
  type Stack = ReturnType<typeof stack>;

  /** The machine 10.0.0.14 with the ways, after some changes before them and some behind them. */
  function changed(isShared: boolean, before: readonly Change[], behind: readonly Change[]): Stack {
    const machine = stack();
    const { root, eth0 } = machine;
    root.addAddress(eth0, cidr("10.0.0.14/24"));
    for (const change of before) make(machine, change);
    const self = ip("10.0.0.14");
    if (isShared) root.addSharedRoutes(SHARED, { interface: eth0, metric: 0, self });
    else
      for (const way of WAYS) if (way.nextHop !== self) root.addRoute({ ...way, interface: eth0, metric: 0 });
    for (const change of behind) make(machine, change);
    return machine;
  }

  function make({ root, eth0, eth1 }: Stack, { what, to, via, over, metric }: Change): void {
    const netInterface = over === "eth0" ? eth0 : eth1;
    const route = { prefix: prefix(to), nextHop: ip(via), interface: netInterface, metric };
    if (what === "add") root.addRoute(route);
    else if (what === "remove") root.removeRoute(route);
    else if (what === "address") root.addAddress(netInterface, cidr(to.replace("0/", "1/")));
    else root.setMetric(netInterface, metric);
  }

  it("are those that each has of its own, whatever changes before and behind them", () => {
    const changes = fc.array(CHANGE, { maxLength: 4 });
    fc.assert(
      fc.property(changes, changes, (before, behind) => {
        const [shared, own] = [true, false].map((isShared) => {
          const { root } = changed(isShared, before, behind);
          const asked = ["10.244.1.9", "10.244.2.9", "10.244.4.9", "10.244.9.9", "10.0.0.1"];
          return {
            routes: root.listRoutes().map((route) => `${formatRoute(route)} ${route.metric} ${route.origin}`),
            found: asked.map((each) => root.output.findPath(ip(each))?.nextHop),
            exact: WAYS.map((way) => root.routesTo(way.prefix).map(formatRoute)),
          };
        });
        expect(shared).toEqual(own);
      }),
      { numRuns: 200 },
    );
  });

  it("stay as they are when one machine removes one", () => {
    const { root, eth0 } = changed(true, [], []);
    expect(Object.isFrozen(SHARED)).toBe(true);
    expect(root.listRoutes().map(formatRoute)).toContain("10.244.1.0/24 via 10.0.0.11 on eth0");
    expect(
      root.removeRoute({ prefix: prefix("10.244.1.0/24"), nextHop: ip("10.0.0.11"), interface: eth0 }),
    ).toBe(true);
    expect(changed(true, [], []).root.routesTo(prefix("10.244.1.0/24"))).toHaveLength(1);
  });
});
