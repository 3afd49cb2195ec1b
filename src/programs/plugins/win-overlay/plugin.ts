/**
 * The plugin win-overlay: an endpoint on an HNS network of type Overlay for every pod (cni.md §2.3).
 *
 * The network is made by flanneld, OVN or scripts. The MAC of the endpoint is made of the pod's address, because the
 * other nodes derive it in the same way.
 */
import type { EndpointDifferences } from "../windows-endpoint/differences.ts";
import { StructReader } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";
import { CNI_CODES, CniError, PluginPanic, annotate } from "#contracts/cni/error.ts";
import type { CniIp } from "#contracts/cni/result.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import { getHnsNetworkByName } from "#contracts/hcn/v1-operations.ts";
import { type Ip, familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import {
  selectAddresses,
  addOutboundNatException,
  addPortMappings,
  addProviderAddress,
} from "../windows-endpoint/endpoint-plan.ts";
import {
  type ConfiguredPolicy,
  type WindowsConfiguration,
  type AddLoopback,
  type Allocation,
  type EndpointTarget,
  type NetworkView,
  type PluginCall,
  type PluginTraits,
  type Sentences,
} from "../windows-endpoint/plugin-call.ts";
import { isMissing, withKnowledge } from "../windows-endpoint/hns-caller.ts";
import {
  WindowsPlugin,
  type WindowsPluginOptions,
  readWindowsConfiguration,
} from "../windows-endpoint/windows-plugin.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** The MAC prefix that flanneld, too, takes silently on it. */
const MAC_PREFIX_DEFAULT = "0E-2A";

export interface WinOverlayConfiguration extends WindowsConfiguration {
  /** The network's own subnet becomes an exception of OutBoundNAT. */
  readonly isMasqueraded: boolean;
  /** The first two octets of the endpoint's MAC; the address of the pod is the rest. */
  readonly macPrefix: string;
}

/** Reads the configuration. @throws DecodeError, CniError */
export function readWinOverlayConfiguration(
  document: JsonObject,
  differences: EndpointDifferences,
): WinOverlayConfiguration {
  const reader = new StructReader(document);
  const macPrefix = reader.text("endpointMacPrefix");
  return {
    ...readWindowsConfiguration(document, differences),
    isMasqueraded: reader.boolean("ipMasq"),
    macPrefix: macPrefix === "" ? MAC_PREFIX_DEFAULT : macPrefix,
  };
}

type Call = PluginCall<WinOverlayConfiguration>;

const unexpectedType = (name: string, type: string): string =>
  `network ${name} is of an unexpected type: ${type}`;

const HCN_SENTENCES: Sentences = {
  networkLookUp: (name) => `error while hcn.GetNetworkByName(${name})`,
  unexpectedType,
  add: () => "error while adding HostComputeEndpoint",
  result: "error while constructing HostComputeEndpoint addition result",
  plan: "error while processing endpoint args",
  ipam: "error while executing IPAM addition",
};

const HNS_SENTENCES: Sentences = {
  // The misspelling is upstream's.
  networkLookUp: (name) => `error while GETHNSNewtorkByName(${name})`,
  unexpectedType,
  add: ({ endpointName, networkId, containerId }: EndpointTarget) =>
    `error while AddHnsEndpoint(${endpointName},${networkId},${containerId})`,
  result: "error while constructResult",
  plan: "",
  ipam: "error while ipam.ExecAdd",
};

/** Upstream looks at the length and the dash alone; hardened at the digits, too (row 63). */
function validateForAdd({ configuration, differences }: Call): void {
  const { macPrefix } = configuration;
  const { pattern, code } = differences.macPrefix;
  if (pattern.test(macPrefix)) return;
  throw new CniError(code, `endpointMacPrefix [${macPrefix}] is invalid, value must be of the format xx-xx`);
}

function viewOf(network: HnsNetwork): NetworkView {
  const subnet = network.Subnets?.[0];
  return {
    gateway: parseIp(subnet?.GatewayAddress ?? ""),
    prefix: subnet?.AddressPrefix ?? "",
    managementIp: network.ManagementIP ?? "",
  };
}

/**
 * Gateway, subnet and management address are read through HNS v1, over both APIs. Upstream loses the error of
 * this look-up, and says that the network is not there (cni.md §2.3).
 */
async function viewNetwork({ configuration, caller, differences }: Call): Promise<NetworkView> {
  const { name } = configuration;
  try {
    return viewOf(await caller.hns((client) => getHnsNetworkByName(client, name)));
  } catch (error) {
    if (differences.takesSubnetForGranted)
      throw new CniError(CNI_CODES.internal, `network ${name} not found`);
    const annotated = annotate(error, HNS_SENTENCES.networkLookUp(name));
    throw isMissing(error) ? withKnowledge(annotated, "cni-network-not-found") : annotated;
  }
}

/** The address of the pod; IPv4 alone (row 64), because a MAC is made of it. */
function ipv4Of(
  ips: readonly CniIp[],
  { configuration, differences }: Call,
): Allocation["addresses"][number]["address"] {
  const addresses = differences.plansBothFamilies
    ? ips.map(({ address }) => address)
    : selectAddresses(ips, differences);
  const address = addresses.find(({ ip }) => familyOf(ip) === 4);
  if (address !== undefined) return address;
  const isHns = configuration.api === "hns";
  throw new CniError(
    CNI_CODES.internal,
    isHns ? "win-overlay doesn't support IPv6 now" : "IPAM plugin return is missing valid IP Address",
    { knowledge: "cni-overlay-ipv6" },
  );
}

function macOf(prefix: string, ip: Ip): string {
  const octets = formatIp(ip).split(".");
  return [prefix, ...octets.map((octet) => Number(octet).toString(16).padStart(2, "0"))].join("-");
}

/** The first subnet of the network, which upstream takes for granted. @throws CniError, PluginPanic */
function requireSubnet({ configuration, differences }: Call, view: NetworkView | undefined): NetworkView {
  if (view !== undefined && view.prefix !== "") return view;
  if (differences.takesSubnetForGranted)
    throw new PluginPanic("runtime error: index out of range [0] with length 0");
  throw new CniError(
    CNI_CODES.invalidNetworkConfig,
    WORDS.networkSubnetMissing({ name: configuration.name }),
  );
}

async function allocate(call: Call, view: NetworkView | undefined): Promise<Allocation> {
  const { ipam, configuration, differences } = call;
  if (!ipam.isConfigured && configuration.api === "hns" && differences.asksMissingIpam)
    throw new CniError(CNI_CODES.internal, `${HNS_SENTENCES.ipam}: no plugin name provided`);
  const ips = await ipam.add();
  const address = ips.length === 0 ? undefined : ipv4Of(ips, call);
  const { gateway } = requireSubnet(call, view);
  if (address === undefined) return { addresses: [], ...(gateway !== undefined && { gateway }) };
  return { addresses: [{ address, gateway }], mac: macOf(configuration.macPrefix, address.ip) };
}

/**
 * Over HCN: configured, loopback DSR, provider address, OutBoundNAT; over v1 loopback DSR comes last. Port mappings are
 * hardened's alone (row 68), behind the configured policies.
 */
function policies(
  call: Call,
  view: NetworkView | undefined,
  addLoopback: AddLoopback,
): readonly ConfiguredPolicy[] {
  const { configuration, request, differences } = call;
  const { api, isMasqueraded, portMappings } = configuration;
  const warn = (text: string): void => request.warn(`win-overlay: ${text}`);
  const configured = differences.mapsOverlayPorts
    ? addPortMappings(configuration.policies, portMappings, api, { differences, warn })
    : configuration.policies;
  const first = api === "hcn" ? addLoopback(configured) : configured;
  const withProvider = addProviderAddress(first, view?.managementIp ?? "", api, differences);
  const masqueraded = isMasqueraded
    ? addOutboundNatException(withProvider, view?.prefix ?? "", api, differences)
    : withProvider;
  return api === "hcn" ? masqueraded : addLoopback(masqueraded);
}

/** Frozen: forks of a world share it. */
export const WIN_OVERLAY: PluginTraits<WinOverlayConfiguration> = Object.freeze({
  name: "win-overlay",
  networkTypes: ["Overlay"],
  sentences: { hcn: HCN_SENTENCES, hns: HNS_SENTENCES },
  asksMissingIpamForStatus: true,
  looksAgainOverHns: false,
  readConfiguration: readWinOverlayConfiguration,
  validateForAdd,
  viewOf,
  viewNetwork,
  allocate,
  policies,
});

export class WinOverlay extends WindowsPlugin<WinOverlayConfiguration> {
  constructor(options: WindowsPluginOptions) {
    super(WIN_OVERLAY, options);
  }
}
