/** `ip route`. The order of IPv4 is that of the kernel's trie (net/ipv4/fib_trie.c); of IPv6 it goes from the leaves to the root. */
import { type Ip, type Prefix, formatIp, formatPrefix, lastIp } from "#core/net/ip.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Path, Route } from "#dataplane/host/stack.ts";
import type { CommandOutput } from "../command.ts";
import type { Machine } from "../machine.ts";
import type { IpRequest } from "./ip-links.ts";

/** Of IPv6: the metric of routes that the kernel makes for addresses, and of those that name none (include/uapi/linux/ipv6_route.h). */
const KERNEL_METRIC = 256;
const USER_METRIC = 1_024;
const LOCAL_PREFERENCE = "metric 0 pref medium";

/** By address, of one address the longest prefix first. */
function byAddress(a: Prefix, b: Prefix): number {
  if (a.address !== b.address) return a.address < b.address ? -1 : 1;
  return b.length - a.length;
}

/** What is inside another prefix comes before it. */
function fromLeaves(a: Prefix, b: Prefix): number {
  const [lastA, lastB] = [lastIp(a), lastIp(b)];
  if (lastA !== lastB) return lastA < lastB ? -1 : 1;
  return b.length - a.length;
}

function targetOf(prefix: Prefix): string {
  if (prefix.length === 0) return "default";
  const isHost = prefix.length === (typeof prefix.address === "number" ? 32 : 128);
  return isHost ? formatIp(prefix.address) : formatPrefix(prefix);
}

/** The source that the kernel notes with the route that an address brings. */
function impliedSource({ prefix, interface: out }: Route): string {
  const own = out.addresses.find(
    ({ ip, length }) => length === prefix.length && lastIp({ address: ip, length }) === lastIp(prefix),
  );
  return own === undefined ? "" : ` src ${formatIp(own.ip)}`;
}

function routeLine(route: Route): string {
  const { prefix, nextHop, interface: out, metric, origin, source } = route;
  const via = nextHop === undefined ? "" : ` via ${formatIp(nextHop)}`;
  const begin = `${targetOf(prefix)}${via} dev ${out.name}`;
  const isImplied = origin === "address";
  if (typeof prefix.address === "bigint") {
    const shown = isImplied ? KERNEL_METRIC : metric || USER_METRIC;
    return `${begin}${isImplied ? " proto kernel" : ""} metric ${shown} pref medium`;
  }
  const from = source === undefined ? "" : ` src ${formatIp(source)}`;
  const scope = nextHop === undefined ? " scope link" : "";
  const end = isImplied ? ` proto kernel scope link${impliedSource(route)}` : `${scope}${from}`;
  return `${begin}${end}${metric === 0 ? "" : ` metric ${metric}`} `;
}

function routesOf(compartment: Compartment, family: 4 | 6): readonly Route[] {
  const routes = compartment
    .listRoutes()
    .filter(({ prefix }) => (typeof prefix.address === "number") === (family === 4));
  const compare = family === 4 ? byAddress : fromLeaves;
  return routes.toSorted((a, b) => compare(a.prefix, b.prefix));
}

export function showRoutes({ compartment }: Machine, { family = 4, device }: IpRequest): CommandOutput {
  const isKnown = device === undefined || compartment.getInterface(device) !== undefined || device === "lo";
  if (!isKnown) return { stdout: [], stderr: [`Cannot find device "${device}"`], exitCode: 1 };
  const routes = routesOf(compartment, family).filter(
    (route) => device === undefined || route.interface.name === device,
  );
  const lines = routes.map(routeLine);
  // Where the device is asked for, it is not repeated.
  return {
    stdout: device === undefined ? lines : lines.map((line) => line.replace(` dev ${device}`, "")),
    exitCode: 0,
  };
}

function pathLines(path: Path): readonly string[] {
  const { destination, source, route, nextHop } = path;
  const target = formatIp(destination);
  const isIpv6 = typeof destination === "bigint";
  const local = `local ${target}`;
  if (route === undefined)
    return isIpv6
      ? [`${local} from :: dev lo table local proto kernel src ${formatIp(source)} ${LOCAL_PREFERENCE}`]
      : [`${local} dev lo src ${formatIp(source)} uid 0 `, "    cache <local> "];
  const via = nextHop === destination ? "" : ` via ${formatIp(nextHop)}`;
  if (!isIpv6)
    return [`${target}${via} dev ${route.interface.name} src ${formatIp(source)} uid 0 `, "    cache "];
  const metric = route.origin === "address" ? KERNEL_METRIC : route.metric || USER_METRIC;
  const kernel = route.origin === "address" ? " proto kernel" : "";
  return [
    `${target} from ::${via} dev ${route.interface.name}${kernel} src ${formatIp(source)} metric ${metric} pref medium`,
  ];
}

export function getRoute({ compartment }: Machine, ip: Ip): CommandOutput {
  const path = compartment.output.findPath(ip);
  return path === undefined
    ? { stdout: [], stderr: ["RTNETLINK answers: Network is unreachable"], exitCode: 2 }
    : { stdout: pathLines(path), exitCode: 0 };
}
