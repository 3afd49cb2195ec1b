/** The back end of a type, as the system of the node has it. */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { Backend, BackendParts } from "./backend.ts";
import { type ConfigDescription, unknownFields } from "../config-fields.ts";
import { FlannelError } from "../reports.ts";
import type { FlannelHost } from "../node/flannel-host.ts";
import { LinuxHostGwBackend } from "../linux/host-gw-backend.ts";
import { LinuxVxlanBackend } from "../linux/vxlan-backend.ts";
import { LINUX_HOST_GW, LINUX_VXLAN, WINDOWS_HOST_GW, WINDOWS_VXLAN } from "../net-conf.ts";
import { BACKEND_PLACE } from "../network-config.ts";
import { WindowsHostGwBackend } from "../windows/host-gw-backend.ts";
import { RepairingVxlanBackend } from "../windows/repairing-vxlan.ts";
import { UpstreamVxlanBackend } from "../windows/upstream-vxlan.ts";

export interface OpenBackendParts extends BackendParts {
  readonly host: FlannelHost;
  /** Of a Windows node. */
  readonly client: HcnClient | undefined;
}

/** What both systems' configurations may hold: one file serves a mixed cluster. */
const BACKENDS: readonly ConfigDescription[] = [WINDOWS_VXLAN, WINDOWS_HOST_GW, LINUX_VXLAN, LINUX_HOST_GW];

function unknownType(type: string, os: FlannelHost["os"]): FlannelError {
  const meant = type === "" ? "Backend.Type is missing" : `unknown backend type: ${type}`;
  return new FlannelError(
    "flannel-backend-not-for-windows",
    `${meant}; Mullion's flanneld on ${os === "windows" ? "Windows" : "Linux"} has vxlan and host-gw`,
  );
}

/** @throws FlannelError for a type that there is not, and for a configuration that it does not take. */
export function openBackend(parts: OpenBackendParts): Backend {
  const { config, host, client, log } = parts;
  const type = config.backendType.toLowerCase();
  if (parts.differences.warnsOfUnknownFields)
    for (const problem of unknownFields(BACKENDS, config.backend, BACKEND_PLACE)) log.write("W", problem);
  if (host.os === "linux") {
    if (type === "vxlan") return new LinuxVxlanBackend({ ...parts, host });
    if (type === "host-gw") return new LinuxHostGwBackend({ ...parts, host });
    throw unknownType(type, host.os);
  }
  if (type !== "vxlan" && type !== "host-gw") throw unknownType(type, host.os);
  if (client === undefined)
    throw new FlannelError("flannel-network-not-made", "no HNS is available for flanneld");
  if (type === "host-gw") return new WindowsHostGwBackend({ ...parts, host, client });
  return parts.differences.keepsWays
    ? new RepairingVxlanBackend({ ...parts, host, client })
    : new UpstreamVxlanBackend({ ...parts, host, client });
}
