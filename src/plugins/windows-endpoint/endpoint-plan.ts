/** What an endpoint shall be, before it is one of HCN or of HNS v1. */
import type { Compat } from "../../base/compat.ts";
import type { Delegate } from "../../cni/plugin-runner.ts";
import { CNI_CODES, CniError, annotate, annotateDelegate } from "../../cni/error.ts";
import type { PluginRequest } from "../../cni/plugin.ts";
import { type CniIp, formatInterfaceAddress, type CniDns } from "../../cni/result.ts";
import { hasFeature } from "../../hcn/features.ts";
import { getHnsVersion } from "../../hcn/v1-operations.ts";
import { type Ip, type Ipv4, type Ipv6, familyOf, formatIp } from "../../net/ip.ts";
import { type InterfaceAddress, maskIp } from "../../net/prefix.ts";
import type { ConfiguredPolicy, WindowsConfiguration } from "./conf.ts";
import type { AddLoopback, Allocation, NetworkView, PluginCall, PluginTraits } from "./plugin-traits.ts";
import { addLoopbackDsr, mapBothFamilies } from "./policies.ts";

/** One address of an endpoint, and the next hop of the default route of its family. */
export interface PlannedAddress {
  readonly address: InterfaceAddress;
  readonly gateway: Ip | undefined;
}

/**
 * Network address + 2, calculated in the last byte alone, which wraps round.
 * Inferred: in hardened mode it is the gateway of either family; upstream uses one family at a time.
 */
export function gatewayPlusTwo(address: InterfaceAddress): Ip {
  const network = maskIp(address.ip, address.length);
  return typeof network === "number"
    ? ((((network & 0xffff_ff00) | ((network + 2) & 0xff)) >>> 0) as Ipv4)
    : (((network & ~0xffn) | ((network + 2n) & 0xffn)) as Ipv6);
}

export interface IpamOptions {
  readonly delegate: Delegate;
  readonly type: string;
  readonly request: PluginRequest;
  readonly compat: Compat;
  /** What is put before a failure of ADD. */
  readonly sentence: string;
}

/** The IPAM plugin of one call. Without a type, HNS chooses addresses and there is nothing to do. */
export class IpamSession {
  private readonly options: IpamOptions;
  /** True once ADD was called, done or failed: a failing caller must then call DEL. */
  private wasCalled = false;

  constructor(options: IpamOptions) {
    this.options = options;
  }

  get isConfigured(): boolean {
    return this.options.type !== "";
  }

  /** Asks for addresses; none without IPAM. @throws CniError */
  async add(): Promise<readonly CniIp[]> {
    if (!this.isConfigured) return [];
    this.wasCalled = true;
    const { delegate, type, request, sentence, compat } = this.options;
    try {
      const result = await delegate.add(type, request);
      if (result.ips.length > 0) return result.ips;
    } catch (error) {
      throw compat === "hardened" ? annotateDelegate(error, sentence) : annotate(error, sentence);
    }
    throw new CniError(CNI_CODES.internal, "IPAM plugin return is missing IP config");
  }

  /**
   * As `add`, but an address that is its own gateway is given back once: it belongs to the bridge endpoint, and
   * round robin gives another (row 46).
   */
  async addBesideGateway(gatewayOf: (address: InterfaceAddress) => Ip): Promise<readonly CniIp[]> {
    const clash = (ips: readonly CniIp[]): CniIp | undefined =>
      ips.find(({ address }) => gatewayOf(address) === address.ip);
    const first = await this.add();
    if (clash(first) === undefined) return first;
    await this.del();
    const second = await this.add();
    const still = clash(second);
    if (still === undefined) return second;
    throw new CniError(
      CNI_CODES.invalidNetworkConfig,
      `IPAM gives ${formatInterfaceAddress(still.address)}, which is the gateway of its network; let the range start behind it`,
      { knowledge: "cni-gateway-is-network-plus-two" },
    );
  }

  /** Releases. Without IPAM nothing happens. @throws the plugin's error */
  async del(): Promise<void> {
    if (this.isConfigured) await this.options.delegate.del(this.options.type, this.options.request);
  }

  /** After a failed ADD. Upstream calls DEL whatever happened, hardened only what it called ADD for (row 43). */
  async undo(): Promise<void> {
    if (this.options.compat === "hardened" && !this.wasCalled) return;
    try {
      await this.del();
    } catch {
      // The failure that is being reported is the one that led here.
    }
  }
}

/** The addresses to plan with: both families, at most one of each; upstream takes the first alone (row 48). */
export function selectAddresses(ips: readonly CniIp[], compat: Compat): readonly InterfaceAddress[] {
  const addresses = ips.map(({ address }) => address);
  if (compat === "upstream") return addresses.slice(0, 1);
  return addresses.filter(
    (address, index) => addresses.findIndex(({ ip }) => familyOf(ip) === familyOf(address.ip)) === index,
  );
}

export interface EndpointPlan extends Allocation {
  readonly policies: readonly ConfiguredPolicy[];
  readonly dns: CniDns;
  /** The pod's own addresses become destinations of OutBoundNAT once HNS has chosen them (row 58). */
  readonly hasLateLoopbackDsr: boolean;
}

/** Loopback DSR is wanted and HNS has it; where it has not, hardened says so (row 57). */
export async function hasLoopbackDsr<C extends WindowsConfiguration>(
  call: PluginCall<C>,
  pluginName: string,
): Promise<boolean> {
  if (!call.configuration.hasLoopbackDsr) return false;
  const version = await call.caller.hns(getHnsVersion);
  if (hasFeature(version, "DSR")) return true;
  if (call.compat === "hardened") {
    call.request.warn(
      `${pluginName}: loopbackDSR is left out: HNS ${version.Major}.${version.Minor} has no DSR`,
    );
  }
  return false;
}

/** Adds loopback DSR for addresses of the pod. */
export function loopbackFor<C extends WindowsConfiguration>(
  { configuration }: PluginCall<C>,
  addresses: readonly string[],
): AddLoopback {
  return (policies) =>
    addresses.reduce((list, address) => addLoopbackDsr(list, address, configuration.api), policies);
}

/** Gets addresses and makes the plan. @throws CniError */
export async function planEndpoint<C extends WindowsConfiguration>(
  call: PluginCall<C>,
  traits: PluginTraits<C>,
  view: NetworkView | undefined,
): Promise<EndpointPlan> {
  const { configuration, compat } = call;
  try {
    const allocation = await traits.allocate(call, view);
    const isLoopback = await hasLoopbackDsr(call, traits.name);
    const ips = allocation.addresses.map(({ address }) => formatIp(address.ip));
    // docs: cni.md §7.G: without an address upstream asks for the destination "<nil>".
    const own = ips.length === 0 && compat === "upstream" ? ["<nil>"] : ips;
    return {
      ...allocation,
      policies: mapBothFamilies(traits.policies(call, view, loopbackFor(call, isLoopback ? own : [])), ips, {
        api: configuration.api,
        compat,
      }),
      dns: configuration.dns,
      hasLateLoopbackDsr: isLoopback && own.length === 0,
    };
  } catch (error) {
    const around = traits.sentences[configuration.api].plan;
    throw around === "" ? error : annotate(error, around);
  }
}
