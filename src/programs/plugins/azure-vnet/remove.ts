/** DEL: the endpoints, then the addresses, then the state (cni.md §5.6; row 143). Failures ask the runtime to try again. */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { AzureContext } from "./context.ts";
import { tryAgain } from "./file-memory.ts";
import { removeLeftover } from "./leftovers.ts";
import type { AzureCall } from "./plan.ts";
import { endpointNameOf } from "./planning.ts";
import { type FoundEndpoint, allEndpoints } from "./state.ts";

export async function runDel(context: AzureContext, request: PluginRequest): Promise<void> {
  await context.withCall(request, async (call) => {
    // With several tenants a namespace that nobody has any more is one that is gone.
    if (isUnknownNamespace(context, call)) return;
    const found = await call.session.endpointsOf(request);
    if (found.length > 0) await removeAll(context, call, found);
    else await releaseWithoutEndpoint(context, call);
  });
}

function isUnknownNamespace(
  { compat }: AzureContext,
  { request, configuration, session }: AzureCall,
): boolean {
  if (!configuration.isMultiTenant || compat === "hardened") return false;
  if (request.netns.trim() === "") {
    const message = "Failed to extract network name from network config. error: NetNs cannot be empty";
    throw new CniError(CNI_CODES.internal, message);
  }
  return !allEndpoints(session.state).some(({ endpoint }) => endpoint.netns === request.netns);
}

/** The endpoint was never made, the state is gone, or the plugin was killed between HNS and the state. */
async function releaseWithoutEndpoint({ compat }: AzureContext, call: AzureCall): Promise<void> {
  const { request, source, session } = call;
  if (compat === "hardened") {
    try {
      await removeLeftover(call, endpointNameOf(request, session.state, request.ifName, compat));
    } catch (error) {
      throw tryAgain("failed to delete endpoint", error);
    }
  }
  if (call.configuration.isMultiTenant) return;
  try {
    await source.release(undefined);
  } catch (error) {
    throw tryAgain("failed to release address(no endpoint)", error);
  }
}

/** Removes endpoints of one container. @throws CniError (11) */
export async function removeAll(
  context: AzureContext,
  call: AzureCall,
  found: readonly FoundEndpoint[],
): Promise<void> {
  for (const one of found) await removeEndpoint(context, call, one);
  for (const one of found) await releaseAddresses(call, one);
  await call.session.forget(found);
}

async function removeEndpoint(context: AzureContext, call: AzureCall, found: FoundEndpoint): Promise<void> {
  const { endpoints, networks, compat, isStateless } = context;
  try {
    await endpoints.remove(call.caller, found.endpoint);
    if (found.endpoint.nicType === "FrontendNIC" && (isStateless || compat === "hardened"))
      await networks.removeOwn(call.caller, found.external, found.network);
  } catch (error) {
    throw tryAgain("failed to delete endpoint", error);
  }
}

/** Other interfaces have addresses that nobody gave for this attachment. */
async function releaseAddresses({ source }: AzureCall, { endpoint }: FoundEndpoint): Promise<void> {
  if (endpoint.nicType !== "InfraNIC") return;
  for (const address of endpoint.addresses) {
    try {
      await source.release(address);
    } catch (error) {
      throw tryAgain("failed to release address", error);
    }
  }
}
