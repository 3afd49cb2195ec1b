/** `ovn-k8s-cni-overlay`: a CNI plugin that hands each call on to the server on its node. */
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import { parseJson } from "#contracts/cni/json.ts";
import { requirePrevResult } from "#contracts/cni/plugin-input.ts";
import type { CniPlugin, PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniResult, parseResult } from "#contracts/cni/result.ts";
import { isJsonObject } from "#core/base/json.ts";
import { type CniServerExchange, WIRE_VERSION, formatCniRequest } from "./cni-requests.ts";

export class OvnK8sCniOverlay implements CniPlugin {
  readonly name = "ovn-k8s-cni-overlay";
  readonly compat: PluginMode["compat"];
  readonly supportedVersions: readonly string[] = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"];
  private readonly exchange: CniServerExchange;

  /** `exchange`: to the server, in this process or over its socket. */
  constructor(exchange: CniServerExchange, { compat }: PluginMode) {
    this.exchange = exchange;
    this.compat = compat;
  }

  async add(request: PluginRequest): Promise<CniResult> {
    const text = await this.ask(request);
    const answer = parseJson(text);
    if (!isJsonObject(answer) || !isJsonObject(answer["Result"]))
      throw new CniError(CNI_CODES.internal, `failed to unmarshal response '${text}'`);
    return parseResult(answer["Result"], WIRE_VERSION);
  }

  async del(request: PluginRequest): Promise<void> {
    await this.ask(request);
  }

  /** The interface of the result is the sandbox's; the server knows the rest. @throws CniError */
  async check(request: PluginRequest): Promise<void> {
    const { interfaces } = requirePrevResult(request.configuration);
    const own = interfaces.find(({ name }) => name === request.ifName);
    if (own?.sandbox !== request.netns)
      throw new CniError(
        CNI_CODES.internal,
        `sandbox in prevResult ${own?.sandbox ?? ""} doesn't match configured netns: ${request.netns}`,
      );
    await this.ask(request);
  }

  /** The server's answer. @throws CniError when it refuses, or is not there. */
  private async ask(request: PluginRequest): Promise<string> {
    const { env, configurationText } = request;
    const answer = await this.exchange(formatCniRequest(env, configurationText), env);
    if (answer.status === 200) return answer.text;
    const code = answer.mayComeYet ? CNI_CODES.tryAgainLater : CNI_CODES.internal;
    throw new CniError(code, `CNI request failed with status ${answer.status}: '${answer.text}'`);
  }
}
