/** The IPAM plugin of one call: addresses asked for, given back when the call fails. */
import type { Compat } from "#core/base/compat.ts";
import type { Delegate } from "#contracts/cni/plugin-runner.ts";
import { CNI_CODES, CniError, annotate, annotateDelegate } from "#contracts/cni/error.ts";
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { type CniIp, formatInterfaceAddress } from "#contracts/cni/result.ts";
import { type InterfaceAddress, type Ip, type Ipv4, type Ipv6, maskIp } from "#core/net/ip.ts";

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
