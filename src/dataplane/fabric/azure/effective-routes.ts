/**
 * Which routes of a subnet count in a virtual network of Azure, and which of them takes a packet (control-planes.md §6.4).
 * IPv4 alone: a packet of the other family goes by address.
 */
import { defined } from "#core/base/assert.ts";
import {
  type Ip,
  type Ipv4,
  type Prefix,
  equalPrefixes,
  maskIp,
  parsePrefix,
  prefixCovers,
} from "#core/net/ip.ts";

/** Where packets go by a route of a user. */
export const USER_NEXT_HOP_TYPES = [
  "VnetLocal",
  "Internet",
  "None",
  "VirtualAppliance",
  "VirtualNetworkGateway",
] as const;
export type UserNextHopType = (typeof USER_NEXT_HOP_TYPES)[number];
/** Where packets go by any route. */
export type NextHopType = UserNextHopType | "VNetPeering" | "VirtualNetworkServiceEndpoint";

/** A user-defined route. */
export interface UserRoute {
  readonly name: string;
  readonly prefix: Prefix;
  readonly nextHopType: UserNextHopType;
  /** Of a virtual appliance. */
  readonly nextHop?: Ipv4;
}

/** What a virtual network reaches by itself. */
export interface AddressSpaces {
  readonly own: readonly Prefix[];
  /** Of networks that it is peered with. */
  readonly peered: readonly Prefix[];
  /** What its gateway has learned by BGP. */
  readonly learned: readonly Prefix[];
  /** Of services with an endpoint in the subnet. */
  readonly serviceEndpoints: readonly Prefix[];
}

export interface EffectiveRoute {
  /** As the portal calls it. */
  readonly source: "Default" | "VirtualNetworkGateway" | "User";
  /** `Invalid`: a route of a stronger source has the same prefix. */
  readonly state: "Active" | "Invalid";
  readonly prefix: Prefix;
  readonly nextHopType: NextHopType;
  readonly nextHop: Ipv4 | undefined;
  /** Of a user's route. */
  readonly name: string | undefined;
}

type Candidate = Omit<EffectiveRoute, "state">;

function prefix(text: string): Prefix {
  return defined(parsePrefix(text), "a range of the documentation is one");
}

const EVERYWHERE = prefix("0.0.0.0/0");
/** Packets for these end, unless the virtual network is there. */
const RESERVED: readonly Prefix[] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"].map(
  prefix,
);

/** At the same prefix a later source wins. */
const SOURCES = ["Default", "VirtualNetworkGateway", "User"] as const;

function routeOf(source: EffectiveRoute["source"], nextHopType: NextHopType): (prefix: Prefix) => Candidate {
  return (to) => ({ source, prefix: to, nextHopType, nextHop: undefined, name: undefined });
}

/** A reserved range in which, or around which, the network lies has no route of its own: the network's stands for it. */
function isReplaced(reserved: Prefix, own: readonly Prefix[]): boolean {
  return own.some((space) => prefixCovers(reserved, space) || prefixCovers(space, reserved));
}

/** The routes of a subnet as the portal lists them: those of Azure first, then learned ones, then the user's. */
export function effectiveRoutes(
  spaces: AddressSpaces,
  user: readonly UserRoute[],
): readonly EffectiveRoute[] {
  const candidates: readonly Candidate[] = [
    ...spaces.own.map(routeOf("Default", "VnetLocal")),
    ...spaces.peered.map(routeOf("Default", "VNetPeering")),
    ...spaces.serviceEndpoints.map(routeOf("Default", "VirtualNetworkServiceEndpoint")),
    routeOf("Default", "Internet")(EVERYWHERE),
    ...RESERVED.filter((each) => !isReplaced(each, spaces.own)).map(routeOf("Default", "None")),
    ...spaces.learned.map(routeOf("VirtualNetworkGateway", "VirtualNetworkGateway")),
    ...user.map(
      ({ name, prefix: to, nextHopType, nextHop }): Candidate => ({
        source: "User",
        prefix: to,
        nextHopType,
        nextHop,
        name,
      }),
    ),
  ];
  return candidates.map((route) => {
    const isOverridden = candidates.some(
      (other) =>
        equalPrefixes(other.prefix, route.prefix) &&
        SOURCES.indexOf(other.source) > SOURCES.indexOf(route.source),
    );
    return Object.freeze({ ...route, state: isOverridden ? "Invalid" : "Active" });
  });
}

/** Of Azure's own routes, those that win against learned ones, however long these are. */
const BEFORE_LEARNED: ReadonlySet<NextHopType> = new Set<NextHopType>([
  "VnetLocal",
  "VNetPeering",
  "VirtualNetworkServiceEndpoint",
]);

/** The routes of a subnet, found by destination. Frozen: forks share it. */
export class RouteLookup {
  readonly routes: readonly EffectiveRoute[];
  /** Those that count, by the length of their prefix, the longest first, and by its address. */
  private readonly lengths: readonly (readonly [number, ReadonlyMap<Ip, readonly EffectiveRoute[]>])[];

  constructor(routes: readonly EffectiveRoute[]) {
    this.routes = Object.freeze(routes);
    const active = routes.filter(({ state }) => state === "Active");
    const byLength = Map.groupBy(active, ({ prefix: { length } }) => length);
    this.lengths = [...byLength]
      .toSorted(([a], [b]) => b - a)
      .map(([length, all]) => [length, Map.groupBy(all, ({ prefix: { address } }) => address)] as const);
    Object.freeze(this);
  }

  /** The route that takes packets for `destination`; of several with one prefix and source, the first. */
  find(destination: Ip): EffectiveRoute | undefined {
    if (typeof destination !== "number") return undefined;
    const holding = this.lengths.flatMap(([length, all]) => all.get(maskIp(destination, length)) ?? []);
    const isKept = holding.some(
      ({ source, nextHopType }) => source === "Default" && BEFORE_LEARNED.has(nextHopType),
    );
    return holding.find(({ source }) => !isKept || source !== "VirtualNetworkGateway");
  }
}
