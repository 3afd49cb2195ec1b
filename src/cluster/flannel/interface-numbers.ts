/** Indexes of a simulated machine's interfaces, which flanneld knows them by: in the order in which they are seen. */
import type { FlannelInterface } from "#programs/flannel/node/flannel-host.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { StackInterface } from "#dataplane/host/stack.ts";
import { type IpFamily, prefixFamily } from "#core/net/ip.ts";

/** 1 is the loopback interface, which the stacks do not have. */
const FIRST_INDEX = 2;

export class InterfaceNumbers {
  private readonly compartment: Compartment;
  private readonly numbers = new Map<StackInterface, number>();
  private next = FIRST_INDEX;

  constructor(compartment: Compartment) {
    this.compartment = compartment;
  }

  list(): readonly FlannelInterface[] {
    return this.compartment.listInterfaces().map((netInterface) => ({
      index: this.indexOf(netInterface),
      name: netInterface.name,
      mtuBytes: netInterface.mtuBytes,
      addresses: [...netInterface.addresses],
    }));
  }

  indexOf(netInterface: StackInterface): number {
    const known = this.numbers.get(netInterface);
    if (known !== undefined) return known;
    const index = this.next++;
    // Those that are gone are not asked for again.
    const present = new Set<StackInterface>(this.compartment.listInterfaces());
    for (const former of this.numbers.keys()) if (!present.has(former)) this.numbers.delete(former);
    this.numbers.set(netInterface, index);
    return index;
  }

  /** The index of the interface of the default route; undefined without one. */
  ofDefaultRoute(family: IpFamily): number | undefined {
    const found = this.compartment
      .listRoutes()
      .find(({ prefix }) => prefix.length === 0 && prefixFamily(prefix) === family);
    return found === undefined ? undefined : this.indexOf(found.interface);
  }

  /** @throws Error when the interface has gone. */
  find(index: number): Interface {
    const found = this.compartment.listInterfaces().find((candidate) => this.indexOf(candidate) === index);
    if (found === undefined) throw new Error(`there is no interface with index ${index}`);
    return found;
  }
}
