/**
 * A runtime: runs the plugins of a list for an attachment, as the client library does (cni.md §1.2, §1.7).
 *
 * ADD goes forward and hands each plugin the result of the one before; DEL goes backward, CHECK forward, both
 * with the final result of ADD from the cache. STATUS stops at the first plugin that is not ready. GC first
 * deletes what the cache still knows and the caller no longer does, then names what is left to the plugins.
 * The caller keeps operations of one container apart; different containers may run side by side.
 */
import { SINCE, isAtLeast } from "./version.ts";
import {
  type CniCommand,
  type Environment,
  type GcAttachment,
  containerIdViolation,
  effectiveVersion,
  formatCniArguments,
  interfaceNameViolation,
  networkNameViolation,
} from "./plugin-input.ts";
import type { NetworkList, NetworkPlugin } from "./conflist.ts";
import { CNI_CODES, CniError, describeError, toCniError } from "./error.ts";
import { formatJson } from "./json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { type PluginRunner, type PrintedResult, readPrintedResult, runForOutput } from "./plugin-runner.ts";
import { type CniResult, formatResult, parseResult } from "./result.ts";

/** Names one attachment. */
export interface AttachmentKey {
  readonly networkName: string;
  readonly containerId: string;
  readonly ifName: string;
}

/** One attachment with the final result of its ADD. */
export interface CachedAttachment extends AttachmentKey {
  readonly netns: string;
  readonly args: readonly (readonly [name: string, value: string])[];
  readonly capabilityArgs: JsonObject;
  /** The list as it was used. */
  readonly listText: string;
  readonly result: JsonObject;
}

/** Keeps attachments; ordered by network, container and interface. */
export interface ResultCache {
  get(key: AttachmentKey): Promise<CachedAttachment | undefined>;
  put(attachment: CachedAttachment): Promise<void>;
  /** Forgetting what is not there is no error. */
  delete(key: AttachmentKey): Promise<void>;
  list(): Promise<readonly CachedAttachment[]>;
}

/** The name of an attachment's file in the client library's cache. */
export function keyText(key: AttachmentKey): string {
  return `${key.networkName}-${key.containerId}-${key.ifName}`;
}

/** A cache in memory: plain data, so that a world that holds it can be forked. */
export class MemoryResultCache implements ResultCache {
  private readonly attachments = new Map<string, CachedAttachment>();

  get(key: AttachmentKey): Promise<CachedAttachment | undefined> {
    return Promise.resolve(this.attachments.get(keyText(key)));
  }

  put(attachment: CachedAttachment): Promise<void> {
    this.attachments.set(keyText(attachment), attachment);
    return Promise.resolve();
  }

  delete(key: AttachmentKey): Promise<void> {
    this.attachments.delete(keyText(key));
    return Promise.resolve();
  }

  list(): Promise<readonly CachedAttachment[]> {
    const keys = [...this.attachments.keys()].toSorted();
    return Promise.resolve(keys.flatMap((key) => this.attachments.get(key) ?? []));
  }
}

/** What a runtime is made of. */
export interface CniRuntimeOptions {
  readonly runner: PluginRunner;
  readonly cache: ResultCache;
  /** Handed to every plugin below the CNI variables; `CNI_PATH` belongs here. Default: empty. */
  readonly env?: Environment;
}

/** One attachment to be made, checked or undone. */
export interface CniAttachment {
  readonly containerId: string;
  /** Windows: GUID of an HCN namespace, `none`, `container:ID`. May be empty for DEL. */
  readonly netns: string;
  readonly ifName: string;
  /** Pairs of `CNI_ARGS`. Default: none. */
  readonly args?: readonly (readonly [name: string, value: string])[];
  /** Values by capability; plugins get those they declare. Default: none. */
  readonly capabilityArgs?: JsonObject;
}

function describePlugin(plugin: NetworkPlugin): string {
  const name = plugin.name === "" ? "" : ` name=${JSON.stringify(plugin.name)}`;
  return `type=${JSON.stringify(plugin.type)}${name}`;
}

/** `runtimeConfig`: what the plugin declares and the runtime has; undefined when that is nothing. */
function selectCapabilities(plugin: NetworkPlugin, given: JsonObject): JsonObject | undefined {
  const selected = Object.entries(given).filter(([name]) => plugin.capabilities.get(name) === true);
  return selected.length === 0 ? undefined : Object.fromEntries(selected);
}

function withContext(error: unknown, context: string): CniError {
  const inner = toCniError(error);
  return new CniError(inner.code, `${context}: ${describeError(inner)}`, {
    knowledge: inner.knowledge,
    cause: error,
  });
}

/** Runs lists of plugins. */
export class CniRuntime {
  private readonly runner: PluginRunner;
  private readonly cache: ResultCache;
  private readonly env: Environment;

  constructor(options: CniRuntimeOptions) {
    this.runner = options.runner;
    this.cache = options.cache;
    this.env = options.env ?? {};
  }

  /** Attaches. A list that fails half-way is not undone: call `del`. @throws CniError that names the plugin. */
  async add(list: NetworkList, attachment: CniAttachment): Promise<CniResult> {
    let previous: PrintedResult | undefined;
    for (const plugin of list.plugins) {
      try {
        const violation =
          containerIdViolation(attachment.containerId) ??
          networkNameViolation(list.name) ??
          interfaceNameViolation(attachment.ifName);
        if (violation !== undefined) throw violation;
        const stdin = this.configure(list, plugin, previous?.document, attachment);
        const stdout = await this.run("ADD", plugin, attachment, stdin);
        previous = readPrintedResult(stdout, list.cniVersion);
      } catch (error) {
        throw withContext(error, `plugin ${describePlugin(plugin)} failed (add)`);
      }
    }
    if (previous === undefined) throw new CniError(CNI_CODES.invalidNetworkConfig, "no plugins in list");
    await this.cache.put({
      networkName: list.name,
      containerId: attachment.containerId,
      ifName: attachment.ifName,
      netns: attachment.netns,
      args: attachment.args ?? [],
      capabilityArgs: attachment.capabilityArgs ?? {},
      listText: list.text,
      result: previous.document,
    });
    return previous.result;
  }

  /** Detaches; forgets the attachment when all plugins agreed. @throws CniError that names the plugin. */
  async del(list: NetworkList, attachment: CniAttachment): Promise<void> {
    const previous = isAtLeast(list.cniVersion, SINCE.prevResultOfDel)
      ? await this.cachedResult(list, attachment).catch(() => undefined)
      : undefined;
    for (const plugin of list.plugins.toReversed()) {
      try {
        await this.run("DEL", plugin, attachment, this.configure(list, plugin, previous, attachment));
      } catch (error) {
        throw withContext(error, `plugin ${describePlugin(plugin)} failed (delete)`);
      }
    }
    await this.cache.delete({ ...attachment, networkName: list.name });
  }

  /** Compares an attachment with what ADD made. Lists that disable CHECK pass. @throws CniError */
  async check(list: NetworkList, attachment: CniAttachment): Promise<void> {
    if (!isAtLeast(list.cniVersion, SINCE.CHECK)) {
      throw new CniError(
        CNI_CODES.incompatibleVersion,
        `configuration version ${JSON.stringify(list.cniVersion)} does not support the CHECK command`,
      );
    }
    if (list.isCheckDisabled) return;
    const previous = await this.cachedResult(list, attachment);
    for (const plugin of list.plugins) {
      await this.run("CHECK", plugin, attachment, this.configure(list, plugin, previous, attachment));
    }
  }

  /** Asks whether ADD would work. Lists older than 1.1.0 pass. @throws the first plugin's CniError. */
  async status(list: NetworkList): Promise<void> {
    if (!isAtLeast(list.cniVersion, SINCE.STATUS)) return;
    for (const plugin of list.plugins) {
      await this.run("STATUS", plugin, undefined, this.configure(list, plugin, undefined, undefined));
    }
  }

  /**
   * Removes what belongs to no attachment of `valid`. Undefined: nothing is valid for the cache, and the
   * plugins get no list, so that they keep what they have. Goes on after errors.
   * @throws CniError that joins them.
   */
  async gc(list: NetworkList, valid: readonly GcAttachment[] | undefined): Promise<void> {
    if (list.isGcDisabled) return;
    const errors = await this.deleteStale(list, valid ?? []);
    if (isAtLeast(list.cniVersion, SINCE.GC)) {
      const attachments = valid?.map(({ containerId, ifName }) => ({
        containerID: containerId,
        ifname: ifName,
      }));
      const extra =
        attachments === undefined
          ? {}
          : { "cni.dev/valid-attachments": attachments, "cni.dev/attachments": attachments };
      for (const plugin of list.plugins) {
        try {
          await this.run("GC", plugin, undefined, this.configure(list, plugin, undefined, undefined, extra));
        } catch (error) {
          errors.push(`failed to GC plugin ${plugin.type}: ${describeError(error)}`);
        }
      }
    }
    if (errors.length > 0) throw new CniError(CNI_CODES.internal, errors.join("\n"));
  }

  private async deleteStale(list: NetworkList, valid: readonly GcAttachment[]): Promise<string[]> {
    const errors: string[] = [];
    const isValid = (known: CachedAttachment): boolean =>
      valid.some(({ containerId, ifName }) => containerId === known.containerId && ifName === known.ifName);
    for (const known of await this.cache.list()) {
      if (known.networkName !== list.name || isValid(known)) continue;
      try {
        await this.del(list, known);
      } catch (error) {
        const { containerId, ifName } = known;
        errors.push(`failed to delete stale attachment ${containerId} ${ifName}: ${describeError(error)}`);
      }
    }
    return errors;
  }

  /** The final result of ADD in the list's version, which may have changed since. */
  private async cachedResult(list: NetworkList, attachment: CniAttachment): Promise<JsonObject | undefined> {
    const cached = await this.cache.get({ ...attachment, networkName: list.name });
    if (cached === undefined) return undefined;
    const version = effectiveVersion(list.cniVersion);
    if (cached.result["cniVersion"] === version) return cached.result;
    return formatResult(parseResult(cached.result, version), version);
  }

  /** The configuration that one plugin reads (cni.md §1.2). */
  private configure(
    list: NetworkList,
    plugin: NetworkPlugin,
    prevResult: JsonObject | undefined,
    attachment: CniAttachment | undefined,
    extra: JsonObject = {},
  ): string {
    const runtimeConfig = selectCapabilities(plugin, attachment?.capabilityArgs ?? {});
    const document: JsonValue = {
      ...plugin.document,
      name: list.name,
      cniVersion: list.cniVersion,
      ...(prevResult === undefined ? {} : { prevResult }),
      ...(runtimeConfig === undefined ? {} : { runtimeConfig }),
      ...extra,
    };
    return formatJson(document, 0);
  }

  private run(
    command: CniCommand,
    plugin: NetworkPlugin,
    attachment: CniAttachment | undefined,
    stdin: string,
  ): Promise<string> {
    const env: Environment = {
      ...this.env,
      CNI_COMMAND: command,
      CNI_CONTAINERID: attachment?.containerId ?? "",
      CNI_NETNS: attachment?.netns ?? "",
      CNI_ARGS: formatCniArguments(attachment?.args ?? []),
      CNI_IFNAME: attachment?.ifName ?? "",
    };
    return runForOutput(this.runner, { type: plugin.type, env, stdin });
  }
}
