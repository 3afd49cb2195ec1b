/** The back end vxlan of Linux: what its configuration may say (control-planes.md §1.3). */
import { readConfig } from "../config-fields.ts";
import { LINUX_VXLAN } from "../net-conf.ts";
import { BACKEND_PLACE, type NetworkConfig } from "../network-config.ts";

export interface LinuxVxlanOptions {
  readonly vni: number;
  /** 0: what the kernel takes, 8472. */
  readonly port: number;
  /** Of the adapter; undefined: what it has. */
  readonly mtuBytes: number | undefined;
  readonly isLearning: boolean;
  readonly hasGroupPolicy: boolean;
  /** Neighbours of the same link are reached without a tunnel. */
  readonly routesDirectly: boolean;
}

const DEFAULT_VNI = 1;

export function readLinuxVxlanOptions(config: NetworkConfig): LinuxVxlanOptions {
  const given = readConfig(LINUX_VXLAN, config.backend, BACKEND_PLACE);
  return Object.freeze({
    vni: given.VNI ?? DEFAULT_VNI,
    port: given.Port ?? 0,
    mtuBytes: given.MTU,
    isLearning: given.Learning ?? false,
    hasGroupPolicy: given.GBP ?? false,
    routesDirectly: given.DirectRouting ?? false,
  });
}
