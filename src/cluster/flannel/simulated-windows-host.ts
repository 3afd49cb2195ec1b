/** A simulated Windows node as flanneld sees it, besides HNS. */
import type { FlannelInterface, WindowsHost, WindowsRoute } from "#programs/flannel/node/flannel-host.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Route } from "#dataplane/host/stack.ts";
import { type IpFamily, type Prefix, formatPrefix } from "#core/net/ip.ts";
import { InterfaceNumbers } from "./interface-numbers.ts";

/** What `New-NetRoute` gives a route that names no metric. */
const ROUTE_METRIC = 256;

/** Plain data: a part of the world. */
export class SimulatedWindowsHost implements WindowsHost {
  readonly os = "windows";
  private readonly compartment: Compartment;
  private readonly numbers: InterfaceNumbers;

  /** @param compartment of the host itself. */
  constructor(compartment: Compartment) {
    this.compartment = compartment;
    this.numbers = new InterfaceNumbers(compartment);
  }

  listInterfaces(): Promise<readonly FlannelInterface[]> {
    return Promise.resolve(this.numbers.list());
  }

  defaultInterface(family: IpFamily): Promise<number | undefined> {
    return Promise.resolve(this.numbers.ofDefaultRoute(family));
  }

  listRoutes(): Promise<readonly WindowsRoute[]> {
    return Promise.resolve(this.shown(this.compartment.listRoutes()));
  }

  routesTo(prefix: Prefix): Promise<readonly WindowsRoute[]> {
    return Promise.resolve(this.shown(this.compartment.routesTo(prefix)));
  }

  private shown(routes: readonly Route[]): readonly WindowsRoute[] {
    return routes.flatMap(({ prefix, nextHop, interface: netInterface }) =>
      nextHop === undefined ? [] : [{ prefix, nextHop, interfaceIndex: this.numbers.indexOf(netInterface) }],
    );
  }

  async addRoute({ prefix, nextHop, interfaceIndex }: WindowsRoute): Promise<void> {
    const existing = (await this.routesTo(prefix)).some(
      (route) => route.nextHop === nextHop && route.interfaceIndex === interfaceIndex,
    );
    if (existing)
      throw new Error(`New-NetRoute : Instance MSFT_NetRoute already exists: ${formatPrefix(prefix)}`);
    this.compartment.addRoute({
      prefix,
      nextHop,
      interface: this.numbers.find(interfaceIndex),
      metric: ROUTE_METRIC,
    });
  }

  removeRoute({ prefix, nextHop, interfaceIndex }: WindowsRoute): Promise<void> {
    const isGone = this.compartment.removeRoute({
      prefix,
      nextHop,
      interface: this.numbers.find(interfaceIndex),
    });
    if (isGone) return Promise.resolve();
    return Promise.reject(
      new Error(`Remove-NetRoute : No matching MSFT_NetRoute objects found: ${formatPrefix(prefix)}`),
    );
  }

  enableForwarding(interfaceIndex: number): Promise<void> {
    this.numbers.find(interfaceIndex).isForwarding = true;
    return Promise.resolve();
  }
}
