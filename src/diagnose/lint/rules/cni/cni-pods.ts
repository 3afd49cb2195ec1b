/** Rules over what pods get from a CNI plugin besides an address: name servers and host ports. */
import { parseIp } from "#core/net/ip.ts";
import { isPlaceholder, shown } from "../../views/address-ranges.ts";
import { cniView, type PluginView, fieldOf, hasCapability, isHnsPlugin } from "../../views/cni-view.ts";
import type { LintContext } from "../../context.ts";
import { keyOf, listAt, numberAt, valueAt } from "../../input/fields.ts";
import type { LintRule } from "../../rule.ts";
import { pluginRule } from "./cni-structure.ts";
import { lintRules } from "#data/words.js";

const WORDS = lintRules();

/** Current plugins that connect pods of a cluster. HNS answers names itself on networks of type NAT. */
function connectsPods(plugin: PluginView): boolean {
  return isHnsPlugin(plugin) && !/^(?:nat|wincni|l2bridge|l2tunnel)$/.test(plugin.type);
}

function nameServers({ value }: PluginView): readonly unknown[] {
  const dns = valueAt(value, keyOf(value, "dns") ?? "");
  return listAt(dns, keyOf(dns, "nameservers") ?? "");
}

/** A capability under another name is `cni-capability-unknown`. */
function speaksOfDns({ value, owner: meta }: PluginView): boolean {
  const owner = (meta ?? { value }).value;
  return /dns/i.test(JSON.stringify(valueAt(owner, keyOf(owner, "capabilities") ?? "")) ?? "");
}

/** cni.md §2.9: the configuration's servers, replaced by those of the pod when the runtime may pass them. */
const DNS_MISSING = pluginRule("cni-dns-missing", function* (plugin) {
  const isServed = nameServers(plugin).length > 0 || speaksOfDns(plugin);
  if (!connectsPods(plugin) || isServed) return;
  yield {
    at: { path: plugin.path },
    message: WORDS.pluginDnsMissing({ type: plugin.type }),
    fix: WORDS.adviceDnsCapability,
  };
});

const DNS_CAPABILITY = pluginRule("cni-dns-capability-missing", function* (plugin) {
  if (!connectsPods(plugin) || speaksOfDns(plugin) || nameServers(plugin).length === 0) return;
  const field = fieldOf(plugin.value, plugin.path, "dns");
  yield {
    at: { path: field?.path ?? plugin.path },
    message: WORDS.pluginDnsStatic,
    fix: WORDS.adviceDnsFromRuntime,
  };
});

const WRONG_KEYS = new Map([
  ["servers", "nameservers"],
  ["searches", "search"],
  ["serverlist", "nameservers"],
  ["suffix", "search"],
]);

/** CNI specification: `dns` has nameservers, domain, search and options; runtimeConfig has other names. */
const DNS_INVALID = pluginRule("cni-dns-invalid", function* (plugin) {
  const dns = fieldOf(plugin.value, plugin.path, "dns");
  if (dns === undefined || !(isHnsPlugin(plugin) || plugin.type === "azure-vnet")) return;
  for (const key of Object.keys(dns.value ?? {})) {
    const meant = WRONG_KEYS.get(key.toLowerCase());
    if (meant !== undefined)
      yield {
        at: { path: [...dns.path, key] },
        message: `"dns" has no field ${shown(key)}`,
        fix: `Write "${meant}".`,
      };
  }
  const servers = fieldOf(dns.value, dns.path, "nameservers");
  for (const [index, server] of listAt(servers?.value).entries())
    if (typeof server === "string" && parseIp(server.trim()) === undefined && !isPlaceholder(server))
      yield {
        at: { path: [...(servers?.path ?? []), index], part: "value" },
        message: `a name server is an address, which ${shown(server)} is not`,
      };
});

/** A pod for Windows that asks for a host port, by its title. */
function podWithHostPort(context: LintContext): string | undefined {
  return context.once(findHostPort);
}

/** None when the input holds the configurations of several networks: nobody knows which one the pod is for. */
function findHostPort(context: LintContext): string | undefined {
  const networks = context
    .ofKind("cni")
    .map((each) => cniView(each, context))
    .filter(({ isWindows }) => isWindows);
  if (new Set(networks.map(({ name }) => name?.value)).size > 1) return undefined;
  for (const document of context.ofKind("kubernetes")) {
    const pod = context.windowsPodOf(document);
    if (pod === undefined || pod.isHostProcess) continue;
    const ports = pod.containers.flatMap(({ value }) => listAt(value, "ports"));
    if (ports.some((port) => (numberAt(port, "hostPort") ?? 0) > 0)) return document.title;
  }
  return undefined;
}

/** cni.md, fact 6; plugins#530. */
const PORTS_IGNORED = pluginRule("cni-port-mappings-ignored", function* (plugin, _document, context) {
  if (plugin.type !== "win-overlay" || !hasCapability(plugin, "portMappings")) return;
  const owner = plugin.owner ?? plugin;
  const pod = podWithHostPort(context);
  yield {
    at: { path: [...owner.path, keyOf(owner.value, "capabilities") ?? "", "portMappings"] },
    message: WORDS.portMappingsOnWinOverlay,
    ...(pod === undefined
      ? {}
      : { severity: "warning", fix: `${pod} asks for a hostPort: use a Service of type NodePort.` }),
  };
});

const MAPS_PORTS = new Set(["win-bridge", "nat", "sdnbridge"]);

const PORTS_MISSING = pluginRule("cni-port-mappings-missing", function* (plugin, _document, context) {
  if (!MAPS_PORTS.has(plugin.type) || hasCapability(plugin, "portMappings")) return;
  const pod = podWithHostPort(context);
  if (pod === undefined) return;
  yield {
    at: { path: (plugin.owner ?? plugin).path },
    message: WORDS.portMappingsNotDeclared({ pod }),
    fix: WORDS.advicePortMappingsCapability,
  };
});

export const CNI_POD_RULES: readonly LintRule[] = [
  DNS_MISSING,
  DNS_CAPABILITY,
  DNS_INVALID,
  PORTS_IGNORED,
  PORTS_MISSING,
];
