/** What a plugin is: verbs over a request (cni.md §1.7). */
import type { Compat } from "#core/base/compat.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { CniCommand, Environment, PluginParameters } from "./parameters.ts";
import type { CniResult } from "./result.ts";

/** The operating system a plugin believes it runs on; as Node names them. */
export type Platform = "win32" | "linux" | "darwin";

/** One validated call. */
export interface PluginRequest extends PluginParameters {
  readonly command: CniCommand;
  /** The whole environment: delegates get it. */
  readonly env: Environment;
  /** The version of the configuration; a missing one is 0.1.0 here. */
  readonly cniVersion: string;
  readonly configuration: JsonObject;
  /** The configuration as it was read: delegates get it. */
  readonly configurationText: string;
  readonly platform: Platform;
  /** Says something to the person who reads the runtime's log (stderr), one line. */
  warn(text: string): void;
}

/**
 * A CNI plugin. A verb that is absent succeeds silently, as with upstream's skeleton.
 * Verbs throw `CniError`; whatever else they throw is reported with code 999.
 */
export interface CniPlugin {
  /** The name of its executable, and what configurations call `type`. */
  readonly name: string;
  readonly compat: Compat;
  /** Versions of the specification it speaks, oldest first. */
  readonly supportedVersions: readonly string[];
  add(request: PluginRequest): Promise<CniResult>;
  del(request: PluginRequest): Promise<void>;
  /**
   * What plugins older than CHECK have in its place: a result, which is printed (azure-vnet, cni.md §5.2). Undefined:
   * `check` is called.
   */
  get?(request: PluginRequest): Promise<CniResult | undefined>;
  check?(request: PluginRequest): Promise<void>;
  /**
   * A command beside those of the contract, without parameters and configuration (azure-vnet, cni.md §5.2): what goes to
   * stdout. Undefined: there is no such command.
   */
  answer?(command: string): Promise<string> | undefined;
  status?(request: PluginRequest): Promise<void>;
  gc?(request: PluginRequest): Promise<void>;
}
