/** flannel's tables of nftables: the same rules as its chains of iptables, in a table of its own for each family. */
import type { IpFamily } from "../../net/ip.ts";
import { type Prefix, formatPrefix, prefixFamily } from "../../net/prefix.ts";
import type { MasqueradeSettings } from "../flannel-host.ts";

/** The mark of what kube-proxy masquerades. */
const KUBE_PROXY_MARK = "0x4000";
const MULTICAST = { 4: "224.0.0.0/4", 6: "ff00::/8" } as const;

/** `ip flannel-ipv4`: as nft names the table of a family. */
export function tableOf(family: IpFamily): string {
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
  const { network, subnet, isFullyRandom, compat } = settings;
  const family = prefixFamily(network);
  const [cluster, own] = [formatPrefix(network), formatPrefix(subnet)];
  const masquerade = isFullyRandom ? "masquerade fully-random" : "masquerade";
  const [from, to] = [`${word(family)} saddr`, `${word(family)} daddr`];
  return chainScript(family, "postrtg", "type nat hook postrouting priority srcnat ;", [
    `meta mark ${KUBE_PROXY_MARK} return`,
    `${from} ${own} ${to} ${cluster} return`,
    `${from} ${cluster} ${to} ${own} return`,
    // Upstream has the ranges the other way round here, and its last rule then never matches (pkg/trafficmngr/nftables).
    compat === "better"
      ? `${from} != ${cluster} ${to} ${own} return`
      : `${from} != ${own} ${to} ${cluster} return`,
    `${from} ${cluster} ${to} != ${MULTICAST[family]} ${masquerade}`,
    `${from} != ${cluster} ${to} ${cluster} ${masquerade}`,
  ]);
}

export function forwardScript(network: Prefix): string {
  const family = prefixFamily(network);
  const cluster = formatPrefix(network);
  return chainScript(family, "forward", "type filter hook forward priority filter ;", [
    `${word(family)} saddr ${cluster} accept`,
    `${word(family)} daddr ${cluster} accept`,
  ]);
}
