/**
 * Pools of addresses, which container holds what of them, and the text of `azure-vnet-ipam.json`, as upstream writes it
 * (cni.md §5.9).
 */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { type InterfaceAddress, type Ip, formatIp, parseIp } from "#core/net/ip.ts";
import { DecodeError, StructReader, readStruct, parseJson } from "#contracts/cni/json.ts";
import type { JsonObject } from "#core/base/json.ts";
import { checkSeal, formatStateFile } from "../azure-vnet/state.ts";
import { formatGoAddress, readGoAddress } from "#contracts/cni/go-json.ts";

interface AddressRecord {
  /** The container that holds it; empty: it is free. */
  id: string;
  readonly ip: Ip;
  isInUse: boolean;
  /** Vanished from the source while it was held: it goes when it is released. */
  isStale: boolean;
}

export interface AddressPool {
  readonly id: string;
  readonly interfaceName: string;
  readonly subnet: InterfaceAddress;
  readonly gateway: Ip;
  readonly isIpv6: boolean;
  readonly priority: number;
  references: number;
  readonly addresses: Map<string, AddressRecord>;
}

export type Pools = Map<string, AddressPool>;

/** What has vanished from the source is dropped when it is free, and kept until it is released when it is not. */
export function mergePools(pools: Pools, fresh: Pools): void {
  for (const [id, pool] of fresh) if (!pools.has(id)) pools.set(id, pool);
  for (const [id, pool] of pools) {
    const offered = fresh.get(id)?.addresses ?? new Map<string, AddressRecord>();
    for (const [key, record] of offered) if (!pool.addresses.has(key)) pool.addresses.set(key, record);
    for (const [key, record] of pool.addresses) {
      record.isStale = !offered.has(key);
      if (record.isStale && !record.isInUse) pool.addresses.delete(key);
    }
    if (pool.addresses.size === 0 && pool.references === 0) pools.delete(id);
  }
}

function isAnyInUse({ addresses }: AddressPool): boolean {
  return [...addresses.values()].some(({ isInUse, id }) => isInUse || id !== "");
}

/** What a caller wants that does not know its pool. */
interface WantedPool {
  readonly interfaceName: string;
  readonly isIpv6: boolean;
}

/**
 * The pool in which the container holds an address, else one that is not used, else one with a free address (hardened). The
 * caller may have died, or lost its state, after it got addresses: what is in use is still in use.
 */
export function requestSharedPool(pools: Pools, wanted: WantedPool, containerId: string): AddressPool {
  const own = [...pools.values()].find(
    ({ addresses, isIpv6 }) =>
      isIpv6 === wanted.isIpv6 && [...addresses.values()].some(({ id }) => id === containerId),
  );
  if (own !== undefined) return own;
  try {
    return requestPool(pools, wanted);
  } catch (error) {
    const shared = [...pools.values()].find(
      ({ addresses, isIpv6, interfaceName }) =>
        isIpv6 === wanted.isIpv6 &&
        (wanted.interfaceName === "" || wanted.interfaceName === interfaceName) &&
        [...addresses.values()].some(({ id, isInUse }) => !isInUse && id === ""),
    );
    if (shared === undefined) throw error;
    return shared;
  }
}

/** A pool that is not used; of several the one of higher priority, then the one with more addresses. */
export function requestPool(pools: Pools, wanted: WantedPool): AddressPool {
  let best: AddressPool | undefined;
  for (const pool of pools.values()) {
    if (pool.references > 0 && isAnyInUse(pool)) continue;
    pool.references = 0;
    if (pool.isIpv6 !== wanted.isIpv6) continue;
    if (wanted.interfaceName !== "" && wanted.interfaceName !== pool.interfaceName) continue;
    if (best === undefined || pool.priority > best.priority || pool.addresses.size > best.addresses.size)
      best = pool;
  }
  if (best === undefined) throw new CniError(CNI_CODES.internal, "no available address pools");
  best.references = 1;
  return best;
}

export function poolById(pools: Pools, id: string): AddressPool {
  const pool = pools.get(id);
  if (pool !== undefined) return pool;
  throw new CniError(CNI_CODES.internal, `Pool id ${id} not found :Invalid address pool`);
}

function chooseAddress(pool: AddressPool, address: string, containerId: string): AddressRecord {
  const all = [...pool.addresses.values()];
  if (address !== "") {
    const record = pool.addresses.get(address);
    if (record === undefined) throw new CniError(CNI_CODES.internal, "Address not found");
    if (record.isInUse && record.id !== containerId)
      throw new CniError(CNI_CODES.internal, "Address already in use");
    return record;
  }
  const held = all.find(({ id }) => id === containerId);
  const record = held ?? all.find(({ isInUse, id }) => !isInUse && id === "");
  if (record === undefined)
    throw new CniError(CNI_CODES.internal, "No available addresses", { knowledge: "ipam-range-exhausted" });
  return record;
}

/** A given address, else the one that the container holds (row 146), else the first that is free. @throws CniError */
export function requestAddress(pool: AddressPool, address: string, containerId: string): AddressRecord {
  const record = chooseAddress(pool, address, containerId);
  record.id = containerId;
  record.isInUse = true;
  return record;
}

/** Releases a given address, else the one that the container holds; what is not held is no error (row 148). */
export function releaseAddress(pool: AddressPool, address: string, containerId: string): void {
  const key = address === "" ? [...pool.addresses].find(([, { id }]) => id === containerId)?.[0] : address;
  const record = pool.addresses.get(key ?? "");
  if (record === undefined || record.id !== containerId || !record.isInUse) return;
  record.isInUse = false;
  record.id = "";
  if (record.isStale) pool.addresses.delete(key ?? "");
}

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

export function formatPools(
  pools: Pools,
  stamp: { readonly version: string; readonly time: string; readonly isSealed: boolean },
): string {
  const Pools = Object.fromEntries([...pools].map(([id, pool]) => [id, formatPool(pool)]));
  const AddressSpaces = { [LOCAL_SPACE]: { Id: LOCAL_SPACE, Scope: 0, Pools } };
  const document = { IPAM: { Version: stamp.version, TimeStamp: stamp.time, AddressSpaces } };
  return formatStateFile(document, stamp.isSealed);
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

/** Reads the file; one that is empty or missing has no pools. @throws JsonError, DecodeError, DamagedStateError */
export function parsePools(text: string | undefined, checksSeal: boolean): Pools {
  if (text === undefined || text === "") return new Map();
  if (checksSeal) checkSeal(text);
  const spaces = readStruct(parseJson(text), "").struct("IPAM")?.struct("AddressSpaces");
  const pools = spaces?.struct(LOCAL_SPACE)?.object("Pools") ?? {};
  return new Map(
    Object.entries(pools).map(([id, value]) => [id, readPool(readStruct(value ?? {}, `Pools.${id}`))]),
  );
}
