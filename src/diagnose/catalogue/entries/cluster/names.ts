/** Names that do not resolve: what a resolver asked for, whom, and what came back. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, KUBERNETES_ON_WINDOWS, reference, thread } from "../entry-text.ts";

type NameCode =
  | "dns-single-suffix-only"
  | "dns-name-unknown"
  | "dns-no-address"
  | "dns-no-server"
  | "dns-timeout"
  | "dns-server-unreachable"
  | "dns-server-failure"
  | "dns-host-network-policy-unsupported";

const SPECIFICATION = Object.freeze({
  text: "Kubernetes DNS-Based Service Discovery",
  url: "https://github.com/kubernetes/dns/blob/master/docs/specification.md",
});

const DNS_FOR_PODS = Object.freeze({
  text: "Kubernetes documentation: DNS for Services and Pods",
  url: "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/",
});

const CLIENT_TIMEOUTS = Object.freeze({
  text: "Microsoft: DNS client resolution timeouts",
  url: "https://learn.microsoft.com/en-us/troubleshoot/windows-server/networking/dns-client-resolution-timeouts",
});

export const NAME_ENTRIES: EntryTable<NameCode> = {
  "dns-single-suffix-only": {
    title: "Windows completes a single label with one suffix, that of the pod's namespace",
    cause: prose`
      A name without a dot is completed with the first suffix of the pod's adapter, which is that of its namespace:
      "web" becomes "web.default.svc.cluster.local". The other suffixes of the list are shown, and not used to
      resolve names in a pod. A suffix of "dnsConfig.searches", or of the node, therefore has no effect.`,
    onNode: prose`
      The list, and which of the whole names exists:

          kubectl exec <pod> -- ipconfig /all
          kubectl exec <pod> -- powershell Resolve-DnsName <name>.<suffix>`,
    remedy: prose`
      Write the whole name. For a Service of another namespace that is "service.namespace.svc.cluster.local".`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      reference("windows-networking-documentation.md §6"),
      reference("dataplane.md §5.3"),
      thread("kubernetes/kubernetes", 65016),
      thread("Azure/azure-container-networking", 206),
    ],
    profiles: ALL,
    severity: "info",
  },

  "dns-name-unknown": {
    title: "The DNS server says that there is no such name",
    cause: prose`
      The server was reached and answered NXDOMAIN. For a name of the cluster: the Service, or its namespace, does
      not exist, is spelled differently, or is headless and has no endpoint that is ready. A host name below a
      Service exists only while a ready endpoint carries it. Windows remembers such an answer for five minutes, so
      that a Service that was made meanwhile seems not to be there; Linux pods remember nothing.`,
    onNode: prose`
      What the client remembers, and what the server says now:

          kubectl exec <pod> -- ipconfig /displaydns
          kubectl exec <pod> -- powershell Resolve-DnsName <name>. -DnsOnly
          kubectl get service,endpointslices -n <namespace>`,
    remedy: prose`
      Correct the name or the namespace; for a headless Service look why its pods are not ready. Clear what is
      remembered with "ipconfig /flushdns" in the pod.`,
    sources: [
      SPECIFICATION,
      reference("dataplane.md §5.3"),
      { text: "hashicorp/consul#743", url: "https://github.com/hashicorp/consul/issues/743" },
    ],
    profiles: ALL,
  },

  "dns-no-address": {
    title: "The name exists and has no address of that kind",
    cause: prose`
      The server knows the name and has no record of the type that was asked for: an IPv6 address of a Service that
      has only an IPv4 one, an alias (ExternalName) whose target has no address, or a name that is only a branch of
      the tree, such as a namespace.`,
    onNode: prose`
      All that the server has for the name:

          kubectl exec <pod> -- powershell Resolve-DnsName <name>. -Type ALL`,
    remedy: prose`
      Ask for the other family, or give the Service addresses of both (ipFamilyPolicy). For an ExternalName
      Service, resolve its target from the node: the target is what fails.`,
    sources: [SPECIFICATION, { text: "RFC 2308 §2.2", url: "https://www.rfc-editor.org/rfc/rfc2308" }],
    profiles: ALL,
  },

  "dns-no-server": {
    title: "The pod has no DNS server",
    cause: prose`
      The adapter of the pod was made without a server's address, so that no question leaves the pod. On Windows
      the address comes from the "dns" of the CNI configuration, or from the kubelet if the plugin declares the
      capability "dns". Microsoft's older examples spell it "dnsCapabilities", which no runtime knows. A pod with
      dnsPolicy None and no nameservers has none either.`,
    onNode: prose`
      No line "DNS Servers" for the pod's adapter, and an endpoint without a list of servers:

          kubectl exec <pod> -- ipconfig /all
          Get-HnsEndpoint | ft Name, IPAddress, DNSServerList, DNSSuffix`,
    remedy: prose`
      Add "capabilities": {"dns": true}, or "dns" with nameservers and search, to the plugin's configuration, and
      create the pod again: the settings are read when it starts. The kubelet must know --cluster-dns.`,
    sources: [DNS_FOR_PODS, reference("cni.md §2.2, §2.9"), thread("containernetworking/plugins", 229)],
    profiles: ALL,
  },

  "dns-timeout": {
    title: "No DNS server answered",
    cause: prose`
      The questions left the pod and nothing came back. Windows asks five times in ten seconds before it gives up.
      Mostly the server's Service address is the trouble, not names: the node has no load balancer for it, or it
      points to DNS pods that have moved; the node has no free ports to translate from; a policy drops UDP port 53.
      An answer that comes from another address than the one asked is thrown away, and looks the same.`,
    onNode: prose`
      The Service's address fails and a DNS pod's own address answers, in a PowerShell inside the pod; the load
      balancer for port 53 is missing on the node:

          Resolve-DnsName kubernetes.default.svc.cluster.local -Server <address of the Service>
          Resolve-DnsName kubernetes.default.svc.cluster.local -Server <address of a DNS pod>
          hnsdiag list loadbalancers`,
    remedy: prose`
      Trace UDP to port 53 of the DNS Service: the step that drops the packet has the code of the cause. On a node,
      restart kube-proxy when its load balancer for DNS is missing.`,
    sources: [
      CLIENT_TIMEOUTS,
      reference("dataplane.md §3.9"),
      thread("Azure/AKS", 1375),
      thread("kubernetes/kubernetes", 85604),
    ],
    profiles: ALL,
  },

  "dns-server-unreachable": {
    title: "The network reports that the DNS server is unreachable",
    cause: prose`
      A question came back with an error: there is no route to the server's address, the machine does not answer, or
      it is there and nothing listens on UDP port 53. The report names the server that answered.`,
    onNode: prose`
      The route that the pod would take, and who answers on port 53:

          kubectl exec <pod> -- powershell Find-NetRoute -RemoteIPAddress <server>
          kubectl get pods,endpointslices -n kube-system -l k8s-app=kube-dns`,
    remedy: prose`
      Compare the server's address in the pod (ipconfig /all) with the cluster's DNS Service: an address of another
      cluster, or of a Service that was made again, stays in pods until they are created again.`,
    sources: [reference("dataplane.md §5.3"), DNS_FOR_PODS],
    profiles: ALL,
  },

  "dns-server-failure": {
    title: "The DNS server failed or refused to answer",
    cause: prose`
      The server answered SERVFAIL or REFUSED. The cluster's server does so for names outside of the cluster when it
      gets no answer itself: it asks the servers of its own node, and gives up after about six seconds. It is the
      way from the DNS pod to them that is broken, not the way from the client.`,
    onNode: prose`
      Names of the cluster resolve, others fail; the log of the DNS pods shows which server they asked:

          kubectl exec <pod> -- powershell Resolve-DnsName kubernetes.default.svc.cluster.local
          kubectl logs -n kube-system -l k8s-app=kube-dns`,
    remedy: prose`
      Look at the line "forward" of the Corefile (ConfigMap coredns), and whether the DNS pods reach that address on
      UDP port 53. Nothing has to change on the Windows node.`,
    sources: [{ text: "CoreDNS: forward", url: "https://coredns.io/plugins/forward/" }, DNS_FOR_PODS],
    profiles: ALL,
  },

  "dns-host-network-policy-unsupported": {
    title: "dnsPolicy ClusterFirstWithHostNet has no effect on Windows",
    cause: prose`
      The policy exists for pods in the node's own network: they are to ask the cluster's DNS server although they
      share the node's network. A Windows pod cannot share it; a HostProcess pod does, and uses the node's resolver
      with the node's servers, whatever the policy says. Kubernetes takes the field without a complaint.`,
    onNode: prose`
      The policy, and the servers that are really used:

          kubectl get pod <pod> -o jsonpath={.spec.dnsPolicy}
          kubectl exec <pod> -- ipconfig /all`,
    remedy: prose`
      Leave dnsPolicy at ClusterFirst for ordinary Windows pods. A HostProcess pod that needs names of the cluster
      must ask the cluster's server itself, by address.`,
    sources: [KUBERNETES_ON_WINDOWS, reference("windows-networking-documentation.md §6")],
    profiles: ALL,
    severity: "warning",
  },
};
