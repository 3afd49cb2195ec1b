/**
 * The meta plugin flannel: it makes a delegate's configuration of its own and of what flanneld has leased for the node,
 * and leaves the rest to the delegate (cni.md §3). On Windows that is win-bridge unless something else is said, on Linux
 * bridge.
 */
import type { Compat } from "#core/base/compat.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { decoding, readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { StructReader, parseJson } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";
import { CNI_CODES, CniError, PluginPanic, annotate, describeError, wrap } from "#contracts/cni/error.ts";
import type { CniPlugin, PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import type { TextFiles } from "../host-local/plugin.ts";
import { isNamespaceGuid } from "../windows-endpoint/plugin-call.ts";
import {
  type FlannelConfiguration,
  readFlannelConfiguration,
  formatDelegate,
  makeDelegateConfiguration,
} from "./conf.ts";
import { FLANNEL_DIFFERENCES, type FlannelDifferences } from "./differences.ts";
import { type ScratchFile, ScratchFiles, type ScratchStore } from "./scratch-files.ts";
import { type SubnetEnv, parseSubnetEnv } from "#contracts/cni/subnet-env.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

export interface FlannelOptions extends PluginMode {
  readonly delegate: Delegate;
  /** For `subnet.env`. */
  readonly files: TextFiles;
  readonly scratch: ScratchStore;
}

/** Where a container of another sandbox joins in (dockershim). */
const JOINING = /^container:/;

export class Flannel implements CniPlugin {
  readonly name = "flannel";
  readonly supportedVersions: readonly string[] = SPEC_VERSIONS;
  readonly compat: Compat;
  private readonly differences: FlannelDifferences;
  private readonly delegate: Delegate;
  private readonly files: TextFiles;
  private readonly scratch: ScratchFiles;

  constructor(options: FlannelOptions) {
    this.compat = options.compat;
    this.differences = FLANNEL_DIFFERENCES[options.compat];
    this.delegate = options.delegate;
    this.files = options.files;
    this.scratch = new ScratchFiles(options.scratch, this.differences);
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const configuration = this.decode(request, "failed to load flannel netconf file: ");
    const text = formatDelegate(await this.generate(request, configuration));
    if (this.differences.printsSent) request.warn(`delegateAdd: netconf sent to delegate plugin:\n${text}`);
    await this.scratch.save(request, configuration, text);
    const { type, sent } = forDelegate(request, text);
    try {
      const result = await this.delegate.add(type, sent);
      return this.differences.keepsPrintedVersion ? { ...result, printedVersion: sent.cniVersion } : result;
    } catch (error) {
      throw wrap(error, "failed to delegate add");
    }
  }

  /** Sends what ADD has sent. */
  async del(request: PluginRequest): Promise<void> {
    const configuration = this.decode(request);
    const file = await this.scratch.find(request, configuration);
    const { remakesConfiguration, keepsSandboxFile } = this.differences;
    const text = remakesConfiguration
      ? (usableText(file) ?? formatDelegate(await this.regenerate(request, configuration)))
      : readStored(request, file);
    if (text !== undefined) {
      const { type, sent } = forDelegate(request, text);
      await this.delegate.del(type, sent);
    }
    const isLeft = keepsSandboxFile && JOINING.test(request.netns);
    if (file !== undefined && !isLeft && text !== undefined)
      await this.removeQuietly(request, configuration, file);
  }

  async check(request: PluginRequest): Promise<void> {
    if (!this.differences.delegatesAll) return;
    const configuration = this.decode(request);
    const file = await this.scratch.find(request, configuration);
    const text = usableText(file) ?? formatDelegate(await this.generate(request, configuration));
    const previous = new StructReader(request.configuration).raw("prevResult");
    // The runtime writes the result in the version that the configuration has now.
    const { cniVersion } = request;
    const more: JsonObject = previous === undefined ? {} : { cniVersion, prevResult: previous };
    const { type, sent } = forDelegate(request, text, more);
    await this.delegate.check(type, sent);
  }

  /** Not ready while flanneld has not leased a subnet. */
  async status(request: PluginRequest): Promise<void> {
    if (!this.differences.delegatesAll) return;
    const configuration = this.decode(request);
    let text: string;
    try {
      text = formatDelegate(await this.generate(request, configuration));
    } catch (error) {
      const { message, details, knowledge } = annotate(error, "flannel is not ready");
      throw new CniError(CNI_CODES.pluginNotAvailable, message, { details, knowledge, cause: error });
    }
    const { type, sent } = forDelegate(request, text);
    await this.delegate.status(type, sent);
  }

  /** The delegate gets the list; then the files of what is not valid go. */
  async gc(request: PluginRequest): Promise<void> {
    if (!this.differences.delegatesAll) return;
    const configuration = this.decode(request);
    const valid = readValidAttachments(request.configuration);
    if (valid === undefined) return;
    const list = valid.map(({ containerId, ifName }) => ({ containerID: containerId, ifname: ifName }));
    const text = formatDelegate(await this.regenerate(request, configuration));
    const { type, sent } = forDelegate(request, text, { "cni.dev/valid-attachments": list });
    await this.delegate.gc(type, sent);
    await this.scratch.collectGarbage(configuration, valid);
  }

  /** @throws CniError with code 7, or 999 as upstream. */
  private decode({ configuration }: PluginRequest, prefix = ""): FlannelConfiguration {
    const words = (fault: string): string => `${prefix}failed to load netconf: ${fault}`;
    return decoding(this.differences.configurationCode, words, () => readFlannelConfiguration(configuration));
  }

  private async readSubnetEnv({ subnetFile }: FlannelConfiguration): Promise<SubnetEnv> {
    try {
      return parseSubnetEnv(await this.files.readText(subnetFile), subnetFile, this.differences);
    } catch (error) {
      if (error instanceof PluginPanic) throw error;
      const message = WORDS.subnetFileLoadFailed({ error: describeError(error) });
      const knowledge = error instanceof CniError ? error.knowledge : "subnet-env-missing";
      throw new CniError(CNI_CODES.internal, message, { knowledge, cause: error });
    }
  }

  private async generate(request: PluginRequest, configuration: FlannelConfiguration): Promise<JsonObject> {
    const subnetEnv = await this.readSubnetEnv(configuration);
    const { platform, netns } = request;
    const isNamespace = isNamespaceGuid(netns);
    return makeDelegateConfiguration({
      configuration,
      subnetEnv,
      platform,
      differences: this.differences,
      isNamespace,
    });
  }

  /**
   * For the end of a pod. Without flanneld's file the delegate is asked all the same, without IPAM: what it made goes,
   * and the address is given back by the next GC.
   */
  private async regenerate(request: PluginRequest, configuration: FlannelConfiguration): Promise<JsonObject> {
    try {
      return await this.generate(request, configuration);
    } catch (error) {
      request.warn(`flannel: the address stays reserved until GC: ${describeError(error)}`);
      const { delegate, cniVersion, name } = configuration;
      const type = delegate?.["type"] ?? (request.platform === "win32" ? "win-bridge" : "bridge");
      return { ...delegate, name, type, cniVersion: cniVersion === "" ? "0.2.0" : cniVersion };
    }
  }

  private async removeQuietly(
    request: PluginRequest,
    configuration: FlannelConfiguration,
    file: ScratchFile,
  ): Promise<void> {
    try {
      await this.scratch.remove(configuration, file);
    } catch (error) {
      // The attachment is gone.
      if (this.differences.warnsOfLeftFiles) request.warn(`flannel: ${describeError(error)}`);
    }
  }
}

/** What the file holds, if a delegate can be called with it. */
function usableText(file: ScratchFile | undefined): string | undefined {
  return file?.document === undefined ? undefined : file.text;
}

/** Nothing to do without a file; a file that is no JSON is an error on Windows, and left on Linux. */
function readStored(request: PluginRequest, file: ScratchFile | undefined): string | undefined {
  if (file === undefined || file.document !== undefined) return file?.text;
  const problem = `failed to parse netconf: ${problemOf(file.text)}`;
  if (request.platform === "win32") throw new CniError(CNI_CODES.internal, problem);
  request.warn(problem);
  return undefined;
}

function problemOf(text: string): string {
  try {
    parseJson(text);
    return "it is not an object";
  } catch (error) {
    return describeError(error);
  }
}

/** The request as the delegate gets it. */
function forDelegate(
  request: PluginRequest,
  text: string,
  more: JsonObject = {},
): { readonly type: string; readonly sent: PluginRequest } {
  const stored = parseJson(text) as JsonObject;
  const configuration = { ...stored, ...more };
  const reader = new StructReader(configuration);
  const cniVersion = reader.text("cniVersion") || request.cniVersion;
  // What was stored is sent byte by byte.
  const configurationText = Object.keys(more).length === 0 ? text : formatDelegate(configuration);
  return { type: reader.text("type"), sent: { ...request, cniVersion, configuration, configurationText } };
}
