/** What a main plugin for Windows does, over either API of HNS. */
import type { GcAttachment } from "../../cni/configuration.ts";
import { CNI_CODES, CniError, annotate, describeError } from "../../cni/error.ts";
import type { CniResult } from "../../cni/result.ts";
import { isMissing } from "./failure.ts";
import type { PluginCall } from "./plugin-traits.ts";
import { type NamedEndpoint, isStale } from "./stale.ts";
import type { WindowsConfiguration } from "./conf.ts";

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
