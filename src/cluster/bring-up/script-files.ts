/** The configuration files of a node: as the scripts fetch them, and as they write them (control-planes.md §2.4). */
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { type NetworkMode, type Runtime, type ScriptParameters, scriptNetworkName } from "./options.ts";

const JSON_STEP = 4;

function pad(columns: number): string {
  return " ".repeat(columns);
}

/** `column`: where the value begins, which its members are indented from. */
function write(value: JsonValue, column: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = column + JSON_STEP;
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map((item) => `${pad(inner)}${write(item, inner)}`);
    return `[\r\n${items.join(",\r\n")}\r\n${pad(column)}]`;
  }
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined) return [];
    const key = `${JSON.stringify(name)}:  `;
    return [`${pad(inner)}${key}${write(member, inner + key.length)}`];
  });
  return `{\r\n${members.join(",\r\n")}\r\n${pad(column)}}`;
}

/** JSON as `ConvertTo-Json` of Windows PowerShell 5.1 prints it: what lies in the files that the scripts write. */
export function toPowerShellJson(value: JsonValue): string {
  return write(value, 0);
}

export const NET_CONF: string = String.raw`C:\k\net-conf.json`;
export const FLANNEL_NET_CONF: string = String.raw`C:\etc\kube-flannel\net-conf.json`;
export const CNI_CONF: string = String.raw`C:\k\cni\config\cni.conf`;
export const KUBECONFIG: string = String.raw`C:\k\config`;
export const SOURCE_VIP_REQUEST: string = String.raw`C:\k\sourceVipRequest.json`;
export const SOURCE_VIP: string = String.raw`C:\k\sourceVip.json`;

/** `net-conf.json` as microsoft/SDN ships it: somebody else's range for overlay. */
export function fetchedNetConf(mode: NetworkMode): string {
  const isOverlay = mode === "overlay";
  const Network = isOverlay ? "192.168.0.0/16" : "10.244.0.0/16";
  const Backend = { name: scriptNetworkName(mode), type: isOverlay ? "vxlan" : "host-gw" };
  return `${JSON.stringify({ Network, Backend }, undefined, 2)}\n`;
}

/** `Update-NetConfig`. */
export function writtenNetConf({ clusterCIDR, networkMode }: ScriptParameters): string {
  const type = networkMode === "overlay" ? "vxlan" : "host-gw";
  return `${toPowerShellJson({
    Network: clusterCIDR,
    Backend: { name: scriptNetworkName(networkMode), type },
  })}\r\n`;
}

function endpointPolicy(value: JsonObject): JsonObject {
  return { Name: "EndpointPolicy", Value: value };
}

interface CniValues {
  readonly exceptions: readonly string[];
  /** With encapsulation. */
  readonly routes: readonly string[];
  readonly dns: string;
}

function dockerDelegate(mode: NetworkMode, { exceptions, routes, dns }: CniValues): JsonObject {
  const policies: readonly JsonValue[] = [
    endpointPolicy({ Type: "OutBoundNAT", ExceptionList: exceptions }),
    ...routes.map((DestinationPrefix) =>
      endpointPolicy({ Type: "ROUTE", DestinationPrefix, NeedEncap: true }),
    ),
  ];
  const isOverlay = mode === "overlay";
  return {
    type: isOverlay ? "win-overlay" : "win-bridge",
    dns: { Nameservers: [dns], Search: ["svc.cluster.local"] },
    [isOverlay ? "Policies" : "policies"]: policies,
  };
}

function containerdDelegate(mode: NetworkMode, { exceptions, routes }: CniValues): JsonObject {
  return {
    type: mode === "overlay" ? "sdnoverlay" : "sdnbridge",
    AdditionalArgs: [
      endpointPolicy({ Type: "OutBoundNAT", Settings: { Exceptions: exceptions } }),
      ...routes.map((DestinationPrefix) =>
        endpointPolicy({ Type: "SDNROUTE", Settings: { DestinationPrefix, NeedEncap: true } }),
      ),
    ],
  };
}

function cniConf(mode: NetworkMode, runtime: Runtime, values: CniValues): JsonObject {
  const isContainerd = runtime === "containerd";
  return {
    cniVersion: "0.2.0",
    name: scriptNetworkName(mode),
    type: "flannel",
    ...(isContainerd && { capabilities: { portMappings: true, dns: true } }),
    delegate: isContainerd ? containerdDelegate(mode, values) : dockerDelegate(mode, values),
  };
}

/** `cni.conf` as it is fetched: with the ranges of its author's cluster. */
export function fetchedCniConf(mode: NetworkMode, runtime: Runtime): string {
  const values =
    mode === "overlay"
      ? { exceptions: ["192.168.0.0/16", "11.0.0.0/8"], routes: ["11.0.0.0/8"], dns: "11.0.0.10" }
      : {
          exceptions: ["10.244.0.0/16", "10.96.0.0/12", "10.127.130.0/24"],
          routes: ["10.96.0.0/12", "10.127.130.38/32"],
          dns: "10.96.0.10",
        };
  return `${toPowerShellJson(cniConf(mode, runtime, values))}\r\n`;
}

/** The node's address and subnet on the adapter that the script looked at. */
export interface Management {
  readonly address: string;
  readonly subnet: string;
}

/** What is written for the cluster's ranges; on l2bridge also for the node's own subnet and address. */
function cniValues(
  mode: NetworkMode,
  [cluster, services]: readonly [cluster: string, services: string],
  { subnet, address }: Management,
  dns: string,
): CniValues {
  if (mode === "overlay") return { exceptions: [cluster, services], routes: [services], dns };
  return { exceptions: [cluster, services, subnet], routes: [services, `${address}/32`], dns };
}

/** `Update-CNIConfig`. `management` is needed for l2bridge alone. */
export function writtenCniConf(parameters: ScriptParameters, management: Management | undefined): string {
  const { networkMode, clusterCIDR, serviceCIDR, kubeDnsServiceIP: dns } = parameters;
  const own = management ?? { subnet: "", address: "" };
  const values = cniValues(networkMode, [clusterCIDR, serviceCIDR], own, dns);
  return `${toPowerShellJson(cniConf(networkMode, "dockerd", values))}\r\n`;
}

const RANGE_PLACEHOLDERS = ["<ClusterCIDR>", "<ServerCIDR>"] as const;
const PLACEHOLDERS: Management = Object.freeze({ subnet: "<MgmtSubnet>", address: "<MgmtIP>" });

/**
 * `Update-ContainerdCNIConfig`. It sets names and then members of `delegate.policies`, which this configuration calls
 * `AdditionalArgs`: PowerShell says "Cannot index into a null array", goes on, and the placeholders stay.
 */
export function writtenContainerdConf(
  parameters: ScriptParameters,
  management: Management | undefined,
  isMended: boolean,
): string {
  const { networkMode, clusterCIDR, serviceCIDR } = parameters;
  const ranges = isMended ? ([clusterCIDR, serviceCIDR] as const) : RANGE_PLACEHOLDERS;
  const own = isMended && management !== undefined ? management : PLACEHOLDERS;
  const values = cniValues(networkMode, ranges, own, "");
  return `${toPowerShellJson(cniConf(networkMode, "containerd", values))}\r\n`;
}

/** What host-local is asked for kube-proxy's address. The name is always vxlan0. */
export function sourceVipRequest(subnet: string): string {
  return `{"cniVersion": "0.2.0", "name": "vxlan0", "ipam":{"type":"host-local","ranges":[[{"subnet":"${subnet}"}]],"dataDir":"/var/lib/cni/networks"}}`;
}
