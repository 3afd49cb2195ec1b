/** The parts of a plugin's configuration that every plugin shares (cni.md §1.2). */
import { CNI_CODES, CniError } from "./error.ts";
import { DecodeError, StructReader } from "./json.ts";
import { type JsonObject } from "#core/base/json.ts";
import { type CniDns, type CniResult, parseResult, readDns } from "./result.ts";
import { OLDEST_VERSION } from "./version.ts";

/** One attachment that the runtime still knows (GC). */
export interface GcAttachment {
  readonly containerId: string;
  readonly ifName: string;
}

/** The standard members; texts are empty when absent. */
export interface StandardConfiguration {
  readonly cniVersion: string;
  readonly name: string;
  readonly type: string;
  /** `ipam.type`; empty: no IPAM plugin. */
  readonly ipamType: string;
  readonly dns: CniDns;
  readonly capabilities: ReadonlyMap<string, boolean>;
}

/** Reads the standard members, names without regard to case. @throws DecodeError */
export function readStandardConfiguration(document: JsonObject): StandardConfiguration {
  const reader = new StructReader(document);
  return {
    cniVersion: reader.text("cniVersion"),
    name: reader.text("name"),
    type: reader.text("type"),
    ipamType: reader.struct("ipam")?.text("type") ?? "",
    dns: readDns(reader.struct("dns")),
    capabilities: readCapabilities(reader.object("capabilities") ?? {}),
  };
}

/** The names are data: they keep their case. */
function readCapabilities(declared: JsonObject): ReadonlyMap<string, boolean> {
  const capabilities = new Map<string, boolean>();
  for (const [name, given] of Object.entries(declared)) {
    const value = given ?? false;
    if (typeof value !== "boolean") throw new DecodeError(`capabilities.${name}`, "true or false", value);
    capabilities.set(name, value);
  }
  return capabilities;
}

/** The version the configuration is written in. */
export function effectiveVersion(configured: string): string {
  return configured === "" ? OLDEST_VERSION : configured;
}

/** The result of the previous plugin, or of the ADD that is being checked. @throws DecodeError, CniError */
export function readPrevResult(document: JsonObject): CniResult | undefined {
  const reader = new StructReader(document);
  const value = reader.raw("prevResult");
  return value === undefined ? undefined : parseResult(value, effectiveVersion(reader.text("cniVersion")));
}

/** The result of the ADD that CHECK compares with. @throws CniError (7) when it is missing; DecodeError */
export function requirePrevResult(document: JsonObject): CniResult {
  const previous = readPrevResult(document);
  if (previous !== undefined) return previous;
  const message = 'CHECK needs the field "prevResult", the result of ADD';
  throw new CniError(CNI_CODES.invalidNetworkConfig, message);
}

/**
 * The attachments that GC must keep. Undefined when the runtime sent no list, which says nothing; an empty list
 * says that nothing is valid. Old client libraries spell the key `cni.dev/attachments`.
 * @throws DecodeError
 */
export function readValidAttachments(document: JsonObject): readonly GcAttachment[] | undefined {
  const reader = new StructReader(document);
  const key = ["cni.dev/valid-attachments", "cni.dev/attachments"].find(
    (name) => reader.raw(name) !== undefined,
  );
  if (key === undefined) return undefined;
  return reader.structs(key).map((attachment) => ({
    containerId: attachment.text("containerID"),
    ifName: attachment.text("ifname"),
  }));
}
