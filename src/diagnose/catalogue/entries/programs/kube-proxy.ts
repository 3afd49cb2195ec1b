/** Why kube-proxy on a Windows node has not programmed a Service, or has not started. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  reference,
  thread,
} from "../entry-text.ts";

type KubeProxyCode =
  | "kube-proxy-cannot-start"
  | "kube-proxy-network-missing"
  | "service-without-usable-endpoints"
  | "service-endpoints-terminating"
  | "service-local-endpoint-missing"
  | "service-back-end-in-other-network"
  | "service-remote-endpoint-refused"
  | "service-load-balancer-refused"
  | "session-affinity-unsupported";

export const KUBE_PROXY_ENTRIES: EntryTable<KubeProxyCode> = {
  "kube-proxy-cannot-start": {
    title: "kube-proxy ends at its start, because its options do not fit the node",
    cause: prose`
      Before its first Service kube-proxy checks its configuration. It needs the name of an HNS network, from
      --network-name or from the variable KUBE_NETWORK. With --enable-dsr it needs the feature gate WinDSR (up to
      Kubernetes 1.33) and an HNS with Direct Server Return. On an overlay network it needs --source-vip, the
      feature gate WinOverlay, remote subnets in HNS, and an interface that carries the node's address.

      No Service works on the node while it does not run.`,
    onNode: prose`
      The last lines of its log name the check:

          Get-Content C:\k\kubeproxy.log -Tail 20
          Get-Service kube-proxy`,
    remedy: prose`
      Correct the option that the message names. Names of networks are compared exactly; Get-HnsNetwork lists them.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("kube-proxy.md §1.1, §2.2, §8.10")],
    profiles: ALL,
  },

  "kube-proxy-network-missing": {
    title: "kube-proxy does not find its HNS network",
    cause: prose`
      kube-proxy programs Services on one HNS network, found by its name. Until the CNI plugin or its agent has made
      that network, kube-proxy waits and looks again each second. When the network vanishes later, or another one
      gets its name, kube-proxy takes all its load balancers and remote endpoints away, and programs them again when
      it finds a network. A failure of HNS counts as a vanished network up to Kubernetes 1.36.

      On an overlay network it also waits ten seconds at its start, for remote subnets to arrive.`,
    onNode: prose`
      Compare the name with the networks that there are:

          Get-HnsNetwork | Select-Object Name, Type, ID
          Get-Content C:\k\kubeproxy.log | Select-String 'Unable to find HNS Network'`,
    remedy: prose`
      Pass the exact name in --network-name or KUBE_NETWORK, or find out why the CNI plugin has not made its network.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 139519),
      reference("kube-proxy.md §2.2, §3.3"),
    ],
    profiles: ALL,
  },

  "service-without-usable-endpoints": {
    title: "The Service has no endpoint that this Windows node can use, so nothing is programmed",
    cause: prose`
      kube-proxy on Windows makes load balancers for Services that have back ends. Without one there is no rule at
      all, not even one that refuses: packets to the Service's address go out unchanged and clients run into a
      time-out.

      An endpoint counts when it is ready. Endpoints that are shutting down count only for Services that have a load
      balancer's address, and only when all of them are shutting down. A policy Local, or the annotation
      preserve-destination, lets only pods of the same node count.`,
    onNode: prose`
      Look at the conditions of the endpoints, and for the Service's address among the load balancers:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o yaml
          hnsdiag list loadbalancers
          Get-Content C:\k\kubeproxy.log | Select-String 'Endpoint information not available'`,
    remedy: prose`
      Compare the selector with the labels of the pods, and the name of the port with that in the slices. If the
      pods are there and not ready, look at their readiness probes. With a policy Local, run the back end on every
      node that has clients.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 106775),
      reference("kube-proxy.md §3.9"),
    ],
    profiles: ALL,
  },

  "service-endpoints-terminating": {
    title: "All endpoints are shutting down, so the node port and external addresses are not programmed",
    cause: prose`
      A Service with a load balancer's address keeps working for clients of its ClusterIP and of that address while
      all its pods shut down: the pods that still serve are used. For the node port, for external addresses and for
      the forwarded health check kube-proxy on Windows makes no load balancer in that state. Pods that are neither
      ready nor shutting down lead to the same.`,
    onNode: prose`
      The conditions of the endpoints say terminating, and HNS has no load balancer with the node port:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o yaml
          Get-HnsPolicyList | ConvertTo-Json -Depth 20`,
    remedy: prose`
      Keep at least one pod ready during a roll-out (maxUnavailable: 0), and let clients use the load balancer's
      address instead of the node port.`,
    sources: [
      {
        text: "Kubernetes KEP-1669: Proxy terminating endpoints",
        url: "https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/1669-proxy-terminating-endpoints",
      },
      reference("kube-proxy.md §3.4, §3.9"),
    ],
    profiles: ALL,
  },

  "service-local-endpoint-missing": {
    title: "A pod of this node is behind the Service, and HNS has no endpoint with its address",
    cause: prose`
      kube-proxy makes HNS endpoints for pods of other nodes; those of its own node come from the CNI plugin. When
      the slice names this node and HNS has no endpoint with that address on kube-proxy's network, the pod is left
      out. With other back ends the Service counts as programmed, and the pod stays out until its slices change.

      Usual reasons: the pod uses the node's own network, it is on another HNS network, its endpoint was removed, or
      kube-proxy was given the name of another node.`,
    onNode: prose`
      Look for the pod's address among the endpoints:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP>
          Get-Content C:\k\kubeproxy.log | Select-String 'Local endpoint not found'`,
    remedy: prose`
      Delete the pod, so that the CNI plugin makes its endpoint again, and compare --network-name with the network of
      the other pods.`,
    sources: [
      thread("kubernetes/kubernetes", 71851),
      thread("aws/containers-roadmap", 273),
      reference("kube-proxy.md §3.4, §8 row B5"),
    ],
    profiles: ALL,
  },

  "service-back-end-in-other-network": {
    title: "A pod behind the Service is in another HNS network than the one that kube-proxy serves",
    cause: prose`
      kube-proxy of a Windows node knows one HNS network, that of --network-name or KUBE_NETWORK. A pod of its own node
      on another network has no endpoint there, so it is left out. A pod of another node gets a remote endpoint in
      kube-proxy's network, with its address and nothing else: packets go where that network leads. Between networks
      that the nodes join by routes they arrive. In another overlay network, or behind the NAT of another node, nothing
      has the address, and connections that are given to this back end fail.

      Clients of a further network do reach Services whose pods are in kube-proxy's network: the node's own port
      balances what its pods send to the address of a Service.`,
    onNode: prose`
      Compare the network of the pod's endpoint with the name that kube-proxy was given:

          Get-HnsEndpoint | Select-Object IPAddress, VirtualNetworkName, IsRemoteEndpoint
          Get-Content C:\k\kubeproxy.log | Select-String 'Local endpoint not found'`,
    remedy: prose`
      Give the pods behind a Service the network that kube-proxy serves. Reach pods of other networks by their own
      addresses, or by a hostPort of their node.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      reference("kube-proxy.md §1.1, §3.4, §8 row B5"),
      reference("dataplane.md §2.3"),
    ],
    profiles: ALL,
  },

  "service-remote-endpoint-refused": {
    title: "HNS refused an endpoint that kube-proxy needs for a pod of another node or for a Service",
    cause: prose`
      A back end on another node is a remote endpoint in HNS, which kube-proxy makes. On overlay networks the
      ClusterIP and the source VIP are endpoints, too. When HNS refuses one, that back end is left out, or the
      Service, or (for the source VIP) nothing is programmed at all.

      0x803b002f says that the address is invalid, reserved, or outside the network: a source VIP that the network's
      subnet does not hold, for example.`,
    onNode: prose`
      kube-proxy's log has the number of the refusal:

          Get-Content C:\k\kubeproxy.log | Select-String 'endpoint creation failed'
          Get-HnsEndpoint | Select-Object IPAddress, IsRemoteEndpoint, ID`,
    remedy: prose`
      Look the number up, reserve the source VIP in the range of the node, and remove endpoints that were left behind
      with the same address.`,
    sources: [thread("kubernetes/kubernetes", 100962), reference("kube-proxy.md §3.4, §7")],
    profiles: ALL,
  },

  "service-load-balancer-refused": {
    title: "HNS refused a load balancer of the Service",
    cause: prose`
      kube-proxy asked for a load balancer and HNS answered with an error. A refused ClusterIP or node port ends the
      programming of that port of the Service; kube-proxy tries again at each sync, every 30 seconds. A refused
      external address or load balancer's address is left out, and the Service counts as programmed: it is not tried
      again before the Service or its endpoints change.

      Frequent answers: 0x803b0013, the front end or all ports for it are taken; 0x57, too many back ends or none.`,
    onNode: prose`
      kube-proxy's log has the answer, and HNS what is in the way:

          Get-Content C:\k\kubeproxy.log | Select-String 'policy creation failed'
          Get-HnsPolicyList | ConvertTo-Json -Depth 20`,
    remedy: prose`
      Look the number up. Load balancers that an earlier kube-proxy left behind go with a restart of kube-proxy, which
      removes all of them.`,
    sources: [
      COMMON_PROBLEMS,
      thread("kubernetes/kubernetes", 98680),
      thread("kubernetes/kubernetes", 137530),
      reference("kube-proxy.md §3.5, §3.7"),
    ],
    profiles: ALL,
  },

  "session-affinity-unsupported": {
    title: "sessionAffinity ClientIP is requested, but this HNS does not support it",
    cause: prose`
      kube-proxy passes the setting on to HNS with every load balancer of the Service. HNS knows it from version 12.0 on
      (Windows Server 2022); older ones take the load balancer and spread connections as always. kube-proxy only
      writes a line to its log.`,
    onNode: prose`
      The version of HNS, and the line in the log:

          Invoke-HnsRequest -Type globals -Path version -Method GET
          Get-Content C:\k\kubeproxy.log | Select-String 'Session Affinity'`,
    remedy: prose`
      Use nodes with Windows Server 2022 or later, or keep sessions where all back ends find them.`,
    sources: [KUBERNETES_ON_WINDOWS, thread("Azure/AKS", 3856), reference("kube-proxy.md §1.3, §3.10")],
    profiles: ["ws2019", "1903", "2004"],
    severity: "warning",
  },
};
