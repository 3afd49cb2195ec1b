/** CHECK over HCN: compares an endpoint with the result of ADD and the configuration (cni.md §1.7, §2.11). */
import { CNI_CODES, CniError } from "../../cni/error.ts";
import { equalFold } from "../../cni/decode.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "../../cni/json.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import type { CniIp, CniResult } from "../../cni/result.ts";
import type { PolicyDocument } from "../../hcn/base-document.ts";
import { ENDPOINT_STATES, type HostComputeEndpoint } from "../../hcn/endpoint.ts";
import { equalGuids } from "../../hcn/guid.ts";
import { namespaceOf } from "../../hcn/operations.ts";
import { familyOf, formatIp, parseIp } from "../../net/ip.ts";
import { gatewayOfEndpoint } from "./hcn-result.ts";

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
  if (!equalGuids(endpoint.HostComputeNetwork ?? "", expected.networkId)) {
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
