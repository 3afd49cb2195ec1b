/** Endpoints as Microsoft's plugins treat them: an endpoint that is there stays as it is, and failures leave what they made. */
import {
  type StoredNetwork,
  addNamespaceEndpoint,
  deleteEndpoint,
  getEndpointById,
  getEndpointByName,
  getNamespaceById,
  removeNamespaceEndpoint,
} from "#contracts/hcn/operations.ts";
import { CNI_CODES, CniError, describeError, reworded } from "#contracts/cni/error.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { HostComputeEndpoint, StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { type Guid, equalGuids } from "#contracts/hcn/guid.ts";
import { type EndpointTarget, isNamespaceGuid } from "../windows-endpoint/plugin-call.ts";
import { isMissingForUpstream, namespaceCall } from "../windows-endpoint/hns-caller.ts";
import { printGoEndpoint, upstreamSdnResult } from "./endpoint.ts";
import { SdnEndpoints, nameOf } from "./endpoints.ts";
import type { SdnCall } from "./ipam-session.ts";

export class UpstreamSdnEndpoints extends SdnEndpoints {
  /** Every failure of the look-up means that there is none (cni.md §2.12); so does one of that name on another network. */
  protected override async findExisting(
    _call: SdnCall,
    target: EndpointTarget,
  ): Promise<StoredEndpoint | undefined> {
    try {
      const endpoint = await this.endpoints.find(target.endpointName);
      return equalGuids(endpoint?.HostComputeNetwork, target.networkId) ? endpoint : undefined;
    } catch {
      return undefined;
    }
  }

  /** It is not attached again (row 104). */
  protected override async reuse(): Promise<void> {}

  /** The endpoint is leaked when this fails (row 105). */
  protected override attach({ netns }: EndpointTarget, endpoint: StoredEndpoint): Promise<void> {
    const words = (error: string): string =>
      `error adding endpoint to namespace ${error} : endpoint ${printGoEndpoint(endpoint)}`;
    return reworded(words, async () => {
      if (!isNamespaceGuid(netns)) throw new CniError(CNI_CODES.internal, "invalid namespace ID");
      await this.caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, endpoint.ID));
    });
  }

  protected override couldNotCreate(error: unknown, document: HostComputeEndpoint): CniError {
    const text = `error creating endpoint ${describeError(error)} : endpoint config ${printGoEndpoint(document)}`;
    return new CniError(CNI_CODES.internal, text, { cause: error });
  }

  /** @throws CniError */
  override async remove(call: SdnCall): Promise<void> {
    try {
      const { ID: id } = await this.caller.hcn("hcnEnumerateEndpoints", (client) =>
        getEndpointByName(client, nameOf(call)),
      );
      await this.deleteById(id);
    } catch (error) {
      if (!isMissingForUpstream(error)) throw error;
    }
  }

  /** The endpoint is read again, its namespace before it; a failure to delete counts where it is still there. */
  private async deleteById(id: Guid): Promise<void> {
    const endpoint = await this.caller.hcn("hcnEnumerateEndpoints", (client) => getEndpointById(client, id));
    if (await this.isInNamespace(endpoint)) await this.detach(endpoint);
    try {
      await this.caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, id));
    } catch (error) {
      const name = endpoint.Name ?? "";
      await this.caller.hcn("hcnEnumerateEndpoints", (client) => getEndpointByName(client, name));
      throw error;
    }
  }

  private async isInNamespace({ HostComputeNamespace: id = "" }: StoredEndpoint): Promise<boolean> {
    if (id === "") return false;
    try {
      await this.caller.hcn("hcnEnumerateNamespaces", (client) => getNamespaceById(client, id));
      return true;
    } catch (error) {
      if (isMissingForUpstream(error)) return false;
      const text = `error while attempting to get namespace, err:${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }

  private async detach(endpoint: StoredEndpoint): Promise<void> {
    const { HostComputeNamespace: namespace = "", ID: id } = endpoint;
    try {
      await this.caller.hcn(namespaceCall, (client) => removeNamespaceEndpoint(client, namespace, id));
    } catch (error) {
      if (isMissingForUpstream(error)) return;
      const text = `error removing endpoint from namespace ${describeError(error)} : endpoint ${printGoEndpoint(endpoint)}`;
      throw new CniError(CNI_CODES.internal, text);
    }
  }

  protected override resultOf(
    { request, configuration }: SdnCall,
    network: StoredNetwork,
    endpoint: StoredEndpoint,
  ): CniResult {
    const isDualStack = configuration.flags.enableDualStack;
    return upstreamSdnResult(network, endpoint, { ifName: request.ifName, isDualStack });
  }
}
