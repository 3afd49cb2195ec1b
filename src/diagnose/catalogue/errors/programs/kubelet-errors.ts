/** The kubelet and containerd, as their logs and a pod's events show them. */
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_POD = ["kubectl describe pod <pod>", "crictl pods", "crictl inspectp <sandbox>"];
const SEE_CONFIGURATION = ["Get-ChildItem C:\\etc\\cni\\net.d, C:\\k\\cni\\config", "crictl info"];

export const KUBELET_ERRORS: PrintedErrors = {
  "kubelet-sandbox-failed": {
    standing: "wrapper",
    texts: [
      "failed to setup network for sandbox",
      "Failed to create pod sandbox",
      "CreatePodSandbox for pod … failed",
      "NetworkPlugin cni failed to set up pod",
    ],
    names: ["FailedCreatePodSandBox"],
    cause: prose`The pod's network could not be made. This is only the outermost message; the reason is behind it on the same line.`,
    next: SEE_POD,
    remedy: prose`Act on the reason behind it.`,
    sources: [reference("cni.md §1.6")],
  },
  "kubelet-sandbox-removal-failed": {
    standing: "wrapper",
    texts: [
      "failed to destroy network for sandbox",
      "NetworkPlugin cni failed to teardown pod",
      "KillPodSandboxError",
    ],
    cause: prose`The pod's network could not be taken down, so the pod stays in Terminating, and its address stays taken. The reason is behind it.`,
    next: [...SEE_POD, "hnsdiag list endpoints"],
    remedy: prose`Act on the reason behind it. When it says "not found", update containerd, or remove the sandbox with crictl rmp -f.`,
    sources: [thread("containerd/containerd", 6135), reference("cni.md §9 A, D")],
  },
  "kubelet-network-not-ready": {
    standing: "wrapper",
    texts: [
      "container runtime network not ready",
      "runtime network not ready",
      "network plugin is not ready",
    ],
    names: ["NetworkPluginNotReady"],
    cause: prose`The runtime has no CNI configuration that it can use, so the node is NotReady. During set-up it is normal until the CNI agent has written its file.`,
    next: [...SEE_CONFIGURATION, "kubectl get pods -A -o wide --field-selector spec.nodeName=<node>"],
    remedy: prose`Look for why the CNI agent has not written its configuration on this node.`,
    sources: [reference("users.md G9, G12")],
  },
  "kubelet-cni-uninitialized": {
    standing: "root",
    texts: ["cni config uninitialized", "cni plugin not initialized", "cni config load failed"],
    cause: prose`The folder for CNI configuration holds no file that the runtime can load.`,
    next: SEE_CONFIGURATION,
    remedy: prose`Put the configuration where conf_dir points to. The first file by name wins; a left-over 0-containerd-nat.conf wins over all.`,
    sources: [reference("users.md G12; cni.md §1.1")],
  },
  "kubelet-pleg": {
    standing: "refusal",
    texts: ["PLEG is not healthy"],
    cause: prose`The kubelet's look at the containers takes minutes. On Windows nodes HNS or HCS hangs, mostly.`,
    next: [
      "Get-Service hns, vmcompute",
      "(Get-Process -Id (Get-CimInstance Win32_Service -Filter \"Name='hns'\").ProcessId).Threads.Count",
    ],
    remedy: prose`Restart HNS, then kube-proxy; drain and restart the node when it stays. Update Windows.`,
    sources: [reference("users.md G10")],
  },
  "kubelet-sandbox-changed": {
    standing: "wrapper",
    texts: ["Pod sandbox changed, it will be killed and re-created"],
    names: ["SandboxChanged"],
    cause: prose`The pod's sandbox ended or was lost, and is made again: after a restart of the node, or since its network failed.`,
    next: SEE_POD,
    remedy: prose`After a restart nothing. When it repeats, read the events before it.`,
    sources: [reference("cni.md §10.3")],
  },
  "kubelet-probe-failed": {
    standing: "wrapper",
    texts: ["Liveness probe failed", "Readiness probe failed", "Startup probe failed"],
    cause: prose`The kubelet, on the node, did not get the answer that it wants from the pod: the program is not up, listens elsewhere, or the node does not reach its own pods.`,
    next: [...SEE_POD, "Test-NetConnection <pod IP> -Port <port>"],
    remedy: prose`When every pod of the node fails, it is the way from node to pod: look at the HNS network and at policies. Else it is the program.`,
    sources: [reference("dataplane.md §2.3 O-9")],
  },
  "kubelet-dns-limits": {
    standing: "refusal",
    texts: ["Search Line limits were exceeded", "Nameserver limits were exceeded"],
    names: ["DNSConfigForming"],
    cause: prose`The pod would get more search domains or servers than are allowed; the rest is cut off.`,
    next: ["kubectl get pod <pod> -o jsonpath='{.spec.dnsConfig}'"],
    remedy: prose`Shorten the lists. Windows uses few of them anyway.`,
    related: "dns-single-suffix-only",
    sources: [reference("windows-networking-documentation.md §6")],
  },
  "kubelet-port-forward-wincat": {
    standing: "root",
    texts: ["unable to do port forwarding: wincat not found", "wincat not found"],
    cause: prose`kubectl port-forward needs wincat.exe in the pause image, and this image lacks it.`,
    next: ["crictl images | Select-String pause"],
    remedy: prose`Use the pause image of the Kubernetes project (3.6 or later), or add wincat.exe to your own.`,
    sources: [reference("windows-networking-documentation.md §9.11")],
  },
  "eks-windows-ipam": {
    standing: "root",
    texts: [
      "does not have label vpc.amazonaws.com/PrivateIPv4Address",
      "Insufficient vpc.amazonaws.com/PrivateIPv4Address",
    ],
    cause: prose`On EKS the VPC resource controller gives addresses to Windows pods, and gave none: Windows IPAM is not switched on, the pod has no nodeSelector for Windows, or the role lacks rights.`,
    next: ["kubectl -n kube-system get configmap amazon-vpc-cni -o yaml", "kubectl describe node <node>"],
    remedy: prose`Set enable-windows-ipam: "true" in the ConfigMap amazon-vpc-cni, and kubernetes.io/os: windows in nodeSelector.`,
    related: "pod-os-mismatch",
    sources: [thread("aws/amazon-vpc-resource-controller-k8s", 86), reference("users.md G21")],
  },
  "kubelet-host-network": {
    standing: "root",
    texts: ["Host network is not supported on Windows", "host networking is not supported"],
    cause: prose`A pod asks for hostNetwork, which Windows has for HostProcess containers only.`,
    next: ["kubectl get pod <pod> -o yaml | Select-String -Pattern 'hostNetwork|hostProcess'"],
    remedy: prose`Take hostNetwork out, or make it a HostProcess container.`,
    related: "host-network-unsupported",
    sources: [reference("windows-networking-documentation.md §8")],
  },
};
