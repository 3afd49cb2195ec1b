/** The configuration that win-bridge and win-overlay share (cni.md §2.1). */
import type { Compat } from "#core/base/compat.ts";
import { readStandardConfiguration } from "#contracts/cni/plugin-input.ts";
import { StructReader } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniDns } from "#contracts/cni/result.ts";

/** One entry of `policies`; the keys of `value` keep their case. */
export interface ConfiguredPolicy {
  readonly name: string;
  /** Undefined when the entry has none. */
  readonly value: JsonValue | undefined;
}

/** One entry of `runtimeConfig.portMappings`. */
export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  /** A name or a number, as given. */
  readonly protocol: string;
  /** Empty: every address of the node. */
  readonly hostIp: string;
}

/** The API the plugin drives: HCN (`apiVersion` 2), or HNS v1 for every other value. */
export type HnsApi = "hcn" | "hns";

/** What both plugins read. */
export interface WindowsConfiguration {
  /** The name of the HNS network, too. */
  readonly name: string;
  readonly api: HnsApi;
  readonly policies: readonly ConfiguredPolicy[];
  readonly hasLoopbackDsr: boolean;
  /** From the configuration and the runtime together. */
  readonly dns: CniDns;
  readonly portMappings: readonly PortMapping[];
  /** `ipam.type`; empty: HNS chooses the address. */
  readonly ipamType: string;
  /** What a person should know about this configuration; one line each. */
  readonly warnings: readonly string[];
}

/** Keys that people write and no current version reads. */
const UNREAD_KEYS: readonly (readonly [key: string, instead: string])[] = [
  ["HcnPolicyArgs", 'write HCN policies under "policies", with "apiVersion": 2'],
  ["AdditionalArgs", 'write endpoint policies under "policies"'],
];

function chooseApi(apiVersion: number, compat: Compat): HnsApi {
  if (compat === "hardened" && ![0, 1, 2].includes(apiVersion)) {
    throw new CniError(
      CNI_CODES.unsupportedField,
      `unsupported field "apiVersion": ${apiVersion}; write 2 for HCN (containerd) or 1 for HNS v1`,
    );
  }
  return apiVersion === 2 ? "hcn" : "hns";
}

/**
 * Non-empty lists of the runtime replace those of the configuration, each on its own. Upstream does not
 * read the runtime's options (cni.md §8, row 60).
 */
function selectDns(configured: CniDns, runtime: StructReader | undefined, compat: Compat): CniDns {
  if (runtime === undefined) return configured;
  const replace = (own: readonly string[], key: string): readonly string[] => {
    const given = runtime.texts(key);
    return given.length > 0 ? given : own;
  };
  return {
    nameservers: replace(configured.nameservers, "servers"),
    domain: configured.domain,
    search: replace(configured.search, "searches"),
    options: compat === "hardened" ? replace(configured.options, "options") : configured.options,
  };
}

/** One entry of `runtimeConfig.portMappings`, keys without regard to case. */
export function readPortMapping(reader: StructReader): PortMapping {
  return {
    hostPort: reader.integer("hostPort") ?? 0,
    containerPort: reader.integer("containerPort") ?? 0,
    protocol: reader.text("protocol"),
    hostIp: reader.text("hostIP"),
  };
}

/** Reads the shared part. @throws DecodeError; CniError for an `apiVersion` that is none (hardened). */
export function readWindowsConfiguration(document: JsonObject, compat: Compat): WindowsConfiguration {
  const standard = readStandardConfiguration(document);
  const reader = new StructReader(document);
  // Only its kind is looked at: both plugins ignore what it says.
  reader.object("prevResult");
  const runtime = reader.struct("runtimeConfig");
  const unread = UNREAD_KEYS.filter(([key]) => reader.raw(key) !== undefined);
  return {
    name: standard.name,
    api: chooseApi(reader.integer("apiVersion") ?? 0, compat),
    policies: reader
      .structs("policies")
      .map((policy) => ({ name: policy.text("name"), value: policy.raw("value") })),
    hasLoopbackDsr: reader.boolean("loopbackDSR"),
    dns: selectDns(standard.dns, runtime?.struct("dns"), compat),
    portMappings: runtime?.structs("portMappings").map(readPortMapping) ?? [],
    ipamType: standard.ipamType,
    warnings: compat === "hardened" ? unread.map(([key, instead]) => `"${key}" is not read; ${instead}`) : [],
  };
}
