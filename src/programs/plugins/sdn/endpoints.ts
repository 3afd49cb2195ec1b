/** The network of a call, found or made, and its endpoint over HCN: made, attached, compared, removed (cni.md §2.4). */
import type { Compat } from "#core/base/compat.ts";
import { type GcAttachment, readPrevResult } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { HostComputeNetwork } from "#contracts/hcn/documents/network.ts";
import {
  createNetwork,
  getNetworkByName,
  listNetworks,
  addNamespaceEndpoint,
  createEndpoint,
} from "#contracts/hcn/operations.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { hasFeature } from "#contracts/hcn/features.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { formatIp } from "#core/net/ip.ts";
import {
  type HnsCaller,
  isMissing,
  withKnowledge,
  namespaceCall,
  isNamespaceGuid,
} from "../windows-endpoint/plugin-call.ts";
import { compareHcnEndpoint, failOnDifferences } from "../windows-endpoint/hcn-api.ts";
import {
  HcnEndpoints,
  type HcnTarget,
  hardenedResult,
  dnsOfEndpoint,
  ipsOfHcnEndpoint,
} from "../windows-endpoint/hcn-endpoint.ts";
import {
  sdnNetworkDocument,
  type SdnAddressing,
  addressingOfIpam,
  addressingWithoutIpam,
  sdnEndpointDocument,
  withAdditionalGateways,
} from "./endpoint.ts";
import { endpointDns } from "./conf.ts";
import type { SdnCall } from "./ipam-session.ts";
import { additionalPolicies, loopbackPolicy, portPolicies } from "./policies.ts";
import { upstreamSdnResult } from "./endpoint.ts";

export class SdnNetworks {
  private readonly caller: HnsCaller;
  private readonly compat: Compat;

  constructor(caller: HnsCaller, compat: Compat) {
    this.caller = caller;
    this.compat = compat;
  }

  /** @throws CniError, with its own words when there is none of that name. */
  async get({ configuration }: SdnCall): Promise<HostComputeNetwork> {
    const { name } = configuration;
    try {
      return await this.caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, name));
    } catch (error) {
      throw isMissing(error) ? withKnowledge(error, "cni-network-not-found") : error;
    }
  }

  /** For dual stack the network has to be there; else it is made. @throws CniError, PluginPanic */
  async getOrCreate(call: SdnCall): Promise<HostComputeNetwork> {
    if (call.configuration.flags.enableDualStack) {
      const network = await this.get(call);
      if (network.Type === "L2Bridge") return network;
      throw new CniError(CNI_CODES.internal, "Dual stack specified with non l2bridge network");
    }
    try {
      return await this.get(call);
    } catch (error) {
      // Upstream takes every failure of the look-up for "there is none" (cni.md §2.12).
      if (this.compat === "hardened" && !isMissing(error)) throw error;
      return this.create(call);
    }
  }

  /** What ADD needs of HNS is there. @throws CniError */
  async probe(call: SdnCall): Promise<void> {
    if (call.configuration.flags.enableDualStack) await this.getOrCreate(call);
    else await this.caller.hcn("hcnEnumerateNetworks", (client) => listNetworks(client));
  }

  private async create({ configuration, podNamespace }: SdnCall): Promise<HostComputeNetwork> {
    const policies = additionalPolicies(configuration, "NetworkPolicy", this.compat);
    const document = sdnNetworkDocument(configuration, endpointDns(configuration, podNamespace), policies);
    return this.caller.hcn("hcnCreateNetwork", (client) => createNetwork(client, document));
  }
}

export class SdnEndpoints {
  private readonly caller: HnsCaller;
  private readonly compat: Compat;
  private readonly endpoints: HcnEndpoints;

  constructor(caller: HnsCaller, compat: Compat) {
    this.caller = caller;
    this.compat = compat;
    this.endpoints = new HcnEndpoints({ caller, compat });
  }

  /** What is looked at before HNS is changed: loopback DSR, subnet, port mappings. @throws CniError, PluginPanic */
  async validate({ configuration }: SdnCall): Promise<void> {
    if (configuration.flags.loopbackDSR && !hasFeature(await this.caller.hns(getHnsVersion), "DSR")) {
      const message = "platform does not support feature Direct Server Return (DSR)";
      throw new CniError(CNI_CODES.internal, message);
    }
    addressingWithoutIpam(configuration);
    portPolicies(configuration);
  }

  async add(call: SdnCall, network: HostComputeNetwork): Promise<CniResult> {
    const target = this.targetOf(call, network);
    const existing = await this.findExisting(call, target);
    if (existing !== undefined) {
      // Upstream does not attach it again (row 104).
      if (this.compat === "hardened") await this.attachAgain(target, existing);
      return this.resultOf(call, network, existing);
    }
    try {
      const endpoint = await this.create(call, target);
      await this.attach(target, endpoint);
      return this.resultOf(call, network, endpoint);
    } catch (error) {
      await call.ipam.undo();
      throw error;
    }
  }

  /** What is gone already is no error. @throws CniError */
  async remove(call: SdnCall): Promise<void> {
    const endpoint = await this.endpoints.find(nameOf(call));
    if (endpoint !== undefined) await this.endpoints.remove(endpoint);
  }

  /** @throws CniError that lists what differs from `previous`. */
  async check(call: SdnCall, network: HostComputeNetwork, previous: CniResult): Promise<void> {
    const name = nameOf(call);
    const endpoint = await this.endpoints.find(name);
    if (endpoint === undefined)
      throw new CniError(CNI_CODES.internal, `endpoint ${name} is gone; recreate the container`);
    const held = (endpoint.IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []);
    const expected = {
      result: previous,
      networkId: network.ID ?? "",
      policies: this.policiesOf(call, held[0]),
    };
    failOnDifferences(name, compareHcnEndpoint(call.request, endpoint, expected));
  }

  /** @returns what failed. */
  gc(
    call: SdnCall,
    findNetwork: () => Promise<HostComputeNetwork>,
    valid: readonly GcAttachment[] | undefined,
  ): Promise<readonly string[]> {
    return this.endpoints.collectGarbage(call.configuration.name, valid, findNetwork);
  }

  private targetOf(call: SdnCall, network: HostComputeNetwork): HcnTarget {
    return { endpointName: nameOf(call), networkId: network.ID ?? "", netns: call.request.netns };
  }

  /**
   * The endpoint of that name on this network. On another network upstream makes a second of the same name
   * beside it; hardened removes the other.
   */
  private async findExisting(call: SdnCall, target: HcnTarget): Promise<StoredEndpoint | undefined> {
    let endpoint: StoredEndpoint | undefined;
    try {
      endpoint = await this.endpoints.find(target.endpointName);
    } catch (error) {
      // Upstream takes every failure of the look-up for "there is none" (cni.md §2.12).
      if (this.compat === "hardened") throw error;
      return undefined;
    }
    if (endpoint === undefined || equalGuids(endpoint.HostComputeNetwork ?? "", target.networkId))
      return endpoint;
    if (this.compat === "hardened") {
      await this.endpoints.remove(endpoint);
      await call.ipam.del();
    }
    return undefined;
  }

  /** As win-bridge: an endpoint that is in another living namespace is not taken from it. */
  private async attachAgain(target: HcnTarget, endpoint: StoredEndpoint): Promise<void> {
    if (this.endpoints.isAttachedTo(endpoint, target.netns)) return;
    if (await this.endpoints.isAttached(endpoint)) {
      const message = `endpoint ${target.endpointName} is in another namespace already; call DEL before ADD with ${target.netns}`;
      throw new CniError(CNI_CODES.internal, message);
    }
    await this.endpoints.attach(target, endpoint);
  }

  private async create(call: SdnCall, target: HcnTarget): Promise<StoredEndpoint> {
    const { configuration, podNamespace, ipam } = call;
    const before = addressingWithoutIpam(configuration);
    const after = ipam.isConfigured ? addressingOfIpam(configuration, before, await ipam.add()) : before;
    const addressing = withAdditionalGateways(configuration, after);
    const document = sdnEndpointDocument(
      { endpoint: target.endpointName, networkId: target.networkId },
      addressing,
      {
        policies: this.policiesOf(call, this.ownAddress(addressing)),
        dns: endpointDns(configuration, podNamespace),
        hasLengths: this.compat === "hardened",
      },
    );
    try {
      return await this.caller.hcn("hcnCreateEndpoint", (client) =>
        createEndpoint(client, target.networkId, document),
      );
    } catch (error) {
      const text = `error creating endpoint ${describeError(error)} : endpoint config ${JSON.stringify(document)}`;
      if (this.compat === "hardened") throw error;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }

  private async attach(target: HcnTarget, endpoint: StoredEndpoint): Promise<void> {
    if (this.compat === "upstream") return this.attachAsUpstream(target, endpoint);
    try {
      await this.endpoints.attach(target, endpoint);
    } catch (error) {
      await this.endpoints.removeQuietly(endpoint);
      throw error;
    }
  }

  /** Upstream leaks the endpoint when this fails (row 105). */
  private async attachAsUpstream({ netns }: HcnTarget, endpoint: StoredEndpoint): Promise<void> {
    try {
      if (!isNamespaceGuid(netns)) throw new CniError(CNI_CODES.internal, "invalid namespace ID");
      await this.caller.hcn(namespaceCall, (client) => addNamespaceEndpoint(client, netns, endpoint.ID));
    } catch (error) {
      const text = `error adding endpoint to namespace ${describeError(error)} : endpoint ${JSON.stringify(endpoint)}`;
      throw new CniError(CNI_CODES.internal, text, { cause: error });
    }
  }

  /** The address for loopback DSR. Before HNS has chosen one, Go prints `<nil>`; hardened leaves the policy out. */
  private ownAddress({ ipv4 }: SdnAddressing): string | undefined {
    if (ipv4 !== undefined) return formatIp(ipv4.ip);
    return this.compat === "upstream" ? "<nil>" : undefined;
  }

  private policiesOf({ configuration }: SdnCall, address: string | undefined): readonly PolicyDocument[] {
    return [
      ...portPolicies(configuration),
      ...additionalPolicies(configuration, "EndpointPolicy", this.compat),
      ...(configuration.flags.loopbackDSR && address !== undefined ? [loopbackPolicy(address)] : []),
    ];
  }

  /** @throws CniError */
  private resultOf(
    { request, configuration }: SdnCall,
    network: HostComputeNetwork,
    endpoint: StoredEndpoint,
  ): CniResult {
    const isDualStack = configuration.flags.enableDualStack;
    if (this.compat === "upstream")
      return upstreamSdnResult(network, endpoint, { ifName: request.ifName, isDualStack });
    const ips = ipsOfHcnEndpoint(network, endpoint);
    const parts = { mac: endpoint.MacAddress ?? "", ips, dns: dnsOfEndpoint(endpoint) };
    return hardenedResult(request, parts, readPrevResult(request.configuration));
  }
}

function nameOf({ request, configuration }: SdnCall): string {
  return `${request.containerId}_${configuration.name}`;
}
