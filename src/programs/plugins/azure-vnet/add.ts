/** ADD: addresses, then for each interface its network and its endpoint, then the state (cni.md §5.4). */
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import { AZURE_DEFAULT_VERSION } from "./conf.ts";
import type { AzureContext } from "./context.ts";
import { removeLeftover } from "./leftovers.ts";
import { type AzureAllocation, haveSameIps, ipsOf } from "./nics.ts";
import type { AzureCall, AzurePlan } from "./plan.ts";
import { planAdd } from "./planning.ts";
import { readPod, upstreamEndpointId } from "./pod.ts";
import { type MadeInterface, addResult } from "./result.ts";
import { type AzureEndpointRecord, type AzureNetworkRecord, findNetwork } from "./state.ts";

export async function runAdd(context: AzureContext, request: PluginRequest): Promise<CniResult> {
  return context.withCall(request, async (call) => {
    for (const warning of call.configuration.warnings) request.warn(`azure-vnet: ${warning}`);
    const pod = readPod(request);
    const allocation = await call.source.add();
    try {
      const { compat, host } = context;
      const plans = planAdd(call, { pod, allocation, interfaces: host.interfaces(), compat });
      const made = await connectAll(context, call, plans);
      const result = addResult(call, allocation, made, compat);
      return request.configuration["cniVersion"] === undefined
        ? { ...result, printedVersion: AZURE_DEFAULT_VERSION }
        : result;
    } catch (error) {
      await releaseAllocation(call, allocation);
      throw error;
    }
  });
}

async function connectAll(
  context: AzureContext,
  call: AzureCall,
  plans: readonly AzurePlan[],
): Promise<readonly MadeInterface[]> {
  const made: MadeInterface[] = [];
  try {
    for (const plan of plans) made.push(await connect(context, call, plan));
    await call.session.save(made.map(({ record }) => record));
    return made;
  } catch (error) {
    await rollBack(context, call, plans, made);
    throw error;
  }
}

async function connect(context: AzureContext, call: AzureCall, plan: AzurePlan): Promise<MadeInterface> {
  const { network, isNew } = await context.networks.ensure(call, plan);
  const known = network.endpoints.get(plan.endpointName);
  if (context.compat === "hardened") {
    if (known === undefined) await removeLeftover(call, plan.endpointName);
    else if (await isAsWanted(context, call, plan, known)) return { plan, record: known, pciId: "" };
    else {
      await context.endpoints.remove(call.caller, known);
      network.endpoints.delete(known.id);
    }
  }
  const { record, pciId } = await context.endpoints.create(call, network, plan, isNew);
  network.endpoints.set(record.id, record);
  return { plan, record, pciId };
}

/** An ADD that is repeated finds everything as it left it. */
async function isAsWanted(
  { endpoints }: AzureContext,
  call: AzureCall,
  { nic }: AzurePlan,
  known: AzureEndpointRecord,
): Promise<boolean> {
  const wanted = nic.ips.map(({ address }) => address);
  const isSame =
    known.containerId === call.request.containerId &&
    known.netns === call.request.netns &&
    haveSameIps(known.addresses, wanted);
  return isSame && endpoints.isThere(call, known);
}

/**
 * After a failed ADD. Upstream looks its endpoints up by keys that an earlier ADD of the container may have, and so
 * tears those down (cni.md §5.4); hardened leaves what it did not make.
 */
async function rollBack(
  context: AzureContext,
  call: AzureCall,
  plans: readonly AzurePlan[],
  made: readonly MadeInterface[],
): Promise<void> {
  try {
    for (const [index, plan] of plans.entries()) {
      const network = findNetwork(call.session.state, plan.networkId);
      if (network === undefined) continue;
      const key =
        context.compat === "upstream"
          ? upstreamEndpointId(call.request, plan.ifName)
          : (made[index]?.record.id ?? plan.endpointName);
      await removeRecord(context, call, network, key);
    }
    if (!context.isStateless) await call.session.save([]);
  } catch {
    // The failure that is being reported is the one that led here; DEL comes again.
  }
}

async function removeRecord(
  { endpoints, networks, compat, isStateless }: AzureContext,
  { caller, session }: AzureCall,
  network: AzureNetworkRecord,
  key: string,
): Promise<void> {
  const endpoint = network.endpoints.get(key);
  if (endpoint !== undefined) {
    await endpoints.remove(caller, endpoint);
    network.endpoints.delete(key);
  }
  const external = [...session.state.values()].find(({ networks: own }) => own.get(network.id) === network);
  const isForgotten = compat === "hardened" || isStateless;
  if (external !== undefined && isForgotten && network.endpoints.size === 0)
    await networks.removeOwn(caller, external, network);
}

/** Releases what was given to a failed ADD. */
async function releaseAllocation({ source }: AzureCall, allocation: AzureAllocation): Promise<void> {
  for (const { address } of ipsOf(allocation)) {
    try {
      await source.release(address);
    } catch {
      // DEL will release the address.
    }
  }
}
