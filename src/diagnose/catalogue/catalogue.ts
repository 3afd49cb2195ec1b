/**
 * The catalogue: one entry per code, joined from the files of `entries/`. A code without an entry does not
 * compile.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import { BRING_UP_ENTRIES } from "./entries/cluster/bring-up.ts";
import { CNI_CONFIGURATION_ENTRIES } from "./entries/programs/cni-configuration.ts";
import { CNI_POLICY_ENTRIES } from "./entries/programs/cni-policies.ts";
import { CLUSTER_ENTRIES } from "./entries/cluster/clusters.ts";
import { CLUSTER_FILE_ENTRIES } from "./entries/cluster/cluster-file.ts";
import { COMMAND_LINE_ENTRIES } from "./entries/cluster/command-line.ts";
import { DATA_PLANE_DEFECT_ENTRIES } from "./entries/dataplane/data-plane-defects.ts";
import type { EntryText } from "./entries/entry-text.ts";
import { FILTER_AND_NAT_ENTRIES } from "./entries/dataplane/filters-and-nat.ts";
import { FLANNEL_ENTRIES } from "./entries/programs/flannel.ts";
import { FLANNELD_ENTRIES } from "./entries/programs/flanneld.ts";
import { FORWARDING_ENTRIES } from "./entries/dataplane/forwarding.ts";
import { HNS_DEFECT_ENTRIES } from "./entries/hns/hns-defects.ts";
import { HNS_DUMP_ENTRIES } from "./entries/hns/hns-dumps.ts";
import { HNS_REQUEST_ENTRIES } from "./entries/hns/hns-requests.ts";
import { HOST_STACK_ENTRIES } from "./entries/dataplane/host-stacks.ts";
import { JSON_FILE_ENTRIES } from "./entries/cluster/json-files.ts";
import { KUBE_PROXY_CONFIGURATION_ENTRIES } from "./entries/programs/kube-proxy-configuration.ts";
import { KUBERNETES_ENTRIES } from "./entries/cluster/kubernetes.ts";
import { MANIFEST_ENTRIES } from "./entries/cluster/manifests.ts";
import { LINUX_NODE_ENTRIES } from "./entries/cluster/linux-nodes.ts";
import { LINT_ENTRIES } from "./entries/cluster/lint.ts";
import { LOAD_BALANCER_ENTRIES } from "./entries/hns/load-balancers.ts";
import { KUBE_PROXY_ENTRIES } from "./entries/programs/kube-proxy.ts";
import { NAME_ENTRIES } from "./entries/cluster/names.ts";
import { AZURE_ENTRIES } from "./entries/programs/azure.ts";
import { CLOUD_ROUTES_ENTRIES } from "./entries/cluster/cloud-routes.ts";
import { PLUGIN_ENTRIES } from "./entries/programs/plugins.ts";
import { RECEIVER_ENTRIES } from "./entries/dataplane/receivers.ts";
import { RUNNING_CLUSTER_ENTRIES } from "./entries/cluster/running-cluster.ts";
import { SERVICE_FEATURE_ENTRIES } from "./entries/programs/service-features.ts";
import { SERVICE_ENTRIES } from "./entries/programs/services.ts";
import { NETWORK_POLICY_ENTRIES } from "./entries/programs/network-policies.ts";
import { PROVIDER_ENTRIES } from "./entries/hns/network-providers.ts";
import { SWITCH_PORT_ENTRIES } from "./entries/dataplane/switch-ports.ts";
import { WINDOWS_NODE_ENTRIES } from "./entries/hns/windows-nodes.ts";
import { WINDOWS_POD_ENTRIES } from "./entries/hns/windows-pods.ts";
import { WIN_NAT_ENTRIES } from "./entries/dataplane/winnat.ts";
import type { KnowledgeEntry } from "./entry.ts";

/** Entries of one subject, in the order in which a page shows them. */
export interface CatalogueSection {
  readonly title: string;
  readonly entries: readonly KnowledgeEntry[];
}

const TEXTS: Readonly<Record<KnowledgeCode, EntryText>> = {
  ...FILTER_AND_NAT_ENTRIES,
  ...FORWARDING_ENTRIES,
  ...HOST_STACK_ENTRIES,
  ...WIN_NAT_ENTRIES,
  ...RECEIVER_ENTRIES,
  ...SWITCH_PORT_ENTRIES,
  ...LINUX_NODE_ENTRIES,
  ...SERVICE_ENTRIES,
  ...KUBE_PROXY_ENTRIES,
  ...LOAD_BALANCER_ENTRIES,
  ...NAME_ENTRIES,
  ...CLUSTER_ENTRIES,
  ...CLUSTER_FILE_ENTRIES,
  ...COMMAND_LINE_ENTRIES,
  ...MANIFEST_ENTRIES,
  ...KUBERNETES_ENTRIES,
  ...RUNNING_CLUSTER_ENTRIES,
  ...PLUGIN_ENTRIES,
  ...AZURE_ENTRIES,
  ...CLOUD_ROUTES_ENTRIES,
  ...HNS_DUMP_ENTRIES,
  ...WINDOWS_POD_ENTRIES,
  ...SERVICE_FEATURE_ENTRIES,
  ...NETWORK_POLICY_ENTRIES,
  ...WINDOWS_NODE_ENTRIES,
  ...PROVIDER_ENTRIES,
  ...JSON_FILE_ENTRIES,
  ...CNI_CONFIGURATION_ENTRIES,
  ...CNI_POLICY_ENTRIES,
  ...FLANNEL_ENTRIES,
  ...FLANNELD_ENTRIES,
  ...BRING_UP_ENTRIES,
  ...KUBE_PROXY_CONFIGURATION_ENTRIES,
  ...HNS_REQUEST_ENTRIES,
  ...HNS_DEFECT_ENTRIES,
  ...DATA_PLANE_DEFECT_ENTRIES,
  ...LINT_ENTRIES,
};

function complete(texts: Readonly<Record<string, EntryText>>): Record<string, KnowledgeEntry> {
  const entries: Record<string, KnowledgeEntry> = {};
  for (const [code, text] of Object.entries(texts)) {
    entries[code] = Object.freeze({ code: code as KnowledgeCode, ...text });
  }
  return entries;
}

/** Every entry by its code. */
export const CATALOGUE: Readonly<Record<KnowledgeCode, KnowledgeEntry>> = Object.freeze(
  complete(TEXTS) as Record<KnowledgeCode, KnowledgeEntry>,
);

function section(title: string, texts: Readonly<Record<string, EntryText>>): CatalogueSection {
  const codes = Object.keys(texts) as KnowledgeCode[];
  return Object.freeze({ title, entries: Object.freeze(codes.map((code) => CATALOGUE[code])) });
}

/** The catalogue by subject. */
export const SECTIONS: readonly CatalogueSection[] = Object.freeze([
  section("Filters, translation and flows on a switch port", FILTER_AND_NAT_ENTRIES),
  section("Routes, neighbours and the switch", FORWARDING_ENTRIES),
  section("In a host's own stack", HOST_STACK_ENTRIES),
  section("Address translation of a NAT network", WIN_NAT_ENTRIES),
  section("At the receiver", RECEIVER_ENTRIES),
  section("Tunnels, guards and limits of switch ports", SWITCH_PORT_ENTRIES),
  section("On Linux nodes", LINUX_NODE_ENTRIES),
  section("Services, names and host networking", SERVICE_ENTRIES),
  section("kube-proxy on Windows nodes", KUBE_PROXY_ENTRIES),
  section("Load balancers", LOAD_BALANCER_ENTRIES),
  section("Names", NAME_ENTRIES),
  section("CNI plugins, IPAM and HNS", PLUGIN_ENTRIES),
  section("Azure CNI", AZURE_ENTRIES),
  section("Routes of a cloud", CLOUD_ROUTES_ENTRIES),
  section("Dumps of HNS", HNS_DUMP_ENTRIES),
  section("The text of configuration files", JSON_FILE_ENTRIES),
  section("CNI configurations", CNI_CONFIGURATION_ENTRIES),
  section("Policies and ranges in CNI configurations", CNI_POLICY_ENTRIES),
  section("flannel's files", FLANNEL_ENTRIES),
  section("flanneld", FLANNELD_ENTRIES),
  section("Start scripts of a Windows node", BRING_UP_ENTRIES),
  section("kube-proxy's configuration and flags", KUBE_PROXY_CONFIGURATION_ENTRIES),
  section("Requests to HNS", HNS_REQUEST_ENTRIES),
  section("Defects of HNS", HNS_DEFECT_ENTRIES),
  section("Defects of VFP, the switch and the wire", DATA_PLANE_DEFECT_ENTRIES),
  section("Clusters from manifests", CLUSTER_ENTRIES),
  section("Cluster files", CLUSTER_FILE_ENTRIES),
  section("Kubernetes manifests", MANIFEST_ENTRIES),
  section("The Kubernetes control plane", KUBERNETES_ENTRIES),
  section("Command lines", COMMAND_LINE_ENTRIES),
  section("Running clusters and their control API", RUNNING_CLUSTER_ENTRIES),
  section("Pods on Windows", WINDOWS_POD_ENTRIES),
  section("Features of Services on Windows", SERVICE_FEATURE_ENTRIES),
  section("NetworkPolicies on Windows", NETWORK_POLICY_ENTRIES),
  section("Windows nodes", WINDOWS_NODE_ENTRIES),
  section("Network providers and Windows", PROVIDER_ENTRIES),
  section("Lint", LINT_ENTRIES),
]);

/** The entry of a code. */
export function getEntry(code: KnowledgeCode): KnowledgeEntry {
  return CATALOGUE[code];
}
