/** Where host-local keeps who owns which address: what the allocator needs of it (cni.md §4.3). */
import { type Ip, formatIp } from "#core/net/ip.ts";

/** The attachment that owns an address. */
export interface LeaseOwner {
  readonly containerId: string;
  readonly ifName: string;
}

/** An address that is taken. */
export interface Lease {
  readonly ip: Ip;
  /** Empty when the record is empty or cannot be read: it then belongs to nobody. */
  readonly containerId: string;
  /** Undefined in records of old versions, which knew the container alone. */
  readonly ifName: string | undefined;
}

/** The leases of one network while nobody else changes them. All calls are synchronous: no work may wait inside. */
export interface Leases {
  /**
   * True when `ip` was free and now belongs to `owner`; it is then what `lastReserved(rangeIndex)` says.
   * False when it is taken.
   */
  reserve(ip: Ip, owner: LeaseOwner, rangeIndex: number): boolean;
  /** The address that was reserved last for a range set, also when it is free again. */
  lastReserved(rangeIndex: number): Ip | undefined;
  /** All leases, in an order that depends on nothing but the leases. */
  list(): readonly Lease[];
  /** Releasing what is not held is no error: DEL must be repeatable. */
  release(ip: Ip): void;
}

/** Names the leases of one network. */
export interface LeaseNetwork {
  /** `ipam.dataDir`. */
  readonly dataDir: string;
  readonly name: string;
}

/** How `withLeases` treats a network that has no leases yet. */
export type LeaseAccess = "create" | "existing";

/** Keeps leases by network. */
export interface LeaseStore {
  /**
   * Runs `work` alone with the leases of a network. With `existing`, a network without leases is empty and
   * stays unmade.
   * @throws LeaseStoreError when the store cannot be used, or does not come free in time.
   */
  withLeases<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): Promise<T>;
}

/** The store cannot be used. */
export class LeaseStoreError extends Error {
  override readonly name = "LeaseStoreError";
  /** `busy`: somebody else holds it and did not let go in time; trying again may help. */
  readonly reason: "busy" | "failed";

  constructor(reason: "busy" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** No leases, and nothing can be reserved: what a network that was never used holds. */
export const NO_LEASES: Leases = Object.freeze({
  reserve: () => false,
  lastReserved: () => undefined,
  list: () => [],
  release: () => undefined,
});

/** Leases that say container and interface of `owner`; failing these, those of old versions with the container alone. */
export function leasesOf(leases: Leases, owner: LeaseOwner): readonly Lease[] {
  const containerId = owner.containerId.trim();
  const sameContainer = leases.list().filter((lease) => lease.containerId === containerId);
  const exact = sameContainer.filter((lease) => lease.ifName === owner.ifName);
  return exact.length > 0 ? exact : sameContainer.filter((lease) => lease.ifName === undefined);
}

/** Releases what `leasesOf` finds. */
export function releaseOwner(leases: Leases, owner: LeaseOwner): void {
  for (const lease of leasesOf(leases, owner)) leases.release(lease.ip);
}

class MemoryLeases implements Leases {
  private readonly leases = new Map<Ip, Lease>();
  private readonly last = new Map<number, Ip>();

  reserve(ip: Ip, owner: LeaseOwner, rangeIndex: number): boolean {
    if (this.leases.has(ip)) return false;
    const containerId = owner.containerId.trim();
    this.leases.set(ip, Object.freeze({ ip, containerId, ifName: owner.ifName }));
    this.last.set(rangeIndex, ip);
    return true;
  }

  lastReserved(rangeIndex: number): Ip | undefined {
    return this.last.get(rangeIndex);
  }

  list(): readonly Lease[] {
    const named = [...this.leases.values()].map((lease) => ({ lease, name: formatIp(lease.ip) }));
    return named.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ lease }) => lease);
  }

  release(ip: Ip): void {
    this.leases.delete(ip);
  }
}

/** A store for the emulator and for tests. */
export class MemoryLeaseStore implements LeaseStore {
  private readonly networks = new Map<string, MemoryLeases>();

  withLeases<T>(network: LeaseNetwork, access: LeaseAccess, work: (leases: Leases) => T): Promise<T> {
    const key = `${network.dataDir}/${network.name}`;
    const known = this.networks.get(key);
    if (known === undefined && access === "existing") return Promise.resolve().then(() => work(NO_LEASES));
    const leases = known ?? new MemoryLeases();
    this.networks.set(key, leases);
    return Promise.resolve().then(() => work(leases));
  }
}
