/** `ip address` and `ip link`. */
import {
  type InterfaceAddress,
  type Ip,
  formatIp,
  lastIp,
  parseInterfaceAddress,
  parseIpv6,
  prefixOf,
  prefixContains,
} from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { CommandOutput } from "../command.ts";
import type { Machine } from "../machine.ts";

/** What stands before the object, and what the object is asked for. */
export interface IpRequest {
  /** Undefined: both; `ip route` then shows IPv4. */
  readonly family: 4 | 6 | undefined;
  readonly isBrief: boolean;
  /** `dev NAME`; undefined: every one. */
  readonly device: string | undefined;
}

/** As the machine's own commands number them: `lo` first, then interfaces in the order in which they came. */
interface LinuxLink {
  readonly index: number;
  readonly name: string;
  /** Undefined for `lo`. */
  readonly link: Interface | undefined;
  readonly addresses: readonly InterfaceAddress[];
}

const LOOPBACK_ADDRESSES: readonly InterfaceAddress[] = Object.freeze(
  ["127.0.0.1/8", "::1/128"].flatMap((text) => parseInterfaceAddress(text) ?? []),
);

function linksOf(compartment: Compartment): readonly LinuxLink[] {
  const lo: LinuxLink = { index: 1, name: "lo", link: undefined, addresses: LOOPBACK_ADDRESSES };
  const others = compartment.listInterfaces().map(
    (link, position): LinuxLink => ({
      index: 2 + position,
      name: link.name,
      link,
      addresses: link.addresses,
    }),
  );
  return [lo, ...others];
}

const LOOPBACK_MTU = 65_536;
const FOREVER = "       valid_lft forever preferred_lft forever";
const LINK_LOCAL = prefixOf(parseIpv6("fe80::") ?? (0n as Ip), 10);

function isOf(family: IpRequest["family"], { ip }: InterfaceAddress): boolean {
  return family === undefined || (typeof ip === "number") === (family === 4);
}

function stateOf({ link }: LinuxLink): string {
  if (link === undefined) return "UNKNOWN";
  return link.isAttached ? "UP" : "DOWN";
}

function flagsOf({ link }: LinuxLink): string {
  return link === undefined ? "LOOPBACK,UP,LOWER_UP" : "BROADCAST,MULTICAST,UP,LOWER_UP";
}

function headLine(each: LinuxLink, isMode: boolean): string {
  const mtu = each.link?.mtuBytes ?? LOOPBACK_MTU;
  const mode = isMode ? " mode DEFAULT" : "";
  const begin = `${each.index}: ${each.name}: <${flagsOf(each)}>`;
  return `${begin} mtu ${mtu} qdisc noqueue state ${stateOf(each)}${mode} group default qlen 1000`;
}

function macOf({ link }: LinuxLink): string {
  return link === undefined ? "00:00:00:00:00:00" : formatMac(link.mac).replaceAll("-", ":").toLowerCase();
}

function linkLine(each: LinuxLink): string {
  const [kind, broadcast] =
    each.link === undefined ? ["loopback", "00:00:00:00:00:00"] : ["ether", "ff:ff:ff:ff:ff:ff"];
  return `    link/${kind} ${macOf(each)} brd ${broadcast}`;
}

function scopeOf({ link }: LinuxLink, { ip }: InterfaceAddress): string {
  if (link === undefined) return "host";
  return prefixContains(LINK_LOCAL, ip) ? "link" : "global";
}

function addressLines(each: LinuxLink, address: InterfaceAddress): readonly string[] {
  const { ip, length } = address;
  const scope = scopeOf(each, address);
  const text = `${formatIp(ip)}/${length}`;
  if (typeof ip === "bigint") return [`    inet6 ${text} scope ${scope} `, FOREVER];
  const hasBroadcast = each.link !== undefined && length < 31;
  const broadcast = hasBroadcast ? ` brd ${formatIp(lastIp(prefixOf(ip, length)))}` : "";
  return [`    inet ${text}${broadcast} scope ${scope} ${each.name}`, FOREVER];
}

/** IPv4 before IPv6. */
function addressesOf(each: LinuxLink, family: IpRequest["family"]): readonly InterfaceAddress[] {
  const wanted = each.addresses.filter((address) => isOf(family, address));
  return wanted.toSorted((a, b) => Number(typeof a.ip === "bigint") - Number(typeof b.ip === "bigint"));
}

function show(
  { compartment }: Machine,
  { device }: IpRequest,
  print: (each: LinuxLink) => readonly string[],
): CommandOutput {
  const links = linksOf(compartment).filter(({ name }) => device === undefined || name === device);
  return links.length === 0
    ? { stdout: [], stderr: [`Device "${device ?? ""}" does not exist.`], exitCode: 1 }
    : { stdout: links.flatMap(print), exitCode: 0 };
}

export function showLinks(machine: Machine, request: IpRequest): CommandOutput {
  return show(machine, request, (each) =>
    request.isBrief
      ? [`${each.name.padEnd(16)} ${stateOf(each).padEnd(14)} ${macOf(each)} <${flagsOf(each)}> `]
      : [headLine(each, true), linkLine(each)],
  );
}

export function showAddresses(machine: Machine, request: IpRequest): CommandOutput {
  const { family } = request;
  return show(machine, request, (each) => {
    const addresses = addressesOf(each, family);
    // Of one family, links without an address of it are passed over.
    if (family !== undefined && addresses.length === 0) return [];
    if (request.isBrief) {
      const texts = addresses.map(({ ip, length }) => `${formatIp(ip)}/${length} `);
      return [`${each.name.padEnd(16)} ${stateOf(each).padEnd(14)} ${texts.join("")}`];
    }
    return [
      headLine(each, false),
      ...(family === undefined ? [linkLine(each)] : []),
      ...addresses.flatMap((address) => addressLines(each, address)),
    ];
  });
}
