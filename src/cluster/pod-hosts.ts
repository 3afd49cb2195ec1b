/**
 * The hosts file that a kubelet makes for a pod in its own network (pkg/kubelet/kubelet_pods.go, managedHostsFileContent):
 * the pod's own name, and the aliases of its manifest. Windows pods get it as well.
 */
import { type HostsFile, parseHostsFile } from "../host/resolver/hosts-file.ts";
import type { Pod } from "../kube/objects.ts";
import { type Ip, formatIp } from "../net/ip.ts";

export function podHosts({ metadata, spec }: Pod, address: Ip): HostsFile {
  const own = [formatIp(address), spec?.hostname ?? metadata?.name ?? ""];
  const aliases = (spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => [ip, ...hostnames]);
  return parseHostsFile([own, ...aliases].map((words) => words.join(" ")).join("\n"));
}
