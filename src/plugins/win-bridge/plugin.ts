/**
 * The plugin win-bridge: an endpoint on an HNS network of type L2Bridge or L2Tunnel for every pod (cni.md §2.2).
 *
 * The network, and the bridge endpoint at network + 2 that is the pods' gateway, are made by others (flanneld,
 * scripts); the plugin looks for the network under the name of the configuration.
 */
import type { Delegate } from "../../cni/delegate.ts";
import { readPrevResult, readValidAttachments } from "../../cni/configuration.ts";
import { DecodeError } from "../../cni/decode.ts";
import { CNI_CODES, CniError, PluginPanic, describeError } from "../../cni/error.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { CniPlugin, PluginRequest } from "../../cni/plugin.ts";
import type { CniResult } from "../../cni/result.ts";
import { SPEC_VERSIONS } from "../../cni/version.ts";
import type { HcnClient } from "../../hcn/client.ts";
import { IpamSession } from "../windows-endpoint/addresses.ts";
import { HnsCaller } from "../windows-endpoint/failure.ts";
import type { Bridge, BridgeCall } from "./bridge.ts";
import { readWinBridgeConfiguration } from "./conf.ts";
import { HcnBridge } from "./hcn-bridge.ts";
import { HnsBridge } from "./hns-bridge.ts";

export interface WinBridgeOptions {
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
  readonly compat: Compat;
}

export class WinBridge implements CniPlugin {
  readonly name = "win-bridge";
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly delegate: Delegate;
  private readonly hcn: Bridge;
  private readonly hns: Bridge;

  constructor(options: WinBridgeOptions) {
    const { client, compat } = options;
    this.compat = compat;
    this.delegate = options.delegate;
    const caller = new HnsCaller(client, compat);
    this.hcn = new HcnBridge(caller, compat);
    this.hns = new HnsBridge(caller, compat);
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const call = this.open(request);
    for (const warning of call.configuration.warnings) request.warn(`win-bridge: ${warning}`);
    try {
      return await this.bridgeOf(call).add(call);
    } catch (error) {
      // A crash undoes nothing.
      if (!(error instanceof PluginPanic)) await call.ipam.undo();
      throw error;
    }
  }

  /** The reference releases the address first, and leaves the endpoint when that fails (rows 72, 77). */
  async del(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    if (this.compat === "reference") {
      await call.ipam.del();
      await this.bridgeOf(call).remove(call);
      return;
    }
    await this.bridgeOf(call).remove(call);
    await call.ipam.del();
  }

  /** The reference looks at nothing. */
  async check(request: PluginRequest): Promise<void> {
    if (this.compat === "reference") return;
    const call = this.open(request);
    const previous = this.decode(() => readPrevResult(request.configuration));
    if (previous === undefined) {
      throw new CniError(
        CNI_CODES.invalidNetworkConfig,
        'CHECK needs the field "prevResult", the result of ADD',
      );
    }
    await this.bridgeOf(call).check(call, previous);
    if (call.ipam.isConfigured) await this.delegate.check(call.configuration.ipamType, request);
  }

  /** The reference asks IPAM alone, when there is one. */
  async status(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    if (this.compat === "better") await this.bridgeOf(call).status(call);
    if (call.ipam.isConfigured) await this.delegate.status(call.configuration.ipamType, request);
  }

  /** Not in the reference. Goes on after failures and reports them at the end. */
  async gc(request: PluginRequest): Promise<void> {
    if (this.compat === "reference") return;
    const call = this.open(request);
    const valid = this.decode(() => readValidAttachments(request.configuration));
    const failures = [...(await this.bridgeOf(call).gc(call, valid))];
    if (call.ipam.isConfigured) {
      try {
        await this.delegate.gc(call.configuration.ipamType, request);
      } catch (error) {
        failures.push(describeError(error));
      }
    }
    if (failures.length > 0) throw new CniError(CNI_CODES.internal, failures.join("; "));
  }

  private bridgeOf(call: BridgeCall): Bridge {
    return call.configuration.api === "hcn" ? this.hcn : this.hns;
  }

  private open(request: PluginRequest): BridgeCall {
    const { compat, delegate } = this;
    const configuration = this.decode(() => readWinBridgeConfiguration(request.configuration, compat));
    const ipam = new IpamSession({ delegate, type: configuration.ipamType, request, compat });
    return { request, configuration, ipam };
  }

  /** Reads configuration; the reference gives its faults no code of their own (row 27). */
  private decode<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const code = this.compat === "better" ? CNI_CODES.invalidNetworkConfig : CNI_CODES.internal;
      throw new CniError(code, `failed to load netconf: ${error.message}`, { cause: error });
    }
  }
}
