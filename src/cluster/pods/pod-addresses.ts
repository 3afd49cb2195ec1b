/**
 * The addresses of one node's pods where the cluster gives them out itself: on Linux nodes, and with plugin `hns`.
 * Behaves as the IPAM plugin host-local does, in whose words it refuses.
 */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { type Ip, type Ipv4, type Prefix, addToIp, formatIp, lastIp } from "#core/net/ip.ts";

export interface PodAddressesOptions {
  readonly range: Prefix;
  /** The first address that a pod may have, counted from the start of the range. */
  readonly firstOffset: number;
  /** Addresses that pods of the cluster file ask for: nobody else gets them. */
  readonly kept: readonly Ipv4[];
}

export class PodAddresses {
  private readonly first: number;
  /** The last address of a range is for broadcasts. */
  private readonly last: number;
  private readonly kept: ReadonlySet<Ip>;
  private readonly taken = new Set<Ip>();

  constructor({ range, firstOffset, kept }: PodAddressesOptions) {
    this.first = Number(addToIp(range.address, firstOffset) ?? range.address);
    this.last = Number(lastIp(range)) - 1;
    this.kept = new Set(kept);
  }

  /**
   * Takes `wanted`, or else the first free address.
   * @throws CniError when it is taken or no pod's, or when none is free.
   */
  take(wanted: Ipv4 | undefined): Ipv4 {
    const address = wanted ?? this.firstFree();
    const isInRange = address !== undefined && address >= this.first && address <= this.last;
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
    for (let ip = this.first; ip <= this.last; ip++) {
      const address = ip as Ipv4;
      if (!this.taken.has(address) && !this.kept.has(address)) return address;
    }
    return undefined;
  }

  private describe(): string {
    return `${formatIp(this.first as Ipv4)}-${formatIp(this.last as Ipv4)}`;
  }

  private refuse(message: string, knowledge: CniError["knowledge"]): CniError {
    return new CniError(CNI_CODES.internal, message, { knowledge });
  }
}
