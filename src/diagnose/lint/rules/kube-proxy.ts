/** Rules over kube-proxy's configuration and flags on Windows nodes: mode, network, source VIP, addresses. */

import { addToIp, formatIp, lastIp, parseIp, prefixContains } from "#core/net/ip.ts";
import { formatRange, isPlaceholder, parseRange, podRangesOf, shown } from "../views/address-ranges.ts";
import { keptSourceVips, misnamedNodes } from "../views/cluster-view.ts";
import type { LintContext } from "../context.ts";
import type { DocumentKind, LintDocument } from "../input/document.ts";
import { valueAt } from "../input/fields.ts";
import { namedNetworks } from "../views/hns-networks.ts";
import { type KubeProxyView, type OptionView, kubeProxyView, plainOption } from "../views/kube-proxy-view.ts";
import { type LintRule, type RuleFinding, andOfClusters, rule } from "../rule.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

const BOTH: readonly DocumentKind[] = ["kube-proxy", "kube-proxy-flags"];

/** A rule over kube-proxy for Windows. */
export function kubeProxyRule(
  code: LintRule["code"],
  check: (view: KubeProxyView, context: LintContext, document: LintDocument) => Iterable<RuleFinding>,
): LintRule {
  return rule(code, BOTH, function* (document, context) {
    const view = kubeProxyView(document, context);
    if (view.isWindows && !view.isLinux) yield* check(view, context, document);
  });
}

export function atValue({ path }: OptionView): RuleFinding["at"] {
  return { path, part: "value" };
}

/** A place for what is missing: the first option that there is. */
export function somewhere(view: KubeProxyView): RuleFinding["at"] {
  const first = ["network-name", "source-vip", "enable-dsr", "proxy-mode", "hostname-override"]
    .map((flag) => view.option(flag))
    .find((option) => option !== undefined);
  return { path: first?.path ?? [] };
}

const LINUX_MODES = new Set(["iptables", "ipvs", "nftables"]);
/** Kubernetes 1.26 took the mode userspace out. */
const WITHOUT_USERSPACE = 26;

const MODE = rule("kube-proxy-mode-not-for-windows", BOTH, function* (document, context) {
  const view = kubeProxyView(document, context);
  const mode = plainOption(view, "proxy-mode");
  if (mode === undefined) return;
  if (view.isLinux && mode.text === "kernelspace")
    yield {
      at: atValue(mode),
      message: WORDS.kernelspaceOnLinux,
    };
  if (!view.isWindows || view.isLinux) return;
  if (LINUX_MODES.has(mode.text))
    yield {
      at: atValue(mode),
      message: `kube-proxy on Windows refuses the mode ${mode.text}`,
      fix: "Write kernelspace, in a configuration of its own for Windows nodes.",
      // One file for both systems: kube-proxy's own on Windows may replace the mode.
      severity: view.isFlags ? "error" : "warning",
    };
  const { minor, origin } = context.kubernetes;
  if (mode.text === "userspace" && minor >= WITHOUT_USERSPACE)
    yield {
      at: atValue(mode),
      message: "the mode userspace was removed in Kubernetes 1.26",
      fix: "Write kernelspace.",
      severity: origin === "assumed" ? "warning" : "error",
    };
});

/** kube-proxy.md §1.1: neither the flag nor KUBE_NETWORK is fatal. */
const NETWORK_MISSING = kubeProxyRule("kube-proxy-without-network-name", function* (view, context, document) {
  const isSaid =
    view.option("network-name") !== undefined ||
    /KUBE_NETWORK|network-?name/i.test(document.text) ||
    view.option("config") !== undefined;
  const isStart = view.isFlags ? isCall(view) : isKernelspace(view);
  // userspace, which old versions had, worked without HNS.
  const isUserspace = view.option("proxy-mode")?.text === "userspace";
  if (isSaid || !isStart || isUserspace || context.kubeProxy.networkName !== undefined) return;
  yield {
    at: somewhere(view),
    message: WORDS.kubeProxyNetworkNameMissing,
    fix: view.isFlags ? "Add --network-name." : "Add winkernel.networkName.",
  };
});

/** A whole command line, not some flags that a text speaks of. */
function isCall(view: KubeProxyView): boolean {
  return (
    view.isFlags &&
    ["kubeconfig", "proxy-mode", "master", "v"].some((flag) => view.option(flag) !== undefined)
  );
}

function isKernelspace(view: KubeProxyView): boolean {
  return view.option("proxy-mode")?.text === "kernelspace";
}

const NETWORK_MISMATCH = kubeProxyRule("kube-proxy-network-name-mismatch", function* (view, context) {
  const given = plainOption(view, "network-name");
  const networks = namedNetworks(context);
  if (given === undefined || networks.length === 0) return;
  if (networks.some(({ name }) => name === given.text)) return;
  const names = [...new Set(networks.map(({ name }) => shown(name)))].slice(0, 3).join(", ");
  yield {
    at: atValue(given),
    message: WORDS.kubeProxyNetworkNameMismatch({ text: shown(given.text), names }),
    fix: WORDS.adviceNetworkNameCase,
  };
});

/** True when the network that kube-proxy works on is known to be an overlay. */
function isOverlay(view: KubeProxyView, context: LintContext): boolean {
  const given = plainOption(view, "network-name")?.text;
  const networks = namedNetworks(context).filter(({ name }) => name === given);
  return networks.length > 0 && networks.every((network) => network.isOverlay);
}

/** users.md G5. */
const SOURCE_VIP_MISSING = kubeProxyRule(
  "kube-proxy-without-source-vip",
  function* (view, context, document) {
    const isGated = view.gates.get("WinOverlay")?.isOn === true;
    const isKnown = isOverlay(view, context);
    if ((!isKnown && !isGated) || /source-?vip/i.test(document.text)) return;
    if (!view.isFlags && !isKernelspace(view) && plainOption(view, "network-name") === undefined) return;
    if (view.option("config") !== undefined) return;
    yield {
      at: isGated && !isKnown ? { path: view.gates.get("WinOverlay")?.path ?? [] } : somewhere(view),
      message: WORDS.sourceVipMissing,
      severity: isKnown ? "error" : "warning",
    };
  },
);

function sourceVipFault(text: string, context: LintContext): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined)
    return parseRange(text) === undefined
      ? "is not an address"
      : "has a prefix length; an address alone is wanted";
  const pods = podRangesOf(context);
  for (const { prefix, from } of pods) {
    if (!from.startsWith("podCIDR") || !prefixContains(prefix, ip)) continue;
    if (ip === prefix.address || ip === lastIp(prefix))
      return `is not a host's address in ${formatRange(prefix)}`;
    if (ip === addToIp(prefix.address, 1))
      return `is the gateway of ${formatRange(prefix)} (${from}), which HNS has reserved`;
  }
  const isKnown = pods.length > 0;
  const isInside = pods.some(({ prefix }) => prefixContains(prefix, ip));
  return isKnown && !isInside ? `is in none of the pods' ranges that the input names` : undefined;
}

/** users.md G5: 0x803b001e, 0x803b002f. */
const SOURCE_VIP_GIVEN = kubeProxyRule("kube-proxy-source-vip-invalid", function* (view, context) {
  const given = plainOption(view, "source-vip");
  const fault = given === undefined ? undefined : sourceVipFault(given.text, context);
  if (given === undefined || fault === undefined) return;
  yield {
    at: atValue(given),
    message: `the source VIP ${given.text} ${fault}`,
    fix: WORDS.adviceReserveSourceVip,
  };
});

/** The start scripts take what lies in sourceVip.json as it is (control-planes.md §1.10). */
const SOURCE_VIP_INVALID = andOfClusters(SOURCE_VIP_GIVEN, function* (document) {
  for (const { path, address, podCIDR } of keptSourceVips(document)) {
    const range = podCIDR === undefined ? undefined : parseRange(podCIDR);
    if (range === undefined || prefixContains(range, address)) continue;
    yield {
      at: { path },
      message: WORDS.sourceVipFileStale({ address: formatIp(address), range: formatRange(range) }),
      fix: "Remove the file, and sourceVipRequest.json with it.",
    };
  }
});

/** windows-networking-documentation.md §9 row 4; kube-proxy.md §1.1. */
const HOSTNAME_OF_CALL = kubeProxyRule(
  "kube-proxy-hostname-override-missing",
  function* (view, _context, document) {
    if (!isCall(view) || /hostname-?override/i.test(document.text)) return;
    yield {
      at: somewhere(view),
      message: "without --hostname-override kube-proxy takes Windows' own name for the node's",
      fix: WORDS.adviceHostnameOverride,
      differs: "endpoints-are-kept",
    };
  },
);

const HOSTNAME = andOfClusters(HOSTNAME_OF_CALL, function* (document) {
  const [first] = misnamedNodes(document);
  if (first === undefined || valueAt(document.value, "kubeProxy", "hostnameOverride") !== false) return;
  yield {
    at: { path: ["kubeProxy", "hostnameOverride"] },
    message: WORDS.hostnameOverrideOff({ first }),
    fix: "Write hostnameOverride: true, or leave the field out.",
    differs: "endpoints-are-kept",
    severity: "warning",
  };
});

/** `takesZero`: a server that is off is not checked any further than its flag is read. */
function isHostAndPort(text: string, takesZero: boolean): boolean {
  const bare = parseIp(text.replace(/^\[|\]$/g, ""));
  if (bare !== undefined) return true;
  const match = /^(.*):(\d{1,5})$/.exec(text);
  const host = (match?.[1] ?? "").replace(/^\[|\]$/g, "");
  const port = Number(match?.[2] ?? 0);
  const isPort = port <= 65_535 && (port >= 1 || takesZero);
  return match !== null && isPort && parseIp(host) !== undefined;
}

function clusterCidrFault(text: string): string | undefined {
  const parts = text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !part.includes("/") || parseRange(part) === undefined);
  if (wrong !== undefined) return `${shown(wrong)} is not a range of addresses such as 10.244.0.0/16`;
  const families = parts.map((part) => part.includes(":"));
  if (parts.length > 2 || (parts.length === 2 && families[0] === families[1]))
    return "one range for each address family is possible, and no more";
  return undefined;
}

/**
 * kube-proxy.md §1.1: port 0 of the old flags makes the address empty. That switches the health server off, and is refused
 * for metrics, whose address is always checked, though the flag's help promises the same.
 */
function* serverAddresses(view: KubeProxyView): Iterable<RuleFinding> {
  for (const server of ["healthz", "metrics"]) {
    const port = view.isFlags ? plainOption(view, `${server}-port`) : undefined;
    const isOff = port?.text === "0" && view.option("config") === undefined;
    const given = plainOption(view, `${server}-bind-address`);
    if (given !== undefined && !isHostAndPort(given.text, isOff))
      yield {
        at: atValue(given),
        message: `${shown(given.text)} is not an address with a port such as 0.0.0.0:10256`,
      };
    else if (isOff && port !== undefined && server === "metrics")
      yield {
        at: atValue(port),
        message: WORDS.metricsPortZero,
        fix: "Leave the flag out, or give the metrics a port.",
      };
  }
}

/** kube-proxy.md §1.1: checked at the start, on every operating system. */
const ADDRESSES = rule("kube-proxy-address-invalid", BOTH, function* (document, context) {
  const view = kubeProxyView(document, context);
  const cidr = plainOption(view, "cluster-cidr");
  const fault = cidr === undefined ? undefined : clusterCidrFault(cidr.text);
  if (cidr !== undefined && fault !== undefined) yield { at: atValue(cidr), message: fault };
  yield* serverAddresses(view);
  const bind = plainOption(view, "bind-address");
  if (bind !== undefined && parseIp(bind.text) === undefined && !isPlaceholder(bind.text))
    yield { at: atValue(bind), message: `${shown(bind.text)} is not an address to bind to` };
});

export const KUBE_PROXY_RULES: readonly LintRule[] = [
  MODE,
  NETWORK_MISSING,
  NETWORK_MISMATCH,
  SOURCE_VIP_MISSING,
  SOURCE_VIP_INVALID,
  HOSTNAME,
  ADDRESSES,
];
