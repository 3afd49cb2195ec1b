/** The network of a call: found by its name, or made (cni.md §2.4). */
import type { Compat } from "#core/base/compat.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import { createNetwork, getNetworkByName, listNetworks } from "#contracts/hcn/operations.ts";
import { type HnsCaller, isMissing, withKnowledge } from "../windows-endpoint/failure.ts";
import { sdnNetworkDocument } from "./endpoint.ts";
import { endpointDns } from "./name-resolution.ts";
import type { SdnCall } from "./ipam-session.ts";
import { additionalPolicies } from "./policies.ts";

export class SdnNetworks {
  private readonly caller: HnsCaller;
  private readonly compat: Compat;

  constructor(caller: HnsCaller, compat: Compat) {
    this.caller = caller;
    this.compat = compat;
  }

  /** @throws CniError, with its own words when there is none of that name. */
  async get({ configuration }: SdnCall): Promise<HostComputeNetwork> {
    const { name } = configuration;
    try {
      return await this.caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, name));
    } catch (error) {
      throw isMissing(error) ? withKnowledge(error, "cni-network-not-found") : error;
    }
  }

  /** For dual stack the network has to be there; else it is made. @throws CniError, PluginPanic */
  async getOrCreate(call: SdnCall): Promise<HostComputeNetwork> {
    if (call.configuration.flags.enableDualStack) {
      const network = await this.get(call);
      if (network.Type === "L2Bridge") return network;
      throw new CniError(CNI_CODES.internal, "Dual stack specified with non l2bridge network");
    }
    try {
      return await this.get(call);
    } catch (error) {
      // Upstream takes every failure of the look-up for "there is none" (cni.md §2.12).
      if (this.compat === "hardened" && !isMissing(error)) throw error;
      return this.create(call);
    }
  }

  /** What ADD needs of HNS is there. @throws CniError */
  async probe(call: SdnCall): Promise<void> {
    if (call.configuration.flags.enableDualStack) await this.getOrCreate(call);
    else await this.caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client));
  }

  private async create({ configuration, podNamespace }: SdnCall): Promise<HostComputeNetwork> {
    const policies = additionalPolicies(configuration, "NetworkPolicy", this.compat);
    const document = sdnNetworkDocument(configuration, endpointDns(configuration, podNamespace), policies);
    return this.caller.hcn("hcnCreateNetwork", (client) => createNetwork(client, document));
  }
}
