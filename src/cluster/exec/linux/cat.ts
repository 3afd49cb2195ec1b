/**
 * `cat` of the files that a kubelet and a container runtime write for a pod's network: resolv.conf (kubernetes-sigs/external-dns#2027
 * and containerd, internal/cri/server/sandbox_run_linux.go), hosts (pkg/kubelet/kubelet_pods.go of Kubernetes 1.34) and hostname.
 *
 * Inferred: the hosts file of a node, and that of a pod in its network, has `localhost` alone.
 */
import { formatIp } from "#core/net/ip.ts";
import type { PodSpec } from "#contracts/kubernetes/objects.ts";
import { type ClusterPod, podAt } from "../../cluster.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "../command.ts";
import type { Machine } from "../machine.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

function resolvConf({ compartment: { dns } }: Machine): readonly string[] {
  const { search, servers, options = [] } = dns;
  return [
    ...(search.length === 0 ? [] : [`search ${search.join(" ")}`]),
    ...servers.map((server) => `nameserver ${formatIp(server)}`),
    ...(options.length === 0 ? [] : [`options ${options.join(" ")}`]),
  ];
}

function aliasLines(aliases: NonNullable<PodSpec["hostAliases"]>): readonly string[] {
  if (aliases.length === 0) return [];
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join("\t")}`);
  return ["", "# Entries added by HostAliases.", ...lines];
}

/** The pod whose own network this is; undefined on a node. */
function podOf({ cluster, compartment }: Machine): ClusterPod | undefined {
  const pod = podAt(cluster, compartment);
  return pod?.spec.network === "pod" ? pod : undefined;
}

function hosts(machine: Machine): readonly string[] {
  const pod = podOf(machine);
  if (pod === undefined) return ["127.0.0.1\tlocalhost"];
  const { namespace, name } = pod.spec;
  const manifest = machine.cluster.objects.Pod.find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
  );
  const hostName = manifest?.spec?.hostname ?? name;
  const domain = manifest?.spec?.subdomain;
  const { domain: zone } = machine.cluster.file.dns;
  const full = domain === undefined ? "" : `${hostName}.${domain}.${namespace}.svc.${zone}\t`;
  const addresses = [pod.address, ...(pod.address6 === undefined ? [] : [pod.address6])];
  return [
    WORDS.managedHostsHeader,
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...addresses.map((ip) => `${formatIp(ip)}\t${full}${hostName}`),
    ...aliasLines(manifest?.spec?.hostAliases ?? []),
  ];
}

const FILES: Readonly<Record<string, (machine: Machine) => readonly string[]>> = {
  "/etc/resolv.conf": resolvConf,
  "/etc/hosts": hosts,
  "/etc/hostname": ({ hostName }) => [hostName],
};

function show(machine: Machine, args: readonly string[]): CommandOutput {
  const files = args.map((arg) => (Object.hasOwn(FILES, arg) ? FILES[arg] : undefined));
  if (files.length === 0) return notBuilt(CAT, "without a file");
  return {
    stdout: files.flatMap((file) => (file ?? notBuilt(CAT, args.join(" ")))(machine)),
    exitCode: 0,
  };
}

export const CAT: ListedCommand = {
  name: "cat",
  os: "linux",
  usages: Object.keys(FILES).map((file) => `cat ${file}`),
  run: show,
};
