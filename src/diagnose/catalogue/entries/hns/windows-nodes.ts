/** What Node objects say about builds, addresses and ranges. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  reference,
  thread,
} from "../entry-text.ts";

type WindowsNodeCode =
  | "windows-build-unsupported"
  | "windows-update-denies-sockets"
  | "windows-update-drops-overlay-rules"
  | "overlay-needs-windows-update"
  | "l2bridge-broken-with-dsr"
  | "node-address-link-local"
  | "node-ranges-overlap"
  | "service-range-holds-node"
  | "pod-range-holds-node"
  | "node-ipv6-only"
  | "overlay-without-ipv6"
  | "vxlan-identifiers-differ"
  | "flannel-address-differs";

const RELEASES = Object.freeze({
  text: "Microsoft: Windows Server release information",
  url: "https://learn.microsoft.com/en-us/windows/release-health/windows-server-release-info",
});

const SHOW_BUILD = prose`
      Build and revision of the node:

          (Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion').UBR
          kubectl get nodes -o wide`;

export const WINDOWS_NODE_ENTRIES: EntryTable<WindowsNodeCode> = {
  "windows-build-unsupported": {
    title: "The node runs a build of Windows that Kubernetes no longer supports",
    cause: prose`
      Kubernetes supports Windows nodes from build 17763 (Windows Server 2019) on. Builds before that lack HCN's second
      interface, without which kube-proxy of 1.25 and later does not start at all.`,
    onNode: SHOW_BUILD,
    remedy: prose`Replace the node by one with Windows Server 2022 or 2025.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("kube-proxy.md §1.3")],
    profiles: ALL,
    severity: "error",
  },

  "windows-update-denies-sockets": {
    title: "This update of Windows Server 2022 cuts pods off the network",
    cause: prose`
      From KB5040437 (20348.2582, July 2024) on, programs in containers could not open sockets on many set-ups: every
      connection ended with "forbidden by its access permissions", every ping with "General failure". KB5044281
      (20348.2762, October 2024) repaired it.`,
    onNode: prose`
      In the pod nothing goes out, on the node everything does:

          kubectl exec <pod> -- ping <node's address>
          (Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion').UBR

      A value from 2582 to 2761 on build 20348 has the fault.`,
    remedy: prose`Install KB5044281 or any later cumulative update, and pin node images to it.`,
    sources: [
      thread("projectcalico/calico", 9043),
      thread("microsoft/Windows-Containers", 516),
      RELEASES,
      reference("users.md G19"),
    ],
    profiles: ["ws2022"],
    severity: "error",
  },

  "windows-update-drops-overlay-rules": {
    title: "Updates of Windows Server 2019 from August and September 2020 lose the rules that unpack VXLAN",
    cause: prose`
      With the cumulative updates of August and September 2020 a restart of HNS left switch ports without the layer
      that takes the outer header off. Packets of other nodes arrived and went nowhere. KB4577668 (17763.1518, October
      2020) repaired it.`,
    onNode: prose`
      The port of a pod lacks the layer VNET_DECAP_LAYER:

          vfpctrl /port <port> /list-layer`,
    remedy: prose`Install KB4577668 or any later cumulative update.`,
    sources: [thread("microsoft/Windows-Containers", 61), RELEASES, reference("users.md G19")],
    profiles: ["ws2019"],
    severity: "warning",
  },

  "overlay-needs-windows-update": {
    title: "Overlay networks need KB4489899 on Windows Server 2019",
    cause: prose`
      As it was released, Windows Server 2019 could not carry the overlay networks that flannel and kube-proxy make.
      kube-proxy's part came with KB4482887 (17763.348), that of the network itself with KB4489899 (17763.379).`,
    onNode: SHOW_BUILD,
    remedy: prose`Install KB4489899 or any later cumulative update.`,
    sources: [KUBERNETES_ON_WINDOWS, COMMON_PROBLEMS, reference("windows-networking-documentation.md §2")],
    profiles: ["ws2019"],
    severity: "error",
  },

  "l2bridge-broken-with-dsr": {
    title: "Pod to pod on l2bridge fails on Server 2022 with KB5005619 and DSR",
    cause: prose`
      A known issue of the documentation: on Windows Server 2022 with KB5005619 (20348.261) or later, pods of l2bridge
      networks do not reach each other while kube-proxy runs with WinDSR.`,
    onNode: prose`
      Connections between pods time out, and load balancers have the flag for DSR:

          kubectl exec <pod> -- powershell Test-NetConnection <other pod> -Port <port>
          hnsdiag list loadbalancers`,
    remedy: prose`
      Run kube-proxy with --feature-gates=WinDSR=false and without --enable-dsr, or move to a later build.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("microsoft/Windows-Containers", 204),
      reference("windows-networking-documentation.md §5"),
    ],
    profiles: ["ws2022"],
    severity: "info",
  },

  "node-address-link-local": {
    title: "The node's address is one that an adapter gave itself",
    cause: prose`
      An address of 169.254.0.0/16 means that the adapter found no DHCP server, often while HNS moved its address to the
      virtual switch. Everything that was built on it, routes, tunnels and load balancers, leads nowhere.`,
    onNode: prose`
      The management address of the network, and those of the adapters:

          Get-HnsNetwork | Select-Object Name, ManagementIP, NetworkAdapterName
          ipconfig /all`,
    remedy: prose`
      Give the adapter its address, remove the HNS network that was made with the wrong one, and restart the CNI agent
      with the interface named (flanneld --iface).`,
    sources: [
      thread("microsoft/SDN", 269),
      thread("kubernetes-sigs/sig-windows-tools", 344),
      reference("users.md G11"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "node-ranges-overlap": {
    title: "Two nodes have pod ranges that overlap",
    cause: prose`
      Each node gives addresses to pods from its own range, and the others send there what is for that range. Where two
      ranges overlap, an address may exist twice, and a route or tunnel leads to one of the two nodes only.`,
    onNode: prose`
      The ranges of all nodes, and what this one has routes or policies for:

          kubectl get nodes -o custom-columns=NAME:.metadata.name,CIDR:.spec.podCIDRs
          Get-HnsNetwork | ConvertTo-Json -Depth 10`,
    remedy: prose`
      Remove one of the nodes from the cluster and let it join again; on it remove SourceVip.json and the old HNS
      network first.`,
    sources: [
      COMMON_PROBLEMS,
      reference("windows-networking-documentation.md §9 (5)"),
      reference("users.md G5"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "service-range-holds-node": {
    title: "A node's own address is in the range of Services",
    cause: prose`
      Addresses in the range of Services are exempt from translation on the way out, and load balancers may claim them
      at any time. A node, or a machine of the same network, inside that range is not reached from Windows pods.`,
    onNode: prose`
      The range is in the ExceptionList of each endpoint:

          Get-HnsEndpoint | ConvertTo-Json -Depth 10 | Select-String -Context 0,5 ExceptionList`,
    remedy: prose`Choose a range of Services that is used nowhere else; it is fixed when the cluster is made.`,
    sources: [
      thread("kubernetes-sigs/sig-windows-tools", 141),
      thread("rancher/rancher", 19230),
      reference("users.md G7"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "pod-range-holds-node": {
    title: "A node's own address is in a range of pods",
    cause: prose`
      Packets for that address are taken for packets to a pod: they leave untranslated, go into the tunnel or to the node
      that owns the range, and never reach the node.`,
    onNode: prose`
      The route for the range, beside the node's own address:

          Get-NetRoute -AddressFamily IPv4
          Get-HnsNetwork | Select-Object Name, ManagementIP, Subnets`,
    remedy: prose`Choose a range for pods that does not hold the nodes' network.`,
    sources: [COMMON_PROBLEMS, reference("users.md G7")],
    profiles: ALL,
    severity: "error",
  },

  "node-ipv6-only": {
    title: "Windows nodes do not work with IPv6 alone",
    cause: prose`
      Kubernetes on Windows knows IPv4, and IPv4 beside IPv6 (dual stack). With nothing but IPv6 there is no network for
      pods.`,
    onNode: prose`
      What addresses the node and its networks have:

          Get-NetIPAddress -AddressFamily IPv4
          Get-HnsNetwork | Select-Object Name, Type, Subnets`,
    remedy: prose`Give the cluster dual stack, with IPv4 for the Windows nodes and their pods.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("microsoft/Windows-Containers", 522),
      reference("windows-networking-documentation.md §7"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "overlay-without-ipv6": {
    title: "A Windows node on an overlay network has a range of IPv6 that its pods cannot use",
    cause: prose`
      Dual stack on Windows is for l2bridge networks. On an overlay HNS carries IPv4 only: pods of the node get no
      address of the second family, or one that leads nowhere.`,
    onNode: prose`
      The subnets of the network:

          Get-HnsNetwork | Select-Object Name, Type, Subnets`,
    remedy: prose`
      Use l2bridge (host-gateway) for dual stack, or keep Services that Windows pods use to IPv4.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("microsoft/Windows-Containers", 82),
      reference("windows-networking-documentation.md §7, §8"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "vxlan-identifiers-differ": {
    title: "Nodes of one flannel network use different VXLAN identifiers",
    cause: prose`
      A packet is only taken up by a node that expects its identifier (VNI). flannel uses 1 on Linux and 4096 on Windows
      unless net-conf.json says it, and Windows can use none below 4096. Pods on both systems run, and reach nothing
      of the other one.`,
    onNode: prose`
      The identifier of each node, and that of the Windows network:

          kubectl get nodes -o yaml | Select-String backend-data
          Get-HnsNetwork | ? Type -eq Overlay | ConvertTo-Json -Depth 10 | Select-String VSID`,
    remedy: prose`
      Write "VNI": 4096 and "Port": 4789 in net-conf.json, delete the interface flannel.1 on the Linux nodes, and
      restart flanneld everywhere.`,
    sources: [
      thread("rancher/rke2", 5995),
      thread("k3s-io/k3s", 9295),
      reference("users.md G4"),
      reference("windows-networking-documentation.md §8"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "flannel-address-differs": {
    title: "flannel publishes an address that the node does not have",
    cause: prose`
      The annotation flannel.alpha.coreos.com/public-ip is where others send packets for this node's pods. flanneld
      takes the address of the interface that it chose. When it chose the wrong one (a second adapter, a NAT network of
      VirtualBox, an address of its own making), the packets of others go there.`,
    onNode: prose`
      The annotation beside the addresses of the node:

          kubectl describe node <node> | findstr "public-ip InternalIP"
          Get-HnsNetwork | Select-Object Name, ManagementIP`,
    remedy: prose`
      Start flanneld with --iface=<node IP>. Where the difference is meant (public-ip-overwrite), ignore this finding
      for the node.`,
    sources: [
      COMMON_PROBLEMS,
      thread("containerd/containerd", 5729),
      reference("windows-networking-documentation.md §9 (6)"),
      reference("users.md G11"),
    ],
    profiles: ALL,
    severity: "warning",
  },
};
