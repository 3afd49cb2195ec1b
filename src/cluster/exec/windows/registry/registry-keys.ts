/**
 * The keys of a machine's registry that say how it names and routes: those of TCP/IP and of the DNS client (docs: dataplane.md §5.3).
 * They are written out of what the stack goes by, so that both say the same.
 *
 * Inferred: which values stand there beside the documented ones (Microsoft's TCP/IP registry values); the GUID of an interface, which
 * only names it; leased addresses stand as configured ones, as `ipconfig` shows them.
 */
import { type Ip, formatIp, maskOf } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { Machine } from "../../machine.ts";

export interface RegistryValue {
  readonly name: string;
  readonly type: "REG_SZ" | "REG_EXPAND_SZ" | "REG_MULTI_SZ" | "REG_DWORD";
  /** As reg.exe prints it. */
  readonly data: string;
}

export interface RegistryKey {
  /** With the whole name of the hive. */
  readonly path: string;
  readonly values: readonly RegistryValue[];
}

/** Below it all keys of programs that Windows runs. */
export const SERVICES: string = String.raw`HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services`;

function text(name: string, data: string): RegistryValue {
  return { name, type: "REG_SZ", data };
}

function list(name: string, items: readonly string[]): RegistryValue {
  // reg.exe puts \0 between the texts of a list.
  return { name, type: "REG_MULTI_SZ", data: items.join(String.raw`\0`) };
}

function number(name: string, value: number): RegistryValue {
  return { name, type: "REG_DWORD", data: `0x${value.toString(16)}` };
}

function path(name: string, file: string): RegistryValue {
  return { name, type: "REG_EXPAND_SZ", data: String.raw`%SystemRoot%\System32` + `\\${file}` };
}

function isOf(family: 4 | 6): (ip: Ip) => boolean {
  return (ip) => (typeof ip === "number") === (family === 4);
}

/** Servers and suffixes are divided by commas, as the tools of Windows write them. */
function joined(items: readonly Ip[]): string {
  return items.map(formatIp).join(",");
}

/** The name of an interface's key: the same in every copy of the machine. */
export function interfaceGuid({ prng }: Compartment, { name, mac }: Interface): string {
  return `{${prng.derive(`interface ${name} ${formatMac(mac)}`).guid()}}`;
}

function nameValues(link: Interface, family: 4 | 6): readonly RegistryValue[] {
  const { configured, learned = [] } = link.names ?? {};
  const own = (configured?.servers ?? []).filter(isOf(family));
  const told = learned.filter(isOf(family));
  return [
    text("NameServer", joined(own)),
    ...(told.length === 0 ? [] : [text("DhcpNameServer", told.map(formatIp).join(" "))]),
    ...(family === 6
      ? []
      : [text("Domain", configured?.domain ?? ""), text("SearchList", (configured?.search ?? []).join(","))]),
  ];
}

function addressValues(machine: Machine, link: Interface): readonly RegistryValue[] {
  const own = link.addresses.flatMap(({ ip, length }) => (typeof ip === "number" ? [{ ip, length }] : []));
  const gateways = machine.compartment
    .listRoutes()
    .flatMap(({ prefix, nextHop, metric, interface: over }) =>
      over === link && prefix.length === 0 && typeof nextHop === "number" ? [{ nextHop, metric }] : [],
    );
  const { interfaceMetric } = machine.compartment.profile;
  return [
    number("EnableDHCP", 0),
    list(
      "IPAddress",
      own.map(({ ip }) => formatIp(ip)),
    ),
    list(
      "SubnetMask",
      own.map(({ length }) => formatIp(maskOf(length))),
    ),
    list(
      "DefaultGateway",
      gateways.map(({ nextHop }) => formatIp(nextHop)),
    ),
    list(
      "DefaultGatewayMetric",
      gateways.map(({ metric }) => String(metric)),
    ),
    // An automatic metric stands nowhere.
    ...(link.metric === interfaceMetric ? [] : [number("InterfaceMetric", link.metric)]),
    number("RegistrationEnabled", 1),
  ];
}

/** `destination,mask,gateway,metric` is the name of a value without data (Microsoft's TCP/IP registry values). */
function persistentRoutes({ compartment }: Machine): readonly RegistryValue[] {
  return compartment
    .listRoutes()
    .flatMap(({ prefix, nextHop, metric, isPersistent }) =>
      isPersistent === true && typeof prefix.address === "number" && nextHop !== undefined
        ? [text([prefix.address, maskOf(prefix.length), nextHop].map(formatIp).join(",") + `,${metric}`, "")]
        : [],
    );
}

function machineValues({ compartment, hostName }: Machine): readonly RegistryValue[] {
  const { domain, search, servers } = compartment.namesOfMachine;
  return [
    path("DataBasePath", String.raw`drivers\etc`),
    text("Domain", domain),
    text("Hostname", hostName),
    number("IPEnableRouter", 0),
    text("NameServer", joined(servers.filter(isOf(4)))),
    text("NV Hostname", hostName),
    text("SearchList", search.join(",")),
    number("UseDomainNameDevolution", 1),
  ];
}

/** All keys, each behind the one that it is in. */
export function registryKeys(machine: Machine): readonly RegistryKey[] {
  const { compartment, adapters } = machine;
  const ofService = (service: string, own: readonly RegistryValue[]): RegistryKey => ({
    path: `${SERVICES}\\${service}\\Parameters`,
    values: own,
  });
  const interfaces = (
    service: string,
    values: (link: Interface) => readonly RegistryValue[],
  ): RegistryKey[] => [
    { path: `${SERVICES}\\${service}\\Parameters\\Interfaces`, values: [] },
    ...adapters.map(({ link }) => ({
      path: `${SERVICES}\\${service}\\Parameters\\Interfaces\\${interfaceGuid(compartment, link)}`,
      values: values(link),
    })),
  ];
  const root = (service: string): RegistryKey => ({ path: `${SERVICES}\\${service}`, values: [] });
  return [
    root("Dnscache"),
    ofService("Dnscache", [path("ServiceDll", "dnsrslvr.dll"), number("ServiceDllUnloadOnStop", 1)]),
    root("Tcpip"),
    ofService("Tcpip", machineValues(machine)),
    ...interfaces("Tcpip", (link) => [...addressValues(machine, link), ...nameValues(link, 4)]),
    { path: `${SERVICES}\\Tcpip\\Parameters\\PersistentRoutes`, values: persistentRoutes(machine) },
    root("Tcpip6"),
    ofService("Tcpip6", []),
    ...interfaces("Tcpip6", (link) => [number("EnableDHCP", 0), ...nameValues(link, 6)]),
  ];
}
