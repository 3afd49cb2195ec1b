/** The network of a call: known from the state, adopted by its name, or made (cni.md §5.4 step 5). */
import { CNI_CODES, CniError, describeError } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import { type HostComputeNetwork, NETWORK_FLAGS } from "../../hcn/network.ts";
import { createNetwork, getNetworkByName, listNetworks } from "../../hcn/operations.ts";
import { SCHEMA_V2_0 } from "../../hcn/schema-version.ts";
import type { HnsNetwork, HnsPolicy } from "../../hcn/v1-documents.ts";
import { createHnsNetwork, getHnsVersion, listHnsNetworks } from "../../hcn/v1-operations.ts";
import { equalGuids } from "../../hcn/guid.ts";
import { familyOf, formatIp } from "../../net/ip.ts";
import { isMissing } from "../windows-endpoint/failure.ts";
import { isNamespaceGuid } from "../windows-endpoint/sandbox.ts";
import type { AzureHost } from "./host.ts";
import { type AzureCall, type AzurePlan, formatNetwork } from "./plan.ts";
import { toAzureHnsPolicies } from "./policies.ts";
import { type AzureInterfaceRecord, type AzureNetworkRecord, findNetwork } from "./state.ts";

/** An adapter that is part of a switch already cannot be named to HNS. */
const SWITCH_ADAPTER_PREFIX = "vEthernet";
/** HNS of Windows 1803, up to which a new network needs a pause (cni.md §5.4). */
const HNS_MAJOR_1803 = 7;
const PAUSE_MS = 10_000;
const DEFAULT_MODE = "tunnel";

function nextHopOf(subnet: AzurePlan["subnets"][number]): string {
  if (subnet.gateway !== undefined) return formatIp(subnet.gateway);
  throw new CniError(
    CNI_CODES.internal,
    `failed to create endpoint: IPAM gave no gateway for ${formatNetwork(subnet.prefix)}, and HNS makes no network without one`,
  );
}

/** The document for HCN; never an L2Tunnel network, whatever the mode (row 145). */
export function azureNetworkDocument(
  { configuration }: AzureCall,
  { master, subnets }: AzurePlan,
): HostComputeNetwork {
  const { adapterName } = configuration;
  const hasAdapter = adapterName !== "" || !master.startsWith(SWITCH_ADAPTER_PREFIX);
  const settings = { NetworkAdapterName: adapterName === "" ? master : adapterName };
  return {
    Name: configuration.name,
    Type: "L2Bridge",
    ...(hasAdapter && { Policies: [{ Type: "NetAdapterName", Settings: settings }] }),
    Ipams: [
      {
        Type: "Static",
        Subnets: subnets.map((subnet) => ({
          IpAddressPrefix: formatNetwork(subnet.prefix),
          Routes: [
            {
              NextHop: nextHopOf(subnet),
              DestinationPrefix: familyOf(subnet.prefix.ip) === 4 ? "0.0.0.0/0" : "::/0",
            },
          ],
        })),
      },
    ],
    Flags: NETWORK_FLAGS.EnableNonPersistent,
    SchemaVersion: SCHEMA_V2_0,
  };
}

/** The document for HNS v1. */
export function azureHnsNetworkDocument(
  { configuration }: AzureCall,
  { master, subnets }: AzurePlan,
  compat: Compat,
): HnsNetwork {
  const named = configuration.adapterName === "" ? master : configuration.adapterName;
  const adapter = named.startsWith(SWITCH_ADAPTER_PREFIX) ? "" : named;
  const policies = toAzureHnsPolicies(configuration.policies, "NetworkPolicy", { compat, hasDsr: false });
  return {
    Name: configuration.name,
    Type: "l2bridge",
    ...(adapter !== "" && { NetworkAdapterName: adapter }),
    ...(policies.length > 0 && { Policies: policies as readonly HnsPolicy[] }),
    Subnets: subnets.map((subnet) => ({
      AddressPrefix: formatNetwork(subnet.prefix),
      GatewayAddress: nextHopOf(subnet),
    })),
  };
}

export class AzureNetworks {
  private readonly host: AzureHost;
  private readonly compat: Compat;

  constructor(host: AzureHost, compat: Compat) {
    this.host = host;
    this.compat = compat;
  }

  /** The network of the state, whose loss in HNS only better looks for (row 134); else a new one, noted in the state. */
  async ensure(call: AzureCall, plan: AzurePlan): Promise<AzureNetworkRecord> {
    const known = findNetwork(call.state, call.configuration.name);
    if (known !== undefined) {
      if (this.compat === "better" && !(await this.exists(call, known.hnsId)))
        known.hnsId = await this.adoptOrCreate(call, plan);
      return known;
    }
    const external = this.externalInterface(call, plan);
    const network: AzureNetworkRecord = {
      id: call.configuration.name,
      hnsId: await this.adoptOrCreate(call, plan),
      mode: call.configuration.mode === "" ? DEFAULT_MODE : call.configuration.mode,
      subnets: plan.subnets,
      netns: call.request.netns,
      endpoints: new Map(),
    };
    external.networks.set(network.id, network);
    return network;
  }

  private externalInterface({ state }: AzureCall, { master, subnets }: AzurePlan): AzureInterfaceRecord {
    const known = state.get(master);
    if (known !== undefined) return known;
    const found = this.host.interfaces().find(({ name }) => name === master);
    if (found === undefined) {
      const reason = `failed to find host interface: route ip+net: no such network interface`;
      const names = this.host.interfaces().map(({ name }) => JSON.stringify(name));
      throw new CniError(CNI_CODES.internal, `failed to create endpoint: ${reason}`, {
        details:
          this.compat === "better"
            ? `"master" is ${JSON.stringify(master)}; this machine has ${names.join(", ")}`
            : "",
      });
    }
    const [first] = subnets;
    const made: AzureInterfaceRecord = {
      name: master,
      mac: found.mac,
      subnets: first === undefined ? [] : [formatNetwork(first.prefix)],
      networks: new Map(),
    };
    state.set(master, made);
    return made;
  }

  private async exists({ caller, request }: AzureCall, id: string): Promise<boolean> {
    const ids = isNamespaceGuid(request.netns)
      ? (await caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client))).map(({ ID }) => ID)
      : (await caller.hns(listHnsNetworks)).map(({ ID }) => ID);
    return ids.some((other) => equalGuids(other ?? "", id));
  }

  private async adoptOrCreate(call: AzureCall, plan: AzurePlan): Promise<string> {
    const isHcn = isNamespaceGuid(call.request.netns);
    const network = isHcn ? await this.hcnNetwork(call, plan) : await this.hnsNetwork(call, plan);
    return network.ID ?? "";
  }

  /** A network of that name is taken as it is. */
  private async hcnNetwork(call: AzureCall, plan: AzurePlan): Promise<HostComputeNetwork> {
    const { caller, configuration } = call;
    const document = azureNetworkDocument(call, plan);
    const failed = `failed to create endpoint: Failed to create hcn network: ${configuration.name}`;
    try {
      return await caller.hcn("hcnEnumerateNetworks", (client) =>
        getNetworkByName(client, configuration.name),
      );
    } catch (error) {
      if (!isMissing(error)) {
        const text = `${failed}, failed to query for existing network with error: ${describeError(error)}`;
        throw new CniError(CNI_CODES.internal, text, { cause: error });
      }
    }
    try {
      return await caller.hcn("hcnCreateNetwork", (client) => createNetwork(client, document));
    } catch (error) {
      const text = `${failed} due to error: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }

  /** The reference does not look for one of that name; better takes it. */
  private async hnsNetwork(call: AzureCall, plan: AzurePlan): Promise<HnsNetwork> {
    const { caller, configuration } = call;
    if (this.compat === "better") {
      const all = await caller.hns(listHnsNetworks);
      const known = all.find(({ Name }) => Name === configuration.name);
      if (known !== undefined) return known;
    }
    const document = azureHnsNetworkDocument(call, plan, this.compat);
    let network: HnsNetwork;
    try {
      network = await caller.hns((client) => createHnsNetwork(client, document));
    } catch (error) {
      const text = `failed to create endpoint: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
    const { Major } = await caller.hns(getHnsVersion);
    if (Major <= HNS_MAJOR_1803) await this.host.startTimer(PAUSE_MS).done;
    return network;
  }
}
