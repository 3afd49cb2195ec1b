/** One call with what was read for it, and what ADD decided before it changes anything. */
import type { PluginRequest } from "../../cni/plugin.ts";
import type { CniResult } from "../../cni/result.ts";
import { type InterfaceAddress, formatPrefix, maskIp } from "../../net/prefix.ts";
import type { AzureCaller } from "./caller.ts";
import type { AzureConfiguration, AzurePolicy } from "./conf.ts";
import type { HostInterface } from "./host.ts";
import type { AzureIpam } from "./ipam.ts";
import type { AzureDns } from "./name-resolution.ts";
import type { AzurePod } from "./pod.ts";
import type { AzureState, AzureSubnet } from "./state.ts";

export interface AzureCall {
  readonly request: PluginRequest;
  readonly configuration: AzureConfiguration;
  readonly caller: AzureCaller;
  readonly ipam: AzureIpam;
  /** This call's own copy. */
  readonly state: AzureState;
}

export interface AzurePlan {
  readonly pod: AzurePod;
  /** Name of the endpoint. */
  readonly endpointName: string;
  readonly ipamResult: CniResult;
  /** The name of the host's interface; it may be one that is not there, when the configuration names it. */
  readonly master: string;
  readonly subnets: readonly AzureSubnet[];
  readonly dns: AzureDns;
  readonly policies: readonly AzurePolicy[];
}

/** The network that an address is in. */
export function networkOf({ ip, length }: InterfaceAddress): InterfaceAddress {
  return { ip: maskIp(ip, length), length };
}

export function formatNetwork({ ip, length }: InterfaceAddress): string {
  return formatPrefix({ address: maskIp(ip, length), length });
}

/** The configured interface, else the first one with an address in the very subnet of the pod (row E13). */
export function findMaster(
  { master }: AzureConfiguration,
  interfaces: readonly HostInterface[],
  subnet: string,
): string {
  if (master !== "") return master;
  const found = interfaces.find(({ addresses }) =>
    addresses.some((address) => formatNetwork(address) === subnet),
  );
  return found?.name ?? "";
}
