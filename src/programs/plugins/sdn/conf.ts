/**
 * The configuration of Microsoft's plugins nat, sdnbridge and sdnoverlay, and the name resolution that it says (cni.md
 * §2.4, §2.9).
 */
import type { SdnDifferences } from "./differences.ts";
import { readStandardConfiguration } from "#contracts/cni/plugin-input.ts";
import { readGoIp } from "#contracts/cni/go-json.ts";
import { type StructOf, readGoStruct } from "#contracts/cni/go-struct.ts";
import { DecodeError, type StructReader, StructReader as Reader } from "#contracts/cni/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniDns } from "#contracts/cni/result.ts";
import { type InterfaceAddress, type Ip, parseInterfaceAddress } from "#core/net/ip.ts";
import {
  type PortMapping,
  type RuntimeDns,
  readPortMapping,
  readRuntimeDns,
  replaceDns,
} from "../windows-endpoint/plugin-call.ts";

/** The names of the executables, and the type of network that each makes. */
export const SDN_TYPES = {
  nat: "NAT",
  sdnbridge: "L2Bridge",
  sdnoverlay: "Overlay",
} as const;

export type SdnName = keyof typeof SDN_TYPES;
type SdnNetworkType = (typeof SDN_TYPES)[SdnName];

export interface SdnRoute {
  readonly destination: InterfaceAddress | undefined;
  readonly gateway: Ip | undefined;
}

const IPAM = {
  /** Empty: HNS chooses addresses. */
  type: "text",
  environment: "text",
  addressSpace: "text",
  subnet: "text",
  ipAddress: "text",
  queryInterval: "text",
} as const;

/** The part of `ipam` that these plugins know; they pass nothing else on (row 102). */
interface SdnIpam extends StructOf<typeof IPAM> {
  readonly routes: readonly SdnRoute[];
}

const FLAGS = {
  localRoutedPortMapping: "boolean",
  allowAclPortMapping: "boolean",
  forceBridgeGateway: "boolean",
  enableDualStack: "boolean",
  loopbackDSR: "boolean",
  gatewayFromAdditionalRoutes: "boolean",
} as const;
export type SdnFlags = StructOf<typeof FLAGS>;

/** One entry of `AdditionalArgs`. */
interface SdnArgument {
  readonly name: string;
  readonly value: JsonValue | undefined;
}

export interface SdnConfiguration {
  readonly cniVersion: string;
  /** The name of the HNS network, too. */
  readonly name: string;
  readonly networkType: SdnNetworkType;
  readonly ipam: SdnIpam;
  readonly dns: CniDns;
  readonly runtimeDns: RuntimeDns;
  readonly flags: SdnFlags;
  readonly portMappings: readonly PortMapping[];
  readonly additionalRoutes: readonly SdnRoute[];
  readonly additionalArguments: readonly SdnArgument[];
  /** What a person should know about this configuration; one line each. */
  readonly warnings: readonly string[];
}

/** The network type of `type`, which decides, whatever the executable is called. @throws CniError (row 100) */
function networkTypeOf(type: string): SdnNetworkType {
  for (const [name, networkType] of Object.entries(SDN_TYPES))
    if (type === name || type === networkType) return networkType;
  const options = Object.entries(SDN_TYPES).map((pair) => pair.join(":"));
  throw new CniError(
    CNI_CODES.internal,
    `Unsupported CNI config 'type' ${JSON.stringify(type)}. Options are the keys/values from: map[${options.join(" ")}]`,
  );
}

function readDestination(reader: StructReader): InterfaceAddress | undefined {
  const text = reader.text("dst");
  if (text === "") return undefined;
  const address = parseInterfaceAddress(text);
  if (address === undefined) throw new DecodeError(reader.pathOf("dst"), "a CIDR", text);
  return address;
}

function readRoute(reader: StructReader, differences: SdnDifferences): SdnRoute {
  const gateway = readGoIp(reader, "gw");
  return {
    destination: readDestination(reader),
    gateway: differences.takesGateway ? (gateway ?? readGoIp(reader, "gateway")) : gateway,
  };
}

function readIpam(document: JsonObject, differences: SdnDifferences): SdnIpam {
  const reader = new Reader(document).struct("ipam") ?? new Reader({}, "ipam");
  return {
    ...readGoStruct(reader, IPAM),
    routes: reader.structs("routes").map((route) => readRoute(route, differences)),
  };
}

function warningsFor(document: JsonObject, differences: SdnDifferences): readonly string[] {
  if (!differences.takesGateway) return [];
  const routes = new Reader(document).struct("ipam")?.structs("routes") ?? [];
  const isOther = routes.some((route) => route.raw("gw") === undefined && route.raw("gateway") !== undefined);
  return isOther ? ['"ipam.routes[].gateway" is taken for "gw"; other versions skip it'] : [];
}

/** Reads the configuration. @throws DecodeError, CniError */
export function readSdnConfiguration(document: JsonObject, differences: SdnDifferences): SdnConfiguration {
  const standard = readStandardConfiguration(document);
  const reader = new Reader(document);
  const runtime = reader.struct("runtimeConfig");

  return {
    cniVersion: standard.cniVersion,
    name: standard.name,
    networkType: networkTypeOf(standard.type),
    ipam: readIpam(document, differences),
    dns: standard.dns,
    runtimeDns: readRuntimeDns(runtime),
    flags: readGoStruct(reader.struct("optionalFlags"), FLAGS),
    portMappings: runtime?.structs("portMappings").map(readPortMapping) ?? [],
    additionalRoutes: reader.structs("additionalRoutes").map((route) => readRoute(route, differences)),
    additionalArguments: reader
      .structs("AdditionalArgs")
      .map((each) => ({ name: each.text("name"), value: each.raw("value") })),
    warnings: warningsFor(document, differences),
  };
}

/** The configured part; the first search entry begins with the namespace of the pod, if that is known (row 103). */
export function configuredDns({ dns }: SdnConfiguration, podNamespace: string): CniDns {
  const [first, ...others] = dns.search;
  if (first === undefined || podNamespace === "") return dns;
  return { ...dns, search: [`${podNamespace}.${first}`, ...others] };
}

/** What the endpoint gets: each list of the runtime replaces that of the configuration, if it is not empty. */
export function endpointDns(configuration: SdnConfiguration, podNamespace: string): CniDns {
  return replaceDns(configuredDns(configuration, podNamespace), configuration.runtimeDns);
}
