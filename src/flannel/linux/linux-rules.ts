/** flannel's rules of a Linux machine, written with `iptables` or with `nft` (control-planes.md §3.5). */
import type { IpFamily } from "../../net/ip.ts";
import { ANY_IPV4, ANY_IPV6, type Prefix, prefixFamily } from "../../net/prefix.ts";
import type { CommandRunner } from "../commands.ts";
import type { MasqueradeSettings, RuleProgram } from "../flannel-host.ts";
import { type Chain, forwardChain, masqueradeChain } from "./iptables-chains.ts";
import { forwardScript, masqueradeScript, tableOf } from "./nftables-tables.ts";

const FAMILIES: readonly IpFamily[] = [4, 6];

/** Names of chains do not depend on ranges. */
const ANYTHING = { 4: ANY_IPV4, 6: ANY_IPV6 } as const;

export class LinuxRules {
  private readonly runner: CommandRunner;

  constructor(runner: CommandRunner) {
    this.runner = runner;
  }

  async ensureMasquerade(settings: MasqueradeSettings, program: RuleProgram): Promise<void> {
    if (program === "nftables") await this.nft(masqueradeScript(settings));
    else await this.ensureChain(prefixFamily(settings.network), masqueradeChain(settings));
  }

  async ensureForwarding(network: Prefix, program: RuleProgram): Promise<void> {
    if (program === "nftables") await this.nft(forwardScript(network));
    else await this.ensureChain(prefixFamily(network), forwardChain(network));
  }

  /** Takes flannel's rules away that a program wrote. What is not there, or a program that is not, is gone already. */
  async remove(program: RuleProgram): Promise<void> {
    for (const family of FAMILIES) {
      if (program === "nftables") {
        await this.attempt(() => this.nft(`delete table ${tableOf(family)}`));
        continue;
      }
      const network = ANYTHING[family];
      const masquerade = masqueradeChain({ network, subnet: network, isFullyRandom: true, compat: "better" });
      for (const each of [masquerade, forwardChain(network)]) {
        const { table, chain, parent, jump } = each;
        const run = (...words: readonly string[]): Promise<string> => this.iptables(family, table, words);
        await this.attempt(() => run("-D", parent, ...jump));
        await this.attempt(() => run("-F", chain));
        await this.attempt(() => run("-X", chain));
      }
    }
  }

  private async attempt(make: () => Promise<string>): Promise<void> {
    try {
      await make();
    } catch {
      // Upstream says it at its second level of verbosity only: on most machines there is nothing to take away.
    }
  }

  private nft(script: string): Promise<string> {
    return this.runner.run("nft", [script]);
  }

  private iptables(family: IpFamily, table: string, words: readonly string[]): Promise<string> {
    return this.runner.run(family === 4 ? "iptables" : "ip6tables", ["-w", "-t", table, ...words]);
  }

  /** Looks whether every rule is there, and writes the chain anew when one is not. */
  private async ensureChain(family: IpFamily, { table, chain, parent, jump, rules }: Chain): Promise<void> {
    const run = (...words: readonly string[]): Promise<string> => this.iptables(family, table, words);
    const holds = async (...words: readonly string[]): Promise<boolean> => {
      try {
        await run(...words);
        return true;
      } catch {
        // Status 1 is the answer no; what is really wrong comes out when the rule is written.
        return false;
      }
    };
    let isWhole = await holds("-S", chain);
    if (!isWhole) await run("-N", chain);
    for (const rule of rules) isWhole &&= await holds("-C", chain, ...rule);
    if (!isWhole) {
      await run("-F", chain);
      for (const rule of rules) await run("-A", chain, ...rule);
    }
    if (!(await holds("-C", parent, ...jump))) await run("-A", parent, ...jump);
  }
}
