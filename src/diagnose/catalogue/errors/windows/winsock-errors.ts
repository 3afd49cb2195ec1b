/** Codes of sockets and of names, as programs on the node and in pods print them. */
import { prose } from "../../prose.ts";
import { WIN32_CODES, WINSOCK_CODES, reference, thread } from "../error-sources.ts";
import type { PrintedErrors } from "../known-error.ts";

const SEE_SOCKETS = ["netsh int ipv4 show excludedportrange tcp", "netsh int ipv4 show dynamicportrange tcp"];

export const WINSOCK_ERRORS: PrintedErrors = {
  wsaeacces: {
    standing: "root",
    hresults: [0x8007271d],
    names: ["WSAEACCES"],
    texts: ["An attempt was made to access a socket in a way forbidden by its access permissions"],
    cause: prose`
      Windows refuses the socket. When every pod of a node has it, and ping says "General failure", the node has the
      update KB5040437 (20348.2582), which was fixed in 20348.2762. When one program has it, its port is in an
      excluded range: HNS reserves blocks of 64 for load balancers.`,
    next: ["[System.Environment]::OSVersion.Version; Get-HotFix | Select-Object -Last 5", ...SEE_SOCKETS],
    remedy: prose`Install KB5044281 or later. For one port: choose another, or reserve it before HNS starts.`,
    sources: [
      WINSOCK_CODES,
      thread("microsoft/Windows-Containers", 516),
      thread("projectcalico/calico", 9043),
      reference("dataplane.md §9 F-27"),
    ],
  },
  wsaeaddrinuse: {
    standing: "root",
    hresults: [0x80072740],
    names: ["WSAEADDRINUSE"],
    texts: [
      "Only one usage of each socket address (protocol/network address/port) is normally permitted",
      "bind: address already in use",
    ],
    cause: prose`Another process listens on that address and port, or a port mapping or load balancer of HNS has it.`,
    next: [
      "Get-NetTCPConnection -State Listen -LocalPort <port>",
      "hnsdiag list loadbalancers",
      ...SEE_SOCKETS,
    ],
    remedy: prose`End the other listener, or choose another port.`,
    sources: [WINSOCK_CODES],
  },
  wsaeaddrnotavail: {
    standing: "root",
    hresults: [0x80072741],
    names: ["WSAEADDRNOTAVAIL"],
    texts: ["The requested address is not valid in its context"],
    cause: prose`
      A program binds to an address that the node does not have in this compartment: after the switch was made the
      address moved to "vEthernet (…)", or a flag names another node's.`,
    next: ["Get-NetIPAddress -AddressFamily IPv4 | Select-Object InterfaceAlias, IPAddress"],
    remedy: prose`Correct the address (--node-ip, --bind-address, --iface), and start the program after the network is made.`,
    sources: [WINSOCK_CODES, reference("users.md G11")],
  },
  wsaenobufs: {
    standing: "root",
    hresults: [0x80072747],
    names: ["WSAENOBUFS"],
    texts: [
      "An operation on a socket could not be performed because the system lacked sufficient buffer space or because a queue was full",
    ],
    cause: prose`
      Nearly always the node has no free ports left: without DSR each load balancer reserves blocks of 64, and many
      connections use up the rest. New connections fail, DNS first.`,
    next: ["(Get-NetTCPConnection).Count", ...SEE_SOCKETS],
    remedy: prose`Switch DSR on in kube-proxy, widen the dynamic range, fewer Services or node ports.`,
    related: "nat-port-pool-exhausted",
    sources: [WINSOCK_CODES, thread("Azure/AKS", 1375), reference("users.md G14")],
  },
  wsaeconnreset: {
    standing: "wrapper",
    hresults: [0x80072746],
    names: ["WSAECONNRESET"],
    texts: ["An existing connection was forcibly closed by the remote host"],
    cause: prose`The other side, or a device on the path, reset the connection: a pod that ended, policies that were programmed again, a load balancer that was deleted and made again.`,
    next: ["kubectl get events --sort-by=.lastTimestamp", "mullion trace -f <cluster> <from> <to>"],
    remedy: prose`Look at what changed at that moment. Single resets with a roll-out are normal.`,
    sources: [WINSOCK_CODES, reference("dataplane.md §9 F-02, F-23")],
  },
  wsaetimedout: {
    standing: "wrapper",
    hresults: [0x8007274c],
    names: ["WSAETIMEDOUT"],
    texts: [
      "A connection attempt failed because the connected party did not properly respond after a period of time, or established connection failed because connected host has failed to respond",
    ],
    cause: prose`
      Nothing answered. The packet was dropped, or its answer was: no load balancer for the Service, a blocking policy,
      a missing route, an answer that comes from another address.`,
    next: ["hnsdiag list loadbalancers", "mullion trace -f <cluster> <from> <to>"],
    remedy: prose`Follow the packet: mullion trace shows each step and the first that drops it.`,
    related: "no-answer",
    sources: [WINSOCK_CODES],
  },
  wsaeconnrefused: {
    standing: "wrapper",
    hresults: [0x8007274d],
    names: ["WSAECONNREFUSED"],
    texts: ["No connection could be made because the target machine actively refused it"],
    cause: prose`The packet arrived at a machine, and nothing listens there on that port: the server is not up, or listens on another port or address.`,
    next: ["kubectl get pods -o wide", "Get-NetTCPConnection -State Listen"],
    remedy: prose`Check the port, and that the server listens on all addresses and not on 127.0.0.1.`,
    related: "port-not-listening",
    sources: [WINSOCK_CODES],
  },
  wsaenetunreach: {
    standing: "root",
    hresults: [0x80072743],
    names: ["WSAENETUNREACH"],
    texts: ["A socket operation was attempted to an unreachable network"],
    cause: prose`The compartment has no route to that address: the endpoint has no default gateway, or no address of that family.`,
    next: ["route print", "Get-NetRoute -IncludeAllCompartments"],
    remedy: prose`Look at the endpoint's gateway and routes. For 169.254.169.254 a route must be made on purpose.`,
    related: "no-route",
    sources: [WINSOCK_CODES, reference("users.md G25")],
  },
  wsaehostunreach: {
    standing: "root",
    hresults: [0x80072751],
    names: ["WSAEHOSTUNREACH"],
    texts: ["A socket operation was attempted to an unreachable host"],
    cause: prose`The next hop does not answer to its address, or a router says that it knows no way.`,
    next: ["Get-NetNeighbor -IncludeAllCompartments", "route print"],
    remedy: prose`Check gateway and routes; on host-gw, that both nodes are on one segment or the fabric has routes.`,
    related: "neighbor-unresolved",
    sources: [WINSOCK_CODES],
  },
  "wsahost-not-found": {
    standing: "root",
    hresults: [0x80072af9],
    names: ["WSAHOST_NOT_FOUND"],
    texts: ["No such host is known", "The remote name could not be resolved"],
    cause: prose`
      The name does not resolve. Windows completes only names without a dot, and with the suffix of the pod's own
      namespace; kubernetes.default is taken as complete. When no name resolves at all, the load balancer of kube-dns is
      missing on the node.`,
    next: [
      "ipconfig /all",
      "Resolve-DnsName kubernetes.default.svc.cluster.local",
      "hnsdiag list loadbalancers",
    ],
    remedy: prose`Write the whole name with the cluster's domain. When nothing resolves, restart kube-proxy.`,
    related: "dns-name-with-dot-not-completed",
    sources: [WINSOCK_CODES, reference("users.md G1, G8")],
  },
  "dns-error-rcode-name-error": {
    standing: "root",
    hresults: [0x8007232b],
    names: ["DNS_ERROR_RCODE_NAME_ERROR"],
    texts: ["DNS name does not exist"],
    cause: prose`The DNS server answered that there is no such name. Windows remembers that for minutes.`,
    next: ["Resolve-DnsName <name>", "Clear-DnsClientCache"],
    remedy: prose`Check the name and its domain; write the whole name. Clear the cache after the fix.`,
    related: "dns-name-unknown",
    sources: [WIN32_CODES, reference("users.md G8; dataplane.md §9 F-46")],
  },
  "dns-request-timed-out": {
    standing: "root",
    texts: ["DNS request timed out", "no servers could be reached"],
    cause: prose`
      The DNS server did not answer. On one Windows node alone it is nearly always the load balancer of kube-dns that is
      missing or leads to pods that are gone; single time-outs among many belong to UDP that was lost.`,
    next: [
      "hnsdiag list loadbalancers",
      "nslookup kubernetes.default.svc.cluster.local <address of a CoreDNS pod>",
      "kubectl -n kube-system get endpointslices -l kubernetes.io/service-name=kube-dns",
    ],
    remedy: prose`Restart kube-proxy when the Service's address is not among the load balancers, or its back ends are old.`,
    related: "dns-timeout",
    sources: [reference("users.md G1, G2, G8")],
  },
};
