/** What kube-proxy checks and removes before its first sync (kube-proxy.md §2.1, §2.2). Pieces; `kube-proxy.ts` orders them. */
import { DEFAULT_QUERY, type HcnClient } from "#contracts/hcn/client.ts";
import { deleteLoadBalancer, listLoadBalancers } from "#contracts/hcn/operations.ts";
import { type JsonValue, mappingOf } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { type HnsFeature, type HnsVersion, hasFeature } from "#contracts/hcn/features.ts";
import { getHnsVersion, requestHns } from "#contracts/hcn/v1-operations.ts";
import { type IpFamily, formatIp, parseIp } from "#core/net/ip.ts";
import type { Behaviour, OldLoadBalancers } from "../behaviour.ts";
import { type Attempt, type HnsFailure, attempt, failureText } from "../load-balancers/hns-failure.ts";
import { DEFAULT_NODE_IP, type KubeProxyOptions } from "../options.ts";
import type { ProxyNetwork } from "../load-balancers/proxy-network.ts";
import { kubeProxy } from "#data/words.js";

const WORDS = kubeProxy();

/** Gates as they stand for this run. */
interface Gates {
  readonly WinDSR: boolean;
  readonly WinOverlay: boolean;
}

function gatesOf({ featureGates }: KubeProxyOptions, behaviour: Behaviour): Gates {
  if (behaviour.hasLockedGates) return { WinDSR: true, WinOverlay: true };
  return {
    WinDSR: featureGates?.WinDSR ?? behaviour.defaultGates.WinDSR,
    WinOverlay: featureGates?.WinOverlay ?? behaviour.defaultGates.WinOverlay,
  };
}

/** The flag, else the variable. */
export function networkNameOf(options: KubeProxyOptions): string {
  return (options.networkName ?? "") === "" ? (options.kubeNetwork ?? "") : (options.networkName ?? "");
}

/** Go's text of an address: other spellings of one are the same. */
function addressText(text: string): string {
  const ip = parseIp(text);
  return ip === undefined ? text : formatIp(ip);
}

/**
 * The MAC address of the last interface that carries the node's address (`GetHostMac` of winkernel/proxier.go), as Go
 * writes it: in lower case, with colons. Addresses that kube-proxy makes up have dashes.
 */
export function hostMacOf(options: KubeProxyOptions): string | undefined {
  const nodeIp = addressText(options.nodeIp ?? DEFAULT_NODE_IP);
  const carriers = options.hostInterfaces?.filter(({ addresses }) =>
    addresses.some((address) => addressText(address) === nodeIp),
  );
  return carriers?.at(-1)?.mac.toLowerCase().replaceAll("-", ":");
}

/** What upstream prints when it cannot start with these options before it has looked at the network. */
export function refuseOptions(options: KubeProxyOptions): string | undefined {
  return networkNameOf(options) === ""
    ? "Environment variable KUBE_NETWORK and network-flag not initialized"
    : undefined;
}

/** What upstream prints when it cannot work on this network with these options. */
export function refuseNetwork(
  options: KubeProxyOptions,
  behaviour: Behaviour,
  network: ProxyNetwork,
  version: HnsVersion,
): string | undefined {
  const gates = gatesOf(options, behaviour);
  const has = (feature: HnsFeature): boolean => hasFeature(version, feature);
  if (options.enableDSR === true) {
    if (!gates.WinDSR) return "WinDSR feature gate not enabled";
    if (!has("DSR")) return WORDS.dsrUnsupported;
  }
  if (!network.isOverlay) return undefined;
  if (!gates.WinOverlay) return "WinOverlay feature gate not enabled";
  if (!has("RemoteSubnet")) return WORDS.remoteSubnetUnsupported;
  if ((options.sourceVip ?? "") === "") return "source-vip flag not set";
  return hostMacOf(options) === undefined
    ? `could not find host mac address for ${options.nodeIp ?? DEFAULT_NODE_IP}`
    : undefined;
}

/** Both families where HNS and the network carry them; else the node's own. */
export function familiesOf(
  primary: IpFamily,
  behaviour: Behaviour,
  network: ProxyNetwork,
  version: HnsVersion,
): readonly IpFamily[] {
  const isDual = behaviour.hasDualStack && hasFeature(version, "IPv6DualStack") && !network.isOverlay;
  return isDual ? [primary, primary === 4 ? 6 : 4] : [primary];
}

/** Why this machine's HNS cannot be used. */
export interface RefusedHns {
  readonly message: string;
  /** What HNS answered; absent: it is too old. */
  readonly failure?: HnsFailure;
}

/** The version of HNS, if it can be used. */
export async function checkHns(client: HcnClient): Promise<HnsVersion | RefusedHns> {
  const listed = await attempt(() => requestHns(client, "GET", "/policylists/"));
  if (!listed.ok) {
    const { failure } = listed;
    return {
      message: `the kernel is not compatible: HNS lists no policies: ${failureText(failure)}`,
      failure,
    };
  }
  const version = await attempt(() => getHnsVersion(client));
  if (!version.ok) {
    const { failure } = version;
    return { message: `HNS does not report its version: ${failureText(failure)}`, failure };
  }
  return hasFeature(version.value, "ApiV2") ? version.value : { message: "Windows HNS Api V2 required" };
}

function idOf(policyList: JsonValue): string | undefined {
  const id = mappingOf(policyList)["ID"];
  return typeof id === "string" ? id : undefined;
}

/** How load balancers of an earlier run are listed and deleted. */
interface OldLoadBalancerCalls {
  list(client: HcnClient): Promise<readonly Guid[]>;
  delete(client: HcnClient, id: Guid): Promise<unknown>;
}

/** `DeleteAllHnsLoadBalancerPolicy` of winkernel/hcnutils.go, and the way that reads no document. */
const OLD_LOAD_BALANCER_CALLS: Readonly<Record<OldLoadBalancers, OldLoadBalancerCalls>> = {
  "policy-lists": {
    async list(client) {
      const listed = await requestHns(client, "GET", "/policylists/");
      const policyLists = Array.isArray(listed) ? (listed as readonly JsonValue[]) : [];
      return policyLists.flatMap((policyList) => idOf(policyList) ?? []);
    },
    delete: (client, id) => requestHns(client, "DELETE", `/policylists/${id}`),
  },
  "load-balancers": {
    list: async (client) => (await listLoadBalancers(client)).map(({ ID }) => ID),
    delete: deleteLoadBalancer,
  },
  identifiers: {
    list: (client) => client.enumerate("LoadBalancer", DEFAULT_QUERY),
    delete: deleteLoadBalancer,
  },
};

/**
 * Deletes every load balancer on the machine, whatever made it. What cannot be deleted is left: `hardened` finds it in its
 * first comparison.
 * @returns those that were there, or why HNS does not list them.
 */
export async function removeOldLoadBalancers(
  client: HcnClient,
  { oldLoadBalancers }: Behaviour,
): Promise<Attempt<readonly Guid[]>> {
  const calls = OLD_LOAD_BALANCER_CALLS[oldLoadBalancers];
  const listed = await attempt(() => calls.list(client));
  if (!listed.ok) return listed;
  for (const id of listed.value) await attempt(() => calls.delete(client, id));
  return { ok: true, value: listed.value.map((id) => id.toLowerCase()) };
}
