/** GC: which endpoints of a network belong to nobody any more (cni.md §2.11). */
import type { GcAttachment } from "../../cni/configuration.ts";
import { isCniName } from "../../cni/parameters.ts";
import { containerOfEndpointName } from "./sandbox.ts";

/** What GC looks at: both dialects have it. */
export interface NamedEndpoint {
  readonly name: string;
  /** An endpoint that stands for one on another node. */
  readonly isRemote: boolean;
}

/**
 * True for an endpoint that a plugin of this network made for a container that is not valid any more. Never for
 * remote endpoints, for the bridge endpoint `<network>_ep`, nor for names that no plugin gives.
 */
export function isStale(
  endpoint: NamedEndpoint,
  networkName: string,
  valid: readonly GcAttachment[],
): boolean {
  if (endpoint.isRemote || endpoint.name === `${networkName}_ep`) return false;
  const containerId = containerOfEndpointName(endpoint.name, networkName);
  if (containerId === undefined || !isCniName(containerId)) return false;
  return !valid.some((attachment) => attachment.containerId === containerId);
}
