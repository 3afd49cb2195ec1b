/** The network of an interface: known from the state, adopted by its name, or made (cni.md §5.4 step 5). */
import type { AzureDifferences } from "./differences.ts";
import { CNI_CODES, CniError, reworded } from "#contracts/cni/error.ts";
import { type PolicyDocument, CLIENT_MEMBERS } from "#contracts/hcn/documents/base-document.ts";
import { type HostComputeNetwork, NETWORK_FLAGS } from "#contracts/hcn/documents/network.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import type { HnsPolicy } from "#contracts/hcn/description/description.ts";
import { familyOf, formatIp, parseIp, parseInterfaceAddress } from "#core/net/ip.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import {
  createNetwork,
  deleteNetwork,
  getNetworkByName,
  listNetworks,
  type StoredNetwork,
} from "#contracts/hcn/operations.ts";
import {
  type StoredHnsNetwork,
  createHnsNetwork,
  getHnsVersion,
  listHnsNetworks,
} from "#contracts/hcn/v1-operations.ts";
import { isNamespaceGuid } from "../windows-endpoint/plugin-call.ts";
import { unlessMissing } from "../windows-endpoint/hns-caller.ts";
import type { AzurePlan } from "./planning.ts";
import { formatNetwork } from "./address-source.ts";
import type { AzureCall, AzureCaller } from "./call.ts";
import { plainPolicyOptions, toAzureHnsPolicies } from "./policies.ts";
import { type AzureHost, addPodRange, ensureDefaultRoute } from "./host.ts";
import { type AzureInterfaceRecord, type AzureNetworkRecord, findNetwork } from "./state.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** An adapter that is part of a switch already cannot be named to HNS. */
const SWITCH_ADAPTER_PREFIX = "vEthernet";

function nextHopOf(subnet: AzurePlan["subnets"][number]): string {
  if (subnet.gateway !== undefined) return formatIp(subnet.gateway);
  throw new CniError(CNI_CODES.internal, WORDS.ipamWithoutGateway({ prefix: formatNetwork(subnet.prefix) }));
}

/** With several tenants and a switch already there, HNS finds the adapter by an address. */
function providerAddress({ configuration }: AzureCall, { nic }: AzurePlan): string {
  if (!configuration.isMultiTenant) return "";
  const text = nic.container?.PrimaryInterfaceIdentifier ?? "";
  const ip = parseInterfaceAddress(text)?.ip ?? parseIp(text);
  return ip === undefined ? "" : formatIp(ip);
}

function networkPolicies(call: AzureCall, plan: AzurePlan): readonly PolicyDocument[] {
  const { adapterName } = call.configuration;
  if (adapterName !== "" || !plan.master.startsWith(SWITCH_ADAPTER_PREFIX)) {
    const name = adapterName === "" ? plan.master : adapterName;
    return [{ Type: "NetAdapterName", Settings: { NetworkAdapterName: name } }];
  }
  const address = providerAddress(call, plan);
  return address === "" ? [] : [{ Type: "ProviderAddress", Settings: { ProviderAddress: address } }];
}

/** The document for HCN; never an L2Tunnel network, whatever the mode (row 145). */
function azureNetworkDocument(call: AzureCall, plan: AzurePlan): HostComputeNetwork {
  const policies = networkPolicies(call, plan);
  const isOwn = plan.nic.type === "FrontendNIC";
  const vlan = { Type: "VLAN", Settings: { IsolationId: plan.vlanId } };
  return {
    Name: plan.networkId,
    Type: isOwn ? "Transparent" : "L2Bridge",
    ...(policies.length > 0 && { Policies: [...policies] }),
    Ipams: [
      {
        Type: "Static",
        Subnets: plan.subnets.map((subnet) => ({
          IpAddressPrefix: formatNetwork(subnet.prefix),
          Routes: [
            {
              NextHop: nextHopOf(subnet),
              DestinationPrefix: familyOf(subnet.prefix.ip) === 4 ? "0.0.0.0/0" : "::/0",
            },
          ],
          ...(plan.vlanId > 0 && { Policies: [vlan] }),
        })),
      },
    ],
    Flags:
      NETWORK_FLAGS.EnableNonPersistent |
      (isOwn ? NETWORK_FLAGS.DisableHostPort | NETWORK_FLAGS.EnableIov : 0),
    MacPool: {},
    ...CLIENT_MEMBERS,
  };
}

/** The document for HNS v1. */
function azureHnsNetworkDocument(
  { configuration }: AzureCall,
  { master, subnets, networkId, vlanId }: AzurePlan,
  differences: AzureDifferences,
): HnsNetwork {
  const named = configuration.adapterName === "" ? master : configuration.adapterName;
  const adapter = named.startsWith(SWITCH_ADAPTER_PREFIX) ? "" : named;
  const own = toAzureHnsPolicies(configuration.policies, "NetworkPolicy", plainPolicyOptions(differences));
  const vlan = vlanId > 0 ? [{ Type: "VLAN", VLAN: vlanId }] : [];
  const policies = [...(own as readonly HnsPolicy[]), ...vlan];
  return {
    Name: networkId,
    Type: "l2bridge",
    ...(adapter !== "" && { NetworkAdapterName: adapter }),
    ...(policies.length > 0 && { Policies: policies }),
    Subnets: subnets.map((subnet) => ({
      AddressPrefix: formatNetwork(subnet.prefix),
      GatewayAddress: nextHopOf(subnet),
    })),
  };
}

/** HNS of Windows 1803, up to which a new network needs a pause (cni.md §5.4). */
const HNS_MAJOR_1803 = 7;
const PAUSE_MS = 10_000;
const DEFAULT_MODE = "tunnel";

/** Named after the MAC address of an interface (cni.md §5.3). */
function isOwnNetwork(id: string): boolean {
  return /^azure-(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(id);
}

/** Interfaces for which HNS has no network: a device, and the way to the host, which CNS makes. */
function hasNoNetwork({ nic }: AzurePlan): boolean {
  return nic.type === "BackendNIC" || nic.type === "ApipaNIC";
}

export class AzureNetworks {
  private readonly host: AzureHost;
  private readonly differences: AzureDifferences;

  constructor(host: AzureHost, differences: AzureDifferences) {
    this.host = host;
    this.differences = differences;
  }

  /**
   * The network of the state, whose loss in HNS is looked for (row 134); else a new one, noted in the state.
   * `isNew`: this call has put it into the state.
   */
  async ensure(
    call: AzureCall,
    plan: AzurePlan,
  ): Promise<{ readonly network: AzureNetworkRecord; readonly isNew: boolean }> {
    const { state } = call.session;
    const known = findNetwork(state, plan.networkId);
    if (known !== undefined) {
      const isLost =
        this.differences.looksAtHns && known.hnsId !== "" && !(await this.exists(call, known.hnsId));
      if (isLost) known.hnsId = await this.adoptOrCreate(call, plan);
      return { network: known, isNew: false };
    }
    const external = this.externalInterface(call, plan);
    const { mode } = call.configuration;
    const network: AzureNetworkRecord = {
      id: plan.networkId,
      hnsId: hasNoNetwork(plan) ? "" : await this.adoptOrCreate(call, plan),
      mode: mode === "" ? DEFAULT_MODE : mode,
      vlanId: plan.vlanId,
      enablesSnatOnHost: plan.snat.onHost,
      subnets: plan.subnets,
      netns: call.request.netns,
      endpoints: new Map(),
    };
    external.networks.set(network.id, network);
    return { network, isNew: true };
  }

  /** A network that is there for one interface of a pod goes with it. @throws CniError */
  async removeOwn(
    caller: AzureCaller,
    external: AzureInterfaceRecord,
    { id, hnsId }: AzureNetworkRecord,
  ): Promise<void> {
    if (hnsId === "" || (id !== "" && !isOwnNetwork(id))) return;
    await reworded(
      (error) => `failed to delete hcn network id ${hnsId}: ${error}`,
      () => unlessMissing(() => caller.hcn("hcnDeleteNetwork", (client) => deleteNetwork(client, hnsId))),
    );
    external.networks.delete(id);
  }

  private externalInterface({ session }: AzureCall, plan: AzurePlan): AzureInterfaceRecord {
    const { master, nic } = plan;
    const known = session.state.get(master);
    if (known !== undefined) return known;
    const found = this.host.interfaces().find(({ name }) => name === master);
    if (found === undefined && !hasNoNetwork(plan)) {
      const reason = `failed to find host interface: route ip+net: no such network interface`;
      const names = this.host.interfaces().map(({ name }) => JSON.stringify(name));
      throw new CniError(CNI_CODES.internal, `failed to create endpoint: ${reason}`, {
        details: this.differences.explains
          ? `"master" is ${JSON.stringify(master)}; this machine has ${names.join(", ")}`
          : "",
      });
    }
    const made: AzureInterfaceRecord = {
      name: master,
      mac: found?.mac ?? "",
      subnets: [nic.hostSubnet === undefined ? "<nil>" : formatNetwork(nic.hostSubnet)],
      networks: new Map(),
    };
    session.state.set(master, made);
    return made;
  }

  private async exists({ caller, request }: AzureCall, id: string): Promise<boolean> {
    const ids = isNamespaceGuid(request.netns)
      ? (await caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client))).map(({ ID }) => ID)
      : (await caller.hns(listHnsNetworks)).map(({ ID }) => ID);
    return ids.some((other) => equalGuids(other, id));
  }

  private async adoptOrCreate(call: AzureCall, plan: AzurePlan): Promise<string> {
    const isHcn = isNamespaceGuid(call.request.netns);
    if (!isHcn && plan.nic.type !== "InfraNIC") {
      const message = WORDS.nicNeedsHcnNamespace({
        type: plan.nic.type,
        netns: JSON.stringify(call.request.netns),
      });
      throw new CniError(CNI_CODES.internal, message, { knowledge: "cni-namespace-not-guid" });
    }
    const network = isHcn ? await this.hcnNetwork(call, plan) : await this.hnsNetwork(call, plan);
    return network.ID;
  }

  /** A network of that name is taken as it is, but for one that is there for one interface. */
  private async hcnNetwork(call: AzureCall, plan: AzurePlan): Promise<StoredNetwork> {
    const { caller, request } = call;
    const document = azureNetworkDocument(call, plan);
    const failed = `failed to create endpoint: Failed to create hcn network: ${plan.networkId}`;
    const known = await reworded(
      (error) => `${failed}, failed to query for existing network with error: ${error}`,
      () =>
        unlessMissing(() =>
          caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, plan.networkId)),
        ),
    );
    if (known !== undefined && plan.nic.type === "FrontendNIC") {
      const text = WORDS.networkExists({ networkId: plan.networkId });
      throw new CniError(this.differences.tryAgainCode, text, {
        details: this.differences.explains ? "the pod that had this interface is not gone yet" : "",
      });
    }
    const network =
      known ??
      (await reworded(
        (error) => `${failed} due to error: ${error}`,
        () => caller.hcn("hcnCreateNetwork", (client) => createNetwork(client, document)),
      ));
    const reason = await ensureDefaultRoute(this.host.shell, plan.subnets);
    if (reason !== undefined && this.differences.explains)
      request.warn(WORDS.ipv6DefaultRouteFailed({ reason }));
    return network;
  }

  /** An HNS that does not tell its version is an old one (network_windows.go, newNetworkImplHnsV1). */
  private async isOldHns(caller: AzureCaller): Promise<boolean> {
    try {
      return (await caller.hns(getHnsVersion)).Major <= HNS_MAJOR_1803;
    } catch {
      return true;
    }
  }

  private async hnsNetwork(call: AzureCall, plan: AzurePlan): Promise<StoredHnsNetwork> {
    const { caller, configuration } = call;
    if (this.differences.looksAtHns) {
      const all = await caller.hns(listHnsNetworks);
      const known = all.find(({ Name }) => Name === plan.networkId);
      if (known !== undefined) return known;
    }
    const document = azureHnsNetworkDocument(call, plan, this.differences);
    const network = await reworded(
      (error) => `failed to create endpoint: ${error}`,
      () => caller.hns((client) => createHnsNetwork(client, document)),
    );
    await addPodRange(this.host.shell, plan, configuration.ipv6Mode);
    if (await this.isOldHns(caller)) await this.host.startTimer(PAUSE_MS).done;
    return network;
  }
}
