/**
 * What shells tell of a machine without asking its network: `hostname`, and the files that a kubelet and a container runtime write for
 * a pod: resolv.conf (kubernetes-sigs/external-dns#2027 and containerd, internal/cri/server/sandbox_run_linux.go), hostname, and the
 * hosts file (pkg/kubelet/kubelet_pods.go of Kubernetes 1.34), which is `etc\\hosts` in a container of Windows.
 *
 * Inferred: the hosts file of a node, and that of a pod in its network, has `localhost` alone on Linux; on Windows it is refused.
 */
import { formatIp } from "#core/net/ip.ts";
import type { PodSpec } from "#contracts/kubernetes/objects.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import { type ClusterPod, podAt } from "../cluster.ts";
import { type CommandOutput, type ListedCommand, notBuilt } from "./command.ts";
import type { Machine } from "./machine.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

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

/** Its lines; undefined where no kubelet writes one: on a node, and in a pod of its network. */
function hostsFile(machine: Machine): readonly string[] | undefined {
  const pod = podOf(machine);
  if (pod === undefined) return undefined;
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

function resolvConf({ compartment: { dns } }: Machine): readonly string[] {
  const { search, servers, options = [] } = dns;
  return [
    ...(search.length === 0 ? [] : [`search ${search.join(" ")}`]),
    ...servers.map((server) => `nameserver ${formatIp(server)}`),
    ...(options.length === 0 ? [] : [`options ${options.join(" ")}`]),
  ];
}

const LINUX_FILES: Readonly<Record<string, (machine: Machine) => readonly string[]>> = {
  "/etc/resolv.conf": resolvConf,
  "/etc/hosts": (machine) => hostsFile(machine) ?? ["127.0.0.1\tlocalhost"],
  "/etc/hostname": ({ hostName }) => [hostName],
};

function showFiles(machine: Machine, args: readonly string[]): CommandOutput {
  const files = args.map((arg) => (Object.hasOwn(LINUX_FILES, arg) ? LINUX_FILES[arg] : undefined));
  if (files.length === 0) return notBuilt(CAT, "without a file");
  return {
    stdout: files.flatMap((file) => (file ?? notBuilt(CAT, args.join(" ")))(machine)),
    exitCode: 0,
  };
}

export const CAT: ListedCommand = {
  name: "cat",
  os: "linux",
  usages: Object.keys(LINUX_FILES).map((file) => `cat ${file}`),
  run: showFiles,
};

const HOSTS_FILE =
  /^"?(c:|%systemroot%|\$env:systemroot)?[\\/]*(windows[\\/])?system32[\\/]drivers[\\/]etc[\\/]hosts"?$/i;
const WINDOWS_USAGE = String.raw`C:\Windows\System32\drivers\etc\hosts (in pods)`;

function showHosts(command: ListedCommand, machine: Machine, args: readonly string[]): CommandOutput {
  const files = args.filter((arg) => !/^-path$/i.test(arg));
  const [file = ""] = files;
  const lines = files.length === 1 && HOSTS_FILE.test(file) ? hostsFile(machine) : undefined;
  return lines === undefined ? notBuilt(command, args.join(" ")) : { stdout: lines, exitCode: 0 };
}

export const TYPE: ListedCommand = {
  name: "type",
  os: "windows",
  usages: [`type ${WINDOWS_USAGE}`],
  run: (machine, args) => showHosts(TYPE, machine, args),
};

export const GET_CONTENT: ListedCommand = {
  name: "get-content",
  os: "windows",
  aliases: ["gc", "cat"],
  shell: "powershell",
  usages: [`Get-Content [-Path] ${WINDOWS_USAGE}`],
  run: (machine, args) => showHosts(GET_CONTENT, machine, args),
};

function hostnameOf(os: OperatingSystem): ListedCommand {
  const command: ListedCommand = {
    name: "hostname",
    os,
    usages: ["hostname"],
    run: ({ hostName }, args) =>
      args.length > 0 ? notBuilt(command, args.join(" ")) : { stdout: [hostName], exitCode: 0 },
  };
  return command;
}

export const HOSTNAMES: readonly ListedCommand[] = [hostnameOf("windows"), hostnameOf("linux")];
