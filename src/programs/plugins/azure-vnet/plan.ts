/** One call with what was read for it, and what ADD decided for each interface before it changes anything. */
import type { Compat } from "#core/base/compat.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniRoute } from "#contracts/cni/result.ts";
import { type InterfaceAddress, formatPrefix, maskIp } from "#core/net/ip.ts";
import type { CnsClient } from "../cns/client.ts";
import type { AddressSource } from "./address-source.ts";
import type { AzureCaller } from "./caller.ts";
import type { AzureConfiguration, AzurePolicy } from "./conf.ts";
import type { AzureHostInterface } from "./host.ts";
import type { AzureDns } from "./name-resolution.ts";
import type { AzureNic } from "./nics.ts";
import type { AzurePod } from "./pod.ts";
import type { NatRule } from "./policies.ts";
import type { AzureSession } from "./session.ts";
import type { AzureSubnet } from "./state.ts";

export interface AzureCall {
  readonly compat: Compat;
  readonly request: PluginRequest;
  readonly configuration: AzureConfiguration;
  readonly caller: AzureCaller;
  readonly source: AddressSource;
  readonly cns: CnsClient;
  readonly session: AzureSession;
}

export interface AzurePlan {
  readonly pod: AzurePod;
  readonly nic: AzureNic;
  /** The network's ID in the state, and its name in HNS. */
  readonly networkId: string;
  /** Of the interface in the pod. */
  readonly ifName: string;
  /** Name of the endpoint. */
  readonly endpointName: string;
  /** The name of the host's interface; it may be one that is not there, when the configuration names it. */
  readonly master: string;
  readonly subnets: readonly AzureSubnet[];
  readonly routes: readonly CniRoute[];
  readonly dns: AzureDns;
  readonly policies: readonly AzurePolicy[];
  readonly nat: readonly NatRule[];
  /** 0: no VLAN. */
  readonly vlanId: number;
  /** Ranges of the tenant. */
  readonly addressSpace: readonly string[];
  readonly snat: { readonly forDns: boolean; readonly onHost: boolean };
}

/** The network that an address is in. */
export function networkOf({ ip, length }: InterfaceAddress): InterfaceAddress {
  return { ip: maskIp(ip, length), length };
}

export function formatNetwork({ ip, length }: InterfaceAddress): string {
  return formatPrefix({ address: maskIp(ip, length), length });
}

/** The configured interface, else the first one with an address in the very subnet (row E13). */
export function findMaster(
  { master }: AzureConfiguration,
  interfaces: readonly AzureHostInterface[],
  subnet: string,
): string {
  if (master !== "") return master;
  const found = interfaces.find(({ addresses }) =>
    addresses.some((address) => formatNetwork(address) === subnet),
  );
  return found?.name ?? "";
}
