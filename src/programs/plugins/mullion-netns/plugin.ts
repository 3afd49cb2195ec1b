/**
 * The meta plugin mullion-netns: on Linux a runtime names a sandbox by the path of its network namespace, and plugins for
 * Windows want the GUID of a namespace of HNS (cni.md §8 row 40). This one has HNS make a namespace for the path, calls
 * its delegate with the GUID, and gives the runtime back what it knows: the path.
 *
 * What is in the way of a crash: the file of the attachment is written first and deleted last, and the GUID follows from
 * the path, so that DEL, GC and another ADD find whatever was made.
 */
import { DecodeError, StructReader, formatJson } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject } from "#core/base/json.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { getNamespaceById, requestDocument } from "#contracts/hcn/operations.ts";
import { SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import type { Compat } from "#core/base/compat.ts";
import { ENDPOINT_DIFFERENCES } from "../windows-endpoint/differences.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { decoding, readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { CNI_CODES, CniError, annotate, attemptAll, describeError, failWith } from "#contracts/cni/error.ts";
import { type CniPlugin, OS_VARIABLE, type PluginMode, type PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { HnsCaller, isMissing, unlessMissing } from "../windows-endpoint/hns-caller.ts";
import type { ScratchStore } from "../flannel/scratch-files.ts";
import { type AttachmentName, Attachments, type NetnsMapping } from "./attachments.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

const DATA_FOLDER_DEFAULT = "/var/lib/cni/mullion-netns";

interface NetnsConfiguration {
  /** Of the list. */
  readonly name: string;
  readonly dataFolder: string;
  /** `delegate.type`. */
  readonly delegateType: string;
  /** What the delegate gets: its own keys, and those that a runtime sets. */
  readonly delegate: JsonObject;
}

/** Keys that the runtime writes into every plugin's configuration (cni.md §1.2). */
const OF_THE_RUNTIME = ["runtimeConfig", "args", "prevResult"] as const;

/** Keys as they stand, when they are there. */
function keep(document: JsonObject): JsonObject {
  const reader = new StructReader(document);
  const known = OF_THE_RUNTIME.map((key) => [key, reader.raw(key)] as const);
  const reserved = Object.entries(document).filter(([key]) => key.startsWith("cni.dev/"));
  return Object.fromEntries([...known, ...reserved].filter(([, value]) => value !== undefined));
}

/** @throws DecodeError for a field of a wrong type, and without a delegate. */
function readNetnsConfiguration(document: JsonObject, cniVersion: string): NetnsConfiguration {
  const reader = new StructReader(document);
  const delegate = reader.object("delegate") ?? {};
  const delegateType = reader.struct("delegate")?.text("type") ?? "";
  if (delegateType === "")
    throw new DecodeError("delegate.type", "the plugin that attaches, such as win-bridge", delegateType);
  const name = reader.text("name");
  return {
    name,
    dataFolder: reader.text("dataDir") || DATA_FOLDER_DEFAULT,
    delegateType,
    delegate: { ...delegate, ...keep(document), name, cniVersion },
  };
}

/** The digest of a text as hexadecimal digits, 32 at least. */
type Digest = (text: string) => string;

/**
 * The GUID of a path, always the same (RFC 9562, version 8): a second ADD, and an ADD after a crash, meet the namespace that
 * is there.
 */
export function guidOfPath(path: string, digest: Digest): Guid {
  const hex = digest(`mullion-netns:${path}`);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-").toLowerCase();
}

class Namespaces {
  private readonly caller: HnsCaller;

  constructor(caller: HnsCaller) {
    this.caller = caller;
  }

  async exists(id: Guid): Promise<boolean> {
    return (await this.resources(id)) !== undefined;
  }

  /** Makes it when it is not there. */
  async ensure(id: Guid): Promise<void> {
    if (await this.exists(id)) return;
    try {
      // Without a type, as containerd makes them (cni.md §10.3).
      await this.caller.hcn("hcnCreateNamespace", (client) =>
        client.create("Namespace", requestDocument({ SchemaVersion: SCHEMA_V2_0 }), { id }),
      );
    } catch (error) {
      // Another process was faster.
      if (!(await this.exists(id))) throw error;
    }
  }

  /** Deletes it when nothing is in it any more; another network of the pod may be. */
  async release(id: Guid): Promise<void> {
    if ((await this.resources(id)) !== 0) return;
    try {
      await this.caller.hcn("hcnDeleteNamespace", (client) => client.delete("Namespace", id));
    } catch (error) {
      if (!isMissing(error) && (await this.exists(id))) throw error;
    }
  }

  /** How many endpoints and containers it has; undefined: there is none. */
  private async resources(id: Guid): Promise<number | undefined> {
    const namespace = await unlessMissing(() =>
      this.caller.hcn("hcnEnumerateNamespaces", (client) => getNamespaceById(client, id)),
    );
    return namespace === undefined ? undefined : (namespace.Resources?.length ?? 0);
  }
}

/** The mode is that of the delegates and of HNS' sentences; the plugin itself has no reference that it could differ from. */
interface MullionNetnsOptions extends PluginMode {
  readonly client: HcnClient;
  readonly delegate: Delegate;
  readonly store: ScratchStore;
  readonly digest: Digest;
}

/** One call with what it is about. */
interface Call {
  readonly request: PluginRequest;
  readonly configuration: NetnsConfiguration;
  readonly attachments: Attachments;
  readonly attachment: AttachmentName;
}

export class MullionNetns implements CniPlugin {
  readonly name = "mullion-netns";
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly delegate: Delegate;
  private readonly store: ScratchStore;
  private readonly digest: Digest;
  private readonly client: HcnClient;
  private readonly namespaces: Namespaces;

  constructor(options: MullionNetnsOptions) {
    this.compat = options.compat;
    this.delegate = options.delegate;
    this.store = options.store;
    this.digest = options.digest;
    this.client = options.client;
    this.namespaces = new Namespaces(new HnsCaller(options.client, ENDPOINT_DIFFERENCES[options.compat]));
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const call = this.open(request);
    const { configuration, attachments, attachment } = call;
    const mapping = this.mappingOf(request.netns);
    if (mapping === undefined)
      return this.delegate.add(configuration.delegateType, forDelegate(call, undefined));
    await attachments.save(attachment, mapping);
    await this.namespaces.ensure(mapping.namespace);
    try {
      const result = await this.delegate.add(configuration.delegateType, forDelegate(call, mapping));
      return withPath(result, mapping);
    } catch (error) {
      await this.forgetQuietly(call, mapping);
      throw error;
    }
  }

  /** The namespace goes when the last network of the pod is detached. */
  async del(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    const { configuration, attachments, attachment } = call;
    const mapping = (await attachments.find(attachment)) ?? this.mappingOf(request.netns);
    await this.delegate.del(configuration.delegateType, forDelegate(call, mapping));
    if (mapping !== undefined) await this.namespaces.release(mapping.namespace);
    await attachments.remove(attachment);
  }

  async check(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    const mapping = this.mappingOf(request.netns);
    if (mapping !== undefined && !(await this.namespaces.exists(mapping.namespace))) {
      const { path, namespace } = mapping;
      throw new CniError(CNI_CODES.internal, WORDS.namespaceMissing({ namespace, path }));
    }
    await this.delegate.check(call.configuration.delegateType, forDelegate(call, mapping));
  }

  async status(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    try {
      await this.client.enumerate("Namespace");
    } catch (error) {
      const { message, details } = annotate(error, "mullion-netns is not ready");
      throw new CniError(CNI_CODES.pluginNotAvailable, message, {
        details,
        knowledge: "hns-unreachable",
        cause: error,
      });
    }
    await this.delegate.status(call.configuration.delegateType, forDelegate(call, undefined));
  }

  /** Goes on after failures and reports them at the end. Without a list nothing is known to be stale. */
  async gc(request: PluginRequest): Promise<void> {
    const call = this.open(request);
    const { configuration, attachments } = call;
    const ofDelegate = await attemptAll([
      () => this.delegate.gc(configuration.delegateType, forDelegate(call, undefined)),
    ]);
    const valid = readValidAttachments(request.configuration);
    const stale = valid === undefined ? [] : await attachments.listStale(configuration.name, valid);
    const own = await attemptAll(stale.map((each) => () => this.collect(attachments, each)));
    failWith([...ofDelegate, ...own]);
  }

  private async collect(attachments: Attachments, attachment: AttachmentName): Promise<void> {
    const mapping = await attachments.find(attachment);
    if (mapping !== undefined) await this.namespaces.release(mapping.namespace);
    await attachments.remove(attachment);
  }

  private async forgetQuietly(
    { request, attachments, attachment }: Call,
    mapping: NetnsMapping,
  ): Promise<void> {
    try {
      await this.namespaces.release(mapping.namespace);
      // An endpoint is in it, perhaps by an ADD before this one: DEL has to find it.
      if (!(await this.namespaces.exists(mapping.namespace))) await attachments.remove(attachment);
    } catch (error) {
      request.warn(`${this.name}: left for DEL: ${describeError(error)}`);
    }
  }

  /** Only paths have a mapping: a GUID, `none` and `container:ID` are what delegates want. */
  private mappingOf(netns: string): NetnsMapping | undefined {
    return netns.startsWith("/") ? { path: netns, namespace: guidOfPath(netns, this.digest) } : undefined;
  }

  /** @throws CniError with code 7. */
  private open(request: PluginRequest): Call {
    const configuration = decoding(
      CNI_CODES.invalidNetworkConfig,
      (fault) => `failed to load netconf: ${fault}`,
      () => readNetnsConfiguration(request.configuration, request.cniVersion),
    );
    const { containerId, ifName } = request;
    const attachments = new Attachments(this.store, configuration.dataFolder);
    const attachment = { networkName: configuration.name, containerId, ifName };
    return { request, configuration, attachments, attachment };
  }
}

/** The result as the runtime knows the sandbox. */
function withPath(result: CniResult, { path, namespace }: NetnsMapping): CniResult {
  const interfaces = result.interfaces.map((each) =>
    each.sandbox === namespace ? { ...each, sandbox: path } : each,
  );
  return { ...result, interfaces };
}

/** `prevResult` as the delegate has printed it: with the GUID for the path. */
function withGuid(previous: JsonValue | undefined, path: string, namespace: Guid): JsonValue | undefined {
  if (!isJsonObject(previous)) return previous;
  const interfaces = previous["interfaces"];
  if (!Array.isArray(interfaces)) return previous;
  const mapped = (interfaces as readonly JsonValue[]).map((each) =>
    isJsonObject(each) && each["sandbox"] === path ? { ...each, sandbox: namespace } : each,
  );
  return { ...previous, interfaces: mapped };
}

/** The request as the delegate gets it. */
function forDelegate({ request, configuration }: Call, mapping: NetnsMapping | undefined): PluginRequest {
  const netns = mapping?.namespace ?? request.netns;
  const previous = new StructReader(configuration.delegate).raw("prevResult");
  const given = mapping === undefined ? previous : withGuid(previous, mapping.path, mapping.namespace);
  const document: JsonObject = {
    ...configuration.delegate,
    ...(given === undefined ? {} : { prevResult: given }),
  };
  return {
    ...request,
    netns,
    // What it calls is a plugin for Windows, and shall behave so on this machine.
    env: { ...request.env, CNI_NETNS: netns, [OS_VARIABLE]: "windows" },
    configuration: document,
    configurationText: formatJson(document, 0),
  };
}
