/**
 * Where the addresses of pods come from, an IPAM plugin, CNS, or the network containers of tenants, and the network
 * interfaces that a pod gets from there (cni.md §5.4, §5.7).
 */
import type { CniIp, CniRoute } from "#contracts/cni/result.ts";
import { type InterfaceAddress, familyOf, formatIp, formatPrefix, maskIp } from "#core/net/ip.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import type { NetworkContainer, NicType } from "../cns/documents.ts";
import type { AzurePolicy } from "./conf.ts";

export interface AzureNic {
  readonly type: NicType;
  readonly ips: readonly CniIp[];
  readonly routes: readonly CniRoute[];
  /** Name resolution as IPAM says it. */
  readonly dns: { readonly nameservers: readonly string[]; readonly domain: string };
  /** The host's own subnet, by which its interface is found; undefined where the MAC is what counts. */
  readonly hostSubnet: InterfaceAddress | undefined;
  /** `60:45:bd:12:45:65`; empty: HNS chooses one. */
  readonly mac: string;
  /** True: another interface of the pod has the default routes. */
  readonly skipsDefaultRoutes: boolean;
  /** The device behind a BackendNIC. */
  readonly pnpId: string;
  readonly policies: readonly AzurePolicy[];
  /** With several tenants: the network container that the interface is for. */
  readonly container: NetworkContainer | undefined;
  readonly networkContainerId: string;
  readonly allowsHostToContainer: boolean;
  readonly allowsContainerToHost: boolean;
}

/** Source NAT on the container's host, with several tenants. */
export interface AzureSnat {
  readonly forDns: boolean;
  readonly onHost: boolean;
}

/** What one source of addresses gave to a pod. */
export interface AzureAllocation {
  /** That of the cluster's network first. */
  readonly nics: readonly AzureNic[];
  /** The primary address of the network container, which destinations see that need it; empty: none. */
  readonly primaryIp: string;
  readonly snat: AzureSnat;
}

export const PLAIN_NIC: AzureNic = {
  type: "InfraNIC",
  ips: [],
  routes: [],
  dns: { nameservers: [], domain: "" },
  hostSubnet: undefined,
  mac: "",
  skipsDefaultRoutes: false,
  pnpId: "",
  policies: [],
  container: undefined,
  networkContainerId: "",
  allowsHostToContainer: false,
  allowsContainerToHost: false,
};

export function ipsOf({ nics }: AzureAllocation): readonly CniIp[] {
  return nics.flatMap(({ type, ips }) => (type === "InfraNIC" ? ips : []));
}

export function hasIpv6({ nics }: AzureAllocation): boolean {
  return nics.some(({ ips }) => ips.some(({ address }) => familyOf(address.ip) === 6));
}

/** True when two interfaces have the same addresses. */
export function haveSameIps(a: readonly InterfaceAddress[], b: readonly InterfaceAddress[]): boolean {
  const text = (list: readonly InterfaceAddress[]): string =>
    list.map(({ ip, length }) => `${formatIp(ip)}/${length}`).join();
  return text(a) === text(b);
}

/** The network that an address is in. */
export function networkOf({ ip, length }: InterfaceAddress): InterfaceAddress {
  return { ip: maskIp(ip, length), length };
}

export function formatNetwork({ ip, length }: InterfaceAddress): string {
  return formatPrefix({ address: maskIp(ip, length), length });
}

/** The source for one attachment. All reject with `CniError`. */
export interface AddressSource {
  /** Asks for the pod's interfaces. When it fails, nothing is taken. */
  add(): Promise<AzureAllocation>;
  /** Gives an address back; without one, what the container holds. */
  release(address: InterfaceAddress | undefined): Promise<void>;
  check(): Promise<void>;
  status(): Promise<void>;
  /** Gives back what no valid attachment holds. */
  gc(valid: readonly GcAttachment[] | undefined): Promise<void>;
}
