/** What Services, names and host networking do not do on Windows nodes. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  NETWORK_DRIVERS,
  reference,
  thread,
} from "../entry-text.ts";

type ServiceCode =
  | "service-vip-from-node-unsupported"
  | "node-port-from-node-unsupported"
  | "ipv6-host-port-from-node"
  | "hairpin-under-dsr"
  | "service-loop-blocked"
  | "external-traffic-policy-local-without-local-endpoint"
  | "external-traffic-policy-local-without-dsr"
  | "too-many-back-ends"
  | "session-affinity-timeout-ignored"
  | "icmp-to-service-not-balanced"
  | "service-without-back-ends"
  | "node-port-without-pods-on-node"
  | "cluster-ip-from-outside"
  | "external-name-not-proxied"
  | "headless-service-without-vip"
  | "dns-name-with-dot-not-completed"
  | "host-network-unsupported";

export const SERVICE_ENTRIES: EntryTable<ServiceCode> = {
  "service-vip-from-node-unsupported": {
    title: "A Windows node does not reach Services by their addresses",
    cause: prose`
      The rules that turn a Service's address into a pod's are on the switch ports of the pods. On older builds
      of Windows the port of the node itself has none, so a packet from the node to a Service goes out as it is.
      No machine has that address, and the packet is lost. Pods on the same node reach the Service all the while.

      Inferred: from Windows Server 2022 on the node's port has such rules, too; the documentation only speaks of
      a later release.`,
    onNode: prose`
      From the node the connection times out, from a pod on it it works:

          Test-NetConnection <cluster IP> -Port <port>
          kubectl exec <pod> -- curl.exe -v http://<cluster IP>:<port>

      On a node that can, the layers of the host's port have rules named LB_HOST_… or LB_…:

          vfpctrl /list-vmswitch-port
          vfpctrl /list-rule /port <host port> /layer SLB_LB_LAYER`,
    remedy: prose`
      Let programs on the node ask a pod's address, or a NodePort of another node, instead of the Service's
      address; or move the program into a pod. Windows Server 2022 reaches Services from the node.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      COMMON_PROBLEMS,
      reference("windows-networking-documentation.md §9 (8)"),
      reference("dataplane.md §2.4 (B-8)"),
    ],
    profiles: ["ws2019", "1903", "2004"],
    severity: "info",
  },

  "ipv6-host-port-from-node": {
    title: "A Windows node does not reach a pod's host port by its own IPv6 address",
    cause: prose`
      A pod with two addresses has each host port mapped twice, once for each family. Others reach both. The node
      itself reaches the port by its IPv4 address, if the mapping has the flag LocalRoutedVip, and not by its IPv6
      address: HNS does not serve the mapping of IPv6 to the node's own connections. Why is not known.

      Inferred: such packets end in the node's own stack.`,
    onNode: prose`
      The first command works on the node itself, the second one does not; from another machine both do:

          curl.exe -v http://<node's IPv4 address>:<host port>
          curl.exe -v http://[<node's IPv6 address>]:<host port>`,
    remedy: prose`
      Use the IPv4 address of the node, or the pod's own address, for what the node itself asks.`,
    sources: [
      thread("Azure/azure-container-networking", 2879),
      reference("dataplane.md §2.11, §2.16 (6-8), §9 (F-43), DT-127"),
    ],
    profiles: ["2004", "ws2022", "win11-21h2", "23h2", "ws2025"],
  },

  "node-port-from-node-unsupported": {
    title: "A Windows node does not reach its own NodePorts",
    cause: prose`
      A NodePort is taken up where packets come in from the network. A packet that the node sends to its own
      address never comes in there: before KB4571748 nothing on its way knows the NodePort, and the node's stack
      answers that nothing listens. Other nodes and clients outside reach the port.

      Inferred: the releases 1903 and 2004 stayed as they were; Windows Server 2022 and later have what the update
      brought.`,
    onNode: prose`
      The first command fails on the node itself, the second one works from another machine:

          Test-NetConnection <this node's address> -Port <NodePort>
          curl.exe -v http://<node's address>:<NodePort>

      Look for the update:

          Get-HotFix -Id KB4571748
          (Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion').UBR

      A value of 1432 or more on build 17763 contains it.`,
    remedy: prose`
      Install KB4571748 or any later cumulative update on Windows Server 2019. Where that is not possible, ask the
      NodePort of another node, or the pod itself.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      COMMON_PROBLEMS,
      reference("windows-networking-documentation.md §8, §9 (3)"),
      reference("dataplane.md §2.4 (B-8), §9 (F-47), DT-117"),
    ],
    profiles: ["ws2019", "1903", "2004"],
  },

  "hairpin-under-dsr": {
    title: "With Direct Server Return a pod does not reach itself through its own Service",
    cause: prose`
      With Direct Server Return the port of the client's pod replaces the Service's address by a back end's and
      leaves the source alone. When the back end is the client itself, the packet has the same address as source
      and destination. It comes back to a stack that has sent nothing to itself, and the connection fails.

      With several back ends only those connections fail that are given to the client itself, one in as many as
      there are back ends. Without Direct Server Return the source becomes the node's address, and it works.`,
    onNode: prose`
      Some connections from a back end to its Service time out, those from other pods do not:

          kubectl exec <pod> -- powershell -c "1..20 | % { Test-NetConnection <cluster IP> -Port <port> }"

      The load balancer has the flag for DSR:

          (Get-HnsPolicyList).Policies | ? VIPs -contains <cluster IP>
          hnsdiag list loadbalancers`,
    remedy: prose`
      Let the program talk to itself over localhost. Otherwise run kube-proxy without --enable-dsr, or use a
      network whose endpoints have the policy that translates such packets (loopbackDSR in Azure CNI).`,
    sources: [
      thread("Azure/AKS", 2608),
      thread("kubernetes/community", 8890),
      reference("dataplane.md §2.4 (B-5), §9 (F-05)"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "service-loop-blocked": {
    title: "A packet from a Service's address to the same address was blocked",
    cause: prose`
      On overlay networks without direct server return (DSR), each load balancer has a rule that blocks packets whose source
      and destination are its own address. Such a packet would be balanced to a back end and come back as one to itself. A
      pod that reaches itself through its Service is not concerned: its packets carry the source VIP of the node.`,
    onNode: prose`
      The rule is on the port of the host, with priority 1; its name begins with Block_LoopBack:

          vfpctrl /list-vmswitch-port
          vfpctrl /list-rule /port <host port>`,
    remedy: prose`
      Nothing sends such packets by itself. Look for the program that is bound to the Service's address, and for a wrong
      source VIP of kube-proxy (--source-vip), which must be an address of the pod network and never that of a Service.`,
    sources: [reference("dataplane.md §2.2.2, §2.3 O-6, DT-110"), thread("kubernetes/kubernetes", 79_359)],
    profiles: ALL,
  },

  "external-traffic-policy-local-without-local-endpoint": {
    title: "externalTrafficPolicy is Local, and the node has no local back end",
    cause: prose`
      With externalTrafficPolicy: Local a node gives traffic from outside only to pods of its own, so that they
      see the client's address. A node without a ready pod of the Service has no pod to send it to; kube-proxy
      makes no load balancer there, and the packet is not answered. A cloud's load balancer avoids such nodes by
      asking the health check port.`,
    onNode: prose`
      See on which nodes the back ends are:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o wide

      On a node without one HNS has no load balancer with the NodePort:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20

      The health check reports it, too: it answers 503.

          curl.exe -v http://<node>:<healthCheckNodePort>`,
    remedy: prose`
      Send clients only to nodes that have a back end (the health check port reports it), run a pod on each node
      with a DaemonSet, or use externalTrafficPolicy: Cluster where the client's address does not matter.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 109780),
      reference("kube-proxy.md §3.8, §3.9"),
      reference("dataplane.md §2.4 (B-7)"),
    ],
    profiles: ALL,
    severity: "info",
  },

  "external-traffic-policy-local-without-dsr": {
    title: "externalTrafficPolicy: Local has no effect, because HNS knows no Direct Server Return",
    cause: prose`
      On Windows the policy Local is built on Direct Server Return. Where HNS does not have it, kube-proxy makes
      an ordinary load balancer silently: packets go to all back ends, those of other nodes included, and
      their source becomes the node's address. The connection works, and what the policy is for, the client's
      address, is lost.

      Inferred: on Windows Server 2019 it came with KB4571748.`,
    onNode: prose`
      The program in the pod logs the node's address instead of the client's. The version of HNS decides: DSR
      needs 9.3 on build 17763, otherwise 10.2.

          Get-HnsNetwork | Select-Object Name, Version
          Invoke-HnsRequest -Type globals -Path version -Method GET`,
    remedy: prose`
      Install KB4571748 or any later cumulative update on Windows Server 2019, then restart kube-proxy. Clients
      whose address matters can also pass it on in the protocol (X-Forwarded-For, PROXY).`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 62046),
      thread("kubernetes/kubernetes", 93166),
      reference("kube-proxy.md §1.3, §3.8"),
    ],
    profiles: ["ws2019"],
    severity: "warning",
  },

  "too-many-back-ends": {
    title: "The Service has more back ends than a load balancer of HNS takes",
    cause: prose`
      kube-proxy puts all back ends of a Service port into one load balancer, and HNS refuses a list that is too
      long. 64 were possible as Windows was released; updates raised it to 1024. When the list is refused the
      Service has no load balancer at all on that node: not the surplus is lost, but the whole Service.

      Inferred: the update of August 2022 raised it on Windows Server 2019 and 2022; builds that were out of
      support by then kept 64.`,
    onNode: prose`
      The log of kube-proxy has the refusal, with "invalid number of destinations" (0x57):

          Get-Content C:\k\kubeproxy.log | Select-String 'number of destinations'

      Count the back ends, and look for the load balancer:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o json
          hnsdiag list loadbalancers`,
    remedy: prose`
      Install the updates. Above the limit spread the pods over several Services, for example one per deployment,
      or put a proxy with few replicas in front.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("kubernetes/kubernetes", 98680),
      thread("microsoft/Windows-Containers", 93),
      thread("kubernetes/kubernetes", 135518),
      reference("kube-proxy.md §3.13"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "session-affinity-timeout-ignored": {
    title: "The time of session affinity is not kept",
    cause: prose`
      sessionAffinity: ClientIP has a time after which a client may get another back end
      (sessionAffinityConfig.clientIP.timeoutSeconds). kube-proxy on Windows does not read it: HNS is only asked to
      choose by the client's address, and that choice is the same forever, until the list of back ends changes.`,
    onNode: prose`
      HNS has a distribution by source address (DistributionType 2) and no time:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20

      A client is led to the same pod long after the time is over.`,
    remedy: prose`
      Do not rely on the time. If clients must be spread again, restart or rescale the pods, which changes the
      list; or keep sessions in the program (a cookie, a shared store).`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("Azure/AKS", 3856),
      reference("windows-networking-documentation.md §5"),
      reference("kube-proxy.md §3.10"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "icmp-to-service-not-balanced": {
    title: "Ping to a Service's address is not answered",
    cause: prose`
      The address of a Service belongs to no machine. Rules on the switch turn packets to it into packets to a
      pod, and those rules exist for the ports and the protocol of the Service: TCP, UDP or SCTP. Nothing knows
      what to do with ICMP, so an echo request leaves the node for an address that nothing has.

      Inferred: that Windows does not answer it in another way; no report of a ping that came back is known.`,
    onNode: prose`
      The rules of the Service name a protocol, 6 or 17:

          vfpctrl /list-rule /port <port> /layer LB_DSR

      Ask the port instead of pinging:

          Test-NetConnection <cluster IP> -Port <port>`,
    remedy: prose`
      Test a Service with its own protocol. Ping the pod's address if the way to the pod is in doubt.`,
    sources: [NETWORK_DRIVERS, reference("dataplane.md §2.9")],
    profiles: ALL,
    severity: "warning",
  },

  "service-without-back-ends": {
    title: "No load balancer has this Service address and port",
    cause: prose`
      The address is in the range of Services, but no rule on the node knows it with this protocol and port. So
      the packet goes the way of any other: to the gateway, which has no such address either, and there it is
      lost. Windows sends no reset and no ICMP error for it; a client waits until it gives up. Linux nodes refuse
      such a connection at once, which is why the same Service looks different from there.

      kube-proxy makes no load balancer for a Service without ready pods, and HNS takes none without back ends.
      The same happens for a port that the Service does not have, and while kube-proxy has not caught up.`,
    onNode: prose`
      Look for the address among the load balancers, and for its rule on the pod's port:

          Get-HnsPolicyList | ConvertTo-Json -Depth 20 | findstr <cluster IP>
          vfpctrl /list-rule /port <port> /layer LB_DSR | findstr <cluster IP>

      And for its endpoints:

          kubectl get endpointslices -l kubernetes.io/service-name=<service>`,
    remedy: prose`
      Find out why the Service has no ready pods: its selector, their readiness, their state. If it has, compare
      port and protocol, and read the log of kube-proxy on this node for a load balancer that HNS refused.`,
    sources: [reference("dataplane.md §3.2"), reference("kube-proxy.md §3.9"), reference("hcn.md §8.5")],
    profiles: ALL,
    severity: "warning",
  },

  "cluster-ip-from-outside": {
    title: "The outside cannot reach a ClusterIP",
    cause: prose`
      The address of a Service of type ClusterIP is known to the nodes alone: each translates it for its own pods. Routers
      outside the cluster have no route to it, and a packet that reaches a node all the same is nobody's. From outside a
      Service is reached by the address of its load balancer, by an external address, or by its node port on a node.`,
    onNode: prose`
      The Service's type, ports and addresses:

          kubectl get service <service> -o wide`,
    remedy: prose`
      Make the Service one of type NodePort or LoadBalancer, or put an Ingress or a Gateway before it. To try it from this
      machine: kubectl port-forward service/<service> <port>.`,
    sources: [
      {
        text: "Kubernetes: Service, publishing Services",
        url: "https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
      },
    ],
    profiles: ALL,
  },

  "node-port-without-pods-on-node": {
    title: "A Windows node without pods does not forward its NodePorts",
    cause: prose`
      NodePorts are rules on the switch of the pod network. On a Windows node that runs no pod of that network
      they do nothing, whatever back ends there are on other nodes: connections to its NodePorts are not
      answered. The same NodePort works on every node that has at least one pod, of any Service.`,
    onNode: prose`
      List the endpoints of the pod network. Only the host's own leg is there:

          Get-HnsEndpoint | ft Name, IPAddress, SharedContainers`,
    remedy: prose`
      Let clients and load balancers use nodes that have pods, or give every Windows node one, for example with a
      DaemonSet.`,
    sources: [COMMON_PROBLEMS, reference("dataplane.md DT-116"), reference("users.md G14")],
    profiles: ALL,
  },

  "external-name-not-proxied": {
    title: "A Service of type ExternalName has no address and is not proxied",
    cause: prose`
      Such a Service is an entry in the name service and nothing else: its name leads to another name. It has no
      address, no ports that are translated and no back ends; kube-proxy passes it by. A client that has resolved
      the name talks to the host outside as if it had been given that host's own name, and on the port that it
      chose itself.`,
    onNode: prose`
      The name answers with a CNAME record, and HNS has no load balancer for it:

          kubectl exec <pod> -- powershell -c "Resolve-DnsName <service>"
          hnsdiag list loadbalancers`,
    remedy: prose`
      Use the port of the host outside. If an address and a translation of ports are wanted, make a Service
      without a selector and an EndpointSlice with the outside addresses.`,
    sources: [
      {
        text: "Kubernetes documentation: Service, type ExternalName",
        url: "https://kubernetes.io/docs/concepts/services-networking/service/#externalname",
      },
      reference("windows-networking-documentation.md §5"),
    ],
    profiles: ALL,
  },

  "headless-service-without-vip": {
    title: "A headless Service has no address of its own",
    cause: prose`
      With clusterIP: None a Service is only a name that leads to the addresses of all its pods. Nothing balances
      and nothing translates: a client connects to a pod, and the port must be the pod's, not the Service's.`,
    onNode: prose`
      The name answers with one address per ready pod, and HNS has no load balancer for it:

          kubectl exec <pod> -- powershell -c "Resolve-DnsName <service>"
          kubectl get service <service> -o jsonpath="{.spec.clusterIP}"`,
    remedy: prose`
      Connect to the port on which the pods listen. Make a second Service with a cluster IP if clients need one
      address or another port.`,
    sources: [
      {
        text: "Kubernetes documentation: Service, headless Services",
        url: "https://kubernetes.io/docs/concepts/services-networking/service/#headless-services",
      },
      reference("kube-proxy.md §3.1"),
    ],
    profiles: ALL,
  },

  "dns-name-with-dot-not-completed": {
    title: "Windows takes a name with a dot as complete and appends no suffix",
    cause: prose`
      A pod's resolver has a suffix, that of its namespace: default.svc.cluster.local. Windows appends it to a
      single word. A name that contains a dot is looked up as it stands, so web.shop is asked of the world and not
      found. Linux tries its whole list of suffixes (ndots:5), and the same name resolves there.`,
    onNode: prose`
      The first and the last name resolve, the one between does not:

          Resolve-DnsName web
          Resolve-DnsName web.shop
          Resolve-DnsName web.shop.svc.cluster.local

      nslookup has a resolver of its own and may print something else.`,
    remedy: prose`
      Write the full name, web.shop.svc.cluster.local, or the short one from the same namespace. Configuration
      that Linux and Windows pods share should have full names.`,
    sources: [
      {
        text: "Kubernetes documentation: DNS for Services and Pods, Windows nodes",
        url: "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#dns-windows",
      },
      KUBERNETES_ON_WINDOWS,
      reference("windows-networking-documentation.md §6"),
      reference("dataplane.md §5.3"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "host-network-unsupported": {
    title: "A Windows pod cannot use the node's network, unless it is a HostProcess pod",
    cause: prose`
      hostNetwork: true puts a Linux pod into the network of its node. Windows has nothing like it for ordinary
      containers: each pod is given a network compartment of its own. HostProcess pods are another thing; they run
      as processes of the node, and live in its compartment.`,
    onNode: prose`
      The pod does not start, and its events say why:

          kubectl describe pod <pod>
          kubectl get pod <pod> -o jsonpath="{.spec.hostNetwork}"

      A HostProcess pod has securityContext.windowsOptions.hostProcess: true besides.`,
    remedy: prose`
      Remove hostNetwork, and open what is needed with a hostPort or a Service. A program that must run on the
      node itself (an agent, a CNI installer) becomes a HostProcess pod: hostNetwork: true together with
      hostProcess: true.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      {
        text: "Kubernetes documentation: Create a Windows HostProcess Pod",
        url: "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/",
      },
      reference("windows-networking-documentation.md §8"),
    ],
    profiles: ALL,
    severity: "error",
  },
};
