/** The delegated IPAM plugin: what it is sent, and how its failures are told (cni.md §5.4 step 2, §5.6). */
import { StructReader, equalFold } from "../../cni/decode.ts";
import type { Delegate } from "../../cni/delegate.ts";
import { CNI_CODES, CniError, describeError } from "../../cni/error.ts";
import { type JsonObject, type JsonValue, formatJson, isJsonObject } from "../../cni/json.ts";
import type { Compat } from "../../cni/parameters.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import { type CniResult, formatDns, readDns } from "../../cni/result.ts";
import { familyOf, formatIp } from "../../net/ip.ts";
import type { InterfaceAddress } from "../../net/prefix.ts";
import { readPortMapping } from "../windows-endpoint/conf.ts";
import { AZURE_DEFAULT_VERSION } from "./conf.ts";

/** What the reference calls for addresses of IPv6, whatever plugin gave them. */
const IPAM_V6 = { type: "azure-vnet-ipamv6", environment: "ipv6NodeIpam" } as const;

const TEXTS_BEFORE = ["mode", "master", "adapterName", "bridge", "logLevel", "logTarget"];
const TEXTS_OF_IPAM = ["mode", "type", "environment", "addressSpace", "subnet", "ipAddress", "queryInterval"];
const SWITCHES = [
  "enableSnatOnHost",
  "enableExactMatchForPodName",
  "disableHairpinOnHostInterface",
  "disableIPTableLock",
  "disableAsyncDelete",
];

function given(members: Readonly<Record<string, JsonValue>>): JsonObject {
  const isEmpty = (value: JsonValue): boolean =>
    value === "" || value === false || value === 0 || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isEmpty(value)));
}

function texts(reader: StructReader | undefined, names: readonly string[]): JsonObject {
  return given(Object.fromEntries(names.map((name) => [name, reader?.text(name) ?? ""])));
}

function runtimeOf(reader: StructReader | undefined): JsonObject {
  const mappings = reader?.structs("portMappings").map(readPortMapping) ?? [];
  const dns = reader?.struct("dns");
  const lists = ["servers", "searches", "options"].map((name) => [name, dns?.texts(name) ?? []] as const);
  return {
    ...given({
      portMappings: mappings.map(({ hostPort, containerPort, protocol, hostIp }) => ({
        hostPort,
        containerPort,
        protocol,
        ...(hostIp !== "" && { hostIP: hostIp }),
      })),
    }),
    dns: given(Object.fromEntries(lists)),
  };
}

/** The configuration as the reference writes it anew: what it does not know is lost, `ranges` of host-local too. */
function written(document: JsonObject): JsonObject {
  const reader = new StructReader(document);
  const windows = reader.struct("windowsSettings");
  return {
    cniVersion: reader.text("cniVersion") || AZURE_DEFAULT_VERSION,
    ...texts(reader, ["name", "type", ...TEXTS_BEFORE]),
    ...given(Object.fromEntries(SWITCHES.map((name) => [name, reader.boolean(name)]))),
    ...texts(reader, ["cnsurl", "executionMode"]),
    ipam: { type: "", ...texts(reader.struct("ipam"), TEXTS_OF_IPAM) },
    dns: formatDns(readDns(reader.struct("dns"))),
    runtimeConfig: runtimeOf(reader.struct("runtimeConfig")),
    windowsSettings: given({
      enableLoopbackDSR: windows?.boolean("enableLoopbackDSR") === true,
      hnsTimeoutDurationInSeconds: windows?.integer("hnsTimeoutDurationInSeconds") ?? 0,
    }),
    ...given({
      AdditionalArgs: reader
        .structs("AdditionalArgs")
        .map((entry) => ({ name: entry.text("name"), value: entry.raw("value") ?? null })),
    }),
    ...texts(reader, ["env"]),
  };
}

/** The document with members of `ipam` replaced, in whatever case they stand there. */
function withIpam(document: JsonObject, members: Readonly<Record<string, string>>): JsonObject {
  const key = Object.keys(document).findLast((name) => equalFold(name, "ipam")) ?? "ipam";
  const before = isJsonObject(document[key]) ? document[key] : {};
  const isReplaced = (name: string): boolean => Object.keys(members).some((other) => equalFold(other, name));
  const kept = Object.entries(before).filter(([name]) => !isReplaced(name));
  return { ...document, [key]: { ...Object.fromEntries(kept), ...members } };
}

export interface AzureIpamOptions {
  readonly type: string;
  readonly request: PluginRequest;
  readonly delegate: Delegate;
  readonly compat: Compat;
}

export class AzureIpam {
  private readonly options: AzureIpamOptions;
  private readonly document: JsonObject;

  constructor(options: AzureIpamOptions) {
    this.options = options;
    const { configuration } = options.request;
    this.document = options.compat === "reference" ? written(configuration) : configuration;
  }

  /** Asks for addresses; `subnet` is the first of the network that is there already. @throws CniError */
  async add(subnet: string): Promise<CniResult> {
    const { delegate, type } = this.options;
    try {
      return await delegate.add(type, this.requestWith(subnet === "" ? {} : { subnet }));
    } catch (error) {
      const prefix =
        "IPAM Invoker Add failed with error: failed to add ipam invoker: Failed to allocate pool: Failed to delegate:";
      throw this.failure(`${prefix} ${describeError(error)}`, error);
    }
  }

  /** Gives an address back; without one, what the container holds. @throws CniError */
  async release(address: InterfaceAddress | undefined, subnet: string): Promise<void> {
    const { delegate, type, compat } = this.options;
    const ipAddress = address === undefined ? undefined : formatIp(address.ip);
    const isV6 = address !== undefined && familyOf(address.ip) === 6;
    const members = { ...(subnet !== "" && { subnet }), ...(ipAddress !== undefined && { ipAddress }) };
    const sentence =
      address === undefined
        ? "Attempted to release address with error: "
        : `Failed to release ipv${isV6 ? 6 : 4} address:`;
    try {
      if (isV6 && compat === "reference")
        await delegate.del(IPAM_V6.type, this.requestWith({ ...members, ...IPAM_V6 }));
      else await delegate.del(type, this.requestWith(members));
    } catch (error) {
      throw this.failure(`${sentence} Failed to delegate: ${describeError(error)}`, error);
    }
  }

  /** @throws the plugin's error */
  async check(): Promise<void> {
    await this.options.delegate.check(this.options.type, this.options.request);
  }

  /** @throws the plugin's error */
  async status(): Promise<void> {
    await this.options.delegate.status(this.options.type, this.options.request);
  }

  /** @throws the plugin's error */
  async gc(): Promise<void> {
    await this.options.delegate.gc(this.options.type, this.options.request);
  }

  private failure(message: string, cause: unknown): CniError {
    const knowledge = cause instanceof CniError ? cause.knowledge : undefined;
    return new CniError(CNI_CODES.internal, message, { knowledge, cause });
  }

  private requestWith(members: Readonly<Record<string, string>>): PluginRequest {
    const configuration = withIpam(this.document, members);
    const cniVersion = new StructReader(configuration).text("cniVersion") || AZURE_DEFAULT_VERSION;
    return {
      ...this.options.request,
      cniVersion,
      configuration,
      configurationText: formatJson(configuration, 0),
    };
  }
}
