/**
 * Microsoft's plugins nat, sdnbridge and sdnoverlay: one program under three names (cni.md §2.4). It makes an endpoint for
 * every container, and the network, too, when there is none of that name.
 */
import type { Compat } from "#core/base/compat.ts";
import {
  decoding,
  parseCniArguments,
  readValidAttachments,
  requirePrevResult,
} from "#contracts/cni/plugin-input.ts";
import type { CniLibrary } from "#contracts/cni/version.ts";

import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { attemptAll, failWith, reworded } from "#contracts/cni/error.ts";
import type { CniPlugin, PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { requireNetwork } from "../windows-endpoint/plugin-call.ts";
import { HnsCaller } from "../windows-endpoint/hns-caller.ts";
import { type SdnName, readSdnConfiguration } from "./conf.ts";
import { SDN_DIFFERENCES, type SdnDifferences } from "./differences.ts";
import { type SdnEndpoints, SdnNetworks } from "./endpoints.ts";
import { HardenedSdnEndpoints } from "./hardened.ts";
import { UpstreamSdnEndpoints } from "./upstream.ts";
import { SdnIpamSession, type SdnCall } from "./ipam-session.ts";

export interface SdnPluginOptions extends PluginMode {
  readonly name: SdnName;
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
}

const IMPLEMENTATIONS = {
  upstream: { differences: SDN_DIFFERENCES.upstream, Endpoints: UpstreamSdnEndpoints },
  hardened: { differences: SDN_DIFFERENCES.hardened, Endpoints: HardenedSdnEndpoints },
} as const;

const POD_ARGUMENTS = ["K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_INFRA_CONTAINER_ID"];

/** Arguments that cannot be read are none, as in upstream. */
function podNamespaceOf({ args }: PluginRequest): string {
  try {
    return parseCniArguments(args, POD_ARGUMENTS).get("K8S_POD_NAMESPACE") ?? "";
  } catch {
    return "";
  }
}

export class SdnPlugin implements CniPlugin {
  readonly name: SdnName;
  readonly compat: Compat;
  readonly supportedVersions: readonly string[];
  readonly library: CniLibrary;
  private readonly differences: SdnDifferences;
  private readonly delegate: Delegate;
  private readonly networks: SdnNetworks;
  private readonly endpoints: SdnEndpoints;

  constructor(options: SdnPluginOptions) {
    this.name = options.name;
    this.compat = options.compat;
    const { differences, Endpoints } = IMPLEMENTATIONS[options.compat];
    this.differences = differences;
    this.supportedVersions = differences.supportedVersions;
    this.library = differences.library;
    this.delegate = options.delegate;
    const caller = new HnsCaller(options.client, differences.endpoints);
    this.networks = new SdnNetworks(caller, differences);
    this.endpoints = new Endpoints(caller, differences);
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const call = this.open(request);
    for (const warning of call.configuration.warnings) request.warn(`${this.name}: ${warning}`);
    await this.endpoints.validate(call);
    const network = await this.networks.getOrCreate(call);
    return this.endpoints.add(call, network);
  }

  /** Where the address is released first, a failure of that is the end (row 77). */
  async del(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    const { releasesFirst } = this.differences.endpoints;
    if (releasesFirst) {
      await reworded(
        (error) => `ipam deletion failed, ${error}`,
        () => call.ipam.del(),
      );
      await this.endpoints.validate(call);
    }
    await this.endpoints.remove(call);
    if (!releasesFirst) await call.ipam.del();
  }

  async check(request: PluginRequest): Promise<void> {
    if (!this.differences.checks) return;
    const call = this.open(request);
    const previous = this.decode(() => requirePrevResult(request.configuration));
    await this.endpoints.check(call, await this.networks.get(call), previous);
    await call.ipam.check();
  }

  /** Ready when IPAM is; a network that is missing is made by ADD, but not for dual stack. */
  async status(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    await requireNetwork(() => this.networks.probe(call));
    await call.ipam.status();
  }

  /** Goes on after failures and reports them at the end. */
  async gc(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    const valid = this.decode(() => readValidAttachments(request.configuration));
    const failures = await this.endpoints.gc(call, () => this.networks.get(call), valid);
    failWith([...failures, ...(await attemptAll([() => call.ipam.gc()]))]);
  }

  private open(request: PluginRequest): SdnCall {
    const { differences, delegate } = this;
    const configuration = this.decode(() => readSdnConfiguration(request.configuration, differences));
    const podNamespace = podNamespaceOf(request);
    const ipam = new SdnIpamSession({ configuration, request, podNamespace, delegate, differences });
    return { request, configuration, ipam, podNamespace };
  }

  private decode<T>(read: () => T): T {
    return decoding(this.differences.endpoints.configurationCode, (fault) => fault, read);
  }
}
