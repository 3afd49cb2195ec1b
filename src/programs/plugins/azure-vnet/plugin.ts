/**
 * azure-vnet on Windows: an L2Bridge network over an adapter of the host, and an endpoint on it for every pod (cni.md §5).
 * What it did stands in a file that one call at a time reads and writes, or with CNS.
 */
import type { Compat } from "#core/base/compat.ts";
import type { CniPlugin, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import { runAdd } from "./add.ts";
import { runGc, runDel } from "./remove.ts";
import { AzureContext, type AzureVnetOptions } from "./context.ts";
import { requirePrevResult } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { listNetworks } from "#contracts/hcn/operations.ts";
import { familyOf } from "#core/net/ip.ts";
import { formatGoAddress } from "#contracts/cni/go-json.ts";
import { formatJson } from "#contracts/cni/json.ts";
import type { JsonObject } from "#core/base/json.ts";
import { requireNetwork } from "../windows-endpoint/plugin-call.ts";
import { azureEndpointName } from "./call.ts";
import { policiesOf } from "./planning.ts";
import { type AzureEndpointRecord, findNetwork } from "./state.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** What upstream prints for CHECK. */
function getResult({ ifName }: PluginRequest, endpoint: AzureEndpointRecord): CniResult {
  const [gateway] = endpoint.gateways;
  return {
    interfaces: [{ name: ifName }],
    ips: endpoint.addresses.map((address) => ({
      address,
      interface: 0,
      ...(gateway !== undefined && { gateway }),
    })),
    routes: endpoint.routes,
    dns: { nameservers: endpoint.dns.servers, domain: endpoint.dns.suffix, search: [], options: [] },
  };
}

/** The only network that is looked at. */
const NETWORK = "azure";
const INDENT = 4;

/** @throws CniError */
async function listEndpoints(context: AzureContext): Promise<string> {
  const state = await context.readState();
  const network = findNetwork(state, NETWORK);
  if (network === undefined && state.size > 0 && !context.differences.listsWithoutNetwork)
    throw new CniError(CNI_CODES.internal, "Get all endpoints error: Network not found");
  const endpoints = [...(network?.endpoints ?? [])].map(([id, endpoint]) => [
    id,
    {
      PodName: endpoint.podName,
      PodNamespace: endpoint.podNamespace,
      PodEndpointId: endpoint.id,
      ContainerID: endpoint.containerId,
      IPAddresses: endpoint.addresses.map(formatGoAddress),
    },
  ]);
  const interfaces = Object.fromEntries(endpoints) as JsonObject;
  return formatJson({ ContainerInterfaces: interfaces }, INDENT);
}

export type { AzureVnetOptions } from "./context.ts";

export class AzureVnet implements CniPlugin {
  readonly name = "azure-vnet";
  readonly compat: Compat;
  readonly supportedVersions: readonly string[];
  private readonly context: AzureContext;

  constructor(options: AzureVnetOptions) {
    this.compat = options.compat;
    this.context = new AzureContext(options);
    this.supportedVersions = this.context.differences.supportedVersions;
  }

  add(request: PluginRequest): Promise<CniResult> {
    return runAdd(this.context, request);
  }

  del(request: PluginRequest): Promise<void> {
    return runDel(this.context, request);
  }

  /** In place of CHECK (row 144): the endpoint of the state as a result. */
  async get(request: PluginRequest): Promise<CniResult | undefined> {
    const { context } = this;
    if (!context.differences.answersCheckWithResult) return undefined;
    return context.withCall(request, async ({ session, configuration }) => {
      const network = findNetwork(session.state, configuration.name);
      if (network === undefined) throw new CniError(CNI_CODES.internal, "Network not found");
      const endpoint = network.endpoints.get(azureEndpointName(request, request.ifName));
      if (endpoint === undefined) throw new CniError(CNI_CODES.internal, "Endpoint not found");
      return getResult(request, endpoint);
    });
  }

  /** What CNS asks for when it starts without its own state (cni.md §5.2). */
  answer(command: string): Promise<string> | undefined {
    return command === "GET_ENDPOINT_STATE" ? listEndpoints(this.context) : undefined;
  }

  check(request: PluginRequest): Promise<void> {
    const { context } = this;
    return context.withCall(request, async (call) => {
      const previous = context.decode(() => requirePrevResult(request.configuration));
      const found = (await call.session.endpointsOf(request)).find(
        ({ endpoint }) => endpoint.ifName === request.ifName && endpoint.nicType === "InfraNIC",
      );
      if (found === undefined) {
        const message = WORDS.containerUnknown({
          containerId: request.containerId,
          ifName: request.ifName,
          name: call.configuration.name,
        });
        throw new CniError(CNI_CODES.internal, message);
      }
      const { network, endpoint } = found;
      const ips = endpoint.addresses.map((address) => ({ address }));
      const isDualStack = ips.some(({ address }) => familyOf(address.ip) === 6);
      const policies = policiesOf(call, { ips, policies: [] }, isDualStack, context.differences);
      const record = { ...endpoint, netns: request.netns };
      await context.endpoints.check(call, network, record, { previous, policies });
      await call.source.check();
    });
  }

  /** Ready when HNS answers, the adapter can be found, and the addresses' source is ready. */
  status(request: PluginRequest): Promise<void> {
    const { context } = this;
    return context.withCall(request, async (call) => {
      await requireNetwork(() => call.caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client)));
      const { master } = call.configuration;
      if (master !== "" && !context.host.interfaces().some(({ name }) => name === master)) {
        const message = `field "master" is ${JSON.stringify(master)}, and this machine has no such interface`;
        throw new CniError(CNI_CODES.pluginNotAvailable, message);
      }
      await call.source.status();
    });
  }

  gc(request: PluginRequest): Promise<void> {
    return runGc(this.context, request);
  }
}
