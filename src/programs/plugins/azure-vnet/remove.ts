/**
 * DEL and GC: the endpoints, then the addresses, then the state (cni.md §5.6; row 143); failures of DEL ask the runtime to
 * try again. Endpoints that HNS has and the state does not, because the plugin was killed between the two, are known by
 * their names, which only azure-vnet gives; hardened removes them.
 */
import { CNI_CODES, CniError, attemptAll, failWith } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { type HostComputeEndpoint, ENDPOINT_FLAGS } from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import {
  deleteEndpoint,
  listEndpointsOfNetwork,
  listNamespaces,
  namespaceOf,
  listEndpoints,
  queryBy,
} from "#contracts/hcn/operations.ts";
import { deleteHnsEndpoint, listHnsEndpoints } from "#contracts/hcn/v1-operations.ts";
import { isNamespaceGuid } from "../windows-endpoint/plugin-call.ts";
import { unlessMissing } from "../windows-endpoint/hns-caller.ts";
import type { AzureContext } from "./context.ts";
import { tryingAgain } from "./memory.ts";
import type { AzureCall, AzureCaller } from "./call.ts";
import { endpointNameOf } from "./planning.ts";
import { type FoundEndpoint, allEndpoints } from "./state.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export async function runDel(context: AzureContext, request: PluginRequest): Promise<void> {
  await context.withCall(request, async (call) => {
    // With several tenants a namespace that no endpoint has is one that is gone.
    if (isUnknownNamespace(context, call)) return;
    const found = await call.session.endpointsOf(request);
    if (found.length > 0) await removeAll(context, call, found);
    else await releaseWithoutEndpoint(context, call);
  });
}

function isUnknownNamespace(
  { differences }: AzureContext,
  { request, configuration, session }: AzureCall,
): boolean {
  if (!configuration.isMultiTenant || !differences.trustsState) return false;
  if (request.netns.trim() === "") {
    const message = WORDS.netnsEmpty;
    throw new CniError(CNI_CODES.internal, message);
  }
  return !allEndpoints(session.state).some(({ endpoint }) => endpoint.netns === request.netns);
}

/** The endpoint was never made, the state is gone, or the plugin was killed between HNS and the state. */
async function releaseWithoutEndpoint({ differences }: AzureContext, call: AzureCall): Promise<void> {
  const { request, source, session } = call;
  if (differences.looksAtHns) {
    const name = endpointNameOf(request, session.state, request.ifName, differences);
    await tryingAgain("failed to delete endpoint", () => removeLeftover(call, name));
  }
  if (call.configuration.isMultiTenant) return;
  await tryingAgain("failed to release address(no endpoint)", () => source.release(undefined));
}

/** Removes endpoints of one container. @throws CniError (11) */
async function removeAll(
  context: AzureContext,
  call: AzureCall,
  found: readonly FoundEndpoint[],
): Promise<void> {
  for (const one of found) await removeEndpoint(context, call, one);
  for (const one of found) await releaseAddresses(call, one);
  await call.session.forget(found);
}

async function removeEndpoint(context: AzureContext, call: AzureCall, found: FoundEndpoint): Promise<void> {
  const { endpoints, networks, differences, isStateless } = context;
  await tryingAgain("failed to delete endpoint", async () => {
    await endpoints.remove(call.caller, found.endpoint);
    if (found.endpoint.nicType === "FrontendNIC" && (isStateless || differences.forgetsNetworks))
      await networks.removeOwn(call.caller, found.external, found.network);
  });
}

/** Other interfaces have addresses that this attachment did not get from the source. */
async function releaseAddresses({ source }: AzureCall, { endpoint }: FoundEndpoint): Promise<void> {
  if (endpoint.nicType !== "InfraNIC") return;
  for (const address of endpoint.addresses)
    await tryingAgain("failed to release address", () => source.release(address));
}

/** Goes on after failures and reports them at the end. */
export async function runGc(context: AzureContext, request: PluginRequest): Promise<void> {
  await context.withCall(request, async (call) => {
    const valid = context.decode(() => readValidAttachments(request.configuration));
    const works: (() => Promise<void>)[] = [];
    if (valid !== undefined) {
      const isStale = ({ endpoint, network }: FoundEndpoint): boolean =>
        isOwnNetwork(call, network.id) &&
        !valid.some((each) => each.containerId === endpoint.containerId && each.ifName === endpoint.ifName);
      const stale = allEndpoints(call.session.state).filter(isStale);
      const containers = valid.map(({ containerId }) => containerId);
      works.push(...stale.map((one) => () => removeOne(context, call, one)));
      works.push(() => collectUnknown(call, containers));
    }
    const failures = await attemptAll(works);
    if (!context.isStateless) await call.session.save([]);
    failWith([...failures, ...(await attemptAll([() => call.source.gc(valid)]))]);
  });
}

/** With several tenants each has a network of its own, which begins with the name. */
function isOwnNetwork({ configuration }: AzureCall, id: string): boolean {
  return (
    id === configuration.name || (configuration.isMultiTenant && id.startsWith(`${configuration.name}-vlan`))
  );
}

/** As DEL of that attachment. */
function removeOne(context: AzureContext, call: AzureCall, found: FoundEndpoint): Promise<void> {
  const { containerId, ifName } = found.endpoint;
  const env = { ...call.request.env, CNI_CONTAINERID: containerId, CNI_IFNAME: ifName };
  const own = context.open({ ...call.request, env, containerId, ifName }, call.session);
  return removeAll(context, own, [found]);
}

async function collectUnknown({ caller, session }: AzureCall, containers: readonly string[]): Promise<void> {
  const names = new Set(allEndpoints(session.state).map(({ endpoint }) => endpoint.id));
  for (const { networks } of session.state.values())
    for (const { hnsId } of networks.values())
      if (hnsId !== "") await collectLeftovers(caller, hnsId, { names, containers });
}

/** Removes an endpoint of that name, unless it is in a namespace that is there and not the request's. @throws CniError */
export async function removeLeftover({ caller, request }: AzureCall, name: string): Promise<void> {
  if (request.netns !== "" && !isNamespaceGuid(request.netns))
    return removeHns(caller, request.containerId, name);
  const found = await caller.hcn("hcnEnumerateEndpoints", (client) =>
    listEndpoints(client, queryBy({ Name: name })),
  );
  for (const endpoint of found.filter((each) => each.Name === name)) {
    const namespace = namespaceOf(endpoint);
    const isOurs = namespace === undefined || equalGuids(namespace, request.netns);
    if (isOurs || !(await isThere(caller, namespace))) await removeHcn(caller, endpoint);
  }
}

async function isThere(caller: AzureCaller, namespace: string): Promise<boolean> {
  const all = await caller.hcn("hcnEnumerateNamespaces", (client) => listNamespaces(client));
  return all.some(({ ID }) => equalGuids(ID, namespace));
}

async function removeHcn(caller: AzureCaller, { ID: id = "" }: HostComputeEndpoint): Promise<void> {
  await unlessMissing(() => caller.hcn("hcnDeleteEndpoint", (client) => deleteEndpoint(client, id)));
}

/** HNS v1 says which containers an endpoint is attached to. */
async function removeHns(caller: AzureCaller, containerId: string, name: string): Promise<void> {
  const all = await caller.hns(listHnsEndpoints);
  for (const { ID: id = "", Name, SharedContainers: containers = [] } of all) {
    if (Name !== name || containers.some((other) => other !== containerId)) continue;
    await unlessMissing(() => caller.hns((client) => deleteHnsEndpoint(client, id)));
  }
}

/** How names end that azure-vnet gives. */
const OWN_NAME = /^(.+)-[^-]+$/;

/**
 * Removes from one network what no container of `valid` can have and no record names: GC, when the plugin was killed.
 * @returns what went wrong. @throws CniError when HNS does not answer
 */
async function collectLeftovers(
  caller: AzureCaller,
  networkId: string,
  kept: { readonly names: ReadonlySet<string>; readonly containers: readonly string[] },
): Promise<void> {
  const all = await caller.hcn("hcnEnumerateEndpoints", (client) =>
    listEndpointsOfNetwork(client, networkId),
  );
  for (const endpoint of all) {
    const { Name: name = "", Flags: flags = 0 } = endpoint;
    const start = OWN_NAME.exec(name)?.[1];
    if (start === undefined || kept.names.has(name) || (flags & ENDPOINT_FLAGS.RemoteEndpoint) !== 0)
      continue;
    if (kept.containers.some((id) => id.startsWith(start))) continue;
    const namespace = namespaceOf(endpoint);
    if (namespace === undefined || !(await isThere(caller, namespace))) await removeHcn(caller, endpoint);
  }
}
