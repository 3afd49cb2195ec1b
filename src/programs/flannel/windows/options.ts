/** The back ends of Windows: what their configuration may say (control-planes.md §1.3, §1.8, §1.9). */
import type { FlanneldDifferences } from "../differences.ts";
import { readConfig } from "../config-fields.ts";
import { FlannelError } from "../reports.ts";
import { WINDOWS_HOST_GW, WINDOWS_VNI_MAX, WINDOWS_VNI_MIN, WINDOWS_VXLAN } from "../net-conf.ts";
import { BACKEND_PLACE, type NetworkConfig } from "../network-config.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

export interface WindowsVxlanOptions {
  /** Of the HNS network. */
  readonly networkName: string;
  readonly vni: number;
}

const VXLAN_PORT = 4_789;
/** Five characters with a hyphen in the middle; what they are is not looked at. */
const MAC_PREFIX = /^..-..$/s;
const DEFAULT_MAC_PREFIX = "0E-2A";

/** @throws FlannelError with what upstream says. */
export function readWindowsVxlanOptions(
  config: NetworkConfig,
  { refusesBadConfiguration }: FlanneldDifferences,
): WindowsVxlanOptions {
  const given = readConfig(WINDOWS_VXLAN, config.backend, BACKEND_PLACE);
  const {
    VNI: vni = WINDOWS_VNI_MIN,
    Port: port = VXLAN_PORT,
    MacPrefix: macPrefix = DEFAULT_MAC_PREFIX,
  } = given;
  const { Name: name = "" } = given;
  if (vni < WINDOWS_VNI_MIN)
    throw new FlannelError("flannel-vni-below-4096", WORDS.vniBelowMinimum({ vni, vniMin: WINDOWS_VNI_MIN }));
  if (vni > WINDOWS_VNI_MAX && refusesBadConfiguration)
    throw new FlannelError(
      "flannel-vni-other-than-4096",
      WORDS.vniTooLarge({ vni, vniMin: WINDOWS_VNI_MIN, vniMax: WINDOWS_VNI_MAX }),
    );
  if (port !== VXLAN_PORT)
    throw new FlannelError(
      "flannel-vxlan-port-not-4789",
      WORDS.vxlanPortUnsupported({ port, vxlanPort: VXLAN_PORT }),
    );
  for (const option of ["DirectRouting", "GBP"] as const)
    if (given[option] === true)
      throw new FlannelError(
        "flannel-option-not-for-windows",
        `invalid VXLAN backend config. ${option} is not supported on Windows`,
      );
  if (!MAC_PREFIX.test(macPrefix))
    throw new FlannelError("flannel-option-not-for-windows", WORDS.macPrefixInvalid({ macPrefix }));
  return Object.freeze({ networkName: name === "" ? `flannel.${vni}` : name, vni });
}

export interface WindowsHostGwOptions {
  /** Of the HNS network. */
  readonly networkName: string;
  /** As HNS takes it: a comma list. */
  readonly dnsServerList: string;
}

const HOST_GW_NAME = "cbr0";

export function readWindowsHostGwOptions(config: NetworkConfig): WindowsHostGwOptions {
  const { Name: name = "", DNSServerList: dnsServerList = "" } = readConfig(
    WINDOWS_HOST_GW,
    config.backend,
    BACKEND_PLACE,
  );
  return Object.freeze({ networkName: name === "" ? HOST_GW_NAME : name, dnsServerList });
}
