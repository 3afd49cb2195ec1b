/**
 * The underlay's router: a Linux host that forwards between its interfaces by static routes. It knows the networks it
 * is connected to and nothing else, unless it is told; least of all pods and services.
 */
import type { Environment } from "#core/base/environment.ts";
import type { Compartment } from "../host/compartment.ts";
import { Host } from "../host/host.ts";
import type { Interface, InterfaceOptions } from "../host/interface.ts";
import type { InterfaceAddress, Ip, Prefix } from "#core/net/ip.ts";

/** A route that somebody gave the router. */
export interface StaticRoute {
  readonly prefix: Prefix;
  readonly nextHop: Ip;
}

export class Router {
  readonly host: Host;

  constructor(env: Environment, name: string) {
    this.host = new Host(env, { name, os: "linux", rootName: name });
    this.host.root.setForwarding(true);
  }

  get compartment(): Compartment {
    return this.host.root;
  }

  /** Connects a network. */
  addInterface(options: InterfaceOptions & { readonly address: InterfaceAddress }): Interface {
    const { address, ...rest } = options;
    const added = this.compartment.addInterface(rest);
    this.compartment.addAddress(added, address);
    return added;
  }

  /** Adds a static route. @returns false when the next hop is in no connected network: nothing was added. */
  addRoute(route: StaticRoute): boolean {
    const connected = this.compartment.output.routeFor(route.nextHop);
    if (connected === undefined || connected.nextHop !== undefined) return false;
    this.compartment.addRoute({ ...route, interface: connected.interface, metric: 0 });
    return true;
  }

  /** @returns false when there is no such static route. */
  removeRoute(route: StaticRoute): boolean {
    const found = this.compartment
      .listRoutes()
      .find(
        (other) =>
          other.prefix.address === route.prefix.address &&
          other.prefix.length === route.prefix.length &&
          other.nextHop === route.nextHop,
      );
    return found !== undefined && this.compartment.removeRoute(found);
  }
}
