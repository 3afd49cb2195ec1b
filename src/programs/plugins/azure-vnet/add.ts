/**
 * ADD: addresses, then for each interface its network and its endpoint, then the state, and the result as it is printed
 * (cni.md §5.4).
 */
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult, CniInterface, CniIp } from "#contracts/cni/result.ts";
import type { AzureDifferences } from "./differences.ts";
import { readPrevResult } from "#contracts/cni/plugin-input.ts";
import { hardenedResult } from "../windows-endpoint/hcn-endpoint.ts";
import { AZURE_DEFAULT_VERSION } from "./conf.ts";
import { quietly } from "../windows-endpoint/hns-caller.ts";
import type { AzureContext } from "./context.ts";
import { removeLeftover } from "./remove.ts";
import { type AzureAllocation, haveSameIps, ipsOf, PLAIN_NIC } from "./address-source.ts";
import { type AzurePlan, planAdd } from "./planning.ts";
import { type AzureCall, readPod, upstreamEndpointId } from "./call.ts";
import { type AzureEndpointRecord, type AzureNetworkRecord, findNetwork } from "./state.ts";

export async function runAdd(context: AzureContext, request: PluginRequest): Promise<CniResult> {
  return context.withCall(request, async (call) => {
    for (const warning of call.configuration.warnings) request.warn(`azure-vnet: ${warning}`);
    const pod = readPod(request);
    const allocation = await call.source.add();
    try {
      const { differences, host } = context;
      const plans = planAdd(call, { pod, allocation, interfaces: host.interfaces(), differences });
      const made = await connectAll(context, call, plans);
      const result = addResult(call, allocation, made, differences);
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
  if (context.differences.looksAtHns) {
    if (known === undefined) await removeLeftover(call, plan.endpointName);
    else if (await isAsWanted(context, call, plan, known)) return { plan, record: known, pciId: undefined };
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
      const key = context.differences.undoesOwn
        ? (made[index]?.record.id ?? plan.endpointName)
        : upstreamEndpointId(call.request, plan.ifName);
      await removeRecord(context, call, network, key);
    }
    if (!context.isStateless) await call.session.save([]);
  } catch {
    // The failure that is being reported is the one that led here; DEL comes again.
  }
}

async function removeRecord(
  { endpoints, networks, differences, isStateless }: AzureContext,
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
  const isForgotten = differences.forgetsNetworks || isStateless;
  if (external !== undefined && isForgotten && network.endpoints.size === 0)
    await networks.removeOwn(caller, external, network);
}

/** Releases what was given to a failed ADD; DEL comes again for what is not released here. */
async function releaseAllocation({ source }: AzureCall, allocation: AzureAllocation): Promise<void> {
  for (const { address } of ipsOf(allocation)) await quietly(() => source.release(address));
}

function plainIp({ address, gateway }: CniIp): CniIp {
  return gateway === undefined ? { address } : { address, gateway };
}

/** An interface of the pod as it was made. */
interface MadeInterface {
  readonly plan: AzurePlan;
  readonly record: AzureEndpointRecord;
  /** A device as the runtime hands it to the pod; undefined: there is none, or it was handed over before. */
  readonly pciId: string | undefined;
}

/** Devices go to the runtime, which has HNS no part in. */
function deviceInterfaces(made: readonly MadeInterface[]): readonly CniInterface[] {
  return made
    .filter(({ plan }) => plan.nic.type === "BackendNIC")
    .map(({ plan, pciId }) => ({
      name: plan.master,
      mac: plan.nic.mac,
      ...(pciId !== undefined && { pciId }),
    }));
}

/**
 * The interface of the cluster's network, else the first; devices behind it. Upstream prints IPAM's name resolution, a
 * MAC only when CNS gave it, and no sandbox; hardened that of the endpoint, and both.
 */
function addResult(
  { request }: AzureCall,
  { nics }: AzureAllocation,
  made: readonly MadeInterface[],
  { printsEndpoint }: AzureDifferences,
): CniResult {
  const shown = made.find(({ plan }) => plan.nic.type === "InfraNIC") ?? made[0];
  const nic = shown?.plan.nic ?? nics[0] ?? PLAIN_NIC;
  const ips = nic.ips.map(plainIp);
  const routes = ips.length === 0 ? [] : nic.routes;
  const devices = deviceInterfaces(made);
  if (!printsEndpoint || shown === undefined) {
    const { nameservers, domain } = nic.dns;
    const own = { name: request.ifName, ...(nic.mac !== "" && { mac: nic.mac }) };
    return {
      interfaces: [own, ...devices],
      ips,
      routes,
      dns: { nameservers, domain, search: [], options: [] },
    };
  }
  const { dns } = shown.plan;
  const search = dns.suffix === "" ? [] : dns.suffix.split(",");
  const ownDns = { nameservers: dns.servers, domain: "", search, options: dns.options };
  const previous = readPrevResult(request.configuration);
  const result = hardenedResult(request, { mac: shown.record.mac, ips, dns: ownDns }, previous);
  return {
    ...result,
    interfaces: [...result.interfaces, ...devices],
    routes: [...result.routes, ...routes],
  };
}
