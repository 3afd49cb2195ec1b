/** What flanneld puts on a Linux node beside the ways to others: masquerading, forwarding, a route for what no pod has. */
import type { FlanneldDifferences } from "../differences.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { FlannelFinding, FlannelLog } from "../reports.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { FlannelHost, RuleProgram } from "./flannel-host.ts";
import type { FlanneldOptions } from "../flanneld-options.ts";
import type { Lease } from "../leases/lease.ts";
import type { NetworkConfig } from "../network-config.ts";

export interface NodeRulesParts {
  readonly host: FlannelHost;
  readonly log: FlannelLog;
  readonly options: FlanneldOptions;
  readonly differences: FlanneldDifferences;
  readonly config: NetworkConfig;
  readonly lease: Lease;
}

/** One family of the network, and this node's part of it. */
interface Family {
  readonly network: Prefix;
  readonly subnet: Prefix;
}

/** Plain data. */
export class NodeRules {
  private readonly parts: NodeRulesParts;
  private readonly families: readonly Family[];
  private readonly program: RuleProgram;
  private rulesAtMs: number | undefined;
  private blackholeAtMs: number | undefined;

  constructor(parts: NodeRulesParts) {
    this.parts = parts;
    const { config, lease } = parts;
    this.program = config.usesNftables ? "nftables" : "iptables";
    this.families = [
      { network: config.isIpv4Enabled ? config.network : undefined, subnet: lease.subnet },
      { network: config.isIpv6Enabled ? config.ipv6Network : undefined, subnet: lease.ipv6Subnet },
    ].flatMap(({ network, subnet }) =>
      network === undefined || subnet === undefined ? [] : [{ network, subnet }],
    );
  }

  /** For the first time. @returns what flanneld cannot go on with. */
  async begin(nowMs: number): Promise<FlannelFinding | undefined> {
    const { host, log, options, differences } = this.parts;
    if (host.os === "windows") {
      if (options.ipMasq) log.write("W", "setting up masquerading rules is not implemented on Windows");
      if (options.ipBlackholeRoute) log.write("W", "--ip-blackhole-route does nothing on Windows");
      return undefined;
    }
    log.write("I", "Cleaning-up unused traffic manager rules");
    await host.removeRules(this.program === "nftables" ? "iptables" : "nftables");
    const failure = await this.ensure(nowMs);
    // Upstream makes the rules of iptables beside everything else, and those of nftables before it goes on.
    const isFatal = failure !== undefined && this.program === "nftables" && options.ipMasq;
    if (isFatal && !differences.repeatsNftables)
      return { code: "flanneld-cannot-start", message: `Failed to setup masq rules, ${failure}` };
    if (options.ipBlackholeRoute) {
      this.blackholeAtMs = nowMs + this.everyMs;
      if (differences.makesBlackholeAtOnce) await this.ensureBlackholes(nowMs);
    }
    return undefined;
  }

  /** Does what is due. @returns how long until something is again; undefined: nothing is. */
  async tick(nowMs: number): Promise<number | undefined> {
    if (this.rulesAtMs !== undefined) {
      // A clock that was set back puts nothing off.
      this.rulesAtMs = Math.min(this.rulesAtMs, nowMs + this.everyMs);
      if (nowMs >= this.rulesAtMs) await this.ensure(nowMs);
    }
    if (this.blackholeAtMs !== undefined) {
      this.blackholeAtMs = Math.min(this.blackholeAtMs, nowMs + this.everyMs);
      if (nowMs >= this.blackholeAtMs) await this.ensureBlackholes(nowMs);
    }
    const due = [this.rulesAtMs, this.blackholeAtMs].filter((atMs) => atMs !== undefined);
    return due.length === 0 ? undefined : Math.max(Math.min(...due) - nowMs, 0);
  }

  private get everyMs(): number {
    return this.parts.options.iptablesResync * 1_000;
  }

  /** Masquerading and forwarding. What fails is tried again with the next look. @returns why it failed. */
  private async ensure(nowMs: number): Promise<string | undefined> {
    const { host, log, options } = this.parts;
    if (host.os === "windows") return undefined;
    const { ipMasq, iptablesForwardRules } = options;
    const { repeatsNftables } = this.parts.differences;
    const isRepeated = this.program === "iptables" || repeatsNftables;
    this.rulesAtMs = isRepeated && (ipMasq || iptablesForwardRules) ? nowMs + this.everyMs : undefined;
    const isFullyRandom = !options.ipMasqFullyRandomDisable;
    try {
      for (const { network, subnet } of this.families) {
        if (ipMasq)
          await host.ensureMasquerade(
            { network, subnet, isFullyRandom, isAsIptables: repeatsNftables },
            this.program,
          );
        if (iptablesForwardRules) await host.ensureForwarding(network, this.program);
      }
      return undefined;
    } catch (error) {
      log.write("E", `Failed to ensure ${this.program} rules: ${messageOf(error)}`);
      return messageOf(error);
    }
  }

  /** For the node's own range: what a bridge has a route for goes there, and the rest nowhere. */
  private async ensureBlackholes(nowMs: number): Promise<void> {
    const { host, log } = this.parts;
    this.blackholeAtMs = nowMs + this.everyMs;
    if (host.os === "windows") return;
    for (const { subnet } of this.families) {
      try {
        await host.ensureBlackhole(subnet);
      } catch (error) {
        log.write("E", `Failed to setup blackhole route, ${messageOf(error)}`);
      }
    }
  }
}
