/** The command lines of kubelet in the scripts, and what a kubelet says to them. */
import type { KubernetesRelease } from "../file/cluster-file.ts";
import type { ScriptParameters } from "./options.ts";
import { KUBECONFIG } from "./script-files.ts";

/** Flags that a minor version took out (sig-windows-tools issue 218; kubelet's reference). */
const REMOVED: readonly { readonly flag: string; readonly minor: number }[] = [
  { flag: "allow-privileged", minor: 15 },
  { flag: "image-pull-progress-deadline", minor: 24 },
  { flag: "network-plugin", minor: 24 },
  { flag: "cni-bin-dir", minor: 24 },
  { flag: "cni-conf-dir", minor: 24 },
  { flag: "log-dir", minor: 26 },
  { flag: "logtostderr", minor: 26 },
  { flag: "container-runtime", minor: 27 },
];

/** To make the Node object: no network, no CNI. */
export function registrationFlags(hostname: string): readonly string[] {
  return [
    `--hostname-override=${hostname}`,
    "--pod-infra-container-image=kubeletwin/pause",
    '--resolv-conf=""',
    "--cgroups-per-qos=false",
    '--enforce-node-allocatable=""',
    `--kubeconfig=${KUBECONFIG}`,
  ];
}

/** What both generations of the scripts have, in one run. */
function clusterFlags({ kubeDnsServiceIP }: ScriptParameters): readonly string[] {
  return [
    "--enable-debugging-handlers",
    `--cluster-dns=${kubeDnsServiceIP}`,
    "--cluster-domain=cluster.local",
    `--kubeconfig=${KUBECONFIG}`,
    "--hairpin-mode=promiscuous-bridge",
    "--image-pull-progress-deadline=20m",
    "--cgroups-per-qos=false",
  ];
}

/** `Kubelet-Options` of helper.psm1. */
export function startFlags(
  hostname: string,
  parameters: ScriptParameters,
  nodeIp: string,
): readonly string[] {
  return [
    `--hostname-override=${hostname}`,
    "--v=6",
    "--pod-infra-container-image=mcr.microsoft.com/k8s/core/pause:1.2.0",
    '--resolv-conf=""',
    ...clusterFlags(parameters),
    String.raw`--log-dir=C:\k`,
    "--logtostderr=false",
    '--enforce-node-allocatable=""',
    "--network-plugin=cni",
    String.raw`--cni-bin-dir="c:\k\cni"`,
    String.raw`--cni-conf-dir="c:\k\cni\config"`,
    `--node-ip=${nodeIp}`,
  ];
}

/** `GetKubeletArguments` of helper.v2.psm1. */
export function serviceFlags(
  hostname: string,
  parameters: ScriptParameters,
  isContainerd: boolean,
): readonly string[] {
  return [
    "--node-labels=node-role.kubernetes.io/agent=,kubernetes.io/role=agent",
    `--hostname-override=${hostname}`,
    "--v=6",
    "--pod-infra-container-image=kubeletwin/pause",
    '--resolv-conf=""',
    "--allow-privileged=true",
    ...clusterFlags(parameters),
    String.raw`--log-dir=C:\k\logs\kubelet`,
    "--logtostderr=false",
    '--enforce-node-allocatable=""',
    "--network-plugin=cni",
    String.raw`--cni-bin-dir=C:\k\cni`,
    String.raw`--cni-conf-dir=C:\k\cni\config`,
    `--node-ip=${parameters.managementIP}`,
    ...(isContainerd
      ? ["--container-runtime=remote", "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd"]
      : []),
  ];
}

/** The first flag that a kubelet of that version does not know; undefined: it takes them all. */
export function unknownFlag(flags: readonly string[], version: KubernetesRelease): string | undefined {
  const names = flags.map((flag) => flag.replace(/^--/, "").split("=", 1).join(""));
  return names.find((name) => REMOVED.some(({ flag, minor }) => flag === name && version.minor >= minor));
}
