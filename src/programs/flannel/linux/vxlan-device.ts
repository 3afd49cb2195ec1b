/** The VXLAN device of a Linux node: what the configuration may say of it (control-planes.md §1.3), and how it is made, or kept (§3.2). */
import { formatIp } from "#core/net/ip.ts";
import { FlannelError, type FlannelLog } from "../reports.ts";
import type { LinuxHost, VxlanDevice, VxlanSettings } from "../node/flannel-host.ts";
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

/** What the kernel takes when no port is said. */
const KERNEL_PORT = 8_472;

/** Why a device cannot be kept; undefined: it can. What either side does not say is not compared. */
function incompatibility(wanted: VxlanSettings, device: VxlanDevice): string | undefined {
  if (!device.isVxlan) return "link type: vxlan vs another one";
  if (device.vni !== wanted.vni) return `vni: ${wanted.vni} vs ${device.vni}`;
  if (device.underlay !== undefined && device.underlay !== wanted.underlay)
    return `vtep (external) interface: ${wanted.underlay} vs ${device.underlay}`;
  if (device.local !== undefined && device.local !== wanted.local)
    return `vtep (external) IP: ${formatIp(wanted.local)} vs ${formatIp(device.local)}`;
  const port = wanted.port === 0 ? undefined : wanted.port;
  if (port !== undefined && device.port !== undefined && device.port !== port)
    return `port: ${port} vs ${device.port}`;
  if (device.hasGroupPolicy !== wanted.hasGroupPolicy)
    return `gbp: ${wanted.hasGroupPolicy} vs ${device.hasGroupPolicy}`;
  return undefined;
}

/** The port that a device with these settings uses. */
export function portOf({ port }: Pick<VxlanSettings, "port">): number {
  return port === 0 ? KERNEL_PORT : port;
}

/** @returns the device as it is then. @throws FlannelError when it cannot be made. */
export async function ensureVxlanDevice(
  host: LinuxHost,
  wanted: VxlanSettings,
  log: FlannelLog,
): Promise<VxlanDevice> {
  const existing = await host.findVxlan(wanted.name);
  const reason = existing === undefined ? undefined : incompatibility(wanted, existing);
  if (existing !== undefined && reason === undefined) return existing;
  if (reason !== undefined) {
    log.write(
      "W",
      `${JSON.stringify(wanted.name)} already exists with incompatible configuration: ${reason}; recreating device`,
    );
    await host.deleteLink(wanted.name);
  }
  await host.createVxlan(wanted);
  const device = await host.findVxlan(wanted.name);
  if (device !== undefined) return device;
  throw new FlannelError("flannel-network-not-made", `can't locate created vxlan device ${wanted.name}`);
}
