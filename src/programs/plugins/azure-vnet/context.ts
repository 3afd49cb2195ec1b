/** What the verbs share: the parts of the plugin, and one call opened with them. */
import { AZURE_DIFFERENCES, type AzureDifferences } from "./differences.ts";
import { decoding } from "#contracts/cni/plugin-input.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";

import type { PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { CnsClient } from "../cns/client.ts";
import type { AddressSource } from "./address-source.ts";
import { AzureCaller, type AzureCall, readPodIfKnown, validateArguments } from "./call.ts";
import { CnsAddresses } from "./cns-addresses.ts";
import { CnsMemory, FileMemory, type AzureMemory, type AzureSession, type StateStore } from "./memory.ts";
import { type AzureConfiguration, readAzureConfiguration } from "./conf.ts";
import { AzureEndpoints } from "./endpoints.ts";
import type { AzureHost } from "./host.ts";
import { AzureIpam } from "./ipam.ts";
import { NetworkContainers } from "./network-containers.ts";
import { AzureNetworks } from "./networks.ts";
import { endpointNameOf } from "./planning.ts";
import { type AzureState, findNetwork } from "./state.ts";

export interface AzureVnetOptions extends PluginMode {
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
  /** Undefined: the stateless plugin, for which CNS remembers. */
  readonly store: StateStore | undefined;
  readonly host: AzureHost;
}

export class AzureContext {
  readonly differences: AzureDifferences;
  readonly host: AzureHost;
  readonly networks: AzureNetworks;
  readonly endpoints: AzureEndpoints;
  private readonly options: AzureVnetOptions;

  constructor(options: AzureVnetOptions) {
    this.options = options;
    this.differences = AZURE_DIFFERENCES[options.compat];
    this.host = options.host;
    this.networks = new AzureNetworks(options.host, this.differences);
    this.endpoints = new AzureEndpoints(options.host, this.differences);
  }

  get isStateless(): boolean {
    return this.options.store === undefined;
  }

  /** The state of the file as it is; without a file, nothing. @throws CniError */
  async readState(): Promise<AzureState> {
    const { store, host } = this.options;
    if (store === undefined) return new Map();
    return new FileMemory(store, host, this.differences).use(({ state }) => Promise.resolve(state));
  }

  /** Runs `work` with the call, while no other call has the state. @throws CniError */
  async withCall<T>(request: PluginRequest, work: (call: AzureCall) => Promise<T>): Promise<T> {
    const { store, host } = this.options;
    const memory: AzureMemory =
      store === undefined
        ? new CnsMemory(this.cnsOf(request))
        : new FileMemory(store, host, this.differences);
    return memory.use((session) => work(this.open(request, session)));
  }

  /** @throws CniError */
  open(request: PluginRequest, session: AzureSession): AzureCall {
    const { differences } = this;
    const { client, host } = this.options;
    const configuration = this.configurationOf(request);
    validateArguments(request, configuration);
    const limit = { host, timeoutSeconds: configuration.hnsTimeoutSeconds };
    const cns = this.cnsOf(request);
    const call = { differences, request, configuration, cns, session };
    const caller = new AzureCaller(client, differences.endpoints, limit);
    return { ...call, caller, source: this.sourceOf(call) };
  }

  decode<T>(read: () => T): T {
    const words = (fault: string): string => `Failed to parse network configuration: ${fault}.`;
    return decoding(this.differences.configurationCode, words, read);
  }

  private configurationOf(request: PluginRequest): AzureConfiguration {
    return this.decode(() => readAzureConfiguration(request.configuration, this.differences.explains));
  }

  private cnsOf(request: PluginRequest): CnsClient {
    const { asksUsualCns } = this.differences;
    const isUsual = asksUsualCns && (request.command !== "ADD" || this.isStateless);
    const url = isUsual ? "" : this.configurationOf(request).cnsUrl;
    return new CnsClient({ transport: this.options.host.http, url });
  }

  private sourceOf(call: Omit<AzureCall, "caller" | "source">): AddressSource {
    const { differences, configuration, request, cns, session } = call;
    const { host, delegate } = this.options;
    const { name, namespace } = readPodIfKnown(request);
    const pod = { podName: name, podNamespace: namespace };
    if (configuration.isMultiTenant)
      return new NetworkContainers({ client: cns, host, configuration, pod, differences });
    if (configuration.usesCns) {
      return new CnsAddresses({
        client: cns,
        pendingReleases: host.pendingReleases,
        configuration,
        containerId: request.containerId,
        podInterfaceId: endpointNameOf(request, session.state, request.ifName, differences),
        pod,
        differences,
      });
    }
    return new AzureIpam({
      type: configuration.ipamType,
      ipv6Mode: configuration.ipv6Mode,
      request,
      delegate,
      differences,
      subnets: findNetwork(session.state, configuration.name)?.subnets ?? [],
      forgetAddresses: () => host.forgetAddresses(),
    });
  }
}
