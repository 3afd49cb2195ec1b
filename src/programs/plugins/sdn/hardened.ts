/** Endpoints of Microsoft's plugins, mended: what is in the way goes, what is there is attached, failures leave nothing. */
import type { StoredNetwork } from "#contracts/hcn/operations.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";

import type { CniResult } from "#contracts/cni/result.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { hardenedHcnResult } from "../windows-endpoint/hcn-endpoint.ts";
import type { EndpointTarget } from "../windows-endpoint/plugin-call.ts";
import { SdnEndpoints } from "./endpoints.ts";
import type { SdnCall } from "./ipam-session.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export class HardenedSdnEndpoints extends SdnEndpoints {
  /** One of that name on another network is removed, and its address given back. */
  protected override async findExisting(
    call: SdnCall,
    target: EndpointTarget,
  ): Promise<StoredEndpoint | undefined> {
    const endpoint = await this.endpoints.find(target.endpointName);
    if (endpoint === undefined || equalGuids(endpoint.HostComputeNetwork, target.networkId)) return endpoint;
    await this.endpoints.remove(endpoint);
    await call.ipam.del();
    return undefined;
  }

  /** As win-bridge: an endpoint that is in another living namespace is not taken from it. */
  protected override async reuse(target: EndpointTarget, endpoint: StoredEndpoint): Promise<void> {
    if (this.endpoints.isAttachedTo(endpoint, target.netns)) return;
    if (await this.endpoints.isAttached(endpoint)) {
      const message = WORDS.endpointInOtherNetns({
        endpointName: target.endpointName,
        netns: target.netns,
      });
      throw new CniError(CNI_CODES.internal, message);
    }
    await this.endpoints.attach(target, endpoint);
  }

  protected override async attach(target: EndpointTarget, endpoint: StoredEndpoint): Promise<void> {
    try {
      await this.endpoints.attach(target, endpoint);
    } catch (error) {
      await this.endpoints.removeQuietly(endpoint);
      throw error;
    }
  }

  protected override couldNotCreate(error: unknown): unknown {
    return error;
  }

  protected override resultOf(
    { request }: SdnCall,
    network: StoredNetwork,
    endpoint: StoredEndpoint,
  ): CniResult {
    return hardenedHcnResult(request, network, endpoint);
  }
}
