/**
 * The CNI contract: writing plugins, running them in process, reading and printing their results.
 *
 * @example
 * const runner = new InProcessRunner(new Map([["host-local", hostLocal]]), "win32");
 * const runtime = new CniRuntime({ runner, cache: new MemoryResultCache() });
 * const result = await runtime.add(parseNetworkList(text), { containerId: "web", netns: "none", ifName: "eth0" });
 */
export type { Compat } from "#core/base/compat.ts";
export {
  type CniCommand,
  type Environment,
  type GcAttachment,
  PARAMETERS,
  type Parameter,
  type PluginParameters,
  type StandardConfiguration,
  formatCniArguments,
  parseCniArguments,
  readPrevResult,
  readStandardConfiguration,
  readValidAttachments,
} from "./plugin-input.ts";
export { type NetworkList, type NetworkPlugin, parseNetworkList, parseSinglePlugin } from "./conflist.ts";
export { DecodeError, JsonError, StructReader, parseJson } from "./json.ts";
export {
  type Delegate,
  InProcessRunner,
  type PluginCall,
  type PluginExit,
  type PluginRunner,
  RunnerDelegate,
} from "./plugin-runner.ts";
export { CNI_CODES, CniError, type CniErrorOptions } from "./error.ts";
export { type JsonObject, type JsonValue } from "#core/base/json.ts";
export {
  type CniPlugin,
  type CniProcess,
  type Platform,
  type PluginRequest,
  type PluginStatus,
  runPlugin,
} from "./plugin.ts";
export {
  type CniDns,
  type CniInterface,
  type CniIp,
  type CniResult,
  type CniRoute,
  EMPTY_DNS,
  formatResult,
  parseResult,
  printResult,
} from "./result.ts";
export {
  type AttachmentKey,
  type CachedAttachment,
  type CniAttachment,
  CniRuntime,
  type CniRuntimeOptions,
  MemoryResultCache,
  type ResultCache,
} from "./runtime.ts";
export { NEWEST_VERSION, SPEC_VERSIONS } from "./version.ts";
