/** The back end host-gw of Windows: what its configuration may say (control-planes.md §1.3, §1.9). */
import { ConfigFields } from "../config-fields.ts";
import type { NetworkConfig } from "../network-config.ts";

export interface WindowsHostGwOptions {
  /** Of the HNS network. */
  readonly networkName: string;
  /** As HNS takes it: a comma list. */
  readonly dnsServerList: string;
}

export const WINDOWS_HOST_GW_FIELDS: readonly string[] = ["Type", "Name", "DNSServerList"];

const DEFAULT_NAME = "cbr0";

export function readWindowsHostGwOptions(config: NetworkConfig): WindowsHostGwOptions {
  const fields = new ConfigFields(config.backend, "Backend.");
  const name = fields.text("Name") ?? "";
  return Object.freeze({
    networkName: name === "" ? DEFAULT_NAME : name,
    dnsServerList: fields.text("DNSServerList") ?? "",
  });
}
