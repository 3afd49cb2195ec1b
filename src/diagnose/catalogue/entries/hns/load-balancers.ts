/** What HNS refuses or leaves undone when load balancers are made and changed. */
import { prose } from "../../prose.ts";
import { ALL, COMMON_PROBLEMS, type EntryTable, reference, thread } from "../entry-text.ts";

type LoadBalancerCode = "load-balancer-port-already-exists" | "load-balancer-update-ignored";

export const LOAD_BALANCER_ENTRIES: EntryTable<LoadBalancerCode> = {
  "load-balancer-port-already-exists": {
    title: 'HNS refuses a load balancer with "The specified port already exists"',
    cause: prose`
      Error 0x803b0013 has two causes that HNS does not report apart. Either another load balancer of the node has the
      same address, protocol and port: two programs make load balancers, or one that should be gone was left behind.
      Or the node has no block of ports left: each load balancer without DSR reserves 64 ports of the dynamic range
      for the translation of its clients, and the default range holds 256 such blocks, less those in use by pods.
      Since KB4551853 load balancers share blocks.`,
    onNode: prose`
      First the load balancers and what they listen on, then the reserved ranges:

          Get-HnsPolicyList | Select-Object -ExpandProperty Policies
          netsh int ipv4 show excludedportrange tcp
          netsh int ipv4 show dynamicport tcp`,
    remedy: prose`
      Restart kube-proxy: it removes all load balancers and makes them again. If blocks are used up, turn on DSR,
      which needs none, install the current update, or enlarge the dynamic range with netsh int ipv4 set dynamicport.`,
    sources: [
      COMMON_PROBLEMS,
      thread("microsoft/SDN", 399),
      thread("kubernetes/kubernetes", 137530),
      reference("hcn.md §4.7, §4.8"),
      reference("dataplane.md §3.5"),
    ],
    profiles: ALL,
  },

  "load-balancer-update-ignored": {
    title: "HNS 15.4 accepts an update of a load balancer but does not apply it",
    cause: prose`
      From HNS 15.5 on a load balancer can be changed in place. Version 15.4, which Windows Server 2025 was released
      with, has the call, answers success and leaves the load balancer as it was. kube-proxy built with the older
      range of versions (15.4 and later) uses it there: after a roll-out the Service still leads to pods that are
      gone, and never to the new ones. Older versions of HNS refuse the call, and kube-proxy deletes and creates.`,
    onNode: prose`
      The version of HNS, and the back ends that it has, to be compared with the slices of the Service:

          hnsdiag list loadbalancers -d
          (Get-HnsNetwork)[0].Version -shr 32
          kubectl get endpointslices -l kubernetes.io/service-name=<service>`,
    remedy: prose`
      Use a kube-proxy with hnslib v0.1.1 or later, which asks for 15.5, or update Windows. Until then restart
      kube-proxy after a roll-out: it makes all load balancers again.`,
    sources: [
      thread("kubernetes/kubernetes", 131466),
      reference("hcn.md §7.1"),
      reference("kube-proxy.md §1.3"),
    ],
    profiles: ["ws2025"],
  },
};
