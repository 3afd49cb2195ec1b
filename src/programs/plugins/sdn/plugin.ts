/**
 * Microsoft's plugins nat, sdnbridge and sdnoverlay: one program under three names (cni.md §2.4). It makes an endpoint for
 * every container, and the network, too, when there is none of that name.
 */
import type { Compat } from "#core/base/compat.ts";
import { parseCniArguments, readValidAttachments, requirePrevResult } from "#contracts/cni/plugin-input.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { DecodeError } from "#contracts/cni/json.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { CNI_CODES, CniError, annotate, describeError } from "#contracts/cni/error.ts";
import type { CniPlugin, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { requireNetwork, HnsCaller } from "../windows-endpoint/plugin-call.ts";
import { type SdnName, readSdnConfiguration } from "./conf.ts";
import { SdnEndpoints, SdnNetworks } from "./endpoints.ts";
import { SdnIpamSession, type SdnCall } from "./ipam-session.ts";

export interface SdnPluginOptions {
  readonly name: SdnName;
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
  readonly compat: Compat;
}

/** What upstream takes (row 110); hardened takes every version. */
const REFERENCE_VERSIONS: readonly string[] = ["0.2.0", "0.3.0", "0.4.0", "1.0.0"];
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
  private readonly delegate: Delegate;
  private readonly networks: SdnNetworks;
  private readonly endpoints: SdnEndpoints;

  constructor(options: SdnPluginOptions) {
    this.name = options.name;
    this.compat = options.compat;
    this.supportedVersions = options.compat === "hardened" ? SPEC_VERSIONS : REFERENCE_VERSIONS;
    this.delegate = options.delegate;
    const caller = new HnsCaller(options.client, options.compat);
    this.networks = new SdnNetworks(caller, options.compat);
    this.endpoints = new SdnEndpoints(caller, options.compat);
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const call = this.open(request);
    for (const warning of call.configuration.warnings) request.warn(`${this.name}: ${warning}`);
    await this.endpoints.validate(call);
    const network = await this.networks.getOrCreate(call);
    return this.endpoints.add(call, network);
  }

  /** Upstream releases the address first (row 77), and stops when that fails. */
  async del(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    if (this.compat === "upstream") {
      try {
        await call.ipam.del();
      } catch (error) {
        throw new CniError(CNI_CODES.internal, `ipam deletion failed, ${describeError(error)}`, {
          cause: error,
        });
      }
      await this.endpoints.validate(call);
    }
    await this.endpoints.remove(call);
    if (this.compat === "hardened") await call.ipam.del();
  }

  /** Upstream looks at nothing. */
  async check(request: PluginRequest): Promise<void> {
    if (this.compat === "upstream") return;
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
    const failures = [...(await this.endpoints.gc(call, () => this.networks.get(call), valid))];
    try {
      await call.ipam.gc();
    } catch (error) {
      failures.push(describeError(error));
    }
    if (failures.length > 0) throw new CniError(CNI_CODES.internal, failures.join("; "));
  }

  private open(request: PluginRequest): SdnCall {
    const { compat, delegate } = this;
    const configuration = this.decode(() => readSdnConfiguration(request.configuration, compat));
    const podNamespace = podNamespaceOf(request);
    const ipam = new SdnIpamSession({ configuration, request, podNamespace, delegate, compat });
    return { request, configuration, ipam, podNamespace };
  }

  /** Reads configuration; upstream gives its faults no code of their own. */
  private decode<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      if (this.compat === "upstream") throw annotate(error, "failed to parse network configuration");
      throw new CniError(CNI_CODES.invalidNetworkConfig, error.message, { cause: error });
    }
  }
}
