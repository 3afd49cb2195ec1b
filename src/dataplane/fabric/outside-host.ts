/**
 * A host somewhere behind the router, with a server that says who it is and whom it saw. It serves no port until it is
 * told to.
 */
import type { Environment } from "#core/base/environment.ts";
import type { Device } from "../device/device.ts";
import type { Compartment } from "../host/compartment.ts";
import { Host } from "../host/host.ts";
import { IdentificationServer } from "../host/services/identification-server.ts";
import type { SocketFailure } from "../host/delivery-failure.ts";
import { ANY_IPV4, ANY_IPV6, type InterfaceAddress, type Ip } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";

export interface OutsideHostOptions {
  readonly name: string;
  readonly address: InterfaceAddress;
  /** The router on its own network. */
  readonly gateway: Ip;
  readonly mac: Mac;
  readonly device: Device;
  /** Its second address. */
  readonly ipv6?: { readonly address: InterfaceAddress; readonly gateway: Ip };
}

export class OutsideHost {
  readonly name: string;
  readonly ip: Ip;
  /** Undefined where the network outside has IPv4 alone. */
  readonly ip6: Ip | undefined;
  readonly host: Host;
  readonly server: IdentificationServer;

  constructor(env: Environment, options: OutsideHostOptions) {
    this.name = options.name;
    this.ip = options.address.ip;
    this.ip6 = options.ipv6?.address.ip;
    this.host = new Host(env, { name: options.name, os: "linux" });
    const { root } = this.host;
    const eth0 = root.addInterface({ name: "eth0", mac: options.mac, device: options.device });
    root.addAddress(eth0, options.address);
    root.addRoute({ prefix: ANY_IPV4, nextHop: options.gateway, interface: eth0, metric: 0 });
    if (options.ipv6 !== undefined) {
      const { address, gateway: nextHop } = options.ipv6;
      root.addAddress(eth0, address);
      root.addRoute({ prefix: ANY_IPV6, nextHop, interface: eth0, metric: 0 });
    }
    this.server = new IdentificationServer(root, options.name);
  }

  get compartment(): Compartment {
    return this.host.root;
  }

  /** Serves a port; one that is served already is fine. @returns why it cannot. */
  serve(protocol: "tcp" | "udp", port: number): SocketFailure | undefined {
    const failure = protocol === "tcp" ? this.server.listenTcp(port) : this.server.listenUdp(port);
    return failure === "port-in-use" ? undefined : failure;
  }
}
