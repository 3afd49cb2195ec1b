/**
 * The addresses of one node's pods where the cluster gives them out itself: on Linux nodes, and with plugin `hns`.
 * Behaves as the IPAM plugin host-local does, in whose words it refuses.
 */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { type Ip, type Ipv4, formatIp } from "#core/net/ip.ts";
import type { AddressRange } from "../file/cluster-file.ts";

export interface PodAddressesOptions {
  readonly ranges: readonly AddressRange[];
  /** Addresses that pods of the cluster file ask for: nobody else gets them. */
  readonly kept: readonly Ipv4[];
}

export class PodAddresses {
  private readonly ranges: readonly AddressRange[];
  private readonly kept: ReadonlySet<Ip>;
  private readonly taken = new Set<Ip>();

  constructor({ ranges, kept }: PodAddressesOptions) {
    this.ranges = ranges;
    this.kept = new Set(kept);
  }

  /**
   * Takes `wanted`, or else the first free address.
   * @throws CniError when it is taken or no pod's, or when none is free.
   */
  take(wanted: Ipv4 | undefined): Ipv4 {
    const address = wanted ?? this.firstFree();
    const isInRange =
      address !== undefined && this.ranges.some(({ first, last }) => address >= first && address <= last);
    if (address === undefined) {
      const knowledge = "ipam-range-exhausted";
      throw this.refuse(`no IP addresses available in range set: ${this.describe()}`, knowledge);
    }
    if (!isInRange || this.taken.has(address)) {
      const text = `requested IP address ${formatIp(address)} is not available in range set ${this.describe()}`;
      throw this.refuse(text, isInRange ? "cluster-file-duplicate-address" : "pod-address-outside-range");
    }
    this.taken.add(address);
    return address;
  }

  /** Gives an address back; one that is free already is ignored. */
  release(address: Ipv4): void {
    this.taken.delete(address);
  }

  /** Who is taken, by number. */
  list(): readonly Ip[] {
    return [...this.taken].toSorted((a, b) => Number(a) - Number(b));
  }

  private firstFree(): Ipv4 | undefined {
    for (const { first, last } of this.ranges)
      for (let ip = Number(first); ip <= Number(last); ip++) {
        const address = ip as Ipv4;
        if (!this.taken.has(address) && !this.kept.has(address)) return address;
      }
    return undefined;
  }

  private describe(): string {
    return this.ranges.map(({ first, last }) => `${formatIp(first)}-${formatIp(last)}`).join(", ");
  }

  private refuse(message: string, knowledge: CniError["knowledge"]): CniError {
    return new CniError(CNI_CODES.internal, message, { knowledge });
  }
}
