/**
 * One call of a main plugin for Windows, and what distinguishes the plugins from each other: its configuration, whose
 * endpoint it is (cni.md §2.1, §2.7), and its IPAM plugin. Everything else is one implementation.
 */
import type { StructReader } from "#contracts/cni/json.ts";
import type { JsonValue, JsonObject } from "#core/base/json.ts";
import { type CniDns, type CniIp, formatInterfaceAddress, type CniResult } from "#contracts/cni/result.ts";
import { type GcAttachment, isCniName } from "#contracts/cni/plugin-input.ts";
import { parseGuid } from "#contracts/hcn/guid.ts";
import type { EndpointDifferences } from "./differences.ts";
import { type HnsCaller, quietly, unlessMissing } from "./hns-caller.ts";
import {
  CNI_CODES,
  CniError,
  annotate,
  annotateDelegate,
  attemptAll,
  describeError,
} from "#contracts/cni/error.ts";
import type { HnsNetwork } from "#contracts/hcn/documents/v1-documents.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { InterfaceAddress, Ip } from "#core/net/ip.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** One entry of `policies`; the keys of `value` keep their case. */
export interface ConfiguredPolicy {
  readonly name: string;
  /** Undefined when the entry has none. */
  readonly value: JsonValue | undefined;
}

/** One entry of `runtimeConfig.portMappings`. */
export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  /** A name or a number, as given. */
  readonly protocol: string;
  /** Empty: every address of the node. */
  readonly hostIp: string;
}

/** The API the plugin drives: HCN (`apiVersion` 2), or HNS v1 for every other value. */
export type HnsApi = "hcn" | "hns";

/** What both plugins read. */
export interface WindowsConfiguration {
  /** The name of the HNS network, too. */
  readonly name: string;
  readonly api: HnsApi;
  readonly policies: readonly ConfiguredPolicy[];
  readonly hasLoopbackDsr: boolean;
  /** From the configuration and the runtime together. */
  readonly dns: CniDns;
  readonly portMappings: readonly PortMapping[];
  /** `ipam.type`; empty: HNS chooses the address. */
  readonly ipamType: string;
  /** What a person should know about this configuration; one line each. */
  readonly warnings: readonly string[];
}

/** One entry of `runtimeConfig.portMappings`, keys without regard to case. */
export function readPortMapping(reader: StructReader): PortMapping {
  return {
    hostPort: reader.integer("hostPort") ?? 0,
    containerPort: reader.integer("containerPort") ?? 0,
    protocol: reader.text("protocol"),
    hostIp: reader.text("hostIP"),
  };
}

/** `runtimeConfig.dns`: what the runtime says of name resolution. */
export interface RuntimeDns {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** What a plugin does not read may be of any type. */
export function readRuntimeDns(runtime: StructReader | undefined, readsOptions = true): RuntimeDns {
  const dns = runtime?.struct("dns");
  return {
    servers: dns?.texts("servers") ?? [],
    searches: dns?.texts("searches") ?? [],
    options: readsOptions ? (dns?.texts("options") ?? []) : [],
  };
}

/** Non-empty lists of the runtime replace those of the configuration, each on its own. */
export function replaceDns(configured: CniDns, { servers, searches, options }: RuntimeDns): CniDns {
  const replace = (given: readonly string[], own: readonly string[]): readonly string[] =>
    given.length > 0 ? given : own;
  return {
    nameservers: replace(servers, configured.nameservers),
    domain: configured.domain,
    search: replace(searches, configured.search),
    options: replace(options, configured.options),
  };
}

/** As Go writes members that it leaves out when they are empty. */
export function withoutEmpty(members: Readonly<Record<string, JsonValue>>): JsonObject {
  const isEmpty = (value: JsonValue): boolean =>
    value === "" || value === false || value === 0 || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmpty(value)));
}

/** `runtimeConfig` as a plugin writes it anew for its IPAM plugin: what it does not know is lost. */
export function formatRuntimeConfig(mappings: readonly PortMapping[], dns: RuntimeDns): JsonObject {
  const portMappings = mappings.map(({ hostIp, ...ports }) => ({
    ...ports,
    ...(hostIp !== "" && { hostIP: hostIp }),
  }));
  return { ...withoutEmpty({ portMappings }), dns: withoutEmpty({ ...dns }) };
}

/** `CNI_NETNS` of a sandbox that has no namespace (dockershim). */
export const NO_NAMESPACE = "none";

/** The sandbox a container belongs to: `container:ID` names it, else the container is its own. */
export function sandboxIdOf(containerId: string, netns: string): string {
  if (netns === "" || netns === NO_NAMESPACE) return containerId;
  const colon = netns.indexOf(":");
  return colon < 0 ? containerId : netns.slice(colon + 1);
}

/** The name by which the endpoint is found again. The interface is no part of it: one endpoint per network. */
export function endpointNameOf(containerId: string, netns: string, networkName: string): string {
  return `${sandboxIdOf(containerId, netns)}_${networkName}`;
}

/** The container or sandbox of an endpoint with such a name; undefined when it is none. */
export function containerOfEndpointName(endpointName: string, networkName: string): string | undefined {
  const suffix = `_${networkName}`;
  if (!endpointName.endsWith(suffix) || endpointName.length === suffix.length) return undefined;
  return endpointName.slice(0, -suffix.length);
}

/** True for a GUID as the Go client takes it: 36 characters, no braces. */
export function isNamespaceGuid(netns: string): boolean {
  return netns.length === 36 && parseGuid(netns) !== undefined;
}

/** What GC looks at: both dialects have it. */
interface NamedEndpoint {
  readonly name: string;
  /** An endpoint that stands for one on another node. */
  readonly isRemote: boolean;
}

/**
 * True for an endpoint that a plugin of this network made for a container that is not valid any more. Never for
 * remote endpoints, for the bridge endpoint `<network>_ep`, nor for names that no plugin gives.
 */
export function isStale(
  endpoint: NamedEndpoint,
  networkName: string,
  valid: readonly GcAttachment[],
): boolean {
  if (endpoint.isRemote || endpoint.name === `${networkName}_ep`) return false;
  const containerId = containerOfEndpointName(endpoint.name, networkName);
  if (containerId === undefined || !isCniName(containerId)) return false;
  return !valid.some((attachment) => attachment.containerId === containerId);
}

/** One address of an endpoint, and the next hop of the default route of its family. */
export interface PlannedAddress {
  readonly address: InterfaceAddress;
  readonly gateway: Ip | undefined;
}

interface IpamOptions {
  readonly delegate: Delegate;
  readonly type: string;
  readonly request: PluginRequest;
  readonly differences: EndpointDifferences;
  /** What is put before a failure of ADD. */
  readonly sentence: string;
}

/** The IPAM plugin of one call. Without a type, HNS chooses addresses and there is nothing to do. */
export class IpamSession {
  private readonly options: IpamOptions;
  /** True once ADD was called, done or failed: a failing caller must then call DEL. */
  private wasCalled = false;

  constructor(options: IpamOptions) {
    this.options = options;
  }

  get isConfigured(): boolean {
    return this.options.type !== "";
  }

  /** Asks for addresses; none without IPAM. @throws CniError */
  async add(): Promise<readonly CniIp[]> {
    if (!this.isConfigured) return [];
    this.wasCalled = true;
    const { delegate, type, request, sentence, differences } = this.options;
    try {
      const result = await delegate.add(type, request);
      if (result.ips.length > 0) return result.ips;
    } catch (error) {
      throw differences.keepsDelegateCodes ? annotateDelegate(error, sentence) : annotate(error, sentence);
    }
    throw new CniError(CNI_CODES.internal, "IPAM plugin return is missing IP config");
  }

  /**
   * As `add`, but an address that is its own gateway is given back once: it belongs to the bridge endpoint, and
   * round robin gives another (row 46).
   */
  async addBesideGateway(gatewayOf: (address: InterfaceAddress) => Ip): Promise<readonly CniIp[]> {
    const clash = (ips: readonly CniIp[]): CniIp | undefined =>
      ips.find(({ address }) => gatewayOf(address) === address.ip);
    const first = await this.add();
    if (clash(first) === undefined) return first;
    await this.del();
    const second = await this.add();
    const still = clash(second);
    if (still === undefined) return second;
    throw new CniError(
      CNI_CODES.invalidNetworkConfig,
      WORDS.ipamAssignsGateway({ address: formatInterfaceAddress(still.address) }),
      { knowledge: "cni-gateway-is-network-plus-two" },
    );
  }

  /** Releases. Without IPAM nothing happens. @throws the plugin's error */
  async del(): Promise<void> {
    if (this.isConfigured) await this.options.delegate.del(this.options.type, this.options.request);
  }

  /** After a failed ADD. Upstream calls DEL whatever happened, hardened only what it called ADD for (row 43). */
  async undo(): Promise<void> {
    if (this.options.differences.undoesUncalled || this.wasCalled) await quietly(() => this.del());
  }
}

/** One call with what was read for it. */
export interface PluginCall<C extends WindowsConfiguration> {
  readonly request: PluginRequest;
  readonly configuration: C;
  readonly ipam: IpamSession;
  readonly caller: HnsCaller;
  readonly differences: EndpointDifferences;
}

/** The HNS network of a call, as far as plans depend on it. */
export interface NetworkView {
  /** The gateway of its first subnet. */
  readonly gateway: Ip | undefined;
  /** The first subnet, as HNS writes it; empty: none. */
  readonly prefix: string;
  /** The node's address on the network; empty: HNS has none. */
  readonly managementIp: string;
}

/** The addresses of an endpoint, and what follows from them. */
export interface Allocation {
  /** Empty: HNS chooses. At most one of each family. */
  readonly addresses: readonly PlannedAddress[];
  /** Undefined: HNS chooses. */
  readonly mac?: string;
  /** Where the default route leads when HNS chooses the address. */
  readonly gateway?: Ip;
}

/** Adds what loopback DSR needs to policies; changes nothing where it is not wanted. */
export type AddLoopback = (policies: readonly ConfiguredPolicy[]) => readonly ConfiguredPolicy[];

/** Which endpoint, of which container. */
export interface EndpointTarget {
  readonly endpointName: string;
  readonly networkId: string;
  readonly containerId: string;
  /** `CNI_NETNS`: a GUID over HCN; over HNS v1 `none`, `container:ID`, or what does not belong here. */
  readonly netns: string;
}

/** The endpoint of a call on a network. */
export function targetOf(
  { request, configuration }: PluginCall<WindowsConfiguration>,
  networkId: string,
): EndpointTarget {
  const { containerId, netns } = request;
  const endpointName = endpointNameOf(containerId, netns, configuration.name);
  return { endpointName, networkId, containerId, netns };
}

/** The sentences of a plugin's upstream over one API; tools and people look for them (cni.md §2.1). */
export interface Sentences {
  networkLookUp(name: string): string;
  unexpectedType(name: string, type: string): string;
  add(target: EndpointTarget): string;
  readonly result: string;
  /** Around what goes wrong before the endpoint is created; empty: nothing is put around it. */
  readonly plan: string;
  readonly ipam: string;
}

export interface PluginTraits<C extends WindowsConfiguration> {
  readonly name: string;
  /** The types of network that its endpoints belong on. */
  readonly networkTypes: readonly string[];
  readonly sentences: Readonly<Record<HnsApi, Sentences>>;
  /** Upstream asks IPAM for its status even where no IPAM is configured, which fails (cni.md §7.B11). */
  readonly asksMissingIpamForStatus: boolean;
  /** Upstream looks for the endpoint once more when IPAM has answered, over HNS v1; over HCN both plugins do. */
  readonly looksAgainOverHns: boolean;
  /** @throws DecodeError, CniError */
  readConfiguration(document: JsonObject, differences: EndpointDifferences): C;
  /** What is wrong with the configuration and stops ADD before HNS is asked. @throws CniError */
  validateForAdd(call: PluginCall<C>): void;
  /** What plans need of a network that was found through HNS v1. */
  viewOf(network: HnsNetwork): NetworkView | undefined;
  /** Looks at the network as far as plans need it, for a call over HCN. @throws CniError */
  viewNetwork(call: PluginCall<C>): Promise<NetworkView | undefined>;
  /** Gets addresses. @throws CniError, PluginPanic */
  allocate(call: PluginCall<C>, view: NetworkView | undefined): Promise<Allocation>;
  /** The policies, configured and added, in upstream's order. */
  policies(
    call: PluginCall<C>,
    view: NetworkView | undefined,
    addLoopback: AddLoopback,
  ): readonly ConfiguredPolicy[];
}

/** One API of HNS: the same verbs over other objects. */
export interface EndpointApi<C extends WindowsConfiguration> {
  add(call: PluginCall<C>): Promise<CniResult>;
  /** Removes the endpoint, not the address. */
  remove(call: PluginCall<C>): Promise<void>;
  /** @throws CniError that lists what differs from `previous`. */
  check(call: PluginCall<C>, previous: CniResult): Promise<void>;
  /** @throws CniError with code 50. */
  status(call: PluginCall<C>): Promise<void>;
  /** Removes the endpoints of containers that are not valid; without a list, none. @returns what failed. */
  gc(call: PluginCall<C>, valid: readonly GcAttachment[] | undefined): Promise<readonly string[]>;
}

/** STATUS: the plugin is ready when its network is there. @throws CniError with code 50. */
export async function requireNetwork(find: () => Promise<unknown>): Promise<void> {
  try {
    await find();
  } catch (error) {
    const { message, details, knowledge } = error instanceof CniError ? error : annotate(error, "HNS");
    throw new CniError(CNI_CODES.pluginNotAvailable, message, { details, knowledge, cause: error });
  }
}

/** GC over the endpoints of one API. */
interface GarbageCollection<T> {
  readonly networkName: string;
  readonly valid: readonly GcAttachment[] | undefined;
  readonly list: () => Promise<readonly T[]>;
  readonly describe: (endpoint: T) => NamedEndpoint;
  readonly remove: (endpoint: T) => Promise<void>;
}

/** Removes every stale endpoint, one failure stops no other. @returns what failed. */
export async function collectGarbage<T>(options: GarbageCollection<T>): Promise<readonly string[]> {
  const { networkName, valid, list, describe, remove } = options;
  if (valid === undefined) return [];
  let all: readonly T[];
  try {
    // A network that is gone has no endpoints.
    all = (await unlessMissing(list)) ?? [];
  } catch (error) {
    return [describeError(error)];
  }
  const stale = all.filter((endpoint) => isStale(describe(endpoint), networkName, valid));
  return attemptAll(stale.map((endpoint) => () => remove(endpoint)));
}
