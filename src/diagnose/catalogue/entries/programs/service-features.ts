/** Fields of Services that Windows' kube-proxy reads otherwise than Linux', by build and version. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, KUBERNETES_ON_WINDOWS, reference, thread } from "../entry-text.ts";

type ServiceFeatureCode =
  | "internal-traffic-policy-ignored"
  | "traffic-distribution-ignored"
  | "load-balancer-source-ranges-ignored"
  | "preserve-destination-not-active"
  | "win-proxy-optimization-not-active"
  | "node-port-equals-port"
  | "service-sctp-unsupported"
  | "load-balancer-without-address"
  | "service-ipv6-unsupported"
  | "dual-stack-node-port-missing"
  | "load-balancer-ip-mode-ignored"
  | "node-port-on-overlay-server-2022"
  | "load-balancer-ports-exhausted"
  | "slice-port-not-used"
  | "terminating-endpoints-not-used";

const VIRTUAL_IPS = Object.freeze({
  text: "Kubernetes documentation: Virtual IPs and Service Proxies",
  url: "https://kubernetes.io/docs/reference/networking/virtual-ips/",
});

const SHOW_LOAD_BALANCERS = prose`
      The load balancer of the Service, with its back ends and flags:

          hnsdiag list loadbalancers
          Get-HnsPolicyList | ConvertTo-Json -Depth 20`;

export const SERVICE_FEATURE_ENTRIES: EntryTable<ServiceFeatureCode> = {
  "internal-traffic-policy-ignored": {
    title: "internalTrafficPolicy: Local has no effect on Windows before Kubernetes 1.26",
    cause: prose`
      kube-proxy on Windows reads internalTrafficPolicy since 1.27; 1.26 got it with a patch release. Before that the
      ClusterIP leads to all back ends, those of other nodes included, as if the policy were Cluster. On Linux nodes of
      the same cluster the policy holds.`,
    onNode: SHOW_LOAD_BALANCERS,
    remedy: prose`Update kube-proxy, or reach the node's own pod in another way: a hostPort, or its address.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 114407),
      reference("kube-proxy.md §1.2, §4"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "traffic-distribution-ignored": {
    title: "kube-proxy on Windows knows no zones: trafficDistribution and topology hints have no effect",
    cause: prose`
      Hints on EndpointSlices say which back ends are near. kube-proxy on Linux follows them; the one on Windows
      programs all back ends. Traffic from Windows nodes goes to every zone, with its price and its delay.`,
    onNode: SHOW_LOAD_BALANCERS,
    remedy: prose`
      Expect traffic between zones from Windows nodes. internalTrafficPolicy: Local keeps it on the node, where each
      node has a back end.`,
    sources: [
      VIRTUAL_IPS,
      thread("kubernetes/kubernetes", 123823),
      thread("kubernetes/kubernetes", 137953),
      reference("kube-proxy.md §1.2, §3.12"),
    ],
    profiles: ALL,
    severity: "info",
  },

  "load-balancer-source-ranges-ignored": {
    title: "kube-proxy on Windows does not enforce loadBalancerSourceRanges",
    cause: prose`
      On Linux nodes kube-proxy drops packets to a load balancer's address that come from outside the ranges. On
      Windows it does not read the field. If the cloud's load balancer or its security group enforces the ranges,
      they hold; if they were left to kube-proxy, everybody gets through.`,
    onNode: prose`
      The load balancer in HNS has no list of sources:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20`,
    remedy: prose`
      Make sure that the provider enforces the ranges in front of the nodes, or write a NetworkPolicy for the pods
      together with externalTrafficPolicy: Local, which keeps the client's address.`,
    sources: [VIRTUAL_IPS, reference("kube-proxy.md §3.12")],
    profiles: ALL,
    severity: "info",
  },

  "preserve-destination-not-active": {
    title: "The annotation preserve-destination is not active as written",
    cause: prose`
      The annotation lets packets reach the pod with the Service's address as destination. kube-proxy takes it when its
      value is exactly "true", in lower case, and HNS knows Direct Server Return; the documentation names Windows
      Server, version 1903 as the first build. Anything else is ignored silently.`,
    onNode: prose`
      The flags of the load balancer lack PreserveDIP:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20`,
    remedy: prose`Write preserve-destination: "true", on nodes with version 1903 or later, and DSR in kube-proxy.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      reference("windows-networking-documentation.md §5"),
      reference("kube-proxy.md §1.1"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "win-proxy-optimization-not-active": {
    title: "The annotation winProxyOptimization has no effect as written",
    cause: prose`
      Since 1.27 kube-proxy on Windows updates a Service instead of making it again. The annotation switches that off
      when its value is DISABLED in any letter case. Any other value leaves it on, which it is without the
      annotation; versions before 1.27 do not read it.`,
    onNode: prose`
      Load balancers keep their ids while pods come and go:

          hnsdiag list loadbalancers`,
    remedy: prose`Write winProxyOptimization: "DISABLED", or leave the annotation out.`,
    sources: [thread("kubernetes/kubernetes", 113776), reference("kube-proxy.md §1.1, §4")],
    profiles: ALL,
    severity: "info",
  },

  "node-port-equals-port": {
    title: "A nodePort with the number of the Service's port does not work before Kubernetes 1.15",
    cause: prose`
      kube-proxy of that time told load balancers of HNS apart by protocol and ports. With equal numbers the node port
      was taken for the ClusterIP's load balancer, and one of the two was never made.`,
    onNode: SHOW_LOAD_BALANCERS,
    remedy: prose`Choose another nodePort, or update kube-proxy.`,
    sources: [thread("kubernetes/kubernetes", 78874), reference("kube-proxy.md §7 (33)")],
    profiles: ALL,
    severity: "error",
  },

  "service-sctp-unsupported": {
    title: "Services with SCTP are not supported on Windows",
    cause: prose`
      Windows has no SCTP, neither in its containers nor in its load balancers. The API server takes the Service, and
      kube-proxy on Windows asks HNS for a load balancer of protocol 132, but no packet is balanced. On Linux nodes of the
      same cluster the Service works.`,
    onNode: SHOW_LOAD_BALANCERS,
    remedy: prose`Use TCP or UDP, or keep the clients and the pods of the Service on Linux nodes.`,
    sources: [
      {
        text: "Kubernetes documentation: Protocols for Services, SCTP on Windows",
        url: "https://kubernetes.io/docs/reference/networking/service-protocols/#protocol-sctp",
      },
      reference("hcn.md §8.5"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "load-balancer-without-address": {
    title: "A Service of type LoadBalancer has no address",
    cause: prose`
      The address of a load balancer comes from a cloud, or from a program such as MetalLB, which writes it to the
      Service's status. Until it does, kubectl shows the external address as pending, and no client outside has an
      address to ask. The node ports and the ClusterIP of the Service work all the same.`,
    onNode: prose`
      Nothing to see on a node. The Service and its events:

          kubectl get service <service>
          kubectl describe service <service>`,
    remedy: prose`
      See that something in the cluster gives out addresses for Services of this type, and what its events say. In a
      cluster file, write loadBalancers.pool.`,
    sources: [
      {
        text: "Kubernetes documentation: Service, type LoadBalancer",
        url: "https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer",
      },
    ],
    profiles: ALL,
    severity: "warning",
  },

  "service-ipv6-unsupported": {
    title: "IPv6 for a Service needs l2bridge and a build that knows dual stack",
    cause: prose`
      kube-proxy on Windows serves IPv6 beside IPv4, never alone, and only where HNS has the feature (11.10, version
      2004 and later) and the network is of type l2bridge. Overlay networks carry no IPv6. A node without the feature
      falls back to its first family; Services of the other one are not programmed there.`,
    onNode: prose`
      The version of HNS, and what kube-proxy says when it starts:

          Invoke-HnsRequest -Type globals -Path version -Method GET
          Get-Content C:\k\kubeproxy.log | Select-String 'dual'`,
    remedy: prose`
      Give Services that Windows nodes use IPv4 (ipFamilies: [IPv4], or IPv4 first), or use l2bridge on Windows Server
      2022 with dual stack.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("microsoft/Windows-Containers", 522),
      reference("windows-networking-documentation.md §7"),
      reference("kube-proxy.md §1.3"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "dual-stack-node-port-missing": {
    title:
      "Before Kubernetes 1.36 the NodePort of a Service's second address family is never made on Windows",
    cause: prose`
      Node ports of both families have the same numbers and no address in HNS. kube-proxy looked for an existing load
      balancer without asking for its family, found the first family's, and made no second one. Repaired in 1.36, and
      in patch releases of 1.33, 1.34 and 1.35.`,
    onNode: prose`
      There is one load balancer for the node port, without the flag for IPv6:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20`,
    remedy: prose`
      Update kube-proxy to a release with the repair, or give clients outside the first family's address only.`,
    sources: [
      thread("kubernetes/kubernetes", 136240),
      thread("kubernetes/kubernetes", 136241),
      reference("kube-proxy.md §3.11"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "load-balancer-ip-mode-ignored": {
    title: "Before Kubernetes 1.36 kube-proxy on Windows does not read ipMode: Proxy",
    cause: prose`
      A provider says ipMode: Proxy when packets for the load balancer's address must really go through it. Older
      kube-proxies on Windows program the address on the node all the same: pods reach a back end directly, past the
      proxy, with its certificates and its protocol for client addresses.`,
    onNode: SHOW_LOAD_BALANCERS,
    remedy: prose`Update kube-proxy, or let pods use the ClusterIP.`,
    sources: [thread("kubernetes/kubernetes", 136241), reference("kube-proxy.md §1.2")],
    profiles: ALL,
    severity: "warning",
  },

  "node-port-on-overlay-server-2022": {
    title: "NodePorts on an overlay network fail when the destination node runs Server 2022",
    cause: prose`
      A known issue of Windows that the documentation lists: on overlay networks a connection to a NodePort is lost
      when its destination node runs Windows Server 2022. The documentation does not say whether that is the node which
      is asked or the one with the pod, and no cause. Inferred: the node which is asked.`,
    onNode: prose`
      The connection times out, and works at once with a local traffic policy:

          Test-NetConnection <node's address> -Port <NodePort>`,
    remedy: prose`
      Write externalTrafficPolicy: Local, and let the load balancer in front ask the nodes that have a pod.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("microsoft/Windows-Containers", 204),
      reference("windows-networking-documentation.md §5"),
    ],
    profiles: ["ws2022"],
    severity: "warning",
  },

  "load-balancer-ports-exhausted": {
    title: "Without Direct Server Return there are more Services than the node has blocks of ports",
    cause: prose`
      Each load balancer without Direct Server Return reserves a block of 64 ports of the node. The dynamic range of
      Windows begins at 49152 and has room for about 225 of them beside what else needs ports. When none is left,
      creating the next load balancer fails, and so do outgoing connections of the node.`,
    onNode: prose`
      The reserved ranges fill the dynamic one:

          netsh int ipv4 show dynamicport tcp
          netsh int ipv4 show excludedportrange tcp`,
    remedy: prose`
      Run kube-proxy with DSR (--enable-dsr=true, which needs the gate WinDSR before 1.34), or widen the dynamic range
      of the nodes: netsh int ipv4 set dynamicport tcp 16385 49151.`,
    sources: [
      thread("Azure/AKS", 1375),
      thread("microsoft/Windows-Containers", 20),
      reference("kube-proxy.md §1.4, §3.13"),
      reference("dataplane.md §3.5"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "slice-port-not-used": {
    title: "Before Kubernetes 1.34 an EndpointSlice's port loses against the Service's targetPort on Windows",
    cause: prose`
      Endpoints that are written manually may have another port than the Service's targetPort. On Linux the port of
      the endpoint counts. kube-proxy on Windows took targetPort where it was a number, and connected clients to the
      wrong port.`,
    onNode: prose`
      The internal port of the load balancer is the Service's, not the endpoint's:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20`,
    remedy: prose`Write the endpoint's port as targetPort, too.`,
    sources: [
      thread("kubernetes/kubernetes", 132646),
      thread("kubernetes/kubernetes", 132647),
      reference("kube-proxy.md §3.4, §7 (21), KP-B14"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "terminating-endpoints-not-used": {
    title: "Before Kubernetes 1.27 pods that are shutting down get no connections on Windows",
    cause: prose`
      With externalTrafficPolicy: Local a node whose only pod is shutting down should still hand connections to it
      until the load balancer in front has noticed. kube-proxy on Windows honours that from 1.27 on; before, the node
      has no back end from the first moment of the shutdown, and connections that arrive there are lost.`,
    onNode: prose`
      During a roll-out connections to some nodes fail for as long as the load balancer's health check takes:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o yaml`,
    remedy: prose`
      Update kube-proxy, or delay the end of pods (preStop) until the load balancer has taken the node out.`,
    sources: [
      thread("kubernetes/kubernetes", 113841),
      thread("kubernetes/kubernetes", 113776),
      reference("kube-proxy.md §3.9, §4"),
    ],
    profiles: ALL,
    severity: "info",
  },
};
