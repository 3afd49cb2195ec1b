// The routes of a subnet, cell by cell, for three configurations (control-planes.md §6.4: system routes and selection).
import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix, parseIpv4, parsePrefix } from "#core/net/ip.ts";
import { type AddressSpaces, RouteLookup, type UserRoute, effectiveRoutes } from "./effective-routes.ts";

const NONE: AddressSpaces = { own: [], peered: [], learned: [], serviceEndpoints: [] };
const ranges = (...texts: readonly string[]) => texts.map((text) => parsePrefix(text)!);

function user(name: string, to: string, nextHopType: UserRoute["nextHopType"], nextHop?: string): UserRoute {
  const route = { name, prefix: parsePrefix(to)!, nextHopType };
  return nextHop === undefined ? route : { ...route, nextHop: parseIpv4(nextHop)! };
}

/** As the portal's columns are: source, state, prefix, type, address and name. */
function table(spaces: Partial<AddressSpaces>, routes: readonly UserRoute[] = []): readonly string[] {
  return effectiveRoutes({ ...NONE, ...spaces }, routes).map(
    ({ source, state, prefix, nextHopType, nextHop, name }) =>
      [source, state, formatPrefix(prefix), nextHopType, nextHop && formatIp(nextHop), name]
        .filter((cell) => cell !== undefined)
        .join(" | "),
  );
}

/** The route that takes a packet: its prefix, source and type. */
function chosen(spaces: Partial<AddressSpaces>, routes: readonly UserRoute[], to: string): string {
  const lookup = new RouteLookup(effectiveRoutes({ ...NONE, ...spaces }, routes));
  const { prefix, source, nextHopType } = lookup.find(parseIpv4(to)!)!;
  return `${formatPrefix(prefix)} ${source} ${nextHopType}`;
}

describe("a network in one of the reserved ranges", () => {
  const spaces = { own: ranges("10.240.0.0/16", "10.241.0.0/24") };

  it("its ranges stand in place of that one; the others lead nowhere, all else to the Internet", () => {
    expect(table(spaces)).toEqual([
      "Default | Active | 10.240.0.0/16 | VnetLocal",
      "Default | Active | 10.241.0.0/24 | VnetLocal",
      "Default | Active | 0.0.0.0/0 | Internet",
      "Default | Active | 172.16.0.0/12 | None",
      "Default | Active | 192.168.0.0/16 | None",
      "Default | Active | 100.64.0.0/10 | None",
    ]);
  });

  it.each([
    ["10.240.3.4", "10.240.0.0/16 Default VnetLocal"],
    ["10.9.0.1", "0.0.0.0/0 Default Internet"],
    ["172.20.0.1", "172.16.0.0/12 Default None"],
    ["100.100.0.1", "100.64.0.0/10 Default None"],
    ["203.0.113.10", "0.0.0.0/0 Default Internet"],
  ])("a packet for %s: %s", (to, route) => {
    expect(chosen(spaces, [], to)).toBe(route);
  });
});

describe("a network that is a reserved range, with a peer, a gateway and a service's endpoint", () => {
  const spaces = {
    own: ranges("192.168.0.0/16"),
    peered: ranges("10.1.0.0/16"),
    learned: ranges("10.2.0.0/16", "192.168.7.0/24", "0.0.0.0/0"),
    serviceEndpoints: ranges("203.0.113.0/24"),
  };

  it("the range is its own; what was learned overrides Azure's route of the same prefix", () => {
    expect(table(spaces)).toEqual([
      "Default | Active | 192.168.0.0/16 | VnetLocal",
      "Default | Active | 10.1.0.0/16 | VNetPeering",
      "Default | Active | 203.0.113.0/24 | VirtualNetworkServiceEndpoint",
      "Default | Invalid | 0.0.0.0/0 | Internet",
      "Default | Active | 10.0.0.0/8 | None",
      "Default | Active | 172.16.0.0/12 | None",
      "Default | Active | 100.64.0.0/10 | None",
      "VirtualNetworkGateway | Active | 10.2.0.0/16 | VirtualNetworkGateway",
      "VirtualNetworkGateway | Active | 192.168.7.0/24 | VirtualNetworkGateway",
      "VirtualNetworkGateway | Active | 0.0.0.0/0 | VirtualNetworkGateway",
    ]);
  });

  it.each([
    // Longer, and learned: the network's own route is kept all the same.
    ["192.168.7.1", "192.168.0.0/16 Default VnetLocal"],
    ["10.1.2.3", "10.1.0.0/16 Default VNetPeering"],
    ["10.2.0.1", "10.2.0.0/16 VirtualNetworkGateway VirtualNetworkGateway"],
    ["10.3.0.1", "10.0.0.0/8 Default None"],
    ["203.0.113.10", "203.0.113.0/24 Default VirtualNetworkServiceEndpoint"],
    ["198.51.100.1", "0.0.0.0/0 VirtualNetworkGateway VirtualNetworkGateway"],
  ])("a packet for %s: %s", (to, route) => {
    expect(chosen(spaces, [], to)).toBe(route);
  });
});

describe("a subnet with a table, as the provider of kubenet writes it", () => {
  const spaces = { own: ranges("10.240.0.0/16"), learned: ranges("10.244.1.0/24", "10.50.0.0/16") };
  const routes = [
    user("win-1", "10.244.1.0/24", "VirtualAppliance", "10.240.0.5"),
    user("inspect", "10.240.9.0/24", "VirtualAppliance", "10.240.0.9"),
    user("whole", "10.240.0.0/16", "VnetLocal"),
    user("hole", "10.240.8.0/24", "None"),
    user("out", "0.0.0.0/0", "VirtualAppliance", "10.240.0.9"),
  ];

  it("a user's route overrides a learned one and Azure's; both stay listed as invalid", () => {
    expect(table(spaces, routes)).toEqual([
      "Default | Invalid | 10.240.0.0/16 | VnetLocal",
      "Default | Invalid | 0.0.0.0/0 | Internet",
      "Default | Active | 172.16.0.0/12 | None",
      "Default | Active | 192.168.0.0/16 | None",
      "Default | Active | 100.64.0.0/10 | None",
      "VirtualNetworkGateway | Invalid | 10.244.1.0/24 | VirtualNetworkGateway",
      "VirtualNetworkGateway | Active | 10.50.0.0/16 | VirtualNetworkGateway",
      "User | Active | 10.244.1.0/24 | VirtualAppliance | 10.240.0.5 | win-1",
      "User | Active | 10.240.9.0/24 | VirtualAppliance | 10.240.0.9 | inspect",
      "User | Active | 10.240.0.0/16 | VnetLocal | whole",
      "User | Active | 10.240.8.0/24 | None | hole",
      "User | Active | 0.0.0.0/0 | VirtualAppliance | 10.240.0.9 | out",
    ]);
  });

  it.each([
    ["10.244.1.10", "10.244.1.0/24 User VirtualAppliance"],
    ["10.240.9.1", "10.240.9.0/24 User VirtualAppliance"],
    ["10.240.8.1", "10.240.8.0/24 User None"],
    ["10.240.0.5", "10.240.0.0/16 User VnetLocal"],
    ["10.50.1.1", "10.50.0.0/16 VirtualNetworkGateway VirtualNetworkGateway"],
    ["203.0.113.10", "0.0.0.0/0 User VirtualAppliance"],
  ])("a packet for %s: %s", (to, route) => {
    expect(chosen(spaces, routes, to)).toBe(route);
  });
});
