/** A main plugin for Windows over HCN, `apiVersion` 2 (cni.md §2.1, v2 algorithms). */
import { type StoredNetwork, namespaceOf, getNetworkByName } from "#contracts/hcn/operations.ts";
import type { EndpointDifferences } from "./differences.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { equalFold } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import { CNI_CODES, CniError, annotate, annotated } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniIp, CniResult } from "#contracts/cni/result.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import {
  ENDPOINT_STATES,
  type HostComputeEndpoint,
  type StoredEndpoint,
} from "#contracts/hcn/documents/endpoint.ts";
import { equalGuids } from "#contracts/hcn/guid.ts";
import { familyOf, formatIp, parseIp } from "#core/net/ip.ts";
import {
  type WindowsConfiguration,
  type EndpointApi,
  type NetworkView,
  type PluginCall,
  type PluginTraits,
  type EndpointTarget,
  targetOf,
  requireNetwork,
} from "./plugin-call.ts";
import { type HnsCaller, requireFound } from "./hns-caller.ts";
import {
  type EndpointPlan,
  hasLoopbackDsr,
  loopbackFor,
  planEndpoint,
  mapBothFamilies,
  toHcnPolicies,
} from "./endpoint-plan.ts";
import { gatewayOfEndpoint, HcnEndpoints } from "./hcn-endpoint.ts";

const BROKEN_STATES: ReadonlyMap<number, string> = new Map([
  [ENDPOINT_STATES.Detached, "detached"],
  [ENDPOINT_STATES.Degraded, "degraded"],
  [ENDPOINT_STATES.Destroyed, "destroyed"],
]);

/** The addresses of a result that are this plugin's: those tied to its interface, or to none. */
export function ownIps(request: PluginRequest, result: CniResult, endpointName: string): readonly CniIp[] {
  return result.ips.filter((ip) => {
    if (ip.interface === undefined) return true;
    const name = result.interfaces[ip.interface]?.name;
    return name === request.ifName || name === endpointName;
  });
}

function normalizeMac(mac: string): string {
  return mac.toLowerCase().replaceAll(":", "-");
}

/**
 * True when `actual` holds everything that `wanted` does. Inferred: HNS may add members, fill in defaults, and spell
 * names its own way, without the policy being another.
 */
export function holdsJson(actual: JsonValue | undefined, wanted: JsonValue | undefined): boolean {
  if (wanted === undefined) return true;
  if (isJsonObject(wanted)) {
    return isJsonObject(actual) && Object.keys(wanted).every((key) => holdsJson(actual[key], wanted[key]));
  }
  if (Array.isArray(wanted)) {
    if (!Array.isArray(actual)) return false;
    const entries = actual as readonly JsonValue[];
    return (wanted as readonly JsonValue[]).every((item) => entries.some((entry) => holdsJson(entry, item)));
  }
  if (typeof wanted === "string" && typeof actual === "string") return equalFold(actual, wanted);
  // An empty text is a default that HNS leaves out.
  return actual === wanted || (wanted === "" && actual === undefined);
}

function describePolicy(policy: PolicyDocument): string {
  const settings: JsonObject = policy.Settings ?? {};
  return `${policy.Type} ${JSON.stringify(settings)}`;
}

/** What differs, one sentence each; empty when nothing does. */
export function compareHcnEndpoint(
  request: PluginRequest,
  endpoint: HostComputeEndpoint,
  expected: {
    readonly result: CniResult;
    readonly networkId: string;
    readonly policies: readonly PolicyDocument[];
  },
): readonly string[] {
  const differences: string[] = [];
  const name = endpoint.Name ?? "";
  const state = BROKEN_STATES.get(endpoint.State ?? ENDPOINT_STATES.Created);
  if (state !== undefined) differences.push(`it is ${state}`);
  if (!equalGuids(endpoint.HostComputeNetwork, expected.networkId)) {
    differences.push(`it is on network ${endpoint.HostComputeNetwork ?? ""}, not on ${expected.networkId}`);
  }
  const namespace = namespaceOf(endpoint);
  if (namespace === undefined || !equalGuids(namespace, request.netns)) {
    differences.push(
      `it is in ${namespace === undefined ? "no namespace" : `namespace ${namespace}`}, not in ${request.netns}`,
    );
  }
  const ips = ownIps(request, expected.result, name);
  differences.push(...compareAddresses(endpoint, ips), ...compareMac(request, endpoint, expected.result));
  for (const policy of expected.policies) {
    const isThere = (endpoint.Policies ?? []).some(
      (actual) => equalFold(actual.Type, policy.Type) && holdsJson(actual.Settings, policy.Settings),
    );
    if (!isThere) differences.push(`the policy ${describePolicy(policy)} is missing`);
  }
  return differences;
}

function compareAddresses(endpoint: HostComputeEndpoint, ips: readonly CniIp[]): readonly string[] {
  const held = (endpoint.IpConfigurations ?? []).map((config) => parseIp(config.IpAddress ?? ""));
  return ips.flatMap(({ address, gateway }) => {
    if (!held.includes(address.ip)) return [`the address ${formatIp(address.ip)} is missing`];
    const actual = gatewayOfEndpoint(endpoint, familyOf(address.ip));
    if (gateway === undefined || actual === gateway) return [];
    const instead = actual === undefined ? "" : `, it leads to ${formatIp(actual)}`;
    return [`the default route to ${formatIp(gateway)} is missing${instead}`];
  });
}

function compareMac(
  request: PluginRequest,
  endpoint: HostComputeEndpoint,
  result: CniResult,
): readonly string[] {
  const own = result.interfaces.find(({ name }) => name === request.ifName || name === endpoint.Name);
  const wanted = own?.mac;
  const actual = endpoint.MacAddress ?? "";
  if (wanted === undefined || normalizeMac(wanted) === normalizeMac(actual)) return [];
  return [`its MAC address is ${actual}, not ${wanted}`];
}

/** @throws CniError that lists the differences. */
export function failOnDifferences(endpointName: string, differences: readonly string[]): void {
  if (differences.length === 0) return;
  throw new CniError(
    CNI_CODES.internal,
    `endpoint ${endpointName} is not as ADD left it: ${differences.join("; ")}`,
  );
}

async function settle<T>(work: Promise<T>): Promise<{ readonly value: T } | { readonly failure: unknown }> {
  try {
    return { value: await work };
  } catch (failure) {
    return { failure };
  }
}

interface FoundNetwork {
  readonly network: StoredNetwork;
  readonly view: NetworkView | undefined;
}

/** The endpoint of a call, and whether the call made it. */
export interface EnsuredEndpoint {
  readonly endpoint: StoredEndpoint;
  readonly isNew: boolean;
}

/** What both ways share; `upstream.ts` and `hardened.ts` say how an endpoint is ensured, and what is told of it. */
export abstract class HcnApi<C extends WindowsConfiguration> implements EndpointApi<C> {
  private readonly traits: PluginTraits<C>;
  private readonly caller: HnsCaller;
  private readonly differences: EndpointDifferences;
  protected readonly endpoints: HcnEndpoints;

  constructor(traits: PluginTraits<C>, caller: HnsCaller, differences: EndpointDifferences) {
    this.traits = traits;
    this.caller = caller;
    this.differences = differences;
    this.endpoints = new HcnEndpoints(caller, differences);
  }

  async add(call: PluginCall<C>): Promise<CniResult> {
    const { network, view } = await this.findNetwork(call);
    const target = targetOf(call, network.ID);
    const sentences = this.traits.sentences.hcn;
    const ensured = await annotated(sentences.add(target), () => this.ensure(call, target, view));
    try {
      return this.resultOf(call, network, ensured.endpoint);
    } catch (error) {
      await this.couldNotTell(ensured);
      throw annotate(error, sentences.result);
    }
  }

  async remove(call: PluginCall<C>): Promise<void> {
    const endpoint = await this.endpoints.find(targetOf(call, "").endpointName);
    if (endpoint !== undefined) await this.endpoints.remove(endpoint);
  }

  async check(call: PluginCall<C>, previous: CniResult): Promise<void> {
    const { network, view } = await this.findNetwork(call);
    const endpointName = targetOf(call, "").endpointName;
    const endpoint = await this.endpoints.find(endpointName);
    if (endpoint === undefined) {
      throw new CniError(CNI_CODES.internal, `endpoint ${endpointName} is gone; recreate the pod`);
    }
    const policies = await this.wantedPolicies(call, view, endpoint);
    const expected = { result: previous, networkId: network.ID, policies };
    failOnDifferences(endpointName, compareHcnEndpoint(call.request, endpoint, expected));
  }

  async status(call: PluginCall<C>): Promise<void> {
    await requireNetwork(() => this.findNetwork(call));
  }

  async gc(call: PluginCall<C>, valid: readonly GcAttachment[] | undefined): Promise<readonly string[]> {
    const find = async (): Promise<StoredNetwork> => (await this.findNetwork(call)).network;
    return this.endpoints.collectGarbage(call.configuration.name, valid, find);
  }

  /** @throws CniError when there is none of that name, or it is of another type. */
  private async findNetwork(call: PluginCall<C>): Promise<FoundNetwork> {
    const { traits } = this;
    const { name } = call.configuration;
    const sentences = traits.sentences.hcn;
    // The plugin's own look comes first, and what fails there is told after what fails here (cni.md §2.3).
    const view = await settle(traits.viewNetwork(call));
    const network = await requireFound(sentences.networkLookUp(name), () =>
      this.caller.hcn("hcnEnumerateNetworks", (client) => getNetworkByName(client, name)),
    );
    if ("failure" in view) throw view.failure;
    const type = network.Type ?? "NAT";
    // Inferred: HNS prints types in one spelling, so it makes no difference whether a reference folds case.
    if (traits.networkTypes.some((each) => equalFold(each, type))) return { network, view: view.value };
    throw new CniError(CNI_CODES.internal, sentences.unexpectedType(name, type));
  }

  /** Finds the endpoint or makes it, and attaches it. */
  protected abstract ensure(
    call: PluginCall<C>,
    target: EndpointTarget,
    view: NetworkView | undefined,
  ): Promise<EnsuredEndpoint>;

  /** @throws CniError, PluginPanic when the endpoint has nothing to report. */
  protected abstract resultOf(
    call: PluginCall<C>,
    network: StoredNetwork,
    endpoint: StoredEndpoint,
  ): CniResult;

  /** There is an endpoint that no result can be made of. */
  protected abstract couldNotTell(ensured: EnsuredEndpoint): Promise<void>;

  protected plan(call: PluginCall<C>, view: NetworkView | undefined): Promise<EndpointPlan> {
    const action = "failed to make a new HostComputeEndpoint";
    return annotated(action, () => planEndpoint(call, this.traits, view));
  }

  /** The policies that the endpoint should have, loopback DSR for the addresses it has. */
  private async wantedPolicies(
    call: PluginCall<C>,
    view: NetworkView | undefined,
    endpoint: StoredEndpoint,
  ): Promise<readonly PolicyDocument[]> {
    const { traits, differences } = this;
    const silent = { ...call, request: { ...call.request, warn: () => undefined } };
    const held = (endpoint.IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []);
    const isLoopback = await hasLoopbackDsr(silent, traits.name);
    const policies = traits.policies(silent, view, loopbackFor(silent, isLoopback ? held : []));
    return toHcnPolicies(mapBothFamilies(policies, held, "hcn", differences), differences);
  }
}
