/**
 * A main plugin for Windows: an endpoint on an HNS network for every pod (cni.md §2.1). The network is made by others
 * (flanneld, scripts); the plugin looks for it under the name of the configuration.
 */
import type { Compat } from "#core/base/compat.ts";
import { ENDPOINT_DIFFERENCES, type EndpointDifferences } from "./differences.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import {
  decoding,
  readValidAttachments,
  requirePrevResult,
  readStandardConfiguration,
} from "#contracts/cni/plugin-input.ts";
import type { JsonObject } from "#core/base/json.ts";
import { CNI_CODES, CniError, PluginPanic, attemptAll, failWith } from "#contracts/cni/error.ts";
import { StructReader } from "#contracts/cni/json.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin, PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import {
  type HnsApi as HnsApiName,
  type WindowsConfiguration,
  readPortMapping,
  readRuntimeDns,
  replaceDns,
  IpamSession,
  type EndpointApi,
  type PluginCall,
  type PluginTraits,
} from "./plugin-call.ts";
import { HnsCaller } from "./hns-caller.ts";
import { HardenedHcnApi, HardenedHnsApi } from "./hardened.ts";
import { UpstreamHcnApi, UpstreamHnsApi } from "./upstream.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** Keys that people write and no current version reads. */
const UNREAD_KEYS: readonly (readonly [key: string, instead: string])[] = [
  ["HcnPolicyArgs", 'write HCN policies under "policies", with "apiVersion": 2'],
  ["AdditionalArgs", 'write endpoint policies under "policies"'],
];

function chooseApi(apiVersion: number, { checksApiVersion }: EndpointDifferences): HnsApiName {
  if (checksApiVersion && ![0, 1, 2].includes(apiVersion)) {
    throw new CniError(CNI_CODES.unsupportedField, WORDS.apiVersionUnsupported({ apiVersion }));
  }
  return apiVersion === 2 ? "hcn" : "hns";
}

/** Reads the shared part. @throws DecodeError; CniError for an `apiVersion` that is none (hardened). */
export function readWindowsConfiguration(
  document: JsonObject,
  differences: EndpointDifferences,
): WindowsConfiguration {
  const standard = readStandardConfiguration(document);
  const reader = new StructReader(document);
  // Only its kind is looked at: both plugins ignore what it says.
  reader.object("prevResult");
  const runtime = reader.struct("runtimeConfig");

  const unread = UNREAD_KEYS.filter(([key]) => reader.raw(key) !== undefined);
  return {
    name: standard.name,
    api: chooseApi(reader.integer("apiVersion") ?? 0, differences),
    policies: reader
      .structs("policies")
      .map((policy) => ({ name: policy.text("name"), value: policy.raw("value") })),
    hasLoopbackDsr: reader.boolean("loopbackDSR"),
    dns: replaceDns(standard.dns, readRuntimeDns(runtime, differences.readsRuntimeOptions)),
    portMappings: runtime?.structs("portMappings").map(readPortMapping) ?? [],
    ipamType: standard.ipamType,
    warnings: differences.warns ? unread.map(([key, instead]) => `"${key}" is not read; ${instead}`) : [],
  };
}

export interface WindowsPluginOptions extends PluginMode {
  readonly client: HcnClient;
  /** Calls the IPAM plugin. */
  readonly delegate: Delegate;
}

const IMPLEMENTATIONS = {
  upstream: { differences: ENDPOINT_DIFFERENCES.upstream, Hcn: UpstreamHcnApi, Hns: UpstreamHnsApi },
  hardened: { differences: ENDPOINT_DIFFERENCES.hardened, Hcn: HardenedHcnApi, Hns: HardenedHnsApi },
} as const;

export class WindowsPlugin<C extends WindowsConfiguration> implements CniPlugin {
  readonly name: string;
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly differences: EndpointDifferences;
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
    const { differences, Hcn, Hns } = IMPLEMENTATIONS[compat];
    this.differences = differences;
    this.caller = new HnsCaller(client, differences);
    this.apis = {
      hcn: new Hcn(traits, this.caller, differences),
      hns: new Hns(traits, this.caller, differences),
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

  async del(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    const { releasesFirst } = this.differences;
    if (releasesFirst) await call.ipam.del();
    await this.apiOf(call).remove(call);
    if (!releasesFirst) await call.ipam.del();
  }

  async check(request: PluginRequest): Promise<void> {
    if (!this.differences.looksAtNetwork) return;
    const call = this.open(request);
    const previous = this.decode(() => requirePrevResult(request.configuration));
    await this.apiOf(call).check(call, previous);
    if (call.ipam.isConfigured) await this.delegate.check(call.configuration.ipamType, request);
  }

  async status(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    if (this.differences.looksAtNetwork) await this.apiOf(call).status(call);
    const asksMissing = this.differences.asksMissingIpam && this.traits.asksMissingIpamForStatus;
    if (call.ipam.isConfigured || asksMissing)
      await this.delegate.status(call.configuration.ipamType, request);
  }

  /** Not in upstream. Goes on after failures and reports them at the end. */
  async gc(request: PluginRequest): Promise<void> {
    if (!this.differences.looksAtNetwork) return;
    const call = this.open(request);
    const valid = this.decode(() => readValidAttachments(request.configuration));
    const failures = await this.apiOf(call).gc(call, valid);
    const { isConfigured } = call.ipam;
    const ipam = () => this.delegate.gc(call.configuration.ipamType, request);
    failWith([...failures, ...(await attemptAll(isConfigured ? [ipam] : []))]);
  }

  private apiOf(call: PluginCall<C>): EndpointApi<C> {
    return this.apis[call.configuration.api];
  }

  private open(request: PluginRequest): PluginCall<C> {
    const { differences, delegate, caller, traits } = this;
    const configuration = this.decode(() => traits.readConfiguration(request.configuration, differences));
    const ipam = new IpamSession({
      delegate,
      type: configuration.ipamType,
      request,
      differences,
      sentence: traits.sentences[configuration.api].ipam,
    });
    return { request, configuration, ipam, caller, differences };
  }

  private decode<T>(read: () => T): T {
    return decoding(this.differences.configurationCode, (fault) => `failed to load netconf: ${fault}`, read);
  }
}
