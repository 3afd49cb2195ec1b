/** The configuration of azure-vnet (cni.md §5.1). */
import { readStandardConfiguration } from "#contracts/cni/plugin-input.ts";
import { StructReader } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue } from "#core/base/json.ts";
import { CNI_CODES, CniError } from "#contracts/cni/error.ts";
import type { CniDns } from "#contracts/cni/result.ts";
import {
  type PortMapping,
  type RuntimeDns,
  readPortMapping,
  readRuntimeDns,
} from "../windows-endpoint/plugin-call.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** The code of errors that the plugin words itself (cni.md §5.2). */
export const AZURE_ERROR_CODE = 100;
/** The version of a configuration that says none: another one than elsewhere (cni.md §5.1). */
export const AZURE_DEFAULT_VERSION = "0.2.0";

/** An entry of `AdditionalArgs` whose name has `Policy` in it, or a policy that the plugin adds. */
export interface AzurePolicy {
  /** `EndpointPolicy` and `NetworkPolicy`, written exactly so, are used. */
  readonly name: string;
  readonly value: JsonValue | undefined;
}

export interface AzureConfiguration {
  /** The network's ID in the state, and its name in HNS. */
  readonly name: string;
  readonly mode: string;
  /** The host's interface; empty: the one whose subnet is that of the pods. */
  readonly master: string;
  /** The adapter in the network's policy in place of the master. */
  readonly adapterName: string;
  readonly bridge: string;
  readonly ipamType: string;
  readonly dns: CniDns;
  readonly runtimeDns: RuntimeDns;
  readonly portMappings: readonly PortMapping[];
  readonly hasLoopbackDsr: boolean;
  /** How long one call to HNS may take, in seconds; 0: as long as it likes. */
  readonly hnsTimeoutSeconds: number;
  readonly policies: readonly AzurePolicy[];
  /** The network of each pod is that of its tenant, which CNS knows. */
  readonly isMultiTenant: boolean;
  /** The addresses are those of CNS. */
  readonly usesCns: boolean;
  readonly isV4Swift: boolean;
  /** Pods have addresses that the network around the nodes does not know. */
  readonly isOverlay: boolean;
  /** Empty, or `ipv6nat`: a second address, of azure-vnet-ipamv6. */
  readonly ipv6Mode: string;
  /** Where CNS is; empty: the usual place. */
  readonly cnsUrl: string;
  /** CNS gets the pod's name with the parts that controllers add. */
  readonly hasExactPodNames: boolean;
  /** A release that CNS does not hear fails DEL, and is not left to CNS. */
  readonly hasNoAsyncDelete: boolean;
  /** `test`: another wire server. */
  readonly env: string;
  /** What a person should know about this configuration; one line each. */
  readonly warnings: readonly string[];
}

/** The agent of bare metal speaks gRPC: what is not there is said before anything is done. */
function refuseBareMetal(reader: StructReader): void {
  const execution = reader.text("executionMode");
  if (execution !== "baremetal") return;
  throw new CniError(
    CNI_CODES.invalidNetworkConfig,
    WORDS.executionModeUnsupported({ execution: JSON.stringify(execution) }),
    { knowledge: "cni-azure-mode-missing" },
  );
}

const OVERLAY_MODES: readonly string[] = ["overlay", "v4overlay", "dualStackOverlay"];
const CNS_IPAM = "azure-cns";

function readPolicies(reader: StructReader): readonly AzurePolicy[] {
  return reader
    .structs("AdditionalArgs")
    .map((entry) => ({ name: entry.text("name"), value: entry.raw("value") }))
    .filter(({ name }) => name.includes("Policy"));
}

function warningsFor(policies: readonly AzurePolicy[], mode: string): readonly string[] {
  const unread = policies
    .filter(({ name }) => name !== "EndpointPolicy" && name !== "NetworkPolicy")
    .map(({ name }) => `AdditionalArgs of the name ${JSON.stringify(name)} are not used`);
  // Row 145: the mode "l2tunnel" exists in documents alone.
  return mode === "" || mode === "bridge" || mode === "l2bridge"
    ? unread
    : [...unread, WORDS.modeIgnored({ mode: JSON.stringify(mode) })];
}

/** Reads the configuration. @throws DecodeError; CniError for a mode that is not there */
export function readAzureConfiguration(document: JsonObject, warns: boolean): AzureConfiguration {
  const standard = readStandardConfiguration(document);
  const reader = new StructReader(document);
  refuseBareMetal(reader);
  const runtime = reader.struct("runtimeConfig");

  const windows = reader.struct("windowsSettings");
  const policies = readPolicies(reader);
  const mode = reader.text("mode");
  return {
    name: standard.name,
    mode,
    master: reader.text("master"),
    adapterName: reader.text("adapterName"),
    bridge: reader.text("bridge"),
    ipamType: standard.ipamType,
    dns: standard.dns,
    runtimeDns: readRuntimeDns(runtime),
    portMappings: runtime?.structs("portMappings").map(readPortMapping) ?? [],
    hasLoopbackDsr: windows?.boolean("enableLoopbackDSR") === true,
    hnsTimeoutSeconds: windows?.integer("hnsTimeoutDurationInSeconds") ?? 0,
    policies,
    isMultiTenant: reader.boolean("multiTenancy"),
    usesCns: standard.ipamType === CNS_IPAM,
    isV4Swift: reader.text("executionMode") === "v4swift",
    isOverlay: OVERLAY_MODES.includes(reader.struct("ipam")?.text("mode") ?? ""),
    ipv6Mode: reader.text("ipv6Mode"),
    cnsUrl: reader.text("cnsurl"),
    hasExactPodNames: reader.boolean("enableExactMatchForPodName"),
    hasNoAsyncDelete: reader.boolean("disableAsyncDelete"),
    env: reader.text("env"),
    warnings: warns ? warningsFor(policies, mode) : [],
  };
}
