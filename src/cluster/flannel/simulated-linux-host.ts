/** What flanneld does to the machine of an emulated Linux node: its stack, VXLAN devices and rules. */
import type { Prng } from "../../base/prng.ts";
import { LinuxVxlan } from "../../fabric/linux-vxlan.ts";
import { FlannelError } from "../../flannel/flannel-error.ts";
import type {
  HostInterface,
  LinuxHost,
  LinuxRoute,
  MasqueradeSettings,
  VxlanDevice,
  VxlanSettings,
} from "../../flannel/flannel-host.ts";
import { portOf } from "../../flannel/linux/vxlan-device.ts";
import type { Compartment } from "../../host/compartment.ts";
import type { Interface } from "../../host/interface.ts";
import { RuleSet } from "../../host/netfilter/rule-set.ts";
import { type Ip, type IpFamily, type Ipv4, familyOf, formatIp } from "../../net/ip.ts";
import type { Mac } from "../../net/mac.ts";
import {
  type InterfaceAddress,
  type Prefix,
  formatPrefix,
  hostPrefix,
  prefixContains,
} from "../../net/prefix.ts";
import { flannelRules } from "../linux-masquerade.ts";
import { InterfaceIndexes } from "./interface-indexes.ts";

/** The first octet of a locally administered unicast MAC, and how many there are of the others. */
const LOCAL_OCTET = 0x0200_0000_0000;
const OTHER_OCTETS = 2 ** 32;

function failure(text: string): FlannelError {
  return new FlannelError("flannel-route-not-programmed", text);
}

/** A random unicast MAC of the locally administered ones, as the kernel gives a device. */
function randomMac(prng: Prng): Mac {
  const first = LOCAL_OCTET + prng.below(64) * 0x0400_0000_0000;
  return (first + prng.below(OTHER_OCTETS) + prng.below(256) * OTHER_OCTETS) as Mac;
}

export class SimulatedLinuxHost implements LinuxHost {
  readonly os = "linux" as const;
  private readonly name: string;
  private readonly compartment: Compartment;
  private readonly prng: Prng;
  private readonly indexes: InterfaceIndexes;
  private readonly devices = new Map<string, LinuxVxlan>();
  private readonly rules = new RuleSet();
  private masqueraded = "";

  /** `name`: the node's, for the provenance of rules. */
  constructor(name: string, compartment: Compartment, prng: Prng) {
    this.name = name;
    this.compartment = compartment;
    this.prng = prng;
    this.indexes = new InterfaceIndexes(compartment);
    compartment.enableNetfilter().use(this.rules);
  }

  listInterfaces(): Promise<readonly HostInterface[]> {
    return Promise.resolve(this.indexes.list());
  }

  defaultInterface(family: IpFamily): Promise<number | undefined> {
    return Promise.resolve(this.indexes.ofDefaultRoute(family));
  }

  pathTo(ip: Ip): Promise<{ readonly interfaceIndex: number; readonly source: Ip }> {
    const route = this.compartment.output.routeFor(ip);
    const source =
      route === undefined ? undefined : this.compartment.sourceFor(route.interface, ip, route.nextHop ?? ip);
    if (route === undefined || source === undefined)
      return Promise.reject(failure(`${formatIp(ip)}: network is unreachable`));
    return Promise.resolve({ interfaceIndex: this.indexes.of(route.interface), source });
  }

  findVxlan(name: string): Promise<VxlanDevice | undefined> {
    const link = this.compartment.getInterface(name);
    if (link === undefined) return Promise.resolve(undefined);
    const device = this.devices.get(name);
    const options = device?.options;
    const underlay = options === undefined ? undefined : this.compartment.interfaceOf(options.local);
    return Promise.resolve({
      name,
      mac: link.mac,
      mtuBytes: link.mtuBytes,
      vni: options?.vni,
      port: options?.port,
      underlay: underlay === undefined ? undefined : this.indexes.of(underlay),
      local: options?.local,
      hasGroupPolicy: false,
      isVxlan: device !== undefined,
    });
  }

  createVxlan(settings: VxlanSettings): Promise<void> {
    const { name, vni, local, mtuBytes, hasGroupPolicy } = settings;
    if (this.compartment.getInterface(name) !== undefined)
      return Promise.reject(failure(`${name}: file exists`));
    if (typeof local !== "number" || hasGroupPolicy)
      return Promise.reject(failure(`${name}: devices of emulated nodes carry IPv4 without group policies`));
    const device = new LinuxVxlan({
      name,
      compartment: this.compartment,
      mac: settings.mac ?? randomMac(this.prng),
      local,
      vni,
      port: portOf(settings),
      mtuBytes,
    });
    this.devices.set(name, device);
    return Promise.resolve();
  }

  deleteLink(name: string): Promise<void> {
    const device = this.devices.get(name);
    const link = this.compartment.getInterface(name);
    if (link === undefined) return Promise.reject(failure(`${name}: no such device`));
    if (device === undefined) this.compartment.removeInterface(link);
    else device.close();
    this.devices.delete(name);
    return Promise.resolve();
  }

  configureVxlan(name: string, address: InterfaceAddress, network: Prefix): Promise<void> {
    const link = this.linkOf(name);
    for (const { ip } of [...link.addresses])
      if (ip !== address.ip && prefixContains(network, ip)) this.compartment.removeAddress(link, ip);
    this.compartment.addAddress(link, address);
    return Promise.resolve();
  }

  setNeighbor(device: string, ip: Ip, mac: Mac): Promise<void> {
    this.linkOf(device).neighbors.setPermanent(ip, mac);
    return Promise.resolve();
  }

  removeNeighbor(device: string, ip: Ip): Promise<void> {
    this.linkOf(device).neighbors.remove(ip);
    return Promise.resolve();
  }

  setForwarding(device: string, mac: Mac, destination: Ip): Promise<void> {
    this.deviceOf(device).setForwarding(mac, destination as Ipv4);
    return Promise.resolve();
  }

  removeForwarding(device: string, mac: Mac, destination: Ip): Promise<void> {
    const isThere = this.deviceOf(device).removeForwarding(mac, destination as Ipv4);
    return isThere ? Promise.resolve() : Promise.reject(failure(`${device}: no such forwarding entry`));
  }

  listForwarding(device: string): Promise<readonly { readonly mac: Mac; readonly destination: Ip }[]> {
    return Promise.resolve(this.deviceOf(device).listForwarding());
  }

  listNeighbors(device: string): Promise<readonly { readonly ip: Ip; readonly mac: Mac }[]> {
    const permanent = this.linkOf(device)
      .neighbors.list()
      .flatMap(({ ip, mac, state }) => (state === "permanent" && mac !== undefined ? [{ ip, mac }] : []));
    return Promise.resolve(permanent);
  }

  replaceRoute(route: LinuxRoute): Promise<void> {
    const link = this.linkOf(route.device);
    for (const { prefix, nextHop, interface: over, origin } of this.compartment.listRoutes())
      if (origin === "static" && nextHop !== undefined && formatPrefix(prefix) === formatPrefix(route.prefix))
        this.compartment.removeRoute({ prefix, nextHop, interface: over });
    const { prefix, nextHop, isOnLink } = route;
    // What `onlink` means: the gateway is a neighbour whatever the addresses say.
    if (isOnLink) this.compartment.addRoute({ prefix: hostPrefix(nextHop), interface: link, metric: 0 });
    this.compartment.addRoute({ prefix, nextHop, interface: link, metric: 0 });
    return Promise.resolve();
  }

  removeRoute({ prefix, nextHop, device, isOnLink }: LinuxRoute): Promise<void> {
    const link = this.linkOf(device);
    if (!this.compartment.removeRoute({ prefix, nextHop, interface: link }))
      return Promise.reject(failure(`${formatPrefix(prefix)} via ${formatIp(nextHop)}: no such process`));
    if (isOnLink) this.compartment.removeRoute({ prefix: hostPrefix(nextHop), interface: link });
    return Promise.resolve();
  }

  listRoutes(family: IpFamily): Promise<readonly LinuxRoute[]> {
    const routes = this.compartment
      .listRoutes()
      .flatMap(({ prefix, nextHop, interface: link }) =>
        nextHop === undefined || familyOf(nextHop) !== family
          ? []
          : [{ prefix, nextHop, device: link.name, isOnLink: this.devices.has(link.name) }],
      );
    return Promise.resolve(routes);
  }

  ensureMasquerade({ network, subnet }: MasqueradeSettings): Promise<void> {
    const wanted = `${formatPrefix(network)} ${formatPrefix(subnet)}`;
    if (this.masqueraded === wanted) return Promise.resolve();
    this.masqueraded = wanted;
    this.rules.set(this.name, flannelRules(this.name, subnet, network));
    return Promise.resolve();
  }

  /** Emulated Linux nodes forward everything: the policy of FORWARD is ACCEPT. */
  ensureForwarding(): Promise<void> {
    return Promise.resolve();
  }

  private linkOf(name: string): Interface {
    const link = this.compartment.getInterface(name);
    if (link !== undefined) return link;
    throw failure(`${name}: no such device`);
  }

  private deviceOf(name: string): LinuxVxlan {
    const device = this.devices.get(name);
    if (device !== undefined) return device;
    throw failure(`${name}: no such device`);
  }
}
