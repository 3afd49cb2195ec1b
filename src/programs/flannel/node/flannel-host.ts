/**
 * What flanneld does to the machine that it runs on, besides HNS: the seam `Host` of a node's own network. Implementations:
 * the simulated stacks (`#cluster/flannel/`), Linux through `ip`, `bridge` and `iptables` (`linux-host.node.ts`),
 * Windows through PowerShell (`windows-host.node.ts`). Failing calls reject with an error whose message says what failed.
 */
import type { InterfaceAddress, Ip, IpFamily, Ipv4, Prefix } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";

export interface FlannelInterface {
  readonly index: number;
  readonly name: string;
  readonly mtuBytes: number;
  readonly addresses: readonly InterfaceAddress[];
}

interface AnyHost {
  listInterfaces(): Promise<readonly FlannelInterface[]>;
  /** The index of the interface of the default route; undefined without one. */
  defaultInterface(family: IpFamily): Promise<number | undefined>;
}

/** A route of Windows by a next hop. */
export interface WindowsRoute {
  readonly interfaceIndex: number;
  readonly prefix: Prefix;
  readonly nextHop: Ip;
}

export interface WindowsHost extends AnyHost {
  readonly os: "windows";
  listRoutes(): Promise<readonly WindowsRoute[]>;
  /** Those to exactly this prefix: a node has as many routes as there are nodes. */
  routesTo(prefix: Prefix): Promise<readonly WindowsRoute[]>;
  addRoute(route: WindowsRoute): Promise<void>;
  removeRoute(route: WindowsRoute): Promise<void>;
  /** For IPv4. */
  enableForwarding(interfaceIndex: number): Promise<void>;
}

/** A VXLAN device as it should be. */
export interface VxlanSettings {
  readonly name: string;
  readonly vni: number;
  /** 0: what the kernel takes, 8472. */
  readonly port: number;
  /** The interface that carries the tunnels, by its index, and its address. */
  readonly underlay: number;
  readonly local: Ip;
  readonly mtuBytes: number;
  readonly isLearning: boolean;
  readonly hasGroupPolicy: boolean;
  /** Undefined: the machine chooses one. */
  readonly mac: Mac | undefined;
}

/** A device as it is. What does not show on the machine is undefined. */
export interface VxlanDevice {
  readonly name: string;
  readonly mac: Mac;
  readonly mtuBytes: number;
  readonly vni: number | undefined;
  readonly port: number | undefined;
  readonly underlay: number | undefined;
  readonly local: Ip | undefined;
  readonly hasGroupPolicy: boolean;
  /** False for a link of that name that is no VXLAN device. */
  readonly isVxlan: boolean;
}

/** A route of Linux. */
export interface LinuxRoute {
  readonly prefix: Prefix;
  readonly nextHop: Ip;
  readonly device: string;
  /** The next hop is on the link whatever the addresses say. */
  readonly isOnLink: boolean;
}

/** What flannel masquerades (control-planes.md §3.5). */
export interface MasqueradeSettings {
  readonly network: Prefix;
  readonly subnet: Prefix;
  readonly isFullyRandom: boolean;
  /** Upstream's rules of nftables are not those of its iptables. */
  readonly isAsIptables: boolean;
}

/** What writes the rules of a Linux machine. */
export type RuleProgram = "iptables" | "nftables";

export interface LinuxHost extends AnyHost {
  readonly os: "linux";
  /** The interface and source towards an address. @throws when there is no route. */
  pathTo(ip: Ip): Promise<{ readonly interfaceIndex: number; readonly source: Ip }>;
  findVxlan(name: string): Promise<VxlanDevice | undefined>;
  createVxlan(settings: VxlanSettings): Promise<void>;
  deleteLink(name: string): Promise<void>;
  /** Gives the device this address and no other of `network`, and brings it up. */
  configureVxlan(name: string, address: InterfaceAddress, network: Prefix): Promise<void>;
  setNeighbor(device: string, ip: Ip, mac: Mac): Promise<void>;
  removeNeighbor(device: string, ip: Ip): Promise<void>;
  /** Frames to `mac` go to `destination`. */
  setForwarding(device: string, mac: Mac, destination: Ip): Promise<void>;
  removeForwarding(device: string, mac: Mac, destination: Ip): Promise<void>;
  /** The forwarding entries of a device. */
  listForwarding(device: string): Promise<readonly { readonly mac: Mac; readonly destination: Ip }[]>;
  listNeighbors(device: string): Promise<readonly { readonly ip: Ip; readonly mac: Mac }[]>;
  /** Puts the route there, in place of another one to the same prefix. */
  replaceRoute(route: LinuxRoute): Promise<void>;
  removeRoute(route: LinuxRoute): Promise<void>;
  /** Routes by a next hop. */
  listRoutes(family: IpFamily): Promise<readonly LinuxRoute[]>;
  /** Those to exactly this prefix: a node has as many routes as there are nodes. */
  routesTo(prefix: Prefix): Promise<readonly LinuxRoute[]>;
  /** Puts the rules there, or puts them right. Called again and again. */
  ensureMasquerade(settings: MasqueradeSettings, program: RuleProgram): Promise<void>;
  ensureForwarding(network: Prefix, program: RuleProgram): Promise<void>;
  /** Takes away what flanneld has written with that program in another life. */
  removeRules(program: RuleProgram): Promise<void>;
  /** Packets to what no pod of this node has end here. Rejects when another route to the very range is there. */
  ensureBlackhole(prefix: Prefix): Promise<void>;
}

export type FlannelHost = WindowsHost | LinuxHost;

/** The interface that carries an address. */
export function interfaceWith(interfaces: readonly FlannelInterface[], ip: Ip): FlannelInterface | undefined {
  return interfaces.find(({ addresses }) => addresses.some((address) => address.ip === ip));
}

/** The first address of a family on an interface. */
export function firstAddress(netInterface: FlannelInterface, family: IpFamily): Ip | undefined {
  const isWanted = (ip: Ip): boolean => (typeof ip === "number" ? 4 : 6) === family;
  return netInterface.addresses.find(({ ip }) => isWanted(ip))?.ip;
}

/** What flanneld talks over to other nodes. */
export interface ExternalInterface {
  readonly interface: FlannelInterface;
  readonly address: Ipv4 | undefined;
  readonly ipv6Address: Ip | undefined;
  /** How others reach the node. */
  readonly publicIp: Ipv4 | undefined;
  readonly publicIpv6: Ip | undefined;
}
