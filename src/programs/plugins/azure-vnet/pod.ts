/** Whose call it is: the arguments, the pod, and the names made of them (cni.md §5.2, §5.3). */
import { parseCniArguments } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { AZURE_ERROR_CODE, type AzureConfiguration } from "./conf.ts";

export interface AzurePod {
  readonly name: string;
  readonly namespace: string;
}

const POD_ARGUMENTS = ["K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_INFRA_CONTAINER_ID"];
const ALLOWED = /^[a-zA-Z0-9._\-() ]*$/;
const SHORT_ID_LENGTH = 8;

/** @throws CniError */
export function validateArguments(request: PluginRequest, configuration: AzureConfiguration): void {
  if (!ALLOWED.test(request.containerId) || !ALLOWED.test(request.ifName))
    throw new CniError(CNI_CODES.internal, "invalid args value");
  if (!ALLOWED.test(configuration.bridge))
    throw new CniError(CNI_CODES.internal, "invalid network config value");
}

/** The pod of the call. @throws CniError (100) when `CNI_ARGS` does not say it (row 132) */
export function readPod({ args }: PluginRequest): AzurePod {
  const values = parseCniArguments(args, POD_ARGUMENTS);
  const namespace = values.get("K8S_POD_NAMESPACE") ?? "";
  const name = values.get("K8S_POD_NAME") ?? "";
  if (namespace === "") throw new CniError(AZURE_ERROR_CODE, "Pod Namespace not specified in CNI Args");
  if (name === "") throw new CniError(AZURE_ERROR_CODE, "Pod Name not specified in CNI Args");
  return { name, namespace };
}

function shorten(id: string): string {
  return id.slice(0, SHORT_ID_LENGTH);
}

/** The endpoint's name in HNS, and its key in the state: of the sandbox that `container:ID` names, else of the container. */
export function azureEndpointName({ containerId, netns }: PluginRequest, ifName: string): string {
  const parts = netns.split(":");
  const id = parts.length === 2 ? (parts[1] ?? "") : containerId;
  return `${shorten(id)}-${ifName}`;
}

/** A name that no other container has, for when two begin alike (row 156). */
export function longEndpointName({ containerId }: PluginRequest, ifName: string): string {
  return `${containerId}-${ifName}`;
}

/** The key by which upstream looks for the endpoint to undo; none for short container IDs (row 133). */
export function upstreamEndpointId({ containerId }: PluginRequest, ifName: string): string {
  return containerId.length > SHORT_ID_LENGTH ? `${shorten(containerId)}-${ifName}` : "";
}

/** The pod as far as `CNI_ARGS` says it: DEL goes on without. */
export function readPodIfKnown(request: PluginRequest): AzurePod {
  try {
    return readPod(request);
  } catch {
    return { name: "", namespace: "" };
  }
}
