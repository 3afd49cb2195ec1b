/** What flanneld does to the machine of an emulated Windows node: the stack of its own compartment. */
import type { HostInterface, WindowsHost, WindowsRoute } from "../../flannel/flannel-host.ts";
import { FlannelError } from "../../flannel/flannel-error.ts";
import type { Compartment } from "../../host/compartment.ts";
import type { RouteOptions } from "../../host/route-table.ts";
import type { Ip, IpFamily } from "../../net/ip.ts";
import { InterfaceIndexes } from "./interface-indexes.ts";

/** What Windows gives an on-link route as its next hop. */
const ON_LINK = 0 as Ip;
/** `New-NetRoute` without a metric (256) would lose against nothing here: prefixes are the nodes' own. */
const METRIC = 256;

export class SimulatedWindowsHost implements WindowsHost {
  readonly os = "windows" as const;
  private readonly compartment: Compartment;
  private readonly indexes: InterfaceIndexes;

  constructor(compartment: Compartment) {
    this.compartment = compartment;
    this.indexes = new InterfaceIndexes(compartment);
  }

  listInterfaces(): Promise<readonly HostInterface[]> {
    return Promise.resolve(this.indexes.list());
  }

  defaultInterface(family: IpFamily): Promise<number | undefined> {
    return Promise.resolve(this.indexes.ofDefaultRoute(family));
  }

  listRoutes(): Promise<readonly WindowsRoute[]> {
    const routes = this.compartment.listRoutes().map((route) => ({
      interfaceIndex: this.indexes.of(route.interface),
      prefix: route.prefix,
      nextHop: route.nextHop ?? ON_LINK,
    }));
    return Promise.resolve(routes);
  }

  addRoute(route: WindowsRoute): Promise<void> {
    this.compartment.addRoute({ ...this.optionsOf(route), metric: METRIC });
    return Promise.resolve();
  }

  removeRoute(route: WindowsRoute): Promise<void> {
    this.compartment.removeRoute(this.optionsOf(route));
    return Promise.resolve();
  }

  enableForwarding(interfaceIndex: number): Promise<void> {
    this.interfaceAt(interfaceIndex).isForwarding = true;
    return Promise.resolve();
  }

  private optionsOf({ prefix, nextHop, interfaceIndex }: WindowsRoute): Omit<RouteOptions, "metric"> {
    const netInterface = this.interfaceAt(interfaceIndex);
    return nextHop === ON_LINK
      ? { prefix, interface: netInterface }
      : { prefix, nextHop, interface: netInterface };
  }

  private interfaceAt(index: number): RouteOptions["interface"] {
    const found = this.indexes.at(index);
    if (found !== undefined) return found;
    throw new FlannelError("flannel-route-not-programmed", `there is no interface ${index}`);
  }
}
