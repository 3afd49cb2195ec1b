/** What a pod's manifest says that Windows does not do, or does otherwise. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, KUBERNETES_ON_WINDOWS, reference, thread } from "../entry-text.ts";

type WindowsPodCode =
  | "host-process-without-host-network"
  | "host-process-mixed-with-others"
  | "host-port-ignored"
  | "resolv-conf-mapped"
  | "dns-options-ignored"
  | "network-sysctl-on-windows"
  | "network-capability-on-windows"
  | "windows-pod-without-node-selector"
  | "windows-image-on-linux-node"
  | "linux-image-on-windows-node"
  | "image-of-another-build"
  | "container-ports-conflict"
  | "container-not-running";

const WINDOWS_IN_KUBERNETES = Object.freeze({
  text: "Kubernetes documentation: Windows containers in Kubernetes",
  url: "https://kubernetes.io/docs/concepts/windows/intro/",
});

const HOST_PROCESS = Object.freeze({
  text: "Kubernetes documentation: Create a Windows HostProcess pod",
  url: "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/",
});

const WINDOWS_GUIDE = Object.freeze({
  text: "Kubernetes documentation: Guide for running Windows containers",
  url: "https://kubernetes.io/docs/concepts/windows/user-guide/",
});

const VERSION_COMPATIBILITY = Object.freeze({
  text: "Microsoft: Windows container version compatibility",
  url: "https://learn.microsoft.com/en-us/virtualization/windowscontainers/deploy-containers/version-compatibility",
});

export const WINDOWS_POD_ENTRIES: EntryTable<WindowsPodCode> = {
  "host-process-without-host-network": {
    title: "A HostProcess pod without hostNetwork: true is refused",
    cause: prose`
      HostProcess containers are processes of the node. They have no network compartment of their own, so the pod has
      to say what will happen anyway: hostNetwork: true. The API server refuses a pod that does not say it.`,
    onNode: prose`
      The workload has no pods, and its events hold the refusal:

          kubectl get events -A --field-selector reason=FailedCreate`,
    remedy: prose`Write hostNetwork: true in the pod's spec.`,
    sources: [HOST_PROCESS, reference("windows-networking-documentation.md §8")],
    profiles: ALL,
    severity: "error",
  },

  "host-process-mixed-with-others": {
    title: "A pod has HostProcess containers and others, which is refused",
    cause: prose`
      All containers of a Windows pod share one network compartment. HostProcess containers live in that of the node,
      others in one of the pod's own, and a pod cannot have both. Either all containers are HostProcess containers,
      init containers included, or none.`,
    onNode: prose`
      The workload has no pods, and its events hold the refusal:

          kubectl get events -A --field-selector reason=FailedCreate`,
    remedy: prose`
      Say hostProcess: true once for the whole pod (spec.securityContext.windowsOptions), or take the other
      containers to a pod of their own.`,
    sources: [HOST_PROCESS],
    profiles: ALL,
    severity: "error",
  },

  "host-port-ignored": {
    title: "hostPort needs a CNI plugin that maps ports, and this one does not",
    cause: prose`
      On Linux a chained plugin (portmap) opens a hostPort whatever network the pod is on. On Windows the network
      plugin itself has to pass the port to HNS: win-bridge does from version 0.8.6 on, Azure CNI does, win-overlay
      does not, and the configuration must say capabilities: portMappings. Without that the pod runs and the port
      of the node stays closed, silently.`,
    onNode: prose`
      The endpoint has no policy for port mappings, and the configuration no such capability:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 10
          Get-Content C:\etc\cni\net.d\*.conf* | Select-String portMappings`,
    remedy: prose`
      Open the port with a Service of type NodePort, or use a plugin that maps ports and give its configuration
      "capabilities": {"portMappings": true}.`,
    sources: [
      thread("kubernetes/kubernetes", 90116),
      thread("containernetworking/plugins", 475),
      thread("containernetworking/plugins", 530),
      reference("users.md G15"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "resolv-conf-mapped": {
    title: "A mapped resolv.conf has no effect on Windows",
    cause: prose`
      Windows keeps DNS servers and suffixes per adapter in the registry of the container, which is not that of the
      node. No file is read for it. A resolv.conf that is mounted into a Windows container is a file that nothing
      looks at.`,
    onNode: prose`
      The servers are those that the CNI plugin gave, not those of the file:

          kubectl exec <pod> -- ipconfig /all`,
    remedy: prose`
      Write dnsPolicy and dnsConfig (nameservers, one suffix) in the pod's spec, with a CNI configuration that has
      "capabilities": {"dns": true}.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("windows-networking-documentation.md §1, §6")],
    profiles: ALL,
    severity: "warning",
  },

  "dns-options-ignored": {
    title: "Options of a resolver, such as ndots, have no effect on Windows",
    cause: prose`
      dnsConfig.options are the options of Linux' resolver. They pass through CNI and HNS and stand in the endpoint;
      Windows' DNS client has no such settings. Whether a suffix is appended depends on one thing there: whether the
      name has a dot.`,
    onNode: prose`
      The options are in HNS, and names resolve as before:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | Select-Object -Expand DNS*
          Resolve-DnsName kubernetes.default`,
    remedy: prose`
      Leave them out for Windows pods, and write names in full. A name with a dot at its end is never completed, on
      either system.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("dataplane.md §5.3"), reference("users.md G8")],
    profiles: ALL,
    severity: "info",
  },

  "network-sysctl-on-windows": {
    title: "Windows has no sysctls",
    cause: prose`
      sysctls set variables of the Linux kernel for one pod. Windows has nothing like them: a pod that says that it is
      for Windows (spec.os) is refused by the API server, any other one starts without them or not at all.`,
    onNode: prose`
      What corresponds to many of them are settings of the stack, for all pods alike:

          Get-NetTCPSetting
          netsh int ipv4 show dynamicport tcp`,
    remedy: prose`
      Leave them out of the Windows pod. Keep-alive times can be set in the program (socket options), ranges of ports
      on the node.`,
    sources: [WINDOWS_IN_KUBERNETES],
    profiles: ALL,
    severity: "warning",
  },

  "network-capability-on-windows": {
    title: "Linux capabilities such as NET_ADMIN give a Windows container nothing",
    cause: prose`
      Capabilities are a way of Linux to split the rights of root. Windows containers run as a user of Windows, and
      what they may change in the network depends on that user and on the compartment. A pod that says spec.os:
      windows and asks for capabilities is refused; others start, and the program fails where it needs the right.`,
    onNode: prose`
      Who the container runs as, and that it sees its own compartment only:

          kubectl exec <pod> -- whoami
          kubectl exec <pod> -- powershell Get-NetCompartment`,
    remedy: prose`
      Programs that change the node's network on Windows are HostProcess pods that run as NT AUTHORITY\SYSTEM. For
      anything else leave capabilities out.`,
    sources: [WINDOWS_IN_KUBERNETES, HOST_PROCESS],
    profiles: ALL,
    severity: "warning",
  },

  "windows-pod-without-node-selector": {
    title: "A Windows pod that may be scheduled to Linux nodes",
    cause: prose`
      The scheduler knows nothing of images, and does not look at spec.os either. A pod with a Windows image that has
      no nodeSelector and no required affinity for the operating system may be put on a Linux node, where its image
      does not start. A toleration only permits Windows nodes, it does not ask for them. On EKS the webhook that gives
      Windows pods their address looks at the nodeSelector, too.`,
    onNode: prose`
      Nothing to see on a Windows node, because the pod is not there:

          kubectl get pod <pod> -o wide
          kubectl describe pod <pod>`,
    remedy: prose`
      Write in the pod's spec:

          nodeSelector:
            kubernetes.io/os: windows`,
    sources: [WINDOWS_GUIDE, reference("users.md G21"), thread("aws/containers-roadmap", 463)],
    profiles: ALL,
    severity: "warning",
  },

  "windows-image-on-linux-node": {
    title: "A Windows image is requested on Linux nodes",
    cause: prose`
      The pod is kept on Linux nodes by its node selector or its affinity, and its image exists for Windows only. The
      kubelet there finds no image for its platform.`,
    onNode: prose`
      Nothing to see on a Windows node. The pod waits with ErrImagePull and "no match for platform":

          kubectl describe pod <pod>`,
    remedy: prose`Select Windows nodes (kubernetes.io/os: windows), or name the image for Linux.`,
    sources: [WINDOWS_GUIDE],
    profiles: ALL,
    severity: "error",
  },

  "linux-image-on-windows-node": {
    title: "A Linux image is requested on Windows nodes",
    cause: prose`
      The pod is for Windows nodes, and its image exists for Linux only. The node's container runtime finds no image for
      its platform. Only names that are certain are judged: official images of Docker Hub without Windows, and tags
      that name a distribution of Linux.`,
    onNode: prose`
      The pod waits with ErrImagePull and "no match for platform in manifest":

          kubectl describe pod <pod>`,
    remedy: prose`Select Linux nodes (kubernetes.io/os: linux), or name an image for Windows.`,
    sources: [
      WINDOWS_GUIDE,
      {
        text: "docker-library/official-images: the architectures of each image",
        url: "https://github.com/docker-library/official-images/tree/master/library",
      },
    ],
    profiles: ALL,
    severity: "error",
  },

  "image-of-another-build": {
    title: "A Windows image is made for another build than the node's",
    cause: prose`
      Windows containers share the kernel of their node. With process isolation, the only one that Kubernetes knows
      for Windows, a node up to Server 2019 runs images of its own build alone. Server 2022 runs images of Server
      2022; Server 2025 runs those of Server 2025 and of Server 2022. The pod's sandbox has an address, and
      the container never starts: nothing listens there. HostProcess containers take any build.`,
    onNode: prose`
      An image that is a list of manifests is not pulled (ErrImagePull, "no match for platform in manifest"); a single
      one is pulled, and the container does not start (StartError, "The container operating system does not match the
      host operating system", 0xc0370101):

          kubectl describe pod <pod>
          kubectl get node <node> -o jsonpath='{.status.nodeInfo.kernelVersion}'`,
    remedy: prose`
      Take the tag of the node's build (ltsc2022 for 20348, ltsc2025 for 26100), or keep the pod on nodes of the image's
      build:

          nodeSelector:
            node.kubernetes.io/windows-build: 10.0.17763`,
    sources: [
      VERSION_COMPATIBILITY,
      thread("microsoft/Windows-Containers", 223),
      thread("containerd/containerd", 7431),
      thread("kubernetes/kubernetes", 74019),
      {
        text: "microsoft/hcsshim, osversion: which containers a host runs",
        url: "https://github.com/microsoft/hcsshim/blob/main/osversion/platform_compat_windows.go",
      },
    ],
    profiles: ALL,
    severity: "error",
  },

  "container-ports-conflict": {
    title: "Two containers of a pod declare the same port",
    cause: prose`
      The containers of a pod share one network: one address, one space of ports. Two programs that listen on the same
      port of the same protocol cannot both have it. The second one gets "address already in use", usually ends,
      and is started again and again. A port that is declared need not be opened, so the manifest alone does not
      prove it; two declarations of one port are a mistake in any case.`,
    onNode: prose`
      One container is in CrashLoopBackOff, and its log has the error of the socket (WSAEADDRINUSE, 10048):

          kubectl get pod <pod>
          kubectl logs <pod> -c <container> --previous`,
    remedy: prose`Give the containers different ports, or take one of them to a pod of its own.`,
    sources: [
      WINDOWS_IN_KUBERNETES,
      {
        text: "Kubernetes documentation: Pods, networking of a pod",
        url: "https://kubernetes.io/docs/concepts/workloads/pods/#pod-networking",
      },
    ],
    profiles: ALL,
    severity: "warning",
  },

  "container-not-running": {
    title: "The input itself shows that a container does not run",
    cause: prose`
      The status of the pod in the input says that the container waits or has ended: CrashLoopBackOff, ImagePullBackOff,
      an error of its configuration. The pod may have an address all the same, for that belongs to its sandbox. No
      program of the container listens, so connections to it are refused, and it sends nothing.`,
    onNode: prose`
      kubectl shows the reason, and the log of the last attempt if there was one:

          kubectl describe pod <pod>
          kubectl logs <pod> --previous`,
    remedy: prose`Mend what the reason names; the network has no part in it.`,
    sources: [
      {
        text: "Kubernetes documentation: Pod lifecycle, container states",
        url: "https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-states",
      },
    ],
    profiles: ALL,
  },
};
