/** The VXLAN device of a Linux node: made, or kept when it is as it should be (control-planes.md §3.2). */
import { formatIp } from "#core/net/ip.ts";
import { FlannelError } from "../flannel-error.ts";
import type { LinuxHost, VxlanDevice, VxlanSettings } from "../node/flannel-host.ts";
import type { FlannelLog } from "../flannel-log.ts";

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
