/** The configuration of the flannel meta plugin, and the one that it makes for its delegate (cni.md §3.1, §3.3). */
import { StructReader, formatJson, sortKeys } from "#contracts/cni/json.ts";
import type { JsonObject, JsonValue } from "#core/base/json.ts";
import type { FlannelDifferences } from "./differences.ts";
import { CNI_CODES, CniError, PluginPanic } from "#contracts/cni/error.ts";
import type { Platform } from "#contracts/cni/plugin.ts";
import { type Prefix, formatPrefix } from "#core/net/ip.ts";
import type { SubnetEnv } from "#contracts/cni/subnet-env.ts";
import type { ConfiguredPolicy } from "../windows-endpoint/plugin-call.ts";
import { addOutboundNatException } from "../windows-endpoint/endpoint-plan.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

const SUBNET_FILE_DEFAULT = "/run/flannel/subnet.env";
const DATA_FOLDER_DEFAULT = "/var/lib/cni/flannel";

export interface FlannelConfiguration {
  /** Of the list, and of the delegate: on Windows the name of the HNS network. */
  readonly name: string;
  /** Empty: none is written. */
  readonly cniVersion: string;
  /** Where flanneld writes. On Windows on the current drive of the runtime. */
  readonly subnetFile: string;
  readonly dataFolder: string;
  /** The beginning of the delegate's configuration, keys as they were written; undefined: none. */
  readonly delegate: JsonObject | undefined;
  /** Additions to the delegate's IPAM; read on Linux alone. */
  readonly ipam: JsonObject | undefined;
  readonly runtimeConfig: JsonObject | undefined;
}

/** Reads the configuration. @throws DecodeError */
export function readFlannelConfiguration(document: JsonObject): FlannelConfiguration {
  const reader = new StructReader(document);
  const subnetFile = reader.text("subnetFile");
  const dataFolder = reader.text("dataDir");
  return {
    name: reader.text("name"),
    cniVersion: reader.text("cniVersion"),
    // An empty text is one that was written: upstream then opens a file without a name.
    subnetFile: reader.raw("subnetFile") === undefined ? SUBNET_FILE_DEFAULT : subnetFile,
    dataFolder: reader.raw("dataDir") === undefined ? DATA_FOLDER_DEFAULT : dataFolder,
    delegate: reader.object("delegate"),
    ipam: reader.object("ipam"),
    runtimeConfig: reader.object("runtimeConfig"),
  };
}

/** The version a delegate is spoken to in when the configuration has none. */
const DELEGATE_VERSION_DEFAULT = "0.2.0";

interface DelegateOptions {
  readonly configuration: FlannelConfiguration;
  readonly subnetEnv: SubnetEnv;
  readonly platform: Platform;
  readonly differences: FlannelDifferences;
  /** The sandbox is an HCN namespace, which plugins of HNS v1 cannot serve. */
  readonly isNamespace: boolean;
}

function refuse(message: string): CniError {
  return new CniError(CNI_CODES.internal, message, { knowledge: "cni-flannel-delegate-field-forbidden" });
}

/** What flannel alone may say. Looked for with case, as in upstream. @throws CniError */
function checkDelegate(delegate: JsonObject): void {
  const has = (key: string): boolean => Object.hasOwn(delegate, key);
  if (has("type") && typeof delegate["type"] !== "string")
    throw refuse("'delegate' dictionary, if present, must have (string) 'type' field");
  for (const key of ["name", "ipam"]) {
    if (has(key)) throw refuse(WORDS.delegateFieldForbidden({ key }));
  }
}

/** The networks behind the first, which `ipMasqNetwork` has no room for, as exceptions of win-bridge (row 93). */
function withMoreNetworks(delegate: JsonObject, networks: readonly Prefix[]): JsonObject {
  const reader = new StructReader(delegate);
  if (delegate["type"] !== "win-bridge" || networks.length < 2) return delegate;
  const api = reader.integer("apiVersion") === 2 ? "hcn" : "hns";
  const before: readonly ConfiguredPolicy[] = reader
    .structs("policies")
    .map((policy) => ({ name: policy.text("name"), value: policy.raw("value") }));
  const policies = networks
    .map(formatPrefix)
    .reduce(
      (list, network) => addOutboundNatException(list, network, api, { joinsExceptions: true }),
      before,
    );
  const others = Object.entries(delegate).filter(([key]) => key.toLowerCase() !== "policies");
  const documents = policies.map(({ name, value }): JsonObject => ({ name, value: value ?? null }));
  return { ...Object.fromEntries(others), policies: documents };
}

function windowsDelegate(base: JsonObject, options: DelegateOptions): JsonObject {
  const { configuration, subnetEnv, differences, isNamespace } = options;
  const isIpv6Only = subnetEnv.networks.length === 0 || subnetEnv.subnet === undefined;
  if (isIpv6Only && differences.crashes)
    throw new PluginPanic("runtime error: index out of range [0] with length 0");
  const networks = isIpv6Only ? subnetEnv.ipv6Networks : subnetEnv.networks;
  const subnet = isIpv6Only ? subnetEnv.ipv6Subnet : subnetEnv.subnet;
  const [network] = networks;
  if (network === undefined || subnet === undefined) {
    const message = WORDS.subnetFileFamilyMismatch({ subnetFile: configuration.subnetFile });
    throw new CniError(CNI_CODES.internal, message, { knowledge: "subnet-env-incomplete" });
  }
  const delegate: JsonObject = {
    ...base,
    name: configuration.name,
    type: base["type"] ?? "win-bridge",
    ipMasq: subnetEnv.isMasqueraded,
    ipMasqNetwork: formatPrefix(network),
    cniVersion: configuration.cniVersion === "" ? DELEGATE_VERSION_DEFAULT : configuration.cniVersion,
    ipam: { type: "host-local", subnet: formatPrefix(subnet) },
  };
  if (!differences.completesDelegate) return delegate;
  const isMain = delegate["type"] === "win-bridge" || delegate["type"] === "win-overlay";
  const hasApi = new StructReader(delegate).raw("apiVersion") !== undefined;
  // A namespace needs HCN (cni.md §2.12: upstream does not say so for the delegate).
  const withApi = isMain && isNamespace && !hasApi ? { ...delegate, apiVersion: 2 } : delegate;
  return withMoreNetworks(withApi, networks);
}

function linuxIpam({ configuration, subnetEnv }: DelegateOptions): JsonObject {
  const ipam = configuration.ipam ?? {};
  const subnets = [subnetEnv.subnet, subnetEnv.ipv6Subnet].filter((subnet) => subnet !== undefined);
  const routes = new StructReader(ipam, "ipam").list("routes");
  const own = [...subnetEnv.networks, ...subnetEnv.ipv6Networks].map((network) => ({
    dst: formatPrefix(network),
  }));
  return {
    ...ipam,
    type: ipam["type"] ?? "host-local",
    ranges: subnets.map((subnet) => [{ subnet: formatPrefix(subnet) }]),
    routes: [...routes, ...own],
  };
}

/** On Linux flanneld masquerades itself, unless it says that it does not: then the delegate has to. */
function linuxDelegate(base: JsonObject, options: DelegateOptions): JsonObject {
  const { configuration, subnetEnv } = options;
  const type = base["type"] ?? "bridge";
  return {
    ipMasq: !subnetEnv.isMasqueraded,
    mtu: subnetEnv.mtuBytes,
    ...(type === "bridge" && { isGateway: true }),
    ...base,
    name: configuration.name,
    type,
    ...(configuration.cniVersion !== "" && { cniVersion: configuration.cniVersion }),
    ipam: linuxIpam(options),
  };
}

/** Makes the configuration. @throws CniError, PluginPanic */
export function makeDelegateConfiguration(options: DelegateOptions): JsonObject {
  const { delegate, runtimeConfig } = options.configuration;
  if (delegate !== undefined) checkDelegate(delegate);
  const base: JsonObject = { ...delegate, ...(runtimeConfig !== undefined && { runtimeConfig }) };
  return options.platform === "win32" ? windowsDelegate(base, options) : linuxDelegate(base, options);
}

/** As Go prints a map: keys in order, one line. */
export function formatDelegate(configuration: JsonValue): string {
  return formatJson(sortKeys(configuration), 0);
}
