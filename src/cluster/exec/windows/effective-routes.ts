/** The routes of a machine with those that Windows adds for its loopback and for each address. */
import {
  type Ip,
  type Ipv4,
  type Prefix,
  formatIp,
  hostPrefix,
  lastIp,
  parseIpv4,
  prefixOf,
} from "#core/net/ip.ts";
import type { Machine } from "../machine.ts";

/** dataplane.md §5.2: the interface metric of the loopback. */
export const LOOPBACK_METRIC = 75;
/** MTU of the loopback in bytes: as much as the field takes. */
export const LOOPBACK_MTU = 4_294_967_295;
const IMPLIED_METRIC = 256;
const LOOPBACK_PREFIXES = ["127.0.0.0/8", "127.0.0.1/32", "127.255.255.255/32"];
const GROUPS = ["224.0.0.0/4", "255.255.255.255/32"];
const IPV6_GROUPS = prefixOf(0xff00_0000_0000_0000_0000_0000_0000_0000n as Ip, 8);

export interface EffectiveRoute {
  readonly prefix: Prefix;
  /** Undefined for what is on the link. */
  readonly nextHop: Ip | undefined;
  /** The address that stands for the interface; empty when it has none. */
  readonly source: string;
  readonly index: number;
  readonly metric: number;
  /** Of the interface, which is added. */
  readonly linkMetric: number;
}

function prefixFrom(text: string): Prefix {
  const [address = "", length = ""] = text.split("/");
  return prefixOf(parseIpv4(address) ?? (0 as Ipv4), Number(length));
}

function loopbackRoutes({ loopback }: Machine, family: 4 | 6): readonly EffectiveRoute[] {
  const prefixes =
    family === 4 ? [...LOOPBACK_PREFIXES, ...GROUPS].map(prefixFrom) : [hostPrefix(1n as Ip), IPV6_GROUPS];
  return prefixes.map((prefix) => ({
    prefix,
    nextHop: undefined,
    source: family === 4 ? "127.0.0.1" : "::1",
    index: loopback.index,
    metric: IMPLIED_METRIC,
    linkMetric: LOOPBACK_METRIC,
  }));
}

/** What Windows adds for an address: the address itself, and where all of the subnet and of the link listen. */
function impliedRoutes({ adapters }: Machine, family: 4 | 6): readonly EffectiveRoute[] {
  return adapters.flatMap(({ link, index }) => {
    const own = link.addresses.filter(({ ip }) => (typeof ip === "number") === (family === 4));
    const routes = (source: Ip, prefixes: readonly Prefix[]): readonly EffectiveRoute[] =>
      prefixes.map((prefix) => ({
        prefix,
        nextHop: undefined,
        source: formatIp(source),
        index,
        metric: IMPLIED_METRIC,
        linkMetric: link.metric,
      }));
    return own.flatMap(({ ip, length }, position) => {
      if (family === 6) return routes(ip, [hostPrefix(ip), ...(position === 0 ? [IPV6_GROUPS] : [])]);
      const broadcast = length < 31 ? [hostPrefix(lastIp(prefixOf(ip, length)))] : [];
      const groups = position === 0 ? GROUPS.map(prefixFrom) : [];
      return routes(ip, [hostPrefix(ip), ...broadcast, ...groups]);
    });
  });
}

function tableRoutes({ compartment, adapters }: Machine, family: 4 | 6): readonly EffectiveRoute[] {
  return compartment.listRoutes().flatMap((route) => {
    const adapter = adapters.find(({ link }) => link === route.interface);
    if (adapter === undefined || (typeof route.prefix.address === "number") !== (family === 4)) return [];
    const source = adapter.link.addresses.find(({ ip }) => typeof ip === "number")?.ip;
    return {
      prefix: route.prefix,
      nextHop: route.nextHop,
      source: source === undefined ? "" : formatIp(source),
      index: adapter.index,
      metric: route.metric,
      linkMetric: adapter.link.metric,
    };
  });
}

/** By destination; of one destination the loopback's first. */
export function effectiveRoutes(machine: Machine, family: 4 | 6): readonly EffectiveRoute[] {
  const all = [
    ...loopbackRoutes(machine, family),
    ...tableRoutes(machine, family),
    ...impliedRoutes(machine, family),
  ];
  return all.toSorted((a, b) => {
    if (a.prefix.address !== b.prefix.address) return a.prefix.address < b.prefix.address ? -1 : 1;
    return a.prefix.length - b.prefix.length;
  });
}
