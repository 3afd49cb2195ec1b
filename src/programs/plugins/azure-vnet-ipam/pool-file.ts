/** The text of `azure-vnet-ipam.json`, as upstream writes it (cni.md §5.9). */
import { DecodeError, StructReader, readStruct, parseJson } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";
import { formatGoAddress, readGoAddress } from "#contracts/cni/go-json.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import type { AddressPool, AddressRecord, Pools } from "./pools.ts";

/** The only address space that sources fill. */
export const LOCAL_SPACE = "local";

function formatPool(pool: AddressPool): JsonObject {
  const addresses = [...pool.addresses].map(([key, { id, ip, isInUse }]) => [
    key,
    { ID: id, Addr: formatIp(ip), InUse: isInUse },
  ]);
  return {
    Id: pool.id,
    IfName: pool.interfaceName,
    Subnet: formatGoAddress(pool.subnet),
    Gateway: formatIp(pool.gateway),
    Addresses: Object.fromEntries(addresses) as JsonObject,
    IsIPv6: pool.isIpv6,
    Priority: pool.priority,
    RefCount: pool.references,
  };
}

/** The file: indented with tabs. */
export function formatPools(
  pools: Pools,
  stamp: { readonly version: string; readonly time: string },
): string {
  const Pools = Object.fromEntries([...pools].map(([id, pool]) => [id, formatPool(pool)]));
  const AddressSpaces = { [LOCAL_SPACE]: { Id: LOCAL_SPACE, Scope: 0, Pools } };
  const document = { IPAM: { Version: stamp.version, TimeStamp: stamp.time, AddressSpaces } };
  return JSON.stringify(document, undefined, "\t");
}

function readIp(reader: StructReader, name: string): Ip {
  const ip = parseIp(reader.text(name));
  if (ip === undefined) throw new DecodeError(reader.pathOf(name), "an IP address", reader.text(name));
  return ip;
}

function readRecord(reader: StructReader): AddressRecord {
  return {
    id: reader.text("ID"),
    ip: readIp(reader, "Addr"),
    isInUse: reader.boolean("InUse"),
    isStale: false,
  };
}

function readPool(reader: StructReader): AddressPool {
  const addresses = Object.entries(reader.object("Addresses") ?? {});
  return {
    id: reader.text("Id"),
    interfaceName: reader.text("IfName"),
    subnet: readGoAddress(reader.struct("Subnet") ?? new StructReader({}, reader.pathOf("Subnet"))),
    gateway: readIp(reader, "Gateway"),
    isIpv6: reader.boolean("IsIPv6"),
    priority: reader.integer("Priority") ?? 0,
    references: reader.integer("RefCount") ?? 0,
    addresses: new Map(
      addresses.map(([key, value]) => [key, readRecord(readStruct(value ?? {}, reader.pathOf("Addresses")))]),
    ),
  };
}

/** Reads the file; one that is empty or missing has no pools. @throws JsonError, DecodeError */
export function parsePools(text: string | undefined): Pools {
  if (text === undefined || text === "") return new Map();
  const spaces = readStruct(parseJson(text), "").struct("IPAM")?.struct("AddressSpaces");
  const pools = spaces?.struct(LOCAL_SPACE)?.object("Pools") ?? {};
  return new Map(
    Object.entries(pools).map(([id, value]) => [id, readPool(readStruct(value ?? {}, `Pools.${id}`))]),
  );
}
