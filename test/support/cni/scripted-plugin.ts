/** A plugin that does what a test tells it and remembers what it was asked. */
import type { Compat } from "#core/base/compat.ts";
import type { CniPlugin, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniCommand } from "#contracts/cni/plugin-input.ts";
import { type CniResult, EMPTY_DNS } from "#contracts/cni/result.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { defined } from "#core/base/assert.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";

/** A result with one address and nothing else. */
export function resultWith(...addresses: readonly string[]): CniResult {
  return {
    interfaces: [],
    ips: addresses.map((text) => ({ address: defined(parseInterfaceAddress(text), text) })),
    routes: [],
    dns: EMPTY_DNS,
  };
}

function noWord(): void {}

export class ScriptedPlugin implements CniPlugin {
  readonly name: string;
  readonly compat: Compat;
  readonly supportedVersions: readonly string[];
  readonly requests: PluginRequest[] = [];
  /** What ADD answers. */
  result: CniResult = resultWith("10.244.3.2/24");
  /** Verbs that fail, with what they throw. */
  readonly failures: Map<CniCommand, Error> = new Map();

  constructor(
    name = "scripted",
    compat: Compat = "upstream",
    supportedVersions: readonly string[] = SPEC_VERSIONS,
  ) {
    this.name = name;
    this.compat = compat;
    this.supportedVersions = supportedVersions;
  }

  /** The verbs in the order in which they came. */
  get verbs(): readonly string[] {
    return this.requests.map(({ command }) => command);
  }

  async add(request: PluginRequest): Promise<CniResult> {
    await this.note(request);
    return this.result;
  }

  del(request: PluginRequest): Promise<void> {
    return this.note(request);
  }

  check(request: PluginRequest): Promise<void> {
    return this.note(request);
  }

  status(request: PluginRequest): Promise<void> {
    return this.note(request);
  }

  gc(request: PluginRequest): Promise<void> {
    return this.note(request);
  }

  private note(request: PluginRequest): Promise<void> {
    // The request of a running call can say something; a remembered one is data.
    this.requests.push(Object.freeze({ ...request, warn: noWord }));
    const failure = this.failures.get(request.command);
    return failure === undefined ? Promise.resolve() : Promise.reject(failure);
  }
}
