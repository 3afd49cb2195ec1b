/** Without a file: CNS remembers the endpoints of each container, and networks are found in HNS by their names (cni.md §5.6). */
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { familyOf } from "#core/net/ip.ts";
import { type CnsClient, isCnsFailure } from "../cns/client.ts";
import type { EndpointIpInfo, NicType } from "../cns/documents.ts";
import { tryAgain } from "./file-memory.ts";
import type { AzureMemory, AzureSession } from "./session.ts";
import type { AzureEndpointRecord, AzureNetworkRecord, FoundEndpoint } from "./state.ts";

/** CNS does not keep namespaces; whatever is a GUID means HCN, which alone is used here. */
const SOME_NAMESPACE = "12345678-1234-1234-1234-123456789012";
const INFRA_NAME = "eth0";

function recordOf(request: PluginRequest, name: string, info: EndpointIpInfo): AzureEndpointRecord {
  return {
    id: request.containerId,
    hnsId: info.HnsEndpointID,
    ifName: name === "" ? INFRA_NAME : name,
    mac: info.MacAddress,
    addresses: [...info.IPv4, ...info.IPv6],
    gateways: [],
    dns: { suffix: "", servers: [], options: [] },
    routes: [],
    containerId: request.containerId,
    netns: SOME_NAMESPACE,
    podName: "",
    podNamespace: "",
    // A state from before CNS kept it is of the cluster's network.
    nicType: name === "" || info.NICType === "" ? "InfraNIC" : (info.NICType as NicType),
    vlanId: 0,
    hnsNetworkId: info.HnsNetworkID,
    networkContainerId: info.NetworkContainerID,
    allowsHostToContainer: false,
    allowsContainerToHost: false,
  };
}

function foundOf(endpoint: AzureEndpointRecord): FoundEndpoint {
  const network: AzureNetworkRecord = {
    id: "",
    hnsId: endpoint.hnsNetworkId,
    mode: "",
    vlanId: 0,
    enablesSnatOnHost: false,
    subnets: [],
    netns: SOME_NAMESPACE,
    endpoints: new Map([[endpoint.id, endpoint]]),
  };
  return { external: { name: "", mac: "", subnets: [], networks: new Map() }, network, endpoint };
}

function infoOf(record: AzureEndpointRecord): EndpointIpInfo {
  const of = (family: 4 | 6) => record.addresses.filter(({ ip }) => familyOf(ip) === family);
  return {
    IPv4: of(4),
    IPv6: of(6),
    HnsEndpointID: record.hnsId,
    HnsNetworkID: record.hnsNetworkId,
    HostVethName: "",
    MacAddress: record.mac.toLowerCase().replaceAll("-", ":"),
    NetworkContainerID: record.networkContainerId,
    NICType: record.nicType,
  };
}

export class CnsMemory implements AzureMemory {
  private readonly cns: CnsClient;

  constructor(cns: CnsClient) {
    this.cns = cns;
  }

  use<T>(work: (session: AzureSession) => Promise<T>): Promise<T> {
    return work({
      state: new Map(),
      endpointsOf: (request) => this.endpointsOf(request),
      save: (made) => this.save(made),
      forget: (gone) => this.forget(gone),
    });
  }

  /** What CNS does not know, or cannot say now, is nothing. */
  private async endpointsOf(request: PluginRequest): Promise<readonly FoundEndpoint[]> {
    try {
      const known = await this.cns.getEndpoint(request.containerId);
      return [...(known?.IfnameToIPMap ?? [])].map(([name, info]) => foundOf(recordOf(request, name, info)));
    } catch (error) {
      if (isCnsFailure(error, "unreachable")) return [];
      throw tryAgain("failed to delete endpoint", error);
    }
  }

  private async save(made: readonly AzureEndpointRecord[]): Promise<void> {
    const [first] = made;
    if (first === undefined) return;
    try {
      await this.cns.updateEndpoint(
        first.containerId,
        new Map(made.map((record) => [record.ifName, infoOf(record)])),
      );
    } catch (error) {
      const text = `failed to create endpoint: Update endpoint API returend with error: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { knowledge: "azure-cns-refused", cause: error });
    }
  }

  /** With an interface of the cluster's network CNS has forgotten all when its address came back. */
  private async forget(gone: readonly FoundEndpoint[]): Promise<void> {
    if (gone.some(({ endpoint }) => endpoint.nicType === "InfraNIC")) return;
    const own = gone.find(({ endpoint }) => endpoint.nicType === "FrontendNIC");
    if (own === undefined) return;
    try {
      await this.cns.deleteEndpoint(own.endpoint.containerId);
    } catch (error) {
      throw tryAgain("failed to delete state", error);
    }
  }
}
