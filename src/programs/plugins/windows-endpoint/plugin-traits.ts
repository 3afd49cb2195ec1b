/** What distinguishes the main plugins for Windows from each other: everything else is one implementation. */
import type { Compat } from "#core/base/compat.ts";
import type { GcAttachment } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, annotate, describeError } from "#contracts/cni/error.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { Ip } from "#core/net/ip.ts";
import type { ConfiguredPolicy, HnsApi, WindowsConfiguration } from "./conf.ts";
import type { IpamSession, PlannedAddress } from "./ipam-session.ts";
import { type HnsCaller, isMissing } from "./failure.ts";
import { type NamedEndpoint, isStale } from "./sandbox.ts";

/** One call with what was read for it. */
export interface PluginCall<C extends WindowsConfiguration> {
  readonly request: PluginRequest;
  readonly configuration: C;
  readonly ipam: IpamSession;
  readonly caller: HnsCaller;
  readonly compat: Compat;
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

/** Which endpoint an error is about. */
export interface EndpointLabel {
  readonly endpointName: string;
  readonly networkId: string;
  readonly containerId: string;
}

/** The sentences of a plugin's upstream over one API; tools and people look for them (cni.md §2.1). */
export interface Sentences {
  networkLookUp(name: string): string;
  unexpectedType(name: string, type: string): string;
  add(label: EndpointLabel): string;
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
  /** @throws DecodeError, CniError */
  readConfiguration(document: JsonObject, compat: Compat): C;
  /** What is wrong with the configuration and stops ADD before HNS is asked. @throws CniError */
  validateForAdd(call: PluginCall<C>): void;
  /** Looks at the network as far as plans need it. @throws CniError */
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
export interface GarbageCollection<T> {
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
  let stale: readonly T[];
  try {
    stale = (await list()).filter((endpoint) => isStale(describe(endpoint), networkName, valid));
  } catch (error) {
    // A network that is gone has no endpoints.
    return isMissing(error) ? [] : [describeError(error)];
  }
  const failures: string[] = [];
  for (const endpoint of stale) {
    try {
      await remove(endpoint);
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  return failures;
}
