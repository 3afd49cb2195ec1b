/**
 * azure-vnet on Windows: an L2Bridge network over an adapter of the host, and an endpoint on it for every pod (cni.md §5).
 * What it did stands in a file that one call at a time reads and writes.
 */
import { readPrevResult, readValidAttachments } from "../../cni/configuration.ts";
import { DecodeError } from "../../cni/decode.ts";
import type { Delegate } from "../../cni/delegate.ts";
import { CNI_CODES, CniError, describeError } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniPlugin, PluginRequest } from "../../cni/plugin.ts";
import type { CniResult } from "../../cni/result.ts";
import { SPEC_VERSIONS } from "../../cni/version.ts";
import type { HcnClient } from "../../hcn/client.ts";
import { listNetworks } from "../../hcn/operations.ts";
import { familyOf } from "../../net/ip.ts";
import { requireNetwork } from "../windows-endpoint/endpoint-api.ts";
import { AzureCaller } from "./caller.ts";
import { AZURE_DEFAULT_VERSION, AZURE_ERROR_CODE, readAzureConfiguration } from "./conf.ts";
import { AzureEndpoints } from "./endpoints.ts";
import type { AzureHost } from "./host.ts";
import { AzureIpam } from "./ipam.ts";
import { azureEndpointDns } from "./name-resolution.ts";
import { AzureNetworks } from "./networks.ts";
import { type AzureCall, type AzurePlan, findMaster, formatNetwork, networkOf } from "./plan.ts";
import { azureEndpointName, readPod, referenceEndpointId, validateArguments } from "./pod.ts";
import { azurePortPolicies, loopbackPolicies } from "./policies.ts";
import { addResult, getResult } from "./result.ts";
import { tryAgain, withAzureState } from "./session.ts";
import type { StateStore } from "./state-store.ts";
import {
  type AzureState,
  type FoundEndpoint,
  allEndpoints,
  endpointsOfContainer,
  findNetwork,
} from "./state.ts";

export interface AzureVnetOptions {
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
  readonly store: StateStore;
  readonly host: AzureHost;
  readonly compat: Compat;
}

/** What the reference takes; better takes every version. */
const REFERENCE_VERSIONS = SPEC_VERSIONS.filter((version) => version !== "1.1.0");
export class AzureVnet implements CniPlugin {
  readonly name = "azure-vnet";
  readonly compat: Compat;
  readonly supportedVersions: readonly string[];
  private readonly options: AzureVnetOptions;
  private readonly networks: AzureNetworks;
  private readonly endpoints: AzureEndpoints;

  constructor(options: AzureVnetOptions) {
    this.options = options;
    this.compat = options.compat;
    this.supportedVersions = options.compat === "better" ? SPEC_VERSIONS : REFERENCE_VERSIONS;
    this.networks = new AzureNetworks(options.host, options.compat);
    this.endpoints = new AzureEndpoints(options.compat);
  }

  add(request: PluginRequest): Promise<CniResult> {
    return this.withState(async (state, save) => {
      const call = this.open(request, state);
      for (const warning of call.configuration.warnings) request.warn(`${this.name}: ${warning}`);
      const pod = readPod(request);
      const ipamResult = await call.ipam.add(this.subnetOf(call));
      try {
        const plan = this.plan(call, pod, ipamResult);
        const result = await this.connect(call, plan, save);
        return request.configuration["cniVersion"] === undefined
          ? { ...result, printedVersion: AZURE_DEFAULT_VERSION }
          : result;
      } catch (error) {
        await this.giveBack(call, ipamResult);
        throw error;
      }
    });
  }

  /** The endpoint first, then the address, then the state (row 143). Failures ask the runtime to try again. */
  del(request: PluginRequest): Promise<void> {
    return this.withState(async (state, save) => {
      const call = this.open(request, state);
      const found = endpointsOfContainer(state, request.containerId);
      if (found.length === 0) {
        try {
          await call.ipam.release(undefined, this.subnetOf(call));
        } catch (error) {
          throw tryAgain("failed to release address(no endpoint)", error);
        }
        return;
      }
      for (const one of found) await this.removeFound(call, one);
      await save();
    });
  }

  /** What the reference has in place of CHECK: the endpoint of the state as a result (row 144). */
  async get(request: PluginRequest): Promise<CniResult | undefined> {
    if (this.compat === "better") return undefined;
    return this.withState(async (state) => {
      const { configuration } = this.open(request, state);
      const network = findNetwork(state, configuration.name);
      if (network === undefined) throw new CniError(CNI_CODES.internal, "Network not found");
      const endpoint = network.endpoints.get(azureEndpointName(request));
      if (endpoint === undefined) throw new CniError(CNI_CODES.internal, "Endpoint not found");
      return getResult(request, endpoint);
    });
  }

  check(request: PluginRequest): Promise<void> {
    return this.withState(async (state) => {
      const call = this.open(request, state);
      const previous = this.decode(() => readPrevResult(request.configuration));
      if (previous === undefined) {
        const message = 'CHECK needs the field "prevResult", the result of ADD';
        throw new CniError(CNI_CODES.invalidNetworkConfig, message);
      }
      const network = findNetwork(state, call.configuration.name);
      const record = network?.endpoints.get(azureEndpointName(request));
      if (network === undefined || record === undefined) {
        const message = `the state knows no endpoint ${azureEndpointName(request)} on network ${call.configuration.name}; recreate the container`;
        throw new CniError(CNI_CODES.internal, message);
      }
      const policies = this.policiesOf(
        call,
        record.addresses.map(({ ip }) => ip),
      );
      await this.endpoints.check(call, network, record, { previous, policies });
      await call.ipam.check();
    });
  }

  /** Ready when HNS answers, the network is there or its adapter can be found, and IPAM is ready. */
  status(request: PluginRequest): Promise<void> {
    return this.withState(async (state) => {
      const call = this.open(request, state);
      await requireNetwork(() => call.caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client)));
      const { master } = call.configuration;
      if (master !== "" && !this.options.host.interfaces().some(({ name }) => name === master)) {
        const message = `field "master" is ${JSON.stringify(master)}, and this machine has no such interface`;
        throw new CniError(CNI_CODES.pluginNotAvailable, message);
      }
      await call.ipam.status();
    });
  }

  /** Removes endpoints of the state whose attachment is not valid; goes on after failures and reports them at the end. */
  gc(request: PluginRequest): Promise<void> {
    return this.withState(async (state, save) => {
      const call = this.open(request, state);
      const valid = this.decode(() => readValidAttachments(request.configuration));
      const isStale = ({ endpoint, network }: FoundEndpoint): boolean =>
        valid !== undefined &&
        network.id === call.configuration.name &&
        !valid.some(
          ({ containerId, ifName }) => containerId === endpoint.containerId && ifName === endpoint.ifName,
        );
      const failures: string[] = [];
      const attempt = async (work: () => Promise<void>): Promise<void> => {
        try {
          await work();
        } catch (error) {
          failures.push(describeError(error));
        }
      };
      for (const one of allEndpoints(state).filter(isStale)) {
        const env = {
          ...request.env,
          CNI_CONTAINERID: one.endpoint.containerId,
          CNI_IFNAME: one.endpoint.ifName,
        };
        const own = this.open(
          { ...request, env, containerId: one.endpoint.containerId, ifName: one.endpoint.ifName },
          state,
        );
        await attempt(() => this.removeFound(own, one));
      }
      await save();
      await attempt(() => call.ipam.gc());
      if (failures.length > 0) throw new CniError(CNI_CODES.internal, failures.join("; "));
    });
  }

  /** Everything that ADD decides before it changes HNS. @throws CniError */
  private plan(call: AzureCall, pod: AzurePlan["pod"], ipamResult: CniResult): AzurePlan {
    const { configuration, request } = call;
    const [first] = ipamResult.ips;
    const subnet = first === undefined ? "" : formatNetwork(first.address);
    const master = findMaster(configuration, this.options.host.interfaces(), subnet);
    if (master === "") {
      throw new CniError(AZURE_ERROR_CODE, "Failed to find the master interface", {
        details:
          this.compat === "better"
            ? `no interface of this machine has an address in ${subnet}; name one in "master"`
            : "",
      });
    }
    return {
      pod,
      endpointName: azureEndpointName(request),
      ipamResult,
      master,
      subnets: ipamResult.ips.map(({ address, gateway }) => ({ prefix: networkOf(address), gateway })),
      dns: azureEndpointDns(configuration, ipamResult.dns, pod.namespace),
      policies: this.policiesOf(
        call,
        ipamResult.ips.map(({ address }) => address.ip),
      ),
    };
  }

  /** Those of the configuration, loopback DSR, port mappings: in this order. */
  private policiesOf(
    { configuration }: AzureCall,
    ips: Parameters<typeof loopbackPolicies>[1],
  ): AzurePlan["policies"] {
    const families = new Set(ips.map(familyOf));
    return [
      ...configuration.policies,
      ...loopbackPolicies(configuration, ips),
      ...azurePortPolicies(configuration, families.size > 1, this.compat),
    ];
  }

  private async connect(call: AzureCall, plan: AzurePlan, save: () => Promise<void>): Promise<CniResult> {
    try {
      const network = await this.networks.ensure(call, plan);
      const known = network.endpoints.get(plan.endpointName);
      if (known !== undefined && this.compat === "better") {
        const isSame =
          known.containerId === call.request.containerId &&
          known.netns === call.request.netns &&
          JSON.stringify(known.addresses.map(formatNetwork)) ===
            JSON.stringify(plan.ipamResult.ips.map(({ address }) => formatNetwork(address)));
        if (isSame && (await this.endpoints.isThere(call, known)))
          return addResult(call, plan, known, this.compat);
        await this.endpoints.remove(call.caller, known);
        network.endpoints.delete(known.id);
      }
      const made = await this.endpoints.create(call, network, plan);
      network.endpoints.set(made.id, made);
      await save();
      return addResult(call, plan, made, this.compat);
    } catch (error) {
      await this.rollBack(call, plan, save);
      throw error;
    }
  }

  /**
   * After a failed ADD. The reference looks its endpoint up by a key that an earlier ADD of the container may have, and so
   * tears that one down (cni.md §5.4); better leaves what it did not make.
   */
  private async rollBack(call: AzureCall, plan: AzurePlan, save: () => Promise<void>): Promise<void> {
    try {
      const network = findNetwork(call.state, call.configuration.name);
      const key = this.compat === "reference" ? referenceEndpointId(call.request) : plan.endpointName;
      const record = network?.endpoints.get(key);
      if (network !== undefined && record !== undefined) {
        await this.endpoints.remove(call.caller, record);
        network.endpoints.delete(key);
      }
      await save();
    } catch {
      // The failure that is being reported is the one that led here; DEL comes again.
    }
  }

  /** Releases what IPAM gave to a failed ADD. */
  private async giveBack(call: AzureCall, { ips }: CniResult): Promise<void> {
    const subnet = this.subnetOf(call) || (ips[0] === undefined ? "" : formatNetwork(ips[0].address));
    for (const { address } of ips) {
      try {
        await call.ipam.release(address, subnet);
      } catch {
        // DEL will release the address.
      }
    }
  }

  /** @throws CniError (11) */
  private async removeFound(call: AzureCall, { network, endpoint }: FoundEndpoint): Promise<void> {
    try {
      await this.endpoints.remove(call.caller, endpoint);
    } catch (error) {
      throw tryAgain("failed to delete endpoint", error);
    }
    for (const address of endpoint.addresses) {
      try {
        await call.ipam.release(address, this.subnetOf(call));
      } catch (error) {
        throw tryAgain("failed to release address", error);
      }
    }
    network.endpoints.delete(endpoint.id);
  }

  /** The first subnet of the network as the state has it; empty: the state does not know the network. */
  private subnetOf({ state, configuration }: AzureCall): string {
    const [first] = findNetwork(state, configuration.name)?.subnets ?? [];
    return first === undefined ? "" : formatNetwork(first.prefix);
  }

  private open(request: PluginRequest, state: AzureState): AzureCall {
    const { compat, options } = this;
    const { client, delegate, host } = options;
    const configuration = this.decode(() => readAzureConfiguration(request.configuration, compat));
    validateArguments(request, configuration);
    const limit = { host, timeoutSeconds: configuration.hnsTimeoutSeconds };
    return {
      request,
      configuration,
      caller: new AzureCaller(client, compat, limit),
      ipam: new AzureIpam({ type: configuration.ipamType, request, delegate, compat }),
      state,
    };
  }

  /** Runs `work` with the state while no other call has it. @throws CniError */
  private withState<T>(work: (state: AzureState, save: () => Promise<void>) => Promise<T>): Promise<T> {
    return withAzureState(this.options, work);
  }

  /** Reads configuration. @throws CniError with the code 100 (the reference), 7 (better) */
  private decode<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const code = this.compat === "better" ? CNI_CODES.invalidNetworkConfig : AZURE_ERROR_CODE;
      throw new CniError(code, `Failed to parse network configuration: ${error.message}.`, { cause: error });
    }
  }
}
