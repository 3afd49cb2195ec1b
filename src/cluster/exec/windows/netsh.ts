/**
 * `netsh interface`. Its form is that of printed outputs of `show interfaces`, `show route`, `show config` and `show dnsservers`,
 * of Windows Server 2016 to 2022; of `show excludedportrange` that of kubernetes/kubernetes#117783, of `show dynamicportrange` that of
 * public transcripts of Windows 10.
 *
 * Inferred: the loopback stands first among interfaces and last elsewhere; routes through a gateway are Manual, others System; no
 * address is leased; ports that are excluded for other programs of Windows, such as WinRM, are left out, and nobody excluded a
 * range by hand. What nothing counts, bytes of subinterfaces, is refused.
 */
import { formatIp, formatPrefix, maskOf, prefixOf } from "#core/net/ip.ts";
import type { PortRange } from "#core/net/port-range.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import { type Machine, namesOf } from "../machine.ts";
import { LOOPBACK_METRIC, LOOPBACK_MTU, effectiveRoutes } from "./effective-routes.ts";
import { CHANGES, changeInterface } from "./netsh-changes.ts";

type Family = 4 | 6;

const VALUE_COLUMN = 42;

function isOf(family: Family, ip: unknown): boolean {
  return (typeof ip === "number") === (family === 4);
}

function interfaces(machine: Machine): readonly string[] {
  const { adapters, loopback } = machine;
  const line = (index: number, metric: number, mtu: number, name: string): string =>
    [
      String(index).padStart(3),
      String(metric).padStart(10),
      String(mtu).padStart(10),
      "connected".padEnd(12),
      name,
    ].join("  ");
  return [
    "",
    "Idx     Met         MTU          State                Name",
    "---  ----------  ----------  ------------  ---------------------------",
    line(loopback.index, LOOPBACK_METRIC, LOOPBACK_MTU, machine.loopback.name),
    ...adapters.map(({ index, link }) => line(index, link.metric, link.mtuBytes, link.name)),
    "",
  ];
}

function routes(machine: Machine, family: Family): readonly string[] {
  const nameOf = (index: number): string =>
    machine.adapters.find((each) => each.index === index)?.link.name ?? machine.loopback.name;
  return [
    "",
    "Publish  Type      Met  Prefix                    Idx  Gateway/Interface Name",
    "-------  --------  ---  ------------------------  ---  ------------------------",
    ...effectiveRoutes(machine, family).map(({ prefix, nextHop, index, metric }) =>
      [
        "No".padEnd(7),
        (nextHop === undefined ? "System" : "Manual").padEnd(8),
        String(metric).padEnd(3),
        formatPrefix(prefix).padEnd(24),
        String(index).padStart(3),
        nextHop === undefined ? nameOf(index) : formatIp(nextHop),
      ].join("  "),
    ),
    "",
  ];
}

function field(label: string, values: readonly string[]): readonly string[] {
  const [first = "None", ...others] = values;
  return [
    `    ${label}:`.padEnd(VALUE_COLUMN) + first,
    ...others.map((each) => " ".repeat(VALUE_COLUMN) + each),
  ];
}

function dnsFields(servers: readonly string[]): readonly string[] {
  return [
    ...field("Statically Configured DNS Servers", servers),
    ...field("Register with which suffix", servers.length === 0 ? [] : ["Primary only"]),
  ];
}

/** A block of lines for each interface; of the loopback the address that it always has. */
function blocks(
  machine: Machine,
  parts: { readonly hasAddresses: boolean; readonly hasNames: boolean; readonly family: Family },
): readonly string[] {
  const { compartment, adapters } = machine;
  const { hasAddresses, hasNames, family } = parts;
  const wins = hasAddresses ? field("Statically Configured WINS Servers", []) : [];
  const own = adapters.map(({ link }) => {
    const servers = namesOf(machine, link)
      .servers.filter((ip) => isOf(family, ip))
      .map(formatIp);
    const addresses = link.addresses.flatMap(({ ip, length }) =>
      typeof ip === "number"
        ? [
            ...field("IP Address", [formatIp(ip)]),
            ...field("Subnet Prefix", [
              `${formatPrefix(prefixOf(ip, length))} (mask ${formatIp(maskOf(length))})`,
            ]),
          ]
        : [],
    );
    const gateways = compartment
      .listRoutes()
      .flatMap(({ prefix, nextHop, metric, interface: over }) =>
        over === link && prefix.length === 0 && typeof nextHop === "number"
          ? [...field("Default Gateway", [formatIp(nextHop)]), ...field("Gateway Metric", [String(metric)])]
          : [],
      );
    const place = [...field("DHCP enabled", ["No"]), ...addresses, ...gateways];
    return [
      "",
      `Configuration for interface "${link.name}"`,
      ...(hasAddresses ? [...place, ...field("InterfaceMetric", [String(link.metric)])] : []),
      ...(hasNames ? [...dnsFields(servers), ...wins] : []),
    ];
  });
  const loopbackPlace = [
    ...field("DHCP enabled", ["No"]),
    ...field("IP Address", ["127.0.0.1"]),
    ...field("Subnet Prefix", ["127.0.0.0/8 (mask 255.0.0.0)"]),
    ...field("InterfaceMetric", [String(LOOPBACK_METRIC)]),
  ];
  return [
    ...own.flat(),
    "",
    `Configuration for interface "${machine.loopback.name}"`,
    ...(hasAddresses ? loopbackPlace : []),
    ...(hasNames ? [...dnsFields([]), ...wins] : []),
    "",
  ];
}

const SHOWN: Readonly<Record<string, (machine: Machine, family: Family) => readonly string[]>> = {
  interfaces,
  route: routes,
  addresses: (machine, family) => blocks(machine, { hasAddresses: true, hasNames: false, family }),
  config: (machine, family) => blocks(machine, { hasAddresses: true, hasNames: true, family }),
  dnsservers: (machine, family) => blocks(machine, { hasAddresses: false, hasNames: true, family }),
};
const PORT_COLUMN = 10;
const GAP = " ".repeat(4);

type Protocol = "tcp" | "udp";

function excluded({ compartment }: Machine, protocol: Protocol): readonly string[] {
  const ranges = compartment[protocol].ports.listExcluded().toSorted((a, b) => a.first - b.first);
  const row = ({ first, last }: PortRange): string =>
    `${String(first).padStart(PORT_COLUMN)}  ${String(last).padStart(PORT_COLUMN)}`;
  return [
    "",
    `Protocol ${protocol} Port Exclusion Ranges`,
    "",
    `Start Port${GAP}End Port`,
    `${"-".repeat(PORT_COLUMN)}${GAP}--------`,
    ...ranges.map(row),
    "",
    "* - Administered port exclusions.",
    "",
  ];
}

function dynamic({ compartment }: Machine, protocol: Protocol): readonly string[] {
  const { first, last } = compartment.profile.ephemeralPorts;
  return [
    "",
    `Protocol ${protocol} Dynamic Port Range`,
    "---------------------------------",
    `Start Port      : ${first}`,
    `Number of Ports : ${last - first + 1}`,
    "",
  ];
}

/** What of ports there is to see, for one protocol. */
const SHOWN_PORTS: Readonly<Record<string, (machine: Machine, protocol: Protocol) => readonly string[]>> = {
  excludedportrange: excluded,
  dynamicportrange: dynamic,
};

/** `tcp` or `protocol=tcp`; undefined for what is neither. */
function protocolOf(words: readonly string[]): Protocol | undefined {
  const [word = "", ...others] = words;
  const name = word.toLowerCase().replace(/^protocol=/, "");
  return others.length === 0 && (name === "tcp" || name === "udp") ? name : undefined;
}

/** Of IPv6 addresses have another form, and of ports it is not known whether they are the same. */
const IPV4_ALONE = new Set(["addresses", "config", ...Object.keys(SHOWN_PORTS)]);
const SHOWABLE: readonly string[] = [...Object.keys(SHOWN), ...Object.keys(SHOWN_PORTS)];
const FAMILIES: Readonly<Record<string, Family>> = { ipv4: 4, ip: 4, ipv6: 6 };

/** `netsh` takes the beginning of a word for the word. */
function wordOf(names: readonly string[], text: string | undefined): string | undefined {
  const wanted = (text ?? "").toLowerCase();
  if (wanted.length < 2) return undefined;
  return names.find((each) => each === wanted) ?? names.find((each) => each.startsWith(wanted));
}

/** `interface ipv4 VERB WHAT …`, with the words in full; undefined for another line. */
interface Line {
  readonly family: Family;
  readonly verb: string;
  readonly what: string;
  readonly rest: readonly string[];
}

function readLine(args: readonly string[]): Line | undefined {
  const [context, family, given, ...words] = args;
  const version = FAMILIES[(family ?? "").toLowerCase()];
  const verb = wordOf(["show", ...Object.keys(CHANGES)], given);
  if (wordOf(["interface"], context) === undefined || version === undefined || verb === undefined)
    return undefined;
  const what = wordOf(verb === "show" ? SHOWABLE : (CHANGES[verb] ?? []), words[0]);
  return what === undefined ? undefined : { family: version, verb, what, rest: words.slice(1) };
}

function run(machine: Machine, args: readonly string[]): CommandOutput {
  const line = readLine(args);
  if (line === undefined) return notBuilt(NETSH, args.join(" "));
  const { family, verb, what, rest } = line;
  if (verb !== "show") return changeInterface(machine, line) ?? notBuilt(NETSH, args.join(" "));
  if (family === 6 && IPV4_ALONE.has(what)) return notBuilt(NETSH, args.join(" "));
  const ports = SHOWN_PORTS[what];
  const protocol = protocolOf(rest);
  if (ports !== undefined && protocol !== undefined) return { stdout: ports(machine, protocol), exitCode: 0 };
  if (rest.length > 0 || ports !== undefined) return notBuilt(NETSH, args.join(" "));
  return { stdout: SHOWN[what]?.(machine, family) ?? [], exitCode: 0 };
}

export const NETSH: ListedCommand = {
  name: "netsh",
  os: "windows",
  usages: [
    "netsh interface ipv4|ipv6 show interfaces|route|dnsservers",
    "netsh interface ipv4 show addresses|config",
    "netsh interface ipv4 show excludedportrange|dynamicportrange [protocol=]tcp|udp",
    "netsh interface ipv4|ipv6 set dnsservers NAME static|dhcp [ADDRESS|none]",
    "netsh interface ipv4|ipv6 add dnsservers NAME ADDRESS [index=PLACE]",
    "netsh interface ipv4|ipv6 delete dnsservers NAME [ADDRESS|all]",
    "netsh interface ipv4|ipv6 set interface NAME [metric=METRIC] [mtu=BYTES] [forwarding=enabled|disabled]",
    "netsh interface ipv4|ipv6 set subinterface NAME mtu=BYTES",
  ],
  isChange: (args) => !["show", undefined].includes(readLine(args)?.verb),
  run,
};
