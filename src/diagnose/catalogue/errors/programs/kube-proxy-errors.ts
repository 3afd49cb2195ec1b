/** kube-proxy in kernelspace mode. Texts of old releases (sentences with values) and of new ones (key and value). */
import { KUBERNETES_ON_WINDOWS } from "../../entries/entry-text.ts";
import { prose } from "../../prose.ts";
import { reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_NETWORKS = ["Get-HnsNetwork | Select-Object Name, Type, ID", "hnsdiag list loadbalancers"];
const SEE_FLAGS = [
  "Get-CimInstance Win32_Process -Filter \"Name='kube-proxy.exe'\" | Select-Object CommandLine",
];
const SEE_SOURCE_VIP = [
  "Get-Content C:\\k\\sourceVip.json",
  "Get-HnsEndpoint | Select-Object Name, IPAddress, IsRemoteEndpoint",
];

export const KUBE_PROXY_ERRORS: PrintedErrors = {
  "kube-proxy-network-not-found": {
    standing: "root",
    texts: [
      "Unable to find HNS Network specified by … Please check network name and CNI deployment",
      "Unable to find HNS Network specified",
    ],
    cause: prose`
      kube-proxy waits for an HNS network of the given name and looks for it each second, forever. Meanwhile no Service
      works from this node, which is Ready all the same. Once or twice at the start is normal.`,
    next: [...SEE_NETWORKS, ...SEE_FLAGS],
    remedy: prose`
      Give the exact name in --network-name or KUBE_NETWORK (cbr0, vxlan0, flannel.4096, Calico, azure), or find out why
      the CNI side has not made its network.`,
    related: "kube-proxy-network-missing",
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 74435),
      reference("kube-proxy.md §2.2; users.md G3"),
    ],
  },
  "kube-proxy-could-not-find-network": {
    standing: "root",
    texts: ["Could not find HNS network"],
    cause: prose`On an overlay network kube-proxy looks again after ten seconds, and the network had vanished in between. It ends.`,
    next: SEE_NETWORKS,
    remedy: prose`Find out who deletes and remakes the network; start kube-proxy after it is complete.`,
    related: "kube-proxy-network-missing",
    sources: [reference("kube-proxy.md §2.2")],
  },
  "kube-proxy-network-changed": {
    standing: "root",
    texts: ["The HNS network … is not present or has changed since the last sync"],
    cause: prose`
      The network is gone or has another id, so kube-proxy takes all its load balancers away and programs them again. Up to
      Kubernetes 1.36 any failure of HNS counts as a vanished network.`,
    next: [
      ...SEE_NETWORKS,
      "Get-WinEvent System -MaxEvents 100 | Where-Object Message -match 'Host Network Service'",
    ],
    remedy: prose`Look for a restart of HNS or of the CNI agent at that time. Update kube-proxy.`,
    related: "kube-proxy-network-missing",
    sources: [thread("kubernetes/kubernetes", 139519), reference("kube-proxy.md §3.3")],
  },
  "kube-proxy-network-name-missing": {
    standing: "root",
    texts: ["Environment variable KUBE_NETWORK and network-flag not initialized"],
    cause: prose`Neither --network-name nor KUBE_NETWORK is given, so kube-proxy ends.`,
    next: SEE_FLAGS,
    remedy: prose`Give one of them, with the exact name of the HNS network.`,
    related: "kube-proxy-cannot-start",
    sources: [reference("kube-proxy.md §2.2")],
  },
  "kube-proxy-source-vip-missing": {
    standing: "root",
    texts: ["source-vip flag not set"],
    cause: prose`On overlay networks kube-proxy needs an address of the node's own pod subnet that no pod has, and got none: the start script failed to reserve it, or its file is empty.`,
    next: [...SEE_SOURCE_VIP, ...SEE_FLAGS],
    remedy: prose`Delete sourceVip.json and sourceVipRequest.json, let the script reserve an address again, and pass it in --source-vip.`,
    related: "kube-proxy-cannot-start",
    sources: [
      thread("kubernetes/kubernetes", 78338),
      thread("kubernetes/kubernetes", 123014),
      reference("users.md G5; control-planes.md §1.11"),
    ],
  },
  "kube-proxy-source-vip-failed": {
    standing: "wrapper",
    texts: ["Source Vip endpoint creation failed"],
    cause: prose`
      kube-proxy could not make the endpoint of its source VIP and ends this round: no Service at all is programmed. The
      code after it says why, mostly 0x803b001e or 0x803b002f.`,
    next: [...SEE_SOURCE_VIP, "kubectl get node <node> -o jsonpath='{.spec.podCIDR}'"],
    remedy: prose`Choose a free address inside the subnet of the HNS network, and restart kube-proxy.`,
    sources: [thread("kubernetes/kubernetes", 100962), reference("users.md G5; kube-proxy.md §3.3")],
  },
  "kube-proxy-win-overlay-gate": {
    standing: "root",
    texts: ["WinOverlay feature gate not enabled"],
    cause: prose`The HNS network is of type Overlay, and kube-proxy's feature gate WinOverlay is off.`,
    next: SEE_FLAGS,
    remedy: prose`Add --feature-gates=WinOverlay=true, or leave the gate at its default of newer releases.`,
    related: "kube-proxy-cannot-start",
    sources: [reference("kube-proxy.md §1.2, §2.2")],
  },
  "kube-proxy-win-dsr-gate": {
    standing: "root",
    texts: ["WinDSR feature gate not enabled"],
    cause: prose`--enable-dsr is given, and up to Kubernetes 1.33 it needs the feature gate WinDSR, too.`,
    next: SEE_FLAGS,
    remedy: prose`Add --feature-gates=WinDSR=true.`,
    related: "kube-proxy-cannot-start",
    sources: [KUBERNETES_ON_WINDOWS, reference("kube-proxy.md §8.10 S4")],
  },
  "kube-proxy-host-mac-missing": {
    standing: "root",
    texts: ["could not find host mac address for"],
    cause: prose`No interface of the node has the address that kube-proxy takes for the node's. With dual stack it may be 0.0.0.0 or ::.`,
    next: ["Get-NetIPAddress | Select-Object InterfaceAlias, IPAddress", "kubectl get node <node> -o wide"],
    remedy: prose`Pass the node's address in --bind-address, or make the addresses of the Node object right.`,
    related: "kube-proxy-cannot-start",
    sources: [thread("kubernetes/kubernetes", 100966), reference("kube-proxy.md §2.2")],
  },
  "kube-proxy-kernel-incompatible": {
    standing: "root",
    texts: ["Windows kernel is not compatible for Kernel mode"],
    cause: prose`The first call to HNS failed: HNS does not run, kube-proxy has no rights, or the feature Containers is missing.`,
    next: ["Get-Service hns", "Get-WindowsFeature Containers"],
    remedy: prose`Start HNS, and run kube-proxy as administrator or in a HostProcess container.`,
    related: "kube-proxy-cannot-start",
    sources: [reference("kube-proxy.md §2.1")],
  },
  "kube-proxy-locked-gate": {
    standing: "root",
    texts: ["cannot set feature gate … feature is locked", "unrecognized feature gate"],
    cause: prose`A feature gate is passed that this release has locked or no longer knows. kube-proxy ends at once and is started again, thousands of times.`,
    next: [...SEE_FLAGS, "Get-Service kubeproxy, kube-proxy -ErrorAction SilentlyContinue"],
    remedy: prose`Take the gate out of the start script (for example IPv6DualStack=false).`,
    related: "kube-proxy-cannot-start",
    sources: [thread("projectcalico/calico", 5539), reference("users.md G3")],
  },
  "kube-proxy-policy-creation-failed": {
    standing: "wrapper",
    texts: [
      "Policy creation failed",
      "ClusterIP policy creation failed",
      "Nodeport policy creation failed",
      "externalIPs policy creation failed",
      "IngressIP policy creation failed",
    ],
    cause: prose`HNS refused a load balancer, so this Service is missing on the node. The code after it says why.`,
    next: [...SEE_NETWORKS, "netsh int ipv4 show excludedportrange tcp"],
    remedy: prose`Act on the code behind it, then restart kube-proxy.`,
    related: "service-load-balancer-refused",
    sources: [reference("kube-proxy.md §3.5")],
  },
  "kube-proxy-update-failed": {
    standing: "wrapper",
    texts: ["Update loadbalancer policy failed"],
    cause: prose`HNS refused to change a load balancer in place. On HNS 15.4 the change may also do nothing although it succeeds.`,
    next: SEE_NETWORKS,
    remedy: prose`Restart kube-proxy; update it past the release that fixes the capability check.`,
    related: "load-balancer-update-ignored",
    sources: [thread("kubernetes/kubernetes", 131466), reference("kube-proxy.md §3.7, §7 row 20")],
  },
  "kube-proxy-remote-endpoint-failed": {
    standing: "wrapper",
    texts: ["Remote endpoint creation failed"],
    cause: prose`kube-proxy could not make the endpoint that stands for a pod elsewhere, or for a Service's address on an overlay network. The code after it says why.`,
    next: ["Get-HnsEndpoint | Group-Object IPAddress | Where-Object Count -gt 1", ...SEE_NETWORKS],
    remedy: prose`Remove doubled endpoints of the same address, then restart kube-proxy.`,
    related: "service-remote-endpoint-refused",
    sources: [reference("kube-proxy.md §3.4; users.md G2")],
  },
  "kube-proxy-local-endpoint-missing": {
    standing: "root",
    texts: ["Local endpoint not found for", "Local endpoint not found: on network"],
    cause: prose`
      The EndpointSlice says that the pod runs on this node, and HNS has no endpoint with its address on kube-proxy's
      network: the pod hangs on another network (such as nat), the pod just ended, or the endpoint was deleted.`,
    next: ["Get-HnsEndpoint | Select-Object Name, IPAddress, VirtualNetworkName", "kubectl get pods -o wide"],
    remedy: prose`Check the order of the CNI files (the first by name wins), and that --hostname-override is the Node's name. Delete the pod.`,
    related: "service-local-endpoint-missing",
    sources: [reference("kube-proxy.md §3.4; users.md G12; windows-networking-documentation.md §9.4")],
  },
  "kube-proxy-no-endpoints": {
    standing: "refusal",
    texts: ["Endpoint information not available for service"],
    cause: prose`The Service has no endpoint that this node can use, so nothing is programmed. For Services without pods it is normal.`,
    next: ["kubectl get endpointslices -A"],
    remedy: prose`Make pods ready; look at traffic policies and at Services with a wrong selector.`,
    related: "service-without-usable-endpoints",
    sources: [reference("kube-proxy.md §3.9")],
  },
  "kube-proxy-query-failed": {
    standing: "root",
    texts: ["Querying HNS for endpoints failed", "Querying HNS for load balancers failed"],
    cause: prose`HNS did not answer, so the round ended without any change. HNS hangs or restarts.`,
    next: [
      "Get-Service hns",
      "(Get-Process -Id (Get-CimInstance Win32_Service -Filter \"Name='hns'\").ProcessId).Threads.Count",
    ],
    remedy: prose`Restart HNS when it has more than 200 threads, then kube-proxy.`,
    related: "hns-unreachable",
    sources: [reference("kube-proxy.md §3.3; users.md G10")],
  },
  "kube-proxy-delete-failed": {
    standing: "wrapper",
    texts: [
      "Error deleting Hns loadbalancer policy resource. Attempting one more time",
      "Error deleting Hns loadbalancer policy resource",
      "Endpoint deletion failed for",
    ],
    cause: prose`A load balancer or endpoint could not be deleted. Server 2019 fails at times on the first try; what stays behind keeps its ports and leads to pods that are gone.`,
    next: SEE_NETWORKS,
    remedy: prose`When it stays: hnsdiag delete loadbalancers <id>, then restart kube-proxy.`,
    sources: [thread("kubernetes/kubernetes", 113524), reference("kube-proxy.md §3.7")],
  },
  "kube-proxy-affinity-unsupported": {
    standing: "root",
    texts: ["Session Affinity is not supported on this version of Windows"],
    cause: prose`A Service asks for sessionAffinity ClientIP, and this HNS does not know it; connections spread over all pods.`,
    next: ["[System.Environment]::OSVersion.Version"],
    remedy: prose`Windows Server 2022 with current updates.`,
    related: "session-affinity-unsupported",
    sources: [KUBERNETES_ON_WINDOWS, reference("kube-proxy.md §3.10")],
  },
  "kube-proxy-provider-address-unknown": {
    standing: "refusal",
    texts: [
      "Could not find provider address for",
      "Could not find provider address, assuming it is a public IP",
    ],
    cause: prose`No remote subnet of the overlay network holds this back end's address. For one outside the cluster it is right; for a pod it means that flanneld has not added the other node.`,
    next: ["Get-HnsNetwork | ForEach-Object { $_.Policies } | Where-Object Type -eq RemoteSubnetRoute"],
    remedy: prose`One remote subnet per other node is expected; restart flanneld when one misses.`,
    sources: [reference("kube-proxy.md §2.3; users.md G6")],
  },
  "kube-proxy-not-synced": {
    standing: "refusal",
    texts: ["Not syncing hns until Services and Endpoints have been received from master"],
    cause: prose`kube-proxy has not got its lists yet. At the start it is normal; when it continues, kube-proxy does not reach the API server or may not list.`,
    next: ["kubectl auth can-i list endpointslices --as=system:kube-proxy -A"],
    remedy: prose`Check kubeconfig and rights.`,
    sources: [reference("kube-proxy.md §2.5")],
  },
};
