/** Whose endpoint it is: sandbox, endpoint name, namespace (cni.md §2.1, §2.7). */
import { type GcAttachment, isCniName } from "#contracts/cni/plugin-input.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";

/** `CNI_NETNS` of a sandbox that has no namespace (dockershim). */
export const NO_NAMESPACE = "none";

/** The sandbox a container belongs to: `container:ID` names it, else the container is its own. */
export function sandboxIdOf(containerId: string, netns: string): string {
  if (netns === "" || netns === NO_NAMESPACE) return containerId;
  const colon = netns.indexOf(":");
  return colon < 0 ? containerId : netns.slice(colon + 1);
}

/** The name by which the endpoint is found again. The interface is no part of it: one endpoint per network. */
export function endpointNameOf(containerId: string, netns: string, networkName: string): string {
  return `${sandboxIdOf(containerId, netns)}_${networkName}`;
}

/** The container or sandbox of an endpoint with such a name; undefined when it is none. */
export function containerOfEndpointName(endpointName: string, networkName: string): string | undefined {
  const suffix = `_${networkName}`;
  if (!endpointName.endsWith(suffix) || endpointName.length === suffix.length) return undefined;
  return endpointName.slice(0, -suffix.length);
}

/** True for a GUID as the Go client takes it: 36 characters, no braces. */
export function isNamespaceGuid(netns: string): boolean {
  return netns.length === 36 && parseGuid(netns) !== undefined;
}

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
