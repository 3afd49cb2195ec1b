/**
 * Adapters, addresses, routes and MTUs as Windows and Linux print them. Labels are words of the system's language, so what
 * a value is shows its form and its order: ipconfig has the gateway behind the mask, in every language.
 */
import { type Ip, type Prefix, lengthOfMask, maskIp, parseIp, parseIpv4, parsePrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import type { Line, Place } from "./place.ts";

/** An adapter with its addresses: `ipconfig /all`, or an address of `Get-NetIPAddress`. */
export interface Interface {
  /** `vEthernet (Ethernet)`; the kind of adapter before it is a word of the language. */
  readonly heading: string;
  /** Of the machine or pod that was asked; empty for `ipconfig` without `/all`. */
  readonly host: string;
  readonly mac: Mac | undefined;
  readonly addresses: readonly Ip[];
  /** Those that another machine has as well: Windows does not use them. */
  readonly duplicates: readonly Ip[];
  readonly gateways: readonly Ip[];
  readonly dnsServers: readonly Ip[];
  readonly suffix: string;
  readonly place: Place;
}

/** A row of `route print` or `Get-NetRoute`. */
export interface HostRoute {
  readonly prefix: Prefix;
  /** Undefined: the destinations are on the link. */
  readonly nextHop: Ip | undefined;
  /** The address of the adapter, where the table shows it. */
  readonly adapter: Ip | undefined;
  readonly metric: number;
  /** Tables of different machines and compartments stand in one file: its number. */
  readonly table: number;
  readonly place: Place;
}

/** A row of `Get-NetAdapter`. */
export interface Adapter {
  readonly name: string;
  readonly status: string;
  readonly mac: Mac | undefined;
  readonly place: Place;
}

/** A device of a Linux node: `ip -d link`. */
export interface Link {
  readonly name: string;
  readonly mtu: number;
  /** Of a VXLAN device. */
  readonly vxlan?: { readonly id: number; readonly port: number; readonly device: string };
  readonly place: Place;
}

/** A row of `netsh int ipv4 show interfaces`. */
export interface InterfaceMtu {
  readonly name: string;
  readonly mtu: number;
  readonly place: Place;
}

interface Row {
  readonly label: string;
  readonly values: string[];
}

interface Block {
  readonly heading: string;
  readonly host: string;
  readonly rows: Row[];
  readonly place: Place;
}

const CONTINUATION_INDENT = 20;

/** `   IPv4 Address. . . . . . . . . . . : 10.0.0.11(Preferred)`; a long label has no dots. */
function rowOf(text: string): Row | undefined {
  const at = text.indexOf(":");
  const indent = text.length - text.trimStart().length;
  if (at < 0 || indent < 2 || indent >= CONTINUATION_INDENT || !/^(?:\s|$)/u.test(text.slice(at + 1)))
    return undefined;
  const [label = ""] = text.slice(0, at).split(". ", 1);
  return { label: label.trim(), values: [text.slice(at + 1).trim()] };
}

/** An address with what stands behind it: a zone, and whether it is the preferred one. */
function addressIn(value: string): Ip | undefined {
  return parseIp((value.split(/[(%\s]/u, 1)[0] ?? "").trim());
}

function addressesIn(row: Row | undefined): readonly Ip[] {
  return (row?.values ?? []).flatMap((value) => addressIn(value) ?? []);
}

function isMask(row: Row | undefined): boolean {
  const mask = parseIpv4(row?.values[0] ?? "");
  return mask !== undefined && mask !== 0 && lengthOfMask(mask) !== undefined;
}

function interfaceOf({ heading, host, rows, place }: Block): Interface | undefined {
  const masks = rows.flatMap((row, index) => (isMask(row) ? [index] : []));
  const behind = masks.length === 0 ? [] : rows.slice((masks.at(-1) ?? 0) + 1);
  const gateway = behind.find(
    ({ label, values: [value = ""] }) =>
      !/DNS|DHCP/iu.test(label) && (value === "" || addressIn(value) !== undefined),
  );
  const addresses = rows.flatMap((row, index) => {
    const isFour = masks.includes(index + 1);
    return isFour || (/IPv6/iu.test(row.label) && row !== gateway) ? addressesIn(row) : [];
  });
  const [first] = rows;
  if (first === undefined || addresses.length === 0) return undefined;
  return {
    heading,
    host,
    mac: rows.flatMap(({ values: [value = ""] }) => parseMac(value) ?? []).at(0),
    addresses,
    duplicates: rows
      .flatMap(({ values }) => values.filter((value) => value.includes("(Duplicate)")))
      .flatMap((value) => addressIn(value) ?? []),
    gateways: addressesIn(gateway),
    dnsServers: rows.filter(({ label }) => /DNS/u.test(label)).flatMap(addressesIn),
    suffix: /DNS/u.test(first.label) ? (first.values[0] ?? "") : "",
    place,
  };
}

/** `IPAddress         : 10.0.0.11`; names of PowerShell's fields are the same in every language. */
const ADDRESS_FIELD = /^(IPAddress|InterfaceAlias|AddressFamily|AddressState)\s{0,20}:\s{0,4}(\S.{0,120})$/u;
/** `12      10.0.0.11      24 Dhcp         Dhcp         Preferred    ActiveStore` */
const ADDRESS_ROW =
  /^(\d{1,4})\s{1,12}([\da-fA-F.:]{2,45})(?:%\d{1,6})?\s{1,80}\d{1,3}\s{1,8}\w{4,16}\s{1,12}\w{4,16}\s{1,12}(Preferred|Tentative|Duplicate|Deprecated|Invalid)\s/u;

function addressOnly(heading: string, address: Ip, state: string, place: Place): Interface {
  const duplicates = state === "Duplicate" ? [address] : [];
  const none = { mac: undefined, gateways: [], dnsServers: [], suffix: "", host: "" };
  return { heading, addresses: [address], duplicates, place, ...none };
}

/** The list and the table of `Get-NetIPAddress`. */
function readNetAddresses(lines: readonly Line[]): readonly Interface[] {
  const found: Interface[] = [];
  let address: Ip | undefined;
  let alias = "";
  for (const { text, file, line } of lines) {
    const place = { file, line };
    const [, index = "", listed = "", state = ""] = ADDRESS_ROW.exec(text) ?? [];
    const ip = parseIp(listed);
    if (ip !== undefined) found.push(addressOnly(`interface ${index}`, ip, state, place));
    const [, name, shown = ""] = ADDRESS_FIELD.exec(text) ?? [];
    const value = shown.trim();
    if (name === "IPAddress") address = addressIn(value);
    if (name === "InterfaceAlias") alias = value;
    if (name !== "AddressState" || address === undefined) continue;
    found.push(addressOnly(alias, address, value, place));
  }
  return found;
}

/** The adapters of `ipconfig /all`, in any language, and the addresses of `Get-NetIPAddress`. */
export function readInterfaces(lines: readonly Line[]): readonly Interface[] {
  return [...readPrintedInterfaces(lines), ...readNetAddresses(lines)];
}

function readPrintedInterfaces(lines: readonly Line[]): readonly Interface[] {
  const blocks: Block[] = [];
  let host = "";
  let rows: Row[] | undefined;
  for (const { text, file, line } of lines) {
    const row = rowOf(text);
    if (row !== undefined) {
      // The first row of the heading is the name of the machine.
      if (rows === undefined) host = row.values[0] ?? "";
      rows ??= [];
      rows.push(row);
      continue;
    }
    const value = text.trim();
    if (value === "") continue;
    if (text.startsWith(" ".repeat(CONTINUATION_INDENT))) rows?.at(-1)?.values.push(value);
    else if (value.endsWith(":") && /^\S.{0,200}:\s{0,3}$/u.test(text)) {
      rows = [];
      blocks.push({ heading: value.slice(0, -1), host, rows, place: { file, line } });
    } else rows = undefined;
  }
  return blocks.filter((block) => block.rows.length > 0).flatMap((block) => interfaceOf(block) ?? []);
}

/** `          0.0.0.0          0.0.0.0       10.0.0.1       10.0.0.11    271`; "on-link" is one word or more. */
function printedRoute(words: readonly string[]): Omit<HostRoute, "place" | "table"> | undefined {
  const [to = "", mask = "", third = ""] = words;
  const [destination, ones] = [parseIpv4(to), parseIpv4(mask)];
  const length = ones === undefined ? undefined : lengthOfMask(ones);
  const adapter = parseIpv4(words.at(-2) ?? "");
  const metric = Number(words.at(-1));
  if (destination === undefined || length === undefined || adapter === undefined) return undefined;
  if (words.length < 5 || !Number.isInteger(metric)) return undefined;
  return {
    prefix: { address: maskIp(destination, length), length },
    nextHop: parseIpv4(third),
    adapter,
    metric,
  };
}

/** `14      0.0.0.0/0     10.0.0.1      256 25       ActiveStore` */
function listedRoute(words: readonly string[]): Omit<HostRoute, "place" | "table"> | undefined {
  const [index = "", to = "", via = "", own, added] = words;
  const prefix = to.includes("/") ? parsePrefix(to) : undefined;
  const nextHop = parseIp(via);
  if (prefix === undefined || nextHop === undefined || !/^\d{1,4}$/u.test(index)) return undefined;
  const isOnLink = nextHop === 0 || nextHop === 0n;
  const metric = Number(own) + (Number(added) || 0);
  return { prefix, nextHop: isOnLink ? undefined : nextHop, adapter: undefined, metric };
}

/** `  8    271 ::/0                     fe80::1234:5678:9abc` */
function printedRoute6(words: readonly string[]): Omit<HostRoute, "place" | "table"> | undefined {
  const [index = "", metric = "", to = "", via = ""] = words;
  if (!/^\d{1,4}$/u.test(index) || !/^\d{1,9}$/u.test(metric) || !to.includes(":")) return undefined;
  const prefix = parsePrefix(to);
  return prefix === undefined
    ? undefined
    : { prefix, nextHop: parseIp(via), adapter: undefined, metric: Number(metric) };
}

/** The routes of `route print` and `Get-NetRoute`. */
export function readRoutes(lines: readonly Line[]): readonly HostRoute[] {
  const found: HostRoute[] = [];
  let table = 0;
  let isInside = false;
  for (const { text, file, line } of lines) {
    const words = /^\s{0,24}\d/u.test(text) ? text.trim().split(/\s+/u) : [];
    const route = printedRoute(words) ?? listedRoute(words) ?? printedRoute6(words);
    if (route === undefined) {
      if (isInside && text.trim() !== "") table++;
      isInside &&= text.trim() === "";
      continue;
    }
    isInside = true;
    found.push({ ...route, table, place: { file, line } });
  }
  return found;
}

/** Behind the name and the description; the words are those of PowerShell, in every language. */
const ADAPTER_ROW =
  /\s(\d{1,4})\s{1,8}(Up|Disconnected|Disabled|Not Present)\s{1,20}([\dA-Fa-f]{2}(?:-[\dA-Fa-f]{2}){5})\s/u;

/** The table of `Get-NetAdapter`. */
export function readAdapters(lines: readonly Line[]): readonly Adapter[] {
  return lines.flatMap(({ text, file, line }) => {
    const [, , status, mac = ""] = ADAPTER_ROW.exec(text) ?? [];
    if (status === undefined) return [];
    const name = (text.split(/\s{2,}/u, 1)[0] ?? "").trim();
    return [{ name, status, mac: parseMac(mac), place: { file, line } }];
  });
}

/** `  6          25        1500  connected     vEthernet (Ethernet)` */
const MTU_ROW = /^\s{0,8}\d{1,4}\s{2,16}\d{1,6}\s{2,16}(\d{2,10})\s{2,4}\S.{2,30}?\s{2,16}(\S.{0,120})$/u;
const MTU_DASHES = /^-{3}\s{2}-{6,12}\s{2}-{6,14}\s{2}-{6,16}\s{2}-{6,30}\s*$/u;
/** What Windows shows for the loopback. */
const MTU_NONE = 4_294_967_295;

/** The table of `netsh int ipv4 show interfaces`, in any language. */
export function readMtus(lines: readonly Line[]): readonly InterfaceMtu[] {
  const found: InterfaceMtu[] = [];
  let isTable = false;
  for (const { text, file, line } of lines) {
    if (MTU_DASHES.test(text)) isTable = true;
    const [, mtu, name = ""] = isTable ? (MTU_ROW.exec(text) ?? []) : [];
    if (mtu !== undefined && Number(mtu) !== MTU_NONE)
      found.push({ name: name.trim(), mtu: Number(mtu), place: { file, line } });
  }
  return found;
}

const LINK_ROW = /^\d{1,6}: ([\w.-]{1,20})(?:@[\w.-]{1,20})?: <[\w,-]{0,120}> mtu (\d{2,6}) /u;

/** The devices of `ip -d link`. */
export function readLinks(lines: readonly Line[]): readonly Link[] {
  const found: Link[] = [];
  for (const { text, file, line } of lines) {
    const [, name, mtu] = LINK_ROW.exec(text) ?? [];
    if (name !== undefined) found.push({ name, mtu: Number(mtu), place: { file, line } });
    const last = found.at(-1);
    if (last === undefined || !text.includes("vxlan")) continue;
    const words = text.trim().split(" ");
    const after = (word: string): string => words[words.indexOf(word) + 1] ?? "";
    if (words[0] !== "vxlan" || !words.includes("dstport")) continue;
    const vxlan = { id: Number(after("id")), port: Number(after("dstport")), device: after("dev") };
    found[found.length - 1] = { ...last, vxlan, place: { file, line } };
  }
  return found;
}
