/**
 * The plugin win-bridge: an endpoint on an HNS network of type L2Bridge or L2Tunnel for every pod (cni.md §2.2).
 *
 * The network, and the bridge endpoint at network + 2 that is the pods' gateway, are made by others (flanneld,
 * scripts).
 */
import type { EndpointDifferences } from "../windows-endpoint/differences.ts";
import { StructReader } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";
import { type InterfaceAddress, type Ip, type Ipv4, type Ipv6, maskIp } from "#core/net/ip.ts";
import {
  selectAddresses,
  addOutboundNatException,
  addPortMappings,
} from "../windows-endpoint/endpoint-plan.ts";
import type {
  ConfiguredPolicy,
  WindowsConfiguration,
  AddLoopback,
  Allocation,
  NetworkView,
  PluginCall,
  PluginTraits,
  Sentences,
} from "../windows-endpoint/plugin-call.ts";
import {
  WindowsPlugin,
  type WindowsPluginOptions,
  readWindowsConfiguration,
} from "../windows-endpoint/windows-plugin.ts";

export interface WinBridgeConfiguration extends WindowsConfiguration {
  /**
   * A network that pods reach with their own address: an exception of OutBoundNAT. Nothing is masqueraded by
   * it, but its presence alone makes an OutBoundNAT policy. Empty: none.
   */
  readonly ipMasqNetwork: string;
}

/** Reads the configuration. @throws DecodeError, CniError */
export function readWinBridgeConfiguration(
  document: JsonObject,
  differences: EndpointDifferences,
): WinBridgeConfiguration {
  return {
    ...readWindowsConfiguration(document, differences),
    ipMasqNetwork: new StructReader(document).text("ipMasqNetwork"),
  };
}

/**
 * Network address + 2, calculated in the last byte alone, which wraps round.
 * Inferred: in hardened mode it is the gateway of either family; upstream uses one family at a time.
 */
export function gatewayPlusTwo(address: InterfaceAddress): Ip {
  const network = maskIp(address.ip, address.length);
  return typeof network === "number"
    ? ((((network & 0xffff_ff00) | ((network + 2) & 0xff)) >>> 0) as Ipv4)
    : (((network & ~0xffn) | ((network + 2n) & 0xffn)) as Ipv6);
}

type Call = PluginCall<WinBridgeConfiguration>;

const SENTENCES = {
  networkLookUp: (name: string) => `error while getting network ${name}`,
  unexpectedType: (name: string, type: string) => `network ${name} is of unexpected type: ${type}`,
  plan: "error while processing endpoint args",
  ipam: "error while executing IPAM addition",
};

function sentences(object: "HostComputeEndpoint" | "HNSEndpoint"): Sentences {
  return {
    ...SENTENCES,
    add: () => `error while adding ${object}`,
    result: `error while constructing ${object} addition result`,
  };
}

async function allocate({ ipam, differences }: Call): Promise<Allocation> {
  const ips = differences.givesGatewayBack ? await ipam.addBesideGateway(gatewayPlusTwo) : await ipam.add();
  const addresses = selectAddresses(ips, differences).map((address) => ({
    address,
    gateway: gatewayPlusTwo(address),
  }));
  return { addresses };
}

/** Configured, `ipMasqNetwork`, port mappings, loopback DSR. */
function policies(
  { configuration, request, differences }: Call,
  _view: NetworkView | undefined,
  addLoopback: AddLoopback,
): readonly ConfiguredPolicy[] {
  const { api, ipMasqNetwork, portMappings } = configuration;
  const withException = addOutboundNatException(configuration.policies, ipMasqNetwork, api, differences);
  const warn = (text: string): void => request.warn(`win-bridge: ${text}`);
  return addLoopback(addPortMappings(withException, portMappings, api, { differences, warn }));
}

/** Frozen: forks of a world share it. */
export const WIN_BRIDGE: PluginTraits<WinBridgeConfiguration> = Object.freeze({
  name: "win-bridge",
  networkTypes: ["L2Bridge", "L2Tunnel"],
  sentences: { hcn: sentences("HostComputeEndpoint"), hns: sentences("HNSEndpoint") },
  asksMissingIpamForStatus: false,
  looksAgainOverHns: true,
  readConfiguration: readWinBridgeConfiguration,
  validateForAdd: () => undefined,
  viewOf: () => undefined,
  viewNetwork: () => Promise.resolve(undefined),
  allocate,
  policies,
});

export class WinBridge extends WindowsPlugin<WinBridgeConfiguration> {
  constructor(options: WindowsPluginOptions) {
    super(WIN_BRIDGE, options);
  }
}
