/**
 * What a kubelet tells the resolver of a pod (pkg/kubelet/network/dns/dns.go of Kubernetes; "DNS for Services and
 * Pods"). It is the same list on both systems: on Linux the runtime writes it to resolv.conf, on Windows it goes through
 * the CNI capability `dns` to HNS, and Windows' resolver makes less of it (`host/resolver/candidate-names.ts`).
 */
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { type HostsFile, parseHostsFile } from "#dataplane/host/resolver/known-names.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import type { Pod, PodSpec } from "#contracts/kubernetes/objects.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { type Ip, formatIp, parseIp } from "#core/net/ip.ts";

/**
 * The hosts file that a kubelet makes for a pod in its own network (pkg/kubelet/kubelet_pods.go, managedHostsFileContent):
 * the pod's own name, and the aliases of its manifest. Windows pods get it as well.
 */
export function podHosts({ metadata, spec }: Pod, address: Ip): HostsFile {
  const own = [formatIp(address), spec?.hostname ?? metadata?.name ?? ""];
  const aliases = (spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => [ip, ...hostnames]);
  return parseHostsFile([own, ...aliases].map((words) => words.join(" ")).join("\n"));
}

export interface PodDnsOptions {
  readonly spec: Pick<PodSpec, "dnsPolicy" | "dnsConfig" | "hostNetwork">;
  readonly namespace: string;
  readonly os: OperatingSystem;
  /** `--cluster-dns`: the addresses of the cluster's DNS Service. */
  readonly clusterDns: readonly Ip[];
  /** `--cluster-domain`; empty: the cluster has none. */
  readonly clusterDomain: string;
  /** What the node's own resolver is told. */
  readonly nodeDns: DnsSettings;
}

export interface PodDns {
  readonly settings: DnsSettings;
  /** What does not work as the pod asks for it. */
  readonly code: KnowledgeCode | undefined;
}

/** Kubelet, `defaultDNSOptions`. */
const CLUSTER_OPTIONS: readonly string[] = Object.freeze(["ndots:5"]);
/** Limits of the kubelet: what is over them is left out. */
const SERVERS_MAX = 3;
const SUFFIXES_MAX = 32;
const SUFFIX_LETTERS_MAX = 2_048;

interface DnsLists {
  readonly servers: readonly Ip[];
  readonly search: readonly string[];
  readonly options: readonly string[];
}

function unique<T>(items: readonly T[]): readonly T[] {
  return [...new Set(items)];
}

function listsOf(settings: DnsSettings): DnsLists {
  return { servers: settings.servers, search: settings.search, options: settings.options ?? [] };
}

/** The cluster's server alone; the namespace's suffix, those above it, then the node's. */
function clusterLists({ namespace, clusterDns, clusterDomain, nodeDns }: PodDnsOptions): DnsLists {
  const own =
    clusterDomain === "" ? [] : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: clusterDns, search: unique([...own, ...nodeDns.search]), options: CLUSTER_OPTIONS };
}

/** Which lists the policy begins with. `ClusterFirst` in the node's network, and without a cluster server, is `Default`. */
function baseLists(options: PodDnsOptions): DnsLists {
  const policy = options.spec.dnsPolicy ?? "ClusterFirst";
  if (policy === "None") return { servers: [], search: [], options: [] };
  const isOfNode = policy === "Default" || (policy === "ClusterFirst" && options.spec.hostNetwork === true);
  if (isOfNode || options.clusterDns.length === 0) return listsOf(options.nodeDns);
  return clusterLists(options);
}

/** `name:value` of the pod's options replaces that of the base with the same name. */
function mergeOptions(base: readonly string[], own: readonly string[]): readonly string[] {
  const byName = new Map<string, string>();
  for (const option of [...base, ...own]) byName.set(option.split(":")[0] ?? option, option);
  return [...byName.values()];
}

function withDnsConfig(base: DnsLists, config: PodDnsOptions["spec"]["dnsConfig"]): DnsLists {
  if (config === undefined) return base;
  const servers = (config.nameservers ?? []).map(parseIp).filter((ip): ip is Ip => ip !== undefined);
  const options = (config.options ?? []).flatMap(({ name, value }) => {
    if (name === undefined || name === "") return [];
    return [value === undefined || value === "" ? name : `${name}:${value}`];
  });
  return {
    servers: unique([...base.servers, ...servers]),
    search: unique([...base.search, ...(config.searches ?? [])]),
    options: mergeOptions(base.options, options),
  };
}

/** What fits the limits of the kubelet: suffixes are counted with the blanks between them. */
function limited({ servers, search, options }: DnsLists): DnsLists {
  const kept: string[] = [];
  let letters = 0;
  for (const suffix of search.slice(0, SUFFIXES_MAX)) {
    letters += suffix.length + (kept.length > 0 ? 1 : 0);
    if (letters > SUFFIX_LETTERS_MAX) break;
    kept.push(suffix);
  }
  return { servers: servers.slice(0, SERVERS_MAX), search: kept, options };
}

/** The settings for one pod. A Windows pod in the node's network uses the node's resolver, whatever the policy says. */
export function podDns(options: PodDnsOptions): PodDns {
  const { spec, os, nodeDns } = options;
  const isUnsupported = os === "windows" && spec.dnsPolicy === "ClusterFirstWithHostNet";
  const code = isUnsupported ? "dns-host-network-policy-unsupported" : undefined;
  if (os === "windows" && spec.hostNetwork === true) return { settings: nodeDns, code };
  const lists = limited(withDnsConfig(baseLists(options), spec.dnsConfig));
  return { settings: Object.freeze({ domain: "", ...lists }), code };
}
