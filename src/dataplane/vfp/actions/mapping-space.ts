/**
 * Spaces: which provider address, MAC and tunnel number stand for a customer's address (dataplane.md §1.7). A space is an
 * immutable value that ports share; HNS has one per network and family, named `<networkGuid>` and `<networkGuid>_V6`.
 */
import type { Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";

/** One mapping. */
export interface Mapping {
  readonly customerAddress: Ip;
  readonly providerAddress: Ip;
  /** The customer's MAC. */
  readonly mac: Mac;
  /** Default: that of the rule that asks. */
  readonly tni?: number;
}

export class MappingSpace {
  readonly name: string;
  private readonly byAddress: ReadonlyMap<Ip, Mapping>;
  private readonly byMac: ReadonlyMap<Mac, Mapping>;

  private constructor(name: string, mappings: readonly Mapping[]) {
    this.name = name;
    this.byAddress = new Map(mappings.map((mapping) => [mapping.customerAddress, mapping]));
    this.byMac = new Map(mappings.map((mapping) => [mapping.mac, mapping]));
    Object.freeze(this);
  }

  /** Of several mappings of one address, or one MAC, the last counts. */
  static of(name: string, mappings: readonly Mapping[]): MappingSpace {
    return new MappingSpace(
      name,
      mappings.map((mapping) => Object.freeze({ ...mapping })),
    );
  }

  get size(): number {
    return this.byAddress.size;
  }

  find(customerAddress: Ip): Mapping | undefined {
    return this.byAddress.get(customerAddress);
  }

  findByMac(mac: Mac): Mapping | undefined {
    return this.byMac.get(mac);
  }

  list(): Mapping[] {
    return [...this.byAddress.values()];
  }
}
