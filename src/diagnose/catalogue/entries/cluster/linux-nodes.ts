/** What the rules and the connection table of a Linux node end: a mixed cluster has such nodes, too. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, type EntryText } from "../entry-text.ts";

type LinuxNodeCode =
  | "service-without-endpoints"
  | "internal-policy-local-without-endpoint"
  | "load-balancer-source-refused"
  | "connection-invalid"
  | "connection-table-full"
  | "masquerade-ports-exhausted";

const VIRTUAL_IPS: EntryText["sources"][number] = Object.freeze({
  text: "Kubernetes documentation: Virtual IPs and Service proxies",
  url: "https://kubernetes.io/docs/reference/networking/virtual-ips/",
});

const CONNTRACK_SETTINGS: EntryText["sources"][number] = Object.freeze({
  text: "Linux kernel documentation: Netfilter conntrack sysfs variables",
  url: "https://docs.kernel.org/networking/nf_conntrack-sysctl.html",
});

const DEBUG_SERVICES: EntryText["sources"][number] = Object.freeze({
  text: "Kubernetes documentation: Debug Services",
  url: "https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/",
});

export const LINUX_NODE_ENTRIES: EntryTable<LinuxNodeCode> = {
  "service-without-endpoints": {
    title: "The Service has no endpoint that is ready, so a Linux node refuses its connections",
    cause: prose`
      No pod is behind the Service: its selector matches none, none is ready, or the slices name other ports.
      kube-proxy on a Linux node then writes a rule that answers at once with ICMP "port unreachable" (REJECT), so
      that clients hear a refusal and need not wait. A Windows node has no such rule: there the same call runs into
      a time-out.

      Endpoints that are shutting down but still serve are used when there are no others.`,
    onNode: prose`
      Nothing to see on a node of Windows. Look at the Service, and at the rule on the Linux node:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o wide
          kubectl get pods -l <selector of the service> -o wide
          iptables-save -t filter | grep <service>`,
    remedy: prose`
      Compare the selector with the labels of the pods, and the targetPort with the ports that they open. If the pods
      are there and not ready, look at their readiness probes.`,
    sources: [DEBUG_SERVICES, VIRTUAL_IPS],
    profiles: ALL,
  },

  "internal-policy-local-without-endpoint": {
    title: "internalTrafficPolicy is Local, and the node has no local back end",
    cause: prose`
      With internalTrafficPolicy: Local the cluster address of a Service leads to back ends of the same node only.
      This node has none, though others have some; kube-proxy on Linux drops what goes to the Service's address
      there, and kube-proxy on Windows makes no load balancer for it. The client waits until it gives up.`,
    onNode: prose`
      See on which nodes the back ends are:

          kubectl get endpointslices -l kubernetes.io/service-name=<service> -o wide`,
    remedy: prose`
      Run the back end on every node that has clients (a DaemonSet does), or set internalTrafficPolicy: Cluster.`,
    sources: [
      {
        text: "Kubernetes documentation: Service Internal Traffic Policy",
        url: "https://kubernetes.io/docs/concepts/services-networking/service-traffic-policy/",
      },
    ],
    profiles: ALL,
  },

  "load-balancer-source-refused": {
    title: "The client is in none of the Service's loadBalancerSourceRanges",
    cause: prose`
      The Service lists the ranges that may use its load balancer. kube-proxy on a Linux node enforces the list for
      packets that arrive with the load balancer's address: what comes from elsewhere is dropped. NodePorts and the
      cluster address are not covered by it. On Windows kube-proxy does not look at the list at all.`,
    onNode: prose`
      Read the list, and compare it with the address that the client has when it reaches the node:

          kubectl get service <service> -o jsonpath={.spec.loadBalancerSourceRanges}`,
    remedy: prose`
      Add the client's range. Mind translations on the way: the list must hold the address that the node sees.`,
    sources: [
      {
        text: "Kubernetes documentation: Create an External Load Balancer",
        url: "https://kubernetes.io/docs/tasks/access-application-cluster/create-external-load-balancer/",
      },
      VIRTUAL_IPS,
    ],
    profiles: ALL,
  },

  "connection-invalid": {
    title: "The packet belongs to no connection that the Linux node knows, and kube-proxy drops such packets",
    cause: prose`
      The node tracks connections. A packet that fits none of them and cannot begin one (a reset or a SYN/ACK without
      its SYN, an ICMP error about an unknown packet, a wrong checksum) is "invalid": it cannot be translated back. A
      rule of kube-proxy in the FORWARD chain drops it, because it would reach the other end with addresses that end
      does not know, and end a good connection there.

      It is seen when the two directions of a connection take different ways, so that one node sees only half of it,
      and with answers that come after the connection was forgotten.`,
    onNode: prose`
      Nothing to see on a node of Windows. On the Linux node:

          conntrack -S
          iptables -L KUBE-FORWARD -v -n`,
    remedy: prose`
      Look for routes that bring the answers back another way than the requests, and for idle connections that live
      longer than the table remembers them.`,
    sources: [
      { text: "kubernetes/kubernetes#74839", url: "https://github.com/kubernetes/kubernetes/issues/74839" },
      CONNTRACK_SETTINGS,
    ],
    profiles: ALL,
  },

  "connection-table-full": {
    title: "The connection table of the Linux node is full",
    cause: prose`
      Each connection through the node takes a place in its table until it has been idle for long enough: 5 days for
      an established TCP connection, 30 seconds for a datagram without an answer. All places are taken by connections
      that have seen traffic in both directions, so a new one is dropped. The kernel logs "nf_conntrack: table full,
      dropping packet".`,
    onNode: prose`
      Nothing to see on a node of Windows. On the Linux node:

          sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max
          dmesg | grep conntrack`,
    remedy: prose`
      Raise the size (kube-proxy's conntrack.maxPerCore and conntrack.min), shorten
      conntrack.tcpEstablishedTimeout, or find the client that opens connections and forgets them.`,
    sources: [CONNTRACK_SETTINGS],
    profiles: ALL,
  },

  "masquerade-ports-exhausted": {
    title: "No source port of the Linux node is left for one more connection to that destination",
    cause: prose`
      Pods reach what is outside with the node's address, so their connections to one destination and port must differ
      in the source port. All ports from 1024 to 65535 are in use towards that destination: the new connection cannot
      be told from the others and is dropped.`,
    onNode: prose`
      Nothing to see on a node of Windows. On the Linux node, count the connections to the destination; insert_failed
      rises with each that is lost:

          conntrack -L -d <destination> | wc -l
          conntrack -S`,
    remedy: prose`
      Let clients keep connections and use them again, spread them over several nodes or destinations, or give pods
      addresses that need no translation.`,
    sources: [CONNTRACK_SETTINGS],
    profiles: ALL,
  },
};
