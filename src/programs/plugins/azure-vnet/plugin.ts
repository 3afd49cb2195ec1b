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
import { runCheck, runGet, runStatus, listEndpoints } from "./inspect.ts";

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

  async get(request: PluginRequest): Promise<CniResult | undefined> {
    return this.context.differences.answersCheckWithResult ? runGet(this.context, request) : undefined;
  }

  answer(command: string): Promise<string> | undefined {
    return command === "GET_ENDPOINT_STATE" ? listEndpoints(this.context) : undefined;
  }

  check(request: PluginRequest): Promise<void> {
    return runCheck(this.context, request);
  }

  status(request: PluginRequest): Promise<void> {
    return runStatus(this.context, request);
  }

  gc(request: PluginRequest): Promise<void> {
    return runGc(this.context, request);
  }
}
