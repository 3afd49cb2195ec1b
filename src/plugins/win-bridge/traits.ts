/** What makes win-bridge: addresses of IPAM with the gateway at network + 2, and its policies in order (cni.md §2.2). */
import type { ConfiguredPolicy } from "../windows-endpoint/conf.ts";
import { gatewayPlusTwo, selectAddresses } from "../windows-endpoint/addresses.ts";
import type {
  AddLoopback,
  Allocation,
  NetworkView,
  PluginCall,
  PluginTraits,
  Sentences,
} from "../windows-endpoint/plugin-traits.ts";
import { addOutboundNatException, addPortMappings } from "../windows-endpoint/policies.ts";
import { type WinBridgeConfiguration, readWinBridgeConfiguration } from "./conf.ts";

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

async function allocate({ ipam, compat }: Call): Promise<Allocation> {
  const ips = compat === "better" ? await ipam.addBesideGateway(gatewayPlusTwo) : await ipam.add();
  const addresses = selectAddresses(ips, compat).map((address) => ({
    address,
    gateway: gatewayPlusTwo(address),
  }));
  return { addresses };
}

/** Configured, `ipMasqNetwork`, port mappings, loopback DSR. */
function policies(
  { configuration, request, compat }: Call,
  _view: NetworkView | undefined,
  addLoopback: AddLoopback,
): readonly ConfiguredPolicy[] {
  const { api, ipMasqNetwork, portMappings } = configuration;
  const withException = addOutboundNatException(configuration.policies, ipMasqNetwork, api, compat);
  const warn = (text: string): void => request.warn(`win-bridge: ${text}`);
  return addLoopback(addPortMappings(withException, portMappings, api, { compat, warn }));
}

/** Frozen: forks of a world share it. */
export const WIN_BRIDGE: PluginTraits<WinBridgeConfiguration> = Object.freeze({
  name: "win-bridge",
  networkTypes: ["L2Bridge", "L2Tunnel"],
  sentences: { hcn: sentences("HostComputeEndpoint"), hns: sentences("HNSEndpoint") },
  asksMissingIpamForStatus: false,
  readConfiguration: readWinBridgeConfiguration,
  validateForAdd: () => undefined,
  viewNetwork: () => Promise.resolve(undefined),
  allocate,
  policies,
});
