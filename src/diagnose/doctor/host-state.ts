/** What a node keeps: registry values, its version, books of addresses, states of switch ports, and health that others took down. */
import { type Fields, mappingOf, textOf } from "#core/base/json.ts";
import { type Ip, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import type { Line, Place } from "./place.ts";

/** A number of the registry: an export (`.reg`) or `reg query`. */
export interface RegistryValue {
  readonly key: string;
  readonly name: string;
  readonly value: number;
  readonly place: Place;
}

/** The version of Windows, or an update that is installed. */
export interface WindowsVersion {
  /** `17763.1697`; the revision may be missing. */
  readonly build: string | undefined;
  readonly update: string | undefined;
  readonly place: Place;
}

/** Whether a port of the switch lets packets through: `vfpctrl /get-port-state`, or what networkhealth.ps1 kept of it. */
export interface PortState {
  readonly port: string;
  readonly isBlocked: boolean;
  readonly place: Place;
}

/** An address that an IPAM plugin has given to a container. */
export interface Lease {
  readonly address: Ip;
  readonly owner: string;
  readonly place: Place;
}

/** What the set-up of an overlay network reserved for kube-proxy: `sourceVip.json`. */
export interface SourceVip {
  readonly address: Ip;
  readonly place: Place;
}

/** `nodedata.json` of networkhealth.ps1. */
export interface NodeHealth {
  readonly hnsThreads: number;
  /** Blocks of ports that are free, by protocol. */
  readonly freeBlocks: Readonly<Record<"tcp" | "udp", number | undefined>>;
  readonly place: Place;
}

/** A compartment: `Get-NetCompartment`. */
export interface Compartment {
  readonly id: number;
  readonly place: Place;
}

const REGISTRY_KEY = /^\[?(HKEY_[A-Z_]{4,24}\\[^\]]{1,400}?)\]?\s*$/u;
const EXPORTED = /^"([^"]{1,120})"=dword:([\da-fA-F]{1,8})\s*$/u;
const QUERIED = /^\s{4}(\S.{0,119}?)\s{4}REG_DWORD\s{4}0x([\da-fA-F]{1,8})\s*$/u;

/** Numbers of a registry export, or of `reg query`. */
export function readRegistry(lines: readonly Line[]): readonly RegistryValue[] {
  const found: RegistryValue[] = [];
  let key: string | undefined;
  for (const { text, file, line } of lines) {
    const [, named] = REGISTRY_KEY.exec(text) ?? [];
    if (named !== undefined) key = named;
    if (key === undefined) continue;
    const [, name, digits = ""] = EXPORTED.exec(text) ?? QUERIED.exec(text) ?? [];
    if (name !== undefined)
      found.push({ key, name, value: Number.parseInt(digits, 16), place: { file, line } });
  }
  return found;
}

const VERSION = /\b(?:Microsoft Windows|Windows NT)\b.{0,40}?\b10\.0\.(\d{5}(?:\.\d{1,5})?)/u;
/** `WIN-1  Security Update  KB5005619  NT AUTHORITY\SYSTEM  9/1/2021 12:00:00 AM` */
const HOTFIX = /^\S{1,64}\s{1,24}\S.{2,40}?\s{1,24}(KB\d{6,7})\s/u;

/** What `ver`, `winver.txt` and `Get-HotFix` say. */
export function readVersions(lines: readonly Line[]): readonly WindowsVersion[] {
  return lines.flatMap(({ text, file, line }) => {
    const [, build] = VERSION.exec(text) ?? [];
    const [, update] = HOTFIX.exec(text) ?? [];
    return build === undefined && update === undefined ? [] : [{ build, update, place: { file, line } }];
  });
}

const PORT_HEADING = /^\s{0,4}(?:Policy for port|Port)\s{0,3}:\s{0,4}([\da-fA-F-]{36})\s*$/u;
const BLOCKED = /^\s{0,16}Block(?:ed|(?:ed)?OnRestore)\s{0,20}:\s{0,4}(TRUE|FALSE)\s*$/iu;

/** States of ports below the heading of each. */
export function readPortStates(lines: readonly Line[]): readonly PortState[] {
  const found: PortState[] = [];
  let port: string | undefined;
  for (const { text, file, line } of lines) {
    const [, named] = PORT_HEADING.exec(text) ?? [];
    if (named !== undefined) port = named.toLowerCase();
    const [, state] = BLOCKED.exec(text) ?? [];
    if (state !== undefined && port !== undefined)
      found.push({ port, isBlocked: state.toUpperCase() === "TRUE", place: { file, line } });
  }
  return found;
}

/** JSON that a file is as a whole; the files of agents are small. */
function documentOf(lines: readonly Line[]): unknown {
  const first = lines.find(({ text }) => text.trim() !== "")?.text.trimStart() ?? "";
  if (!first.startsWith("{") && !first.startsWith("[")) return undefined;
  try {
    return JSON.parse(lines.map(({ text }) => text).join("\n")) as unknown;
  } catch {
    // What is cut or commented is no book of addresses; other readers tell what is wrong with it.
    return undefined;
  }
}

function fieldsAt(value: unknown, ...path: readonly string[]): Fields {
  let at = value;
  for (const name of path) at = mappingOf(at)[name];
  return mappingOf(at);
}

/** The line on which a text stands first; else the first of the file. */
function placeIn(lines: readonly Line[], text: string): Place {
  const found = lines.find((each) => each.text.includes(text)) ?? lines[0];
  return { file: found?.file ?? "", line: found?.line ?? 1 };
}

const RECORD = /^[\da-f]{12,64}$/iu;

/** Addresses in use: `azure-vnet-ipam.json`, or a file of host-local, whose name is the address. */
export function readLeases(lines: readonly Line[]): readonly Lease[] {
  const [first] = lines;
  const named = parseIp((first?.file ?? "").replaceAll("\\", "/").split("/").at(-1) ?? "");
  const owner = first?.text.trim() ?? "";
  if (first !== undefined && named !== undefined && lines.length <= 3 && RECORD.test(owner))
    return [{ address: named, owner, place: { file: first.file, line: 1 } }];
  const spaces = Object.values(fieldsAt(documentOf(lines), "IPAM", "AddressSpaces"));
  return spaces
    .flatMap((space) => Object.values(fieldsAt(space, "Pools")))
    .flatMap((pool) => Object.entries(fieldsAt(pool, "Addresses")))
    .flatMap(([text, record]) => {
      const address = parseIp(text);
      const { InUse: isInUse, ID: id } = fieldsAt(record);
      if (address === undefined || isInUse !== true) return [];
      return [{ address, owner: textOf(id), place: placeIn(lines, `"${text}"`) }];
    });
}

/** `{"ip4":{"ip":"10.244.1.2/24"}}` */
export function readSourceVips(lines: readonly Line[]): readonly SourceVip[] {
  const { ip } = fieldsAt(documentOf(lines), "ip4");
  const address = typeof ip === "string" ? parseInterfaceAddress(ip)?.ip : undefined;
  return address === undefined ? [] : [{ address, place: placeIn(lines, String(ip)) }];
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** What networkhealth.ps1 wrote down of HNS and of free ports. */
export function readNodeHealth(lines: readonly Line[]): readonly NodeHealth[] {
  const document = fieldsAt(documentOf(lines));
  const threads = fieldsAt(document, "HNSData")["ThreadInfo"];
  if (!Array.isArray(threads)) return [];
  return [
    {
      hnsThreads: threads.length,
      freeBlocks: {
        tcp: countOf(document["AvailableTCPDynamicPortRanges"]),
        udp: countOf(document["AvailableUDPDynamicPortRanges"]),
      },
      place: placeIn(lines, "ThreadInfo"),
    },
  ];
}

/** `CompartmentId          : 3` */
const COMPARTMENT = /^CompartmentId\s{0,20}:\s{0,4}(\d{1,9})\s*$/u;

/** The compartments of `Get-NetCompartment`. */
export function readCompartments(lines: readonly Line[]): readonly Compartment[] {
  return lines.flatMap(({ text, file, line }) => {
    const [, id] = COMPARTMENT.exec(text) ?? [];
    return id === undefined ? [] : [{ id: Number(id), place: { file, line } }];
  });
}
