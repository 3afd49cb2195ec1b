/**
 * The IPAM plugin of one call, and the text that it gets: upstream writes the configuration anew, and most fields of
 * host-local are lost (cni.md §2.4).
 */
import type { JsonObject } from "#core/base/json.ts";
import { formatDns, formatInterfaceAddress, type CniIp } from "#contracts/cni/result.ts";
import { formatIp } from "#core/net/ip.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { SINCE, isAtLeast } from "#contracts/cni/version.ts";
import type { SdnDifferences } from "./differences.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { formatJson } from "#contracts/cni/json.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { formatRuntimeConfig, withoutEmpty } from "../windows-endpoint/plugin-call.ts";
import { quietly } from "../windows-endpoint/hns-caller.ts";
import { type SdnConfiguration, type SdnRoute, configuredDns } from "./conf.ts";

/** Go prints a network that is none as `<nil>`. */
function formatRoute({ destination, gateway }: SdnRoute): JsonObject {
  return {
    dst: destination === undefined ? "<nil>" : formatInterfaceAddress(destination),
    ...(gateway !== undefined && { gw: formatIp(gateway) }),
  };
}

function makeIpamConfiguration(configuration: SdnConfiguration, podNamespace: string): JsonObject {
  const { ipam, runtimeDns, portMappings, additionalRoutes, additionalArguments } = configuration;
  const { type, routes, ...texts } = ipam;
  return {
    cniVersion: configuration.cniVersion,
    name: configuration.name,
    type: configuration.networkType,
    ipam: { type, ...withoutEmpty({ ...texts, routes: routes.map(formatRoute) }) },
    dns: formatDns(configuredDns(configuration, podNamespace)),
    optionalFlags: { ...configuration.flags },
    runtimeConfig: formatRuntimeConfig(portMappings, runtimeDns),
    additionalRoutes: additionalRoutes.length === 0 ? null : additionalRoutes.map(formatRoute),
    AdditionalArgs:
      additionalArguments.length === 0
        ? null
        : additionalArguments.map(({ name, value }) => ({ name, value: value ?? null })),
  };
}

interface SdnIpamOptions {
  readonly configuration: SdnConfiguration;
  readonly request: PluginRequest;
  readonly podNamespace: string;
  readonly delegate: Delegate;
  readonly differences: SdnDifferences;
}

export class SdnIpamSession {
  private readonly type: string;
  private readonly request: PluginRequest;
  /** What DEL sends: upstream writes it before the namespace of the pod gets into the search list. */
  private readonly release: PluginRequest;
  private readonly delegate: Delegate;
  private readonly differences: SdnDifferences;
  /** A failing ADD has something to give back. */
  private needsUndo = false;

  constructor(options: SdnIpamOptions) {
    const { configuration, delegate } = options;
    this.type = configuration.ipam.type;
    this.delegate = delegate;
    this.differences = options.differences;
    this.request = requestFor(options);
    this.release = requestFor({ ...options, podNamespace: "" });
  }

  /** Without it HNS chooses addresses, and the other calls do nothing. */
  get isConfigured(): boolean {
    return this.type !== "";
  }

  /** @throws the plugin's error */
  async add(): Promise<readonly CniIp[]> {
    if (!this.isConfigured) return [];
    this.needsUndo = this.differences.undoesFailedIpam;
    const { ips } = await this.delegate.add(this.type, this.request);
    // Upstream reads the result as one of 0.2.0, which cannot be without an address.
    if (ips.length === 0 && isAtLeast(this.request.cniVersion, SINCE.addressLists))
      throw new CniError(CNI_CODES.internal, "cannot convert: no valid IP addresses");
    this.needsUndo = true;
    return ips;
  }

  /** @throws the plugin's error */
  async del(): Promise<void> {
    if (this.isConfigured) await this.delegate.del(this.type, this.release);
  }

  /** After a failed ADD: that failure is the one to report. */
  async undo(): Promise<void> {
    if (this.needsUndo) await quietly(() => this.delegate.del(this.type, this.request));
  }

  /** @throws the plugin's error */
  async check(): Promise<void> {
    if (this.isConfigured) await this.delegate.check(this.type, this.request);
  }

  /** @throws the plugin's error */
  async status(): Promise<void> {
    if (this.isConfigured) await this.delegate.status(this.type, this.request);
  }

  /** @throws the plugin's error */
  async gc(): Promise<void> {
    if (this.isConfigured) await this.delegate.gc(this.type, this.request);
  }
}

function requestFor({ configuration, request, podNamespace, differences }: SdnIpamOptions): PluginRequest {
  if (differences.passesOnConfiguration || configuration.flags.enableDualStack) return request;
  const written = makeIpamConfiguration(configuration, podNamespace);
  return { ...request, configuration: written, configurationText: formatJson(written, 0) };
}

/** One call with what was read for it. */
export interface SdnCall {
  readonly request: PluginRequest;
  readonly configuration: SdnConfiguration;
  readonly ipam: SdnIpamSession;
  /** The Kubernetes namespace of the pod; empty: unknown. */
  readonly podNamespace: string;
}
