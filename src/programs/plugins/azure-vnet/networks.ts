/** The network of an interface: known from the state, adopted by its name, or made (cni.md §5.4 step 5). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { createNetwork, deleteNetwork, getNetworkByName, listNetworks } from "#contracts/hcn/operations.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import { createHnsNetwork, getHnsVersion, listHnsNetworks } from "#contracts/hcn/v1-operations.ts";
import { isMissing } from "../windows-endpoint/failure.ts";
import { isNamespaceGuid } from "../windows-endpoint/sandbox.ts";
import type { AzureCaller } from "./caller.ts";
import type { AzureHost } from "./host.ts";
import { addPodRange, ensureDefaultRoute } from "./host-routes.ts";
import { azureHnsNetworkDocument, azureNetworkDocument } from "./network-documents.ts";
import { type AzureCall, type AzurePlan, formatNetwork } from "./plan.ts";
import { type AzureInterfaceRecord, type AzureNetworkRecord, findNetwork } from "./state.ts";

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
  private readonly compat: Compat;

  constructor(host: AzureHost, compat: Compat) {
    this.host = host;
    this.compat = compat;
  }

  /**
   * The network of the state, whose loss in HNS only hardened looks for (row 134); else a new one, noted in the state.
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
        this.compat === "hardened" && known.hnsId !== "" && !(await this.exists(call, known.hnsId));
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
    try {
      await caller.hcn("hcnDeleteNetwork", (client) => deleteNetwork(client, hnsId));
    } catch (error) {
      if (!isMissing(error)) {
        const text = `failed to delete hcn network id ${hnsId}: ${describeError(error)}`;
        throw new CniError(CNI_CODES.internal, text, { cause: error });
      }
    }
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
        details:
          this.compat === "hardened"
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
    return ids.some((other) => equalGuids(other ?? "", id));
  }

  private async adoptOrCreate(call: AzureCall, plan: AzurePlan): Promise<string> {
    const isHcn = isNamespaceGuid(call.request.netns);
    if (!isHcn && plan.nic.type !== "InfraNIC") {
      const message = `failed to create endpoint: an interface of the type ${plan.nic.type} needs an HCN namespace, and CNI_NETNS is ${JSON.stringify(call.request.netns)}`;
      throw new CniError(CNI_CODES.internal, message, { knowledge: "cni-namespace-not-guid" });
    }
    const network = isHcn ? await this.hcnNetwork(call, plan) : await this.hnsNetwork(call, plan);
    return network.ID ?? "";
  }

  /** A network of that name is taken as it is, but for one that is there for one interface. */
  private async hcnNetwork(call: AzureCall, plan: AzurePlan): Promise<HostComputeNetwork> {
    const { caller, request } = call;
    const document = azureNetworkDocument(call, plan);
    const failed = `failed to create endpoint: Failed to create hcn network: ${plan.networkId}`;
    const known = await this.findHcn(caller, plan, failed);
    if (known !== undefined && plan.nic.type === "FrontendNIC") {
      const text = `failed to create endpoint: HNS network with name:${plan.networkId} already exists. Returning error for transparent network`;
      throw new CniError(this.compat === "hardened" ? CNI_CODES.tryAgainLater : CNI_CODES.internal, text, {
        details: this.compat === "hardened" ? "the pod that had this interface is not gone yet" : "",
      });
    }
    let network = known;
    try {
      network ??= await caller.hcn("hcnCreateNetwork", (client) => createNetwork(client, document));
    } catch (error) {
      const text = `${failed} due to error: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
    const reason = await ensureDefaultRoute(this.host.shell, plan);
    if (reason !== undefined && this.compat === "hardened")
      request.warn(`azure-vnet: the node's default route of IPv6 could not be made: ${reason}`);
    return network;
  }

  private async findHcn(
    caller: AzureCaller,
    { networkId }: AzurePlan,
    failed: string,
  ): Promise<HostComputeNetwork | undefined> {
    try {
      return await caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, networkId));
    } catch (error) {
      if (isMissing(error)) return undefined;
      const text = `${failed}, failed to query for existing network with error: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }

  /** Upstream does not look for one of that name; hardened takes it. */
  private async hnsNetwork(call: AzureCall, plan: AzurePlan): Promise<HnsNetwork> {
    const { caller, configuration } = call;
    if (this.compat === "hardened") {
      const all = await caller.hns(listHnsNetworks);
      const known = all.find(({ Name }) => Name === plan.networkId);
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
    await addPodRange(this.host.shell, plan, configuration.ipv6Mode);
    const { Major } = await caller.hns(getHnsVersion);
    if (Major <= HNS_MAJOR_1803) await this.host.startTimer(PAUSE_MS).done;
    return network;
  }
}
