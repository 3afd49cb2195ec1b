/**
 * Endpoints as the published plugins ensure and report them: the first of everything, and a crash where there is none
 * (cni.md §2.1).
 */
import type { StoredHnsNetwork, StoredHnsEndpoint } from "#contracts/hcn/v1-operations.ts";
import type { StoredNetwork } from "#contracts/hcn/operations.ts";
import { CNI_CODES, CniError, PluginPanic, annotated } from "#contracts/cni/error.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { HostComputeEndpoint, StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { type EnsuredEndpoint, HcnApi } from "./hcn-api.ts";
import { applyForeignMask, dnsOfEndpoint, withGateway } from "./hcn-endpoint.ts";
import type { EndpointTarget, NetworkView, PluginCall, WindowsConfiguration } from "./plugin-call.ts";
import { HnsApi, dnsOfHnsEndpoint, ipOfHnsEndpoint } from "./hns-api.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** The text of a Go program that indexes an empty list. */
function indexPanic(): PluginPanic {
  return new PluginPanic("runtime error: index out of range [0] with length 0");
}

/** The first of everything, and a crash where there is none. */
function upstreamHcnResult(network: StoredNetwork, endpoint: HostComputeEndpoint): CniResult {
  const prefixText = network.Ipams?.[0]?.Subnets?.[0]?.IpAddressPrefix;
  if (prefixText === undefined) throw indexPanic();
  const prefix = parseInterfaceAddress(prefixText);
  if (prefix === undefined) throw new CniError(CNI_CODES.internal, `invalid CIDR address: ${prefixText}`);
  const config = endpoint.IpConfigurations?.[0];
  if (config === undefined) throw indexPanic();
  const route = endpoint.Routes?.[0];
  if (route === undefined) throw indexPanic();
  const ip = parseIp(config.IpAddress ?? "");
  if (ip === undefined) throw new CniError(CNI_CODES.internal, "invalid CIDR address: <nil>");
  const mac = endpoint.MacAddress ?? "";
  return {
    interfaces: [{ name: endpoint.Name ?? "", ...(mac !== "" && { mac }) }],
    ips: [withGateway(applyForeignMask(ip, prefix), parseIp(route.NextHop ?? ""))],
    routes: [],
    dns: dnsOfEndpoint(endpoint),
  };
}

/** Nothing makes a list with one empty text (row 61). */
function upstreamHnsResult(network: StoredHnsNetwork, endpoint: StoredHnsEndpoint): CniResult {
  if (network.Subnets?.[0] === undefined) throw indexPanic();
  const ip = ipOfHnsEndpoint(network, endpoint);
  const mac = endpoint.MacAddress ?? "";
  return {
    interfaces: [{ name: endpoint.Name ?? "", ...(mac !== "" && { mac }) }],
    ips: [ip],
    routes: [],
    dns: dnsOfHnsEndpoint(endpoint, (list) => list.split(",")),
  };
}

export class UpstreamHcnApi<C extends WindowsConfiguration> extends HcnApi<C> {
  /** Finds or creates, then attaches, always: a new endpoint that cannot be attached is removed. */
  protected override async ensure(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<EnsuredEndpoint> {
    let existing = await this.endpoints.find(target.endpointName);
    if (existing !== undefined && !equalGuids(existing.HostComputeNetwork, target.networkId)) {
      await this.endpoints.deleteCorrupted(existing);
      existing = undefined;
    }
    const endpoint = existing ?? (await this.make(call, target, view));
    try {
      await this.endpoints.attach(target, endpoint);
    } catch (error) {
      if (existing === undefined) await this.removeAfterFailure(target);
      throw error;
    }
    return { endpoint, isNew: existing === undefined };
  }

  /** It looks once more before it creates. */
  private async make(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<StoredEndpoint> {
    const plan = await this.plan(call, view);
    await this.endpoints.lookAgain(target);
    return this.endpoints.create(target, plan);
  }

  private removeAfterFailure({ endpointName, netns }: EndpointTarget): Promise<void> {
    return annotated(WORDS.removeNewEndpointFailed({ endpointName, netns }), async () => {
      const endpoint = await this.endpoints.find(endpointName);
      if (endpoint !== undefined) await this.endpoints.remove(endpoint);
    });
  }

  protected override resultOf(
    _call: PluginCall<C>,
    network: StoredNetwork,
    endpoint: StoredEndpoint,
  ): CniResult {
    return upstreamHcnResult(network, endpoint);
  }

  /** It stays. */
  protected override async couldNotTell(): Promise<void> {}
}

export class UpstreamHnsApi<C extends WindowsConfiguration> extends HnsApi<C> {
  /** Nothing is done without a netns. */
  override async remove(call: PluginCall<C>): Promise<void> {
    if (call.request.netns !== "") await super.remove(call);
  }

  /** It never fails. */
  protected override removeSandbox(endpoint: StoredHnsEndpoint, containerId: string): Promise<void> {
    return this.endpoints.removeSandbox(endpoint, containerId);
  }

  protected override resultOf(
    _call: PluginCall<C>,
    network: StoredHnsNetwork,
    endpoint: StoredHnsEndpoint,
  ): CniResult {
    return upstreamHnsResult(network, endpoint);
  }
}
