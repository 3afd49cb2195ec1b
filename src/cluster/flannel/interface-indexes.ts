/** The numbers that a machine gives its interfaces: they count up, and none is given twice. */
import type { HostInterface } from "../../flannel/flannel-host.ts";
import type { Compartment } from "../../host/compartment.ts";
import type { Interface } from "../../host/interface.ts";
import { type IpFamily, familyOf } from "../../net/ip.ts";

export class InterfaceIndexes {
  private readonly compartment: Compartment;
  private readonly indexes = new Map<Interface, number>();
  private last = 1;

  constructor(compartment: Compartment) {
    this.compartment = compartment;
  }

  of(netInterface: Interface): number {
    const known = this.indexes.get(netInterface);
    if (known !== undefined) return known;
    this.indexes.set(netInterface, ++this.last);
    return this.last;
  }

  /** The interface with that number, as long as it is there. */
  at(index: number): Interface | undefined {
    return this.compartment.listInterfaces().find((candidate) => this.of(candidate) === index);
  }

  list(): readonly HostInterface[] {
    return this.compartment.listInterfaces().map((netInterface) => ({
      index: this.of(netInterface),
      name: netInterface.name,
      mtuBytes: netInterface.mtuBytes,
      addresses: netInterface.addresses,
    }));
  }

  ofDefaultRoute(family: IpFamily): number | undefined {
    const route = this.compartment
      .listRoutes()
      .find(({ prefix }) => prefix.length === 0 && familyOf(prefix.address) === family);
    return route === undefined ? undefined : this.of(route.interface);
  }
}
