/** flannel's chains of iptables (control-planes.md §3.5). */
import { type Prefix, formatPrefix, prefixFamily } from "../../net/prefix.ts";
import type { MasqueradeSettings } from "../flannel-host.ts";

export interface Chain {
  readonly table: "nat" | "filter";
  readonly chain: string;
  /** The chain of the kernel that leads to it, and the rule that does. */
  readonly parent: string;
  readonly jump: readonly string[];
  /** In order, without the word that adds them. */
  readonly rules: readonly (readonly string[])[];
}

/** The mark of what kube-proxy masquerades. */
const KUBE_PROXY_MARK = "0x4000/0x4000";
const MULTICAST = { 4: "224.0.0.0/4", 6: "ff00::/8" } as const;

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
      ["-m", "mark", "--mark", KUBE_PROXY_MARK, ...leave],
      ["-s", own, "-d", cluster, ...leave],
      ["-s", cluster, "-d", own, ...leave],
      ["!", "-s", cluster, "-d", own, ...leave],
      ["-s", cluster, "!", "-d", MULTICAST[prefixFamily(network)], ...masquerade],
      ["!", "-s", cluster, "-d", cluster, ...masquerade],
    ],
  };
}

export function forwardChain(network: Prefix): Chain {
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
