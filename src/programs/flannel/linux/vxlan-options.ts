/** The back end vxlan of Linux: what its configuration may say (control-planes.md §1.3). */
import { ConfigFields } from "../config-fields.ts";
import type { NetworkConfig } from "../network-config.ts";

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

export const LINUX_VXLAN_FIELDS: readonly string[] = [
  "Type",
  "VNI",
  "Port",
  "MTU",
  "GBP",
  "Learning",
  "DirectRouting",
];

const DEFAULT_VNI = 1;
/** VXLAN has 24 bits for it (RFC 7348 §5). */
const VNI_MAX = 0xff_ffff;

export function readLinuxVxlanOptions(config: NetworkConfig): LinuxVxlanOptions {
  const fields = new ConfigFields(config.backend, "Backend.");
  return Object.freeze({
    vni: fields.integer("VNI", 0, VNI_MAX) ?? DEFAULT_VNI,
    port: fields.integer("Port", 0, 65_535) ?? 0,
    mtuBytes: fields.integer("MTU", 0, 65_535),
    isLearning: fields.boolean("Learning") ?? false,
    hasGroupPolicy: fields.boolean("GBP") ?? false,
    routesDirectly: fields.boolean("DirectRouting") ?? false,
  });
}
