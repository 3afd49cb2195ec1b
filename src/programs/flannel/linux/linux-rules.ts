/** flannel's rules of a Linux machine, written with `iptables` or with `nft` (control-planes.md §3.5). */
import { ANY_IPV4, ANY_IPV6, type IpFamily, type Prefix, formatPrefix, prefixFamily } from "#core/net/ip.ts";
import type { CommandRunner } from "../node/commands.ts";
import type { MasqueradeSettings, RuleProgram } from "../node/flannel-host.ts";

/** The mark of what kube-proxy masquerades. */
const KUBE_PROXY_MARK = "0x4000";
const MULTICAST = { 4: "224.0.0.0/4", 6: "ff00::/8" } as const;

/** `ip flannel-ipv4`: as nft names the table of a family. */
function tableOf(family: IpFamily): string {
  return family === 4 ? "ip flannel-ipv4" : "ip6 flannel-ipv6";
}

function word(family: IpFamily): "ip" | "ip6" {
  return family === 4 ? "ip" : "ip6";
}

/** One transaction: the chain is empty, then has these rules. */
function chainScript(family: IpFamily, chain: string, hook: string, rules: readonly string[]): string {
  const table = tableOf(family);
  return [
    `add table ${table}`,
    `add chain ${table} ${chain} { ${hook} }`,
    `flush chain ${table} ${chain}`,
    ...rules.map((rule) => `add rule ${table} ${chain} ${rule}`),
  ].join("\n");
}

/** What leaves the cluster gets the node's address, and what comes to other nodes' pods from outside (§3.5). */
export function masqueradeScript(settings: MasqueradeSettings): string {
  const { network, subnet, isFullyRandom, isAsIptables } = settings;
  const family = prefixFamily(network);
  const [cluster, own] = [formatPrefix(network), formatPrefix(subnet)];
  const masquerade = isFullyRandom ? "masquerade fully-random" : "masquerade";
  const [from, to] = [`${word(family)} saddr`, `${word(family)} daddr`];
  return chainScript(family, "postrtg", "type nat hook postrouting priority srcnat ;", [
    `meta mark ${KUBE_PROXY_MARK} return`,
    `${from} ${own} ${to} ${cluster} return`,
    `${from} ${cluster} ${to} ${own} return`,
    // Upstream has the ranges the other way round here, and its last rule then never matches (pkg/trafficmngr/nftables).
    isAsIptables ? `${from} != ${cluster} ${to} ${own} return` : `${from} != ${own} ${to} ${cluster} return`,
    `${from} ${cluster} ${to} != ${MULTICAST[family]} ${masquerade}`,
    `${from} != ${cluster} ${to} ${cluster} ${masquerade}`,
  ]);
}

function forwardScript(network: Prefix): string {
  const family = prefixFamily(network);
  const cluster = formatPrefix(network);
  return chainScript(family, "forward", "type filter hook forward priority filter ;", [
    `${word(family)} saddr ${cluster} accept`,
    `${word(family)} daddr ${cluster} accept`,
  ]);
}

/** One of flannel's chains of iptables. */
export interface Chain {
  readonly table: "nat" | "filter";
  readonly chain: string;
  /** The chain of the kernel that leads to it, and the rule that does. */
  readonly parent: string;
  readonly jump: readonly string[];
  /** In order, without the word that adds them. */
  readonly rules: readonly (readonly string[])[];
}

function comment(text: string): readonly string[] {
  return ["-m", "comment", "--comment", text];
}

/** What leaves the cluster gets the node's address, and what comes to other nodes' pods from outside. */
export function masqueradeChain({ network, subnet, isFullyRandom }: MasqueradeSettings): Chain {
  const chain = "FLANNEL-POSTRTG";
  const [cluster, own] = [formatPrefix(network), formatPrefix(subnet)];
  const said = comment("flanneld masq");
  const leave = [...said, "-j", "RETURN"];
  const masquerade = [...said, "-j", "MASQUERADE", ...(isFullyRandom ? ["--random-fully"] : [])];
  return {
    table: "nat",
    chain,
    parent: "POSTROUTING",
    jump: [...said, "-j", chain],
    rules: [
      ["-m", "mark", "--mark", `${KUBE_PROXY_MARK}/${KUBE_PROXY_MARK}`, ...leave],
      ["-s", own, "-d", cluster, ...leave],
      ["-s", cluster, "-d", own, ...leave],
      ["!", "-s", cluster, "-d", own, ...leave],
      ["-s", cluster, "!", "-d", MULTICAST[prefixFamily(network)], ...masquerade],
      ["!", "-s", cluster, "-d", cluster, ...masquerade],
    ],
  };
}

function forwardChain(network: Prefix): Chain {
  const chain = "FLANNEL-FWD";
  const cluster = formatPrefix(network);
  const accept = [...comment("flanneld forward"), "-j", "ACCEPT"];
  return {
    table: "filter",
    chain,
    parent: "FORWARD",
    jump: [...comment("flanneld forward"), "-j", chain],
    rules: [
      ["-s", cluster, ...accept],
      ["-d", cluster, ...accept],
    ],
  };
}

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
      const masquerade = masqueradeChain({
        network,
        subnet: network,
        isFullyRandom: true,
        isAsIptables: true,
      });
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
