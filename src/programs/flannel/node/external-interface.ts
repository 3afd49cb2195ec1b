/** Which interface leads to the other nodes, and by which address they know this one (control-planes.md §1.1). */
import { type Ip, type IpFamily, type Ipv4, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import { FlannelError, type FlannelLog } from "../reports.ts";
import { messageOf } from "#core/base/thrown.ts";
import {
  type ExternalInterface,
  type FlannelHost,
  type FlannelInterface,
  firstAddress,
  interfaceWith,
} from "./flannel-host.ts";
import type { NetworkConfig } from "../network-config.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface InterfaceOptions {
  /** Addresses or names, in order. */
  readonly iface: readonly string[];
  readonly ifaceRegex: readonly string[];
  readonly ifaceCanReach: string;
  readonly publicIp: string;
  readonly publicIpv6: string;
}

export interface InterfaceSearch {
  readonly host: FlannelHost;
  readonly config: Pick<NetworkConfig, "isIpv4Enabled" | "isIpv6Enabled">;
  readonly options: InterfaceOptions;
  readonly log: FlannelLog;
}

/** An interface, and the address that was asked for. */
interface Match {
  readonly interface: FlannelInterface;
  readonly ip: Ip | undefined;
}

function none(message: string): FlannelError {
  return new FlannelError("flannel-interface-missing", message);
}

function familiesOf({ config }: InterfaceSearch): readonly IpFamily[] {
  return [...(config.isIpv4Enabled ? ([4] as const) : []), ...(config.isIpv6Enabled ? ([6] as const) : [])];
}

async function byNameOrAddress(search: InterfaceSearch, wanted: string): Promise<Match> {
  const interfaces = await search.host.listInterfaces();
  const ip = parseIp(wanted);
  if (ip !== undefined) {
    search.log.write("I", `Searching for interface using ${formatIp(ip)}`);
    const found = interfaceWith(interfaces, ip);
    if (found === undefined)
      throw none(`error looking up interface ${wanted}: no interface with given IP found`);
    return { interface: found, ip };
  }
  const found = interfaces.find(({ name }) => name === wanted);
  if (found === undefined) throw none(`error looking up interface ${wanted}: no such network interface`);
  return { interface: found, ip: undefined };
}

/** Go's expressions that JavaScript reads otherwise are rare in names of interfaces; a flag for case is not. */
function compile(pattern: string): RegExp {
  try {
    return pattern.startsWith("(?i)") ? new RegExp(pattern.slice(4), "i") : new RegExp(pattern);
  } catch (error) {
    throw none(`could not compile the IP address regex '${pattern}': ${messageOf(error)}`);
  }
}

async function byPattern(search: InterfaceSearch, pattern: string): Promise<Match> {
  const expression = compile(pattern);
  const interfaces = await search.host.listInterfaces();
  const [family = 4] = familiesOf(search);
  for (const candidate of interfaces) {
    const address = candidate.addresses.find(
      ({ ip }) => familyOf(ip) === family && expression.test(formatIp(ip)),
    );
    if (address !== undefined) return { interface: candidate, ip: address.ip };
  }
  const named = interfaces.find(({ name }) => expression.test(name));
  if (named !== undefined) return { interface: named, ip: undefined };
  const available = interfaces.map(
    ({ name, addresses }) => `${name}:[${addresses.map(({ ip }) => formatIp(ip)).join(" ")}]`,
  );
  throw none(WORDS.ifaceRegexWithoutMatch({ pattern, available: available.join(", ") }));
}

async function byReach(search: InterfaceSearch, destination: string): Promise<Match> {
  const { host, log } = search;
  if (host.os === "windows") throw none("ifcanreach is not supported on windows");
  log.write("I", `Determining interface to use based on given ifcanreach: ${destination}`);
  const ip = parseIp(destination);
  if (ip === undefined)
    throw none(`failed to get ifcanreach based interface: ${destination} is not an address`);
  const path = await host.pathTo(ip);
  const interfaces = await host.listInterfaces();
  const found = interfaces.find(({ index }) => index === path.interfaceIndex);
  if (found === undefined)
    throw none(`failed to get ifcanreach based interface: none leads to ${destination}`);
  return { interface: found, ip: path.source };
}

async function byDefaultRoute(search: InterfaceSearch): Promise<Match> {
  const { host, log } = search;
  log.write("I", "Determining IP address of default interface");
  const interfaces = await host.listInterfaces();
  let match: FlannelInterface | undefined;
  for (const family of familiesOf(search)) {
    const index = await host.defaultInterface(family);
    const found = interfaces.find((candidate) => candidate.index === index);
    if (found === undefined) throw none(WORDS.defaultInterfaceMissing({ family: family === 6 ? "v6 " : "" }));
    if (match !== undefined && match.index !== found.index)
      throw none(WORDS.defaultInterfacesDiffer({ ipv6Interface: found.name, ipv4Interface: match.name }));
    match = found;
  }
  if (match === undefined) throw none("none matched ip stack");
  return { interface: match, ip: undefined };
}

function publicIpOf(text: string, family: IpFamily, own: Ip | undefined, log: FlannelLog): Ip | undefined {
  if (text === "") {
    if (own !== undefined)
      log.write(
        "I",
        `Defaulting external ${family === 6 ? "v6 " : ""}address to interface address (${formatIp(own)})`,
      );
    return own;
  }
  const ip = parseIp(text);
  if (ip === undefined || familyOf(ip) !== family)
    throw none(`invalid public ${family === 6 ? "IPv6" : "IP"} address: ${text}`);
  log.write("I", `Using ${text} as external address`);
  return ip;
}

/** What a match comes to: addresses of the families that are on. @throws FlannelError. */
function complete(search: InterfaceSearch, match: Match): ExternalInterface {
  const { options, log } = search;
  const families = familiesOf(search);
  const addressOf = (family: IpFamily): Ip | undefined => {
    if (!families.includes(family)) return undefined;
    if (match.ip !== undefined && familyOf(match.ip) === family) return match.ip;
    const ip = firstAddress(match.interface, family);
    if (ip === undefined)
      throw none(`failed to find IPv${family} address for interface ${match.interface.name}`);
    return ip;
  };
  const address = addressOf(4);
  const ipv6Address = addressOf(6);
  for (const ip of [address, ipv6Address])
    if (ip !== undefined)
      log.write("I", `Using interface with name ${match.interface.name} and address ${formatIp(ip)}`);
  if (match.interface.mtuBytes === 0)
    throw none(`failed to determine MTU for ${match.interface.name} interface`);
  return Object.freeze({
    interface: match.interface,
    address: address as Ipv4 | undefined,
    ipv6Address,
    publicIp: families.includes(4) ? (publicIpOf(options.publicIp, 4, address, log) as Ipv4) : undefined,
    publicIpv6: families.includes(6) ? publicIpOf(options.publicIpv6, 6, ipv6Address, log) : undefined,
  });
}

/** Without a choice: the interface that carries the public address, or that of the default route. */
async function findDefault(search: InterfaceSearch): Promise<ExternalInterface> {
  const { publicIp, publicIpv6 } = search.options;
  const wanted = publicIp === "" ? publicIpv6 : publicIp;
  try {
    return complete(
      search,
      wanted === "" ? await byDefaultRoute(search) : await byNameOrAddress(search, wanted),
    );
  } catch (error) {
    throw none(`Failed to find any valid interface to use: ${messageOf(error)}`);
  }
}

/** @throws FlannelError when nothing fits: upstream's process ends then. */
export async function findExternalInterface(search: InterfaceSearch): Promise<ExternalInterface> {
  const { iface, ifaceRegex, ifaceCanReach } = search.options;
  if (iface.length + ifaceRegex.length === 0 && ifaceCanReach === "") return findDefault(search);
  const ways = [
    ...iface.map((wanted) => ({ wanted, find: byNameOrAddress })),
    ...ifaceRegex.map((wanted) => ({ wanted, find: byPattern })),
    ...(ifaceCanReach === "" ? [] : [{ wanted: ifaceCanReach, find: byReach }]),
  ];
  const reasons: string[] = [];
  for (const { wanted, find } of ways) {
    try {
      return complete(search, await find(search, wanted));
    } catch (error) {
      reasons.push(messageOf(error));
      search.log.write("I", `Could not find valid interface matching ${wanted}: ${messageOf(error)}`);
    }
  }
  throw none(WORDS.ifaceNotFound({ reasons: reasons.join("; ") }));
}
