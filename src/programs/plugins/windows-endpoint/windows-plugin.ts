/**
 * A main plugin for Windows: an endpoint on an HNS network for every pod (cni.md §2.1). The network is made by others
 * (flanneld, scripts); the plugin looks for it under the name of the configuration.
 */
import type { Compat } from "#core/base/compat.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import {
  readValidAttachments,
  requirePrevResult,
  readStandardConfiguration,
} from "#contracts/cni/plugin-input.ts";
import type { JsonObject } from "#core/base/json.ts";
import { CNI_CODES, CniError, PluginPanic, describeError } from "#contracts/cni/error.ts";
import { DecodeError, StructReader } from "#contracts/cni/json.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniDns, CniResult } from "#contracts/cni/result.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  type HnsApi as HnsApiName,
  type WindowsConfiguration,
  readPortMapping,
  IpamSession,
  HnsCaller,
  type EndpointApi,
  type PluginCall,
  type PluginTraits,
} from "./plugin-call.ts";
import { HcnApi } from "./hcn-api.ts";
import { HnsApi } from "./hns-api.ts";

/** Keys that people write and no current version reads. */
const UNREAD_KEYS: readonly (readonly [key: string, instead: string])[] = [
  ["HcnPolicyArgs", 'write HCN policies under "policies", with "apiVersion": 2'],
  ["AdditionalArgs", 'write endpoint policies under "policies"'],
];

function chooseApi(apiVersion: number, compat: Compat): HnsApiName {
  if (compat === "hardened" && ![0, 1, 2].includes(apiVersion)) {
    throw new CniError(
      CNI_CODES.unsupportedField,
      `unsupported field "apiVersion": ${apiVersion}; write 2 for HCN (containerd) or 1 for HNS v1`,
    );
  }
  return apiVersion === 2 ? "hcn" : "hns";
}

/**
 * Non-empty lists of the runtime replace those of the configuration, each on its own. Upstream does not
 * read the runtime's options (cni.md §8, row 60).
 */
function selectDns(configured: CniDns, runtime: StructReader | undefined, compat: Compat): CniDns {
  if (runtime === undefined) return configured;
  const replace = (own: readonly string[], key: string): readonly string[] => {
    const given = runtime.texts(key);
    return given.length > 0 ? given : own;
  };
  return {
    nameservers: replace(configured.nameservers, "servers"),
    domain: configured.domain,
    search: replace(configured.search, "searches"),
    options: compat === "hardened" ? replace(configured.options, "options") : configured.options,
  };
}

/** Reads the shared part. @throws DecodeError; CniError for an `apiVersion` that is none (hardened). */
export function readWindowsConfiguration(document: JsonObject, compat: Compat): WindowsConfiguration {
  const standard = readStandardConfiguration(document);
  const reader = new StructReader(document);
  // Only its kind is looked at: both plugins ignore what it says.
  reader.object("prevResult");
  const runtime = reader.struct("runtimeConfig");
  const unread = UNREAD_KEYS.filter(([key]) => reader.raw(key) !== undefined);
  return {
    name: standard.name,
    api: chooseApi(reader.integer("apiVersion") ?? 0, compat),
    policies: reader
      .structs("policies")
      .map((policy) => ({ name: policy.text("name"), value: policy.raw("value") })),
    hasLoopbackDsr: reader.boolean("loopbackDSR"),
    dns: selectDns(standard.dns, runtime?.struct("dns"), compat),
    portMappings: runtime?.structs("portMappings").map(readPortMapping) ?? [],
    ipamType: standard.ipamType,
    warnings: compat === "hardened" ? unread.map(([key, instead]) => `"${key}" is not read; ${instead}`) : [],
  };
}

export interface WindowsPluginOptions {
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
  readonly compat: Compat;
}

export class WindowsPlugin<C extends WindowsConfiguration> implements CniPlugin {
  readonly name: string;
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly traits: PluginTraits<C>;
  private readonly delegate: Delegate;
  private readonly caller: HnsCaller;
  private readonly apis: Readonly<Record<HnsApiName, EndpointApi<C>>>;

  constructor(traits: PluginTraits<C>, options: WindowsPluginOptions) {
    const { client, compat } = options;
    this.name = traits.name;
    this.compat = compat;
    this.traits = traits;
    this.delegate = options.delegate;
    this.caller = new HnsCaller(client, compat);
    this.apis = {
      hcn: new HcnApi(traits, this.caller, compat),
      hns: new HnsApi(traits, this.caller, compat),
    };
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const call = this.open(request);
    for (const warning of call.configuration.warnings) request.warn(`${this.name}: ${warning}`);
    try {
      this.traits.validateForAdd(call);
      return await this.apiOf(call).add(call);
    } catch (error) {
      // A crash undoes nothing.
      if (!(error instanceof PluginPanic)) await call.ipam.undo();
      throw error;
    }
  }

  /** Upstream releases the address first, and leaves the endpoint when that fails (rows 72, 77). */
  async del(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    if (this.compat === "upstream") {
      await call.ipam.del();
      await this.apiOf(call).remove(call);
      return;
    }
    await this.apiOf(call).remove(call);
    await call.ipam.del();
  }

  /** Upstream looks at nothing. */
  async check(request: PluginRequest): Promise<void> {
    if (this.compat === "upstream") return;
    const call = this.open(request);
    const previous = this.decode(() => requirePrevResult(request.configuration));
    await this.apiOf(call).check(call, previous);
    if (call.ipam.isConfigured) await this.delegate.check(call.configuration.ipamType, request);
  }

  /** Upstream asks IPAM alone. */
  async status(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    if (this.compat === "hardened") await this.apiOf(call).status(call);
    const asksMissing = this.compat === "upstream" && this.traits.asksMissingIpamForStatus;
    if (call.ipam.isConfigured || asksMissing)
      await this.delegate.status(call.configuration.ipamType, request);
  }

  /** Not in upstream. Goes on after failures and reports them at the end. */
  async gc(request: PluginRequest): Promise<void> {
    if (this.compat === "upstream") return;
    const call = this.open(request);
    const valid = this.decode(() => readValidAttachments(request.configuration));
    const failures = [...(await this.apiOf(call).gc(call, valid))];
    if (call.ipam.isConfigured) {
      try {
        await this.delegate.gc(call.configuration.ipamType, request);
      } catch (error) {
        failures.push(describeError(error));
      }
    }
    if (failures.length > 0) throw new CniError(CNI_CODES.internal, failures.join("; "));
  }

  private apiOf(call: PluginCall<C>): EndpointApi<C> {
    return this.apis[call.configuration.api];
  }

  private open(request: PluginRequest): PluginCall<C> {
    const { compat, delegate, caller, traits } = this;
    const configuration = this.decode(() => traits.readConfiguration(request.configuration, compat));
    const ipam = new IpamSession({
      delegate,
      type: configuration.ipamType,
      request,
      compat,
      sentence: traits.sentences[configuration.api].ipam,
    });
    return { request, configuration, ipam, caller, compat };
  }

  /** Reads configuration; upstream gives its faults no code of their own (row 27). */
  private decode<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const code = this.compat === "hardened" ? CNI_CODES.invalidNetworkConfig : CNI_CODES.internal;
      throw new CniError(code, `failed to load netconf: ${error.message}`, { cause: error });
    }
  }
}
