/** Simulated nodes as flanneld sees them. */
import type { Environment } from "#core/base/environment.ts";
import { LinuxVxlan } from "#dataplane/fabric/linux-vxlan.ts";
import type {
  FlannelInterface,
  LinuxHost,
  LinuxRoute,
  MasqueradeSettings,
  VxlanDevice,
  VxlanSettings,
  WindowsHost,
  WindowsRoute,
} from "#programs/flannel/node/flannel-host.ts";
import { portOf } from "#programs/flannel/linux/vxlan-device.ts";
import type { Compartment } from "#dataplane/host/compartment.ts";
import type { Route, StackInterface } from "#dataplane/host/stack.ts";
import type { RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import {
  type InterfaceAddress,
  type Ip,
  type IpFamily,
  type Ipv4,
  type Prefix,
  equalPrefixes,
  formatIp,
  formatPrefix,
  prefixContains,
  prefixFamily,
} from "#core/net/ip.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import { flannelRules } from "../services/linux-masquerade.ts";
import type { Interface } from "#dataplane/host/interface.ts";

// Indexes of a simulated machine's interfaces, which flanneld knows them by: in the order in which they are seen.

/** 1 is the loopback interface, which the stacks do not have. */
const FIRST_INDEX = 2;

class InterfaceNumbers {
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

// A Linux node: its VXLAN device, routes, neighbours and rules.

export interface SimulatedLinuxHostParts {
  readonly env: Environment;
  /** The machine's name. */
  readonly name: string;
  /** Of the host itself. */
  readonly compartment: Compartment;
  /** Where the node's programs put their rules. */
  readonly rules: RuleSet;
}

function ipv4(ip: Ip, what: string): Ipv4 {
  if (typeof ip === "number") return ip;
  throw new Error(`${what}: the simulated Linux host has VXLAN devices for IPv4 only`);
}

/** A locally administered unicast MAC. */
function localMac(bytes: number, low: number): Mac {
  const first = ((bytes & 0xfc) | 0x02) * 0x100_0000_0000;
  return (first + ((bytes >>> 8) & 0xff) * 0x1_0000_0000 + low) as Mac;
}

/** Plain data: a part of the world. */
export class SimulatedLinuxHost implements LinuxHost {
  readonly os = "linux";
  private readonly parts: SimulatedLinuxHostParts;
  private readonly numbers: InterfaceNumbers;
  private readonly devices = new Map<string, LinuxVxlan>();
  private masqueraded: MasqueradeSettings | undefined;

  constructor(parts: SimulatedLinuxHostParts) {
    this.parts = parts;
    this.numbers = new InterfaceNumbers(parts.compartment);
  }

  listInterfaces(): Promise<readonly FlannelInterface[]> {
    return Promise.resolve(this.numbers.list());
  }

  defaultInterface(family: IpFamily): Promise<number | undefined> {
    return Promise.resolve(this.numbers.ofDefaultRoute(family));
  }

  pathTo(ip: Ip): Promise<{ readonly interfaceIndex: number; readonly source: Ip }> {
    const { compartment } = this.parts;
    const route = compartment.output.routeFor(ip);
    const source =
      route === undefined ? undefined : compartment.sourceFor(route.interface, ip, route.nextHop ?? ip);
    if (route === undefined || source === undefined)
      return Promise.reject(new Error(`network is unreachable: ${formatIp(ip)}`));
    return Promise.resolve({ interfaceIndex: this.numbers.indexOf(route.interface), source });
  }

  findVxlan(name: string): Promise<VxlanDevice | undefined> {
    const device = this.devices.get(name);
    if (device === undefined) {
      const other = this.parts.compartment.getInterface(name);
      return Promise.resolve(
        other === undefined
          ? undefined
          : {
              name,
              mac: other.mac,
              mtuBytes: other.mtuBytes,
              vni: undefined,
              port: undefined,
              underlay: undefined,
              local: undefined,
              hasGroupPolicy: false,
              isVxlan: false,
            },
      );
    }
    const { options, interface: netInterface } = device;
    return Promise.resolve({
      name,
      mac: netInterface.mac,
      mtuBytes: netInterface.mtuBytes,
      vni: options.vni,
      port: options.port,
      underlay: undefined,
      local: options.local,
      hasGroupPolicy: false,
      isVxlan: true,
    });
  }

  createVxlan(settings: VxlanSettings): Promise<void> {
    const { compartment, env, name: node } = this.parts;
    const { name, vni, local, mtuBytes } = settings;
    const carrier = this.numbers.find(settings.underlay);
    // By the names, so that one device more does not change what others get.
    const prng = env.prng.derive(`flannel/${node}/${name}`);
    const device = new LinuxVxlan({
      name,
      compartment,
      mac: settings.mac ?? localMac(prng.nextU32(), prng.nextU32()),
      local: ipv4(local, name),
      vni,
      port: portOf(settings),
      mtuBytes: carrier.mtuBytes,
    });
    device.interface.mtuBytes = mtuBytes;
    this.devices.set(name, device);
    return Promise.resolve();
  }

  deleteLink(name: string): Promise<void> {
    this.devices.get(name)?.close();
    this.devices.delete(name);
    const other = this.parts.compartment.getInterface(name);
    if (other !== undefined) this.parts.compartment.removeInterface(other);
    return Promise.resolve();
  }

  configureVxlan(name: string, address: InterfaceAddress, network: Prefix): Promise<void> {
    const { compartment } = this.parts;
    const { interface: netInterface } = this.device(name);
    const others = netInterface.addresses.filter(
      ({ ip }) => ip !== address.ip && prefixContains(network, ip),
    );
    for (const { ip } of others) compartment.removeAddress(netInterface, ip);
    compartment.addAddress(netInterface, address);
    return Promise.resolve();
  }

  setNeighbor(device: string, ip: Ip, mac: Mac): Promise<void> {
    this.device(device).interface.neighbors.setPermanent(ipv4(ip, device), mac);
    return Promise.resolve();
  }

  removeNeighbor(device: string, ip: Ip): Promise<void> {
    this.device(device).interface.neighbors.remove(ipv4(ip, device));
    return Promise.resolve();
  }

  setForwarding(device: string, mac: Mac, destination: Ip): Promise<void> {
    this.device(device).setForwarding(mac, ipv4(destination, device));
    return Promise.resolve();
  }

  removeForwarding(device: string, mac: Mac, destination: Ip): Promise<void> {
    if (this.device(device).removeForwarding(mac, ipv4(destination, device))) return Promise.resolve();
    return Promise.reject(new Error(`no such file or directory: ${formatMac(mac)}`));
  }

  listForwarding(device: string): Promise<readonly { readonly mac: Mac; readonly destination: Ip }[]> {
    return Promise.resolve(this.device(device).listForwarding());
  }

  listNeighbors(device: string): Promise<readonly { readonly ip: Ip; readonly mac: Mac }[]> {
    const neighbors = this.device(device).interface.neighbors.list();
    return Promise.resolve(neighbors.flatMap(({ ip, mac }) => (mac === undefined ? [] : [{ ip, mac }])));
  }

  replaceRoute({ prefix, nextHop, device }: LinuxRoute): Promise<void> {
    const { compartment } = this.parts;
    const netInterface = compartment.getInterface(device);
    if (netInterface === undefined) return Promise.reject(new Error(`Cannot find device "${device}"`));
    for (const route of compartment.routesTo(prefix))
      if (route.origin === "static") compartment.removeRoute(route);
    // `onlink` is how these stacks take every next hop: they ask for it on the interface that the route names.
    compartment.addRoute({ prefix, nextHop, interface: netInterface, metric: 0 });
    return Promise.resolve();
  }

  removeRoute({ prefix, nextHop, device }: LinuxRoute): Promise<void> {
    const { compartment } = this.parts;
    const netInterface = compartment.getInterface(device);
    const isGone =
      netInterface !== undefined && compartment.removeRoute({ prefix, nextHop, interface: netInterface });
    if (isGone) return Promise.resolve();
    return Promise.reject(
      new Error(`no such process: ${formatPrefix(prefix)} via ${formatIp(nextHop)} dev ${device}`),
    );
  }

  listRoutes(family: IpFamily): Promise<readonly LinuxRoute[]> {
    const routes = this.shown(this.parts.compartment.listRoutes());
    return Promise.resolve(routes.filter(({ prefix }) => prefixFamily(prefix) === family));
  }

  routesTo(prefix: Prefix): Promise<readonly LinuxRoute[]> {
    return Promise.resolve(this.shown(this.parts.compartment.routesTo(prefix)));
  }

  private shown(routes: readonly Route[]): readonly LinuxRoute[] {
    return routes.flatMap(({ prefix, nextHop, interface: netInterface }) => {
      if (nextHop === undefined) return [];
      return [{ prefix, nextHop, device: netInterface.name, isOnLink: this.devices.has(netInterface.name) }];
    });
  }

  ensureMasquerade(settings: MasqueradeSettings): Promise<void> {
    const { network, subnet } = settings;
    // Netfilter of these stacks translates IPv4.
    if (prefixFamily(network) === 6) return Promise.resolve();
    const before = this.masqueraded;
    if (
      before !== undefined &&
      equalPrefixes(before.network, network) &&
      equalPrefixes(before.subnet, subnet)
    )
      return Promise.resolve();
    this.masqueraded = settings;
    this.parts.rules.set(this.parts.name, flannelRules(this.parts.name, subnet, network));
    return Promise.resolve();
  }

  /** These machines forward whatever no rule drops: the policy of FORWARD is ACCEPT. */
  ensureForwarding(): Promise<void> {
    return Promise.resolve();
  }

  /** Every life of these machines writes the same rules. */
  removeRules(): Promise<void> {
    return Promise.resolve();
  }

  /** No flanneld of a cluster is told to make one. */
  ensureBlackhole(prefix: Prefix): Promise<void> {
    return Promise.reject(
      new Error(`the simulated stacks have no blackhole routes: ${formatPrefix(prefix)} gets none`),
    );
  }

  /** What ends with the kernel: devices, and with them their routes and neighbours; routes by hand; rules. */
  forgetKernelState(): void {
    const { compartment, rules, name } = this.parts;
    for (const device of this.devices.keys()) void this.deleteLink(device);
    for (const route of compartment.listRoutes())
      if (route.origin === "static" && route.prefix.length > 0) compartment.removeRoute(route);
    this.masqueraded = undefined;
    rules.remove(name);
  }

  private device(name: string): LinuxVxlan {
    const device = this.devices.get(name);
    if (device === undefined) throw new Error(`Cannot find device "${name}"`);
    return device;
  }
}

// A Windows node, besides HNS.

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
