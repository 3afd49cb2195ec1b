/** Leases in memory: plain data, so that a simulated world that holds them can be forked. */
import { type Ip, formatIp } from "../../net/ip.ts";
import {
  type Lease,
  type LeaseAccess,
  type LeaseNetwork,
  type LeaseOwner,
  type LeaseStore,
  type Leases,
  NO_LEASES,
} from "./lease-store.ts";

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
