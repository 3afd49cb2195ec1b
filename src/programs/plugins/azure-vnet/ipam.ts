/** The delegated IPAM plugin: what it is sent, and how its failures are reported (cni.md §5.4 step 2, §5.6). */
import type { AzureDifferences } from "./differences.ts";
import { StructReader, equalFold, formatJson } from "#contracts/cni/json.ts";
import { type JsonObject, mappingOf } from "#core/base/json.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniResult, formatDns, readDns } from "#contracts/cni/result.ts";
import { type InterfaceAddress, familyOf, formatIp } from "#core/net/ip.ts";
import {
  formatRuntimeConfig,
  readPortMapping,
  readRuntimeDns,
  withoutEmpty,
} from "../windows-endpoint/plugin-call.ts";
import { quietly } from "../windows-endpoint/hns-caller.ts";
import { type AddressSource, type AzureAllocation, PLAIN_NIC, formatNetwork } from "./address-source.ts";
import { AZURE_DEFAULT_VERSION } from "./conf.ts";
import type { AzureSubnet } from "./state.ts";

/** What upstream calls for addresses of IPv6, whatever plugin gave them. */
const IPAM_V6 = { type: "azure-vnet-ipamv6", environment: "ipv6NodeIpam" } as const;

const TEXTS_BEFORE = [
  "mode",
  "master",
  "adapterName",
  "bridge",
  "logLevel",
  "logTarget",
  "infraVnetAddressSpace",
  "ipv6Mode",
  "serviceCidrs",
  "vnetCidrs",
];
const LISTS = ["podNamespaceForDualNetwork", "ipsToRouteViaHost"];
const TEXTS_OF_IPAM = ["mode", "type", "environment", "addressSpace", "subnet", "ipAddress", "queryInterval"];
const SWITCHES = [
  "multiTenancy",
  "enableSnatOnHost",
  "enableExactMatchForPodName",
  "disableHairpinOnHostInterface",
  "disableIPTableLock",
  "disableAsyncDelete",
];

function texts(reader: StructReader | undefined, names: readonly string[]): JsonObject {
  return withoutEmpty(Object.fromEntries(names.map((name) => [name, reader?.text(name) ?? ""])));
}

/** The configuration as upstream writes it anew: what it does not know is lost, `ranges` of host-local too. */
function written(document: JsonObject): JsonObject {
  const reader = new StructReader(document);
  const windows = reader.struct("windowsSettings");
  const runtime = reader.struct("runtimeConfig");
  const mappings = runtime?.structs("portMappings").map(readPortMapping) ?? [];
  return {
    cniVersion: reader.text("cniVersion") || AZURE_DEFAULT_VERSION,
    ...texts(reader, ["name", "type", ...TEXTS_BEFORE]),
    ...withoutEmpty(Object.fromEntries(LISTS.map((name) => [name, reader.texts(name)]))),
    ...withoutEmpty(Object.fromEntries(SWITCHES.map((name) => [name, reader.boolean(name)]))),
    ...texts(reader, ["cnsurl", "executionMode"]),
    ipam: { type: "", ...texts(reader.struct("ipam"), TEXTS_OF_IPAM) },
    dns: formatDns(readDns(reader.struct("dns"))),
    runtimeConfig: formatRuntimeConfig(mappings, readRuntimeDns(runtime)),
    windowsSettings: withoutEmpty({
      enableLoopbackDSR: windows?.boolean("enableLoopbackDSR") === true,
      hnsTimeoutDurationInSeconds: windows?.integer("hnsTimeoutDurationInSeconds") ?? 0,
    }),
    ...withoutEmpty({
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
  const before = mappingOf(document[key]);
  const isReplaced = (name: string): boolean => Object.keys(members).some((other) => equalFold(other, name));
  const kept = Object.entries(before).filter(([name]) => !isReplaced(name));
  return { ...document, [key]: { ...Object.fromEntries(kept), ...members } };
}

export interface AzureIpamOptions {
  readonly type: string;
  readonly ipv6Mode: string;
  readonly request: PluginRequest;
  readonly delegate: Delegate;
  readonly differences: AzureDifferences;
  /** Of the network, when it is known. */
  readonly subnets: readonly AzureSubnet[];
  /** Removes IPAM's state unless ours is there. */
  readonly forgetAddresses: () => Promise<void>;
}

const NO_POOLS = "no available address pools";
const ADD_FAILED = "IPAM Invoker Add failed with error: failed to add ipam invoker";

function subnetText(subnet: AzureSubnet | undefined): string {
  return subnet === undefined ? "" : formatNetwork(subnet.prefix);
}

export class AzureIpam implements AddressSource {
  private readonly options: AzureIpamOptions;
  private readonly document: JsonObject;
  /** That of the first address that was given: the pool of a network which is not known yet. */
  private givenSubnet = "";

  constructor(options: AzureIpamOptions) {
    this.options = options;
    const { configuration } = options.request;
    this.document = options.differences.rewritesIpam ? written(configuration) : configuration;
  }

  async add(): Promise<AzureAllocation> {
    const { ips, routes, dns } = await this.addBoth();
    const first = ips[0]?.address;
    if (first !== undefined) this.givenSubnet = formatNetwork(first);
    const { nameservers, domain } = dns;
    const nic = { ...PLAIN_NIC, ips, routes, dns: { nameservers, domain }, hostSubnet: first };
    return { nics: [nic], primaryIp: "", snat: { forDns: false, onHost: false } };
  }

  async release(address: InterfaceAddress | undefined): Promise<void> {
    const { delegate, type } = this.options;
    const isV6 = address !== undefined && familyOf(address.ip) === 6;
    const [, second] = this.options.subnets;
    const subnet = subnetText(this.options.subnets[0]) || this.givenSubnet;
    const members = {
      ...(subnet !== "" && { subnet }),
      ...(address !== undefined && { ipAddress: formatIp(address.ip) }),
    };
    const sentence =
      address === undefined
        ? "Attempted to release address with error: "
        : `Failed to release ipv${isV6 ? 6 : 4} address:`;
    try {
      if (isV6 && this.usesSecondPlugin()) {
        const own = second === undefined ? {} : { subnet: subnetText(second) };
        await delegate.del(IPAM_V6.type, this.requestWith({ ...members, ...own, ...IPAM_V6 }));
      } else await delegate.del(type, this.requestWith(members));
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
    if (this.options.ipv6Mode !== "")
      await this.options.delegate.gc(IPAM_V6.type, this.requestWith({ ...IPAM_V6 }));
  }

  /** Upstream gives every address of IPv6 to the second plugin; hardened those that came from it. */
  private usesSecondPlugin(): boolean {
    return this.options.differences.rewritesIpam || this.options.ipv6Mode !== "";
  }

  private async addBoth(): Promise<CniResult> {
    const { subnets, ipv6Mode, delegate } = this.options;
    const subnet = subnetText(subnets[0]);
    const own = subnet === "" ? {} : { subnet };
    const result = await this.addFirst(own);
    if (ipv6Mode === "") return result;
    const [, second] = subnets;
    const pool = second === undefined ? own : { subnet: subnetText(second) };
    try {
      const more = await delegate.add(IPAM_V6.type, this.requestWith({ ...pool, ...IPAM_V6 }));
      return { ...result, ips: [...result.ips, ...more.ips], routes: [...result.routes, ...more.routes] };
    } catch (error) {
      this.givenSubnet = result.ips[0] === undefined ? "" : formatNetwork(result.ips[0].address);
      // DEL will release what is not released here.
      for (const { address } of result.ips) await quietly(() => this.release(address));
      const text = `${ADD_FAILED}: Failed to allocate v6 pool: Failed to delegate: ${describeError(error)}`;
      throw this.failure(text, error);
    }
  }

  /** A state that outlived its node has no pool left: it is forgotten once (cni.md §5.4 step 2). */
  private async addFirst(members: Readonly<Record<string, string>>): Promise<CniResult> {
    const { delegate, type, forgetAddresses } = this.options;
    const add = (): Promise<CniResult> => delegate.add(type, this.requestWith(members));
    try {
      return await add();
    } catch (error) {
      const isForgotten = this.options.differences.forgetsPools && describeError(error).includes(NO_POOLS);
      if (!isForgotten) throw this.allocationFailure(error);
    }
    try {
      await forgetAddresses();
      return await add();
    } catch (error) {
      throw this.allocationFailure(error);
    }
  }

  private allocationFailure(error: unknown): CniError {
    const text = `${ADD_FAILED}: Failed to allocate pool: Failed to delegate: ${describeError(error)}`;
    return this.failure(text, error);
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
