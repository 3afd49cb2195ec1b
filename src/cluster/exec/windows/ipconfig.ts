/**
 * `ipconfig`. Its form is that of kubernetes-sigs/sig-windows-tools#340, flannel-io/flannel#1091, microsoft/Windows-Containers#59
 * (all of them `/all` in a pod), Azure/azure-container-networking#206 (without options) and Azure/aks-engine#853 (a node).
 */
import { type InterfaceAddress, type Ip, formatIp, maskOf } from "#core/net/ip.ts";
import { formatMac } from "#core/net/mac.ts";
import { isLinkLocal } from "#dataplane/host/ip/address-scope.ts";
import type { KnownName } from "#dataplane/host/resolver/known-names.ts";
import { type CommandOutput, type ListedCommand, notBuilt, optionOf } from "../command.ts";
import { type Adapter, type Machine, namesOf } from "../machine.ts";

/** Where values stand: behind the dots and the colon. */
const LABEL_COLUMNS = 34;
const VALUE_INDENT = " ".repeat(39);
const HEADING = ["", "Windows IP Configuration", ""];

/** A line as `   IPv4 Address. . . . . . . . . . . : 10.244.1.3`; further values stand below the first. */
function field(label: string, values: string | readonly string[]): readonly string[] {
  const [first = "", ...others] = typeof values === "string" ? [values] : values;
  // Dots stand in every second column. Two labels of Windows end with a blank of their own.
  let dots = label;
  while (dots.length < LABEL_COLUMNS) dots += dots.length % 2 === 0 ? "." : " ";
  return [`   ${dots}: ${first}`, ...others.map((value) => VALUE_INDENT + value)];
}

function addressFields(adapter: Adapter, isAll: boolean): readonly string[] {
  // Windows writes a blank behind it.
  const state = isAll ? "(Preferred) " : "";
  const { addresses } = adapter.link;
  const ipv6 = addresses.filter(({ ip }) => typeof ip === "bigint");
  const lines = (label: string, those: readonly InterfaceAddress[], zone = ""): readonly string[] =>
    those.flatMap(({ ip }) => field(label, `${formatIp(ip)}${zone}${state}`));
  return [
    ...lines(
      "IPv6 Address",
      ipv6.filter(({ ip }) => !isLinkLocal(ip)),
    ),
    ...lines(
      "Link-local IPv6 Address",
      ipv6.filter(({ ip }) => isLinkLocal(ip)),
      `%${adapter.index}`,
    ),
    ...addresses.flatMap(({ ip, length }) =>
      typeof ip === "bigint"
        ? []
        : [...field("IPv4 Address", formatIp(ip) + state), ...field("Subnet Mask", formatIp(maskOf(length)))],
    ),
  ];
}

/** Of both families, IPv6 first. */
function gatewaysOf({ compartment }: Machine, { link, index }: Adapter): readonly string[] {
  const hops = compartment
    .listRoutes()
    .flatMap(({ prefix, nextHop, interface: over }) =>
      prefix.length === 0 && nextHop !== undefined && over === link ? [nextHop] : [],
    );
  const format = (ip: Ip): string => (isLinkLocal(ip) ? `${formatIp(ip)}%${index}` : formatIp(ip));
  const isIpv6 = (ip: Ip): boolean => typeof ip === "bigint";
  return [...hops.filter(isIpv6), ...hops.filter((ip) => !isIpv6(ip))].map(format);
}

/** `ipconfig /all` of the adapter; what only that has stands around the addresses. */
function adapterLines(machine: Machine, adapter: Adapter, isAll: boolean): readonly string[] {
  const dns = namesOf(machine, adapter.link);
  const suffix = dns.domain === "" ? (dns.search[0] ?? "") : dns.domain;
  const details = [
    ...field("Description", adapter.description),
    ...field("Physical Address", formatMac(adapter.link.mac)),
    // Inferred: of addresses that are leased as well; no source was found that shows them in a container.
    ...field("DHCP Enabled", "No"),
    ...field("Autoconfiguration Enabled", "Yes"),
  ];
  const servers = dns.servers.map(formatIp);
  const names = [
    ...(servers.length === 0 ? [] : field("DNS Servers", servers)),
    ...field("NetBIOS over Tcpip", "Disabled"),
    ...(dns.search.length === 0
      ? []
      : [
          "   Connection-specific DNS Suffix Search List :",
          ...dns.search.map((each) => VALUE_INDENT + each),
        ]),
  ];
  return [
    `Ethernet adapter ${adapter.link.name}:`,
    "",
    ...field("Connection-specific DNS Suffix ", suffix),
    ...(isAll ? details : []),
    ...addressFields(adapter, isAll),
    ...field("Default Gateway", gatewaysOf(machine, adapter)),
    ...(isAll ? names : []),
  ];
}

// Inferred: IP routing is that of the whole machine, which forwarding on single interfaces does not turn on.
function hostLines({ hostName, compartment }: Machine): readonly string[] {
  const { search } = compartment.dns;
  return [
    ...field("Host Name", hostName),
    ...field("Primary Dns Suffix ", ""),
    ...field("Node Type", "Hybrid"),
    ...field("IP Routing Enabled", "No"),
    ...field("WINS Proxy Enabled", "No"),
    ...(search.length === 0 ? [] : field("DNS Suffix Search List", search)),
  ];
}

function show(machine: Machine, isAll: boolean): CommandOutput {
  const adapters = machine.adapters.flatMap((each) => ["", ...adapterLines(machine, each, isAll)]);
  return {
    stdout: [...HEADING, ...(isAll ? hostLines(machine) : []), ...adapters],
    exitCode: 0,
  };
}

/** One record of the cache, as the section of an answer has it. */
function recordLines(
  name: string,
  ttl: number,
  record: { type: number; bytes: number; data: string },
): string[] {
  return [
    `    Record Name . . . . . : ${name}`,
    `    Record Type . . . . . : ${record.type}`,
    `    Time To Live  . . . . : ${ttl}`,
    `    Data Length . . . . . : ${record.bytes}`,
    "    Section . . . . . . . : Answer",
    `    ${record.data}`,
    "",
    "",
  ];
}

const ALIAS = { type: 5, bytes: 8 };

function answerLines({ name, type, answer }: KnownName, nowMs: number): readonly string[] {
  const bare = name.replace(/\.$/, "");
  if (answer.outcome === "name-error") return ["    Name does not exist.", "", ""];
  if (answer.outcome === "no-data") return [`    No records of type ${type}`, "", ""];
  const ttl = Math.ceil((answer.expiresAtMs - nowMs) / 1_000);
  const target = answer.canonicalName.replace(/\.$/, "");
  const isAlias = target.toLowerCase() !== bare.toLowerCase();
  const alias = { ...ALIAS, data: `CNAME Record  . . . . : ${target}` };
  return [
    ...(isAlias ? recordLines(bare, ttl, alias) : []),
    ...answer.addresses.flatMap((ip) =>
      recordLines(
        target,
        ttl,
        typeof ip === "number"
          ? { type: 1, bytes: 4, data: `A (Host) Record . . . : ${formatIp(ip)}` }
          : { type: 28, bytes: 16, data: `AAAA Record . . . . . : ${formatIp(ip)}` },
      ),
    ),
  ];
}

function displayDns({ compartment }: Machine): CommandOutput {
  const known = compartment.nameCache.list(compartment.nowMs);
  const lines = known.flatMap((each) => [
    `    ${each.name.replace(/\.$/, "")}`,
    `    ${"-".repeat(40)}`,
    ...answerLines(each, compartment.nowMs),
  ]);
  const nothing = "Could not display the DNS Resolver Cache.";
  return { stdout: [...HEADING, ...(known.length === 0 ? [nothing] : lines)], exitCode: 0 };
}

function flushDns({ compartment }: Machine): CommandOutput {
  compartment.nameCache.clear();
  return { stdout: [...HEADING, "Successfully flushed the DNS Resolver Cache."], exitCode: 0 };
}

/**
 * What the program takes besides, from its own help.
 *
 * Inferred: it ends with 0 unless its command line is wrong, also when the cache is empty.
 */
const OTHER_OPTIONS = new Set([
  "?",
  "renew",
  "renew6",
  "release",
  "release6",
  "registerdns",
  "showclassid",
  "setclassid",
  "showclassid6",
  "setclassid6",
  "allcompartments",
]);

export const IPCONFIG: ListedCommand = {
  name: "ipconfig",
  os: "windows",
  usages: ["ipconfig", "ipconfig /all", "ipconfig /displaydns", "ipconfig /flushdns"],
  isChange: (args) => args.some((arg) => optionOf(arg) === "flushdns"),
  run: (machine, args) => {
    const [arg, ...others] = args;
    if (arg === undefined) return show(machine, false);
    const option = optionOf(arg) ?? "";
    if (OTHER_OPTIONS.has(option)) return notBuilt(IPCONFIG, arg);
    if (others.length === 0 && option === "all") return show(machine, true);
    if (others.length === 0 && option === "displaydns") return displayDns(machine);
    if (others.length === 0 && option === "flushdns") return flushDns(machine);
    // Inferred: no printed output was found.
    return { stdout: ["", "Error: unrecognized or incomplete command line."], exitCode: 1 };
  },
};
