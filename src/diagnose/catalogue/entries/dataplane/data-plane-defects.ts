/** Defects of VFP, of the switch and of what the node hangs on (`quirks.ts` lists them by name). */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type DataPlaneDefectCode =
  | "vfp-flow-forgotten"
  | "vfp-layer-rebuilt"
  | "vfp-rules-late"
  | "large-udp-dropped"
  | "receive-coalescing-slow"
  | "l2bridge-unstable"
  | "vxlan-port-taken"
  | "udp-port-65330-taken"
  | "dns-cold-start"
  | "source-vip-is-network-address"
  | "management-address-flips"
  | "metadata-route-lost"
  | "hns-remote-endpoint-left";

export const DATA_PLANE_DEFECT_ENTRIES: EntryTable<DataPlaneDefectCode> = {
  "vfp-flow-forgotten": {
    title: "A connection lives on in the programs and is forgotten in the switch",
    cause: prose`
      The switch remembers each connection in a flow. A flow that is idle for 240 s goes, and on some builds a change of
      ACLs ends the flows of a port as well. There is no notification: the next packet is treated as that of a new connection, so
      what was translated leaves with another port, or its answer finds no way back.`,
    onNode: prose`
      The flows of the port, with the time that they have left:

          vfpctrl /list-unified-flow /port <port>`,
    remedy: prose`
      Send something at least every four minutes: set the keep-alive of the program, or of the connection pool, below
      240 s. Windows' own keep-alive of two hours comes too late. Avoid changes of policies and labels while long
      connections are open.`,
    sources: [
      thread("microsoft/Windows-Containers", 81),
      thread("projectcalico/calico", 10199),
      reference("dataplane.md §1.10, §9 (F-01, F-02)"),
    ],
    profiles: ALL,
  },

  "vfp-layer-rebuilt": {
    title: "A layer of a port was gone for a moment, and flows that were made then stay without it",
    cause: prose`
      When an overlay network changes, the layer that takes frames out of tunnels is removed from the port of its router
      and added again, 0.3 to 32 ms later. A connection that begins in between gets a flow that leaves the tunnel on,
      and continues so until the flow ends: its packets reach a stack that knows nothing of them.`,
    onNode: prose`
      Packets with VXLAN on the port of the router, and flows whose encapsulation is Ignore:

          pktmon start --etw -p 4789
          vfpctrl /list-unified-flow /port <port of the router>`,
    remedy: prose`Let the connection be made again. A retry of the program is enough, since a new flow is right.`,
    sources: [reference("dataplane.md §9 (F-03)")],
    profiles: ALL,
  },

  "vfp-rules-late": {
    title: "HNS shows a change, and the ports do not have it yet",
    cause: prose`
      HNS answers before the rules are on the ports. On a busy node users have waited a minute for an ACL, and half a
      minute for each load balancer. Until then packets meet the former rules.`,
    onNode: prose`
      What HNS has, and what the port has:

          Get-HnsEndpoint | ForEach-Object { $_.Policies }
          vfpctrl /port <port> /list-rule`,
    remedy: prose`
      Wait, and do not count on a policy in the first minute of a pod. Fewer load balancers help: DSR needs one per Service
      port and no blocks of ports.`,
    sources: [
      thread("Azure/azure-container-networking", 1614),
      thread("kubernetes/kubernetes", 109162),
      reference("dataplane.md §9 (F-30, F-39)"),
    ],
    profiles: ALL,
  },

  "large-udp-dropped": {
    title: "A datagram that does not fit one packet is dropped",
    cause: prose`
      A datagram beyond the MTU is sent in fragments. On some nodes the switch drops all fragments of a container's
      datagrams, so that small ones arrive and large ones never do.`,
    onNode: prose`
      Send one of each size, and look at the fragment counters of the port:

          vfpctrl /get-layer-counter /port <port>`,
    remedy: prose`Let the program send datagrams that fit the MTU, 1450 on an overlay network, or use TCP.`,
    sources: [
      thread("docker/for-win", 1144),
      thread("docker/for-win", 8693),
      reference("dataplane.md §5.4, §9 (F-32)"),
    ],
    profiles: ALL,
  },

  "receive-coalescing-slow": {
    title: "Receive segment coalescing in the switch slows TCP down",
    cause: prose`
      The switch joins arriving segments to large ones (RSC). With some adapters and virtual switches what comes of it is
      dropped and sent again, and TCP falls to about 100 KiB/s.`,
    onNode: prose`
      Whether the switch coalesces:

          Get-VMSwitch | Select-Object Name, SoftwareRscEnabled
          Get-NetAdapterRsc`,
    remedy: prose`
      Turn it off on the switch, or on the adapter below:

          Set-VMSwitch -Name <switch> -EnableSoftwareRsc $false
          Disable-NetAdapterRsc -Name <adapter>`,
    sources: [
      thread("microsoft/hcsshim", 371),
      thread("microsoft/Windows-Containers", 145),
      reference("dataplane.md §5.4, §9 (F-28)"),
    ],
    profiles: ALL,
  },

  "l2bridge-unstable": {
    title: "After an L2Bridge network was made, the node's network works and fails in turn",
    cause: prose`
      On some machines with Windows Server 2022 the node itself lost its network for some seconds, again and again, from the
      moment that an L2Bridge network existed. The thread reports it without a cause; one report names KB5036909.`,
    onNode: prose`
      Answers come for some seconds, then time-outs:

          ping -t <outside address>`,
    remedy: prose`Install the current cumulative update; the thread ends with no one able to reproduce it there.`,
    sources: [thread("microsoft/Windows-Containers", 439), reference("dataplane.md §9 (F-55)")],
    profiles: ["ws2022"],
  },

  "vxlan-port-taken": {
    title: "Something below the node takes UDP port 4789 for itself",
    cause: prose`
      A hypervisor that builds overlays of its own, such as vSphere with NSX, takes packets to UDP port 4789 for its own
      tunnels. Those of the node never arrive: pods of one node reach each other, pods of different nodes do not.`,
    onNode: prose`
      The node sends tunnels and gets none:

          pktmon start --etw -p 4789`,
    remedy: prose`
      Use another port below, or another backend for the cluster: Windows serves flannel's VXLAN on 4789 alone. Host gateway
      (L2Bridge) needs no tunnels.`,
    sources: [reference("dataplane.md §9 (F-35)")],
    profiles: ALL,
  },

  "udp-port-65330-taken": {
    title: "Azure loses UDP from source port 65330",
    cause: prose`
      The host below an Azure machine uses the port for itself. Source NAT takes ports up to 65535, so now and then a
      datagram of a pod leaves with that port, and its answer never comes: one DNS question in some thousands times out.`,
    onNode: prose`
      Whether the port is excluded:

          netsh int ipv4 show excludedportrange udp
          Get-ItemProperty HKLM:\SYSTEM\CurrentControlSet\Services\hns\State`,
    remedy: prose`
      Exclude it: set EnableExcludedPortRange, ExcludedPortRangeStartPort 65330 and ExcludedPortRangePortCount 1 below that
      key, and restart HNS.`,
    sources: [thread("Azure/AgentBaker", 1913), reference("dataplane.md §3.9, §9 (F-54), Appendix C")],
    profiles: ALL,
  },

  "dns-cold-start": {
    title: "Names are not resolved in the first seconds of a pod",
    cause: prose`
      The DNS client of a new compartment is not ready at once. What asks for a name in the first seconds fails, though
      servers and network are there; a little later the same question is answered.`,
    onNode: prose`
      In a new pod, twice with some seconds between:

          Resolve-DnsName kubernetes.default.svc.cluster.local`,
    remedy: prose`Try again in the program, or wait some seconds before the first question.`,
    sources: [thread("microsoft/hcsshim", 150), reference("dataplane.md §5.3, §9 (F-45), DT-161")],
    profiles: ALL,
  },

  "source-vip-is-network-address": {
    title: "Load balancers send from the first address of the subnet",
    cause: prose`
      The source address of load balancers (SourceVIP) is an endpoint of its own. Where its set-up went wrong, kube-proxy
      was started with the address of the subnet itself, such as 10.244.1.0, which no endpoint has: answers of back ends
      find no peer.`,
    onNode: prose`
      The address that kube-proxy was given, and what HNS has:

          Get-Process kube-proxy | Select-Object CommandLine
          hnsdiag list loadbalancers -d`,
    remedy: prose`
      Remove C:\k\SourceVip.json and C:\k\SourceVipRequest.json, let the set-up reserve an address again, and start
      kube-proxy with it.`,
    sources: [thread("kubernetes-sigs/sig-windows-tools", 101), reference("dataplane.md §9 (F-06), DT-112")],
    profiles: ALL,
  },

  "management-address-flips": {
    title: "The node's management address is one that belongs to something else",
    cause: prose`
      HNS takes an address of the adapter as the node's own and translates pods to it. When an agent adds further addresses,
      as that of Google's cloud does for load balancers, another one may be taken. Answers to it go elsewhere.`,
    onNode: prose`
      The address that HNS has taken:

          Get-HnsNetwork | Select-Object Name, ManagementIP
          Get-NetIPAddress -AddressFamily IPv4`,
    remedy: prose`Keep the agent from adding addresses, then restart HNS, or make the network again.`,
    sources: [thread("kubernetes/kubernetes", 75561), reference("dataplane.md §9 (F-44)")],
    profiles: ALL,
  },

  "metadata-route-lost": {
    title: "The route to the metadata service was lost when the switch was made",
    cause: prose`
      Making a switch moves addresses and routes of the adapter to a new vNIC of the host. The route to 169.254.169.254 that
      the cloud's agent had added did not arrive, so that the node cannot identify it.`,
    onNode: prose`
      The route is missing:

          Get-NetRoute -DestinationPrefix 169.254.169.254/32`,
    remedy: prose`
      Add it again behind the creation of the network:

          New-NetRoute -DestinationPrefix 169.254.169.254/32 -InterfaceAlias "vEthernet (Ethernet)"`,
    sources: [reference("dataplane.md §9 (F-53)")],
    profiles: ALL,
  },

  "hns-remote-endpoint-left": {
    title: "HNS keeps a remote endpoint that is deleted, or its old address",
    cause: prose`
      A remote endpoint stands for a pod of another node. Where it is left behind and a new pod of this node gets its address,
      the pod is cut off from the network. Where a load balancer keeps it, connections go to a pod that is gone: mostly
      seen with DNS, after its pods were started again.`,
    onNode: prose`
      Addresses that stand there twice, and remote endpoints of pods that are gone:

          Get-HnsEndpoint | Group-Object IPAddress | Where-Object Count -gt 1
          Get-HnsEndpoint | Where-Object IsRemoteEndpoint | Select-Object ID, IPAddress`,
    remedy: prose`
      Remove the endpoint, and restart kube-proxy:

          Get-HnsEndpoint -ID <id> | Remove-HnsEndpoint
          Restart-Service kubeproxy`,
    sources: [
      thread("microsoft/Windows-Containers", 631),
      thread("kubernetes-sigs/sig-windows-tools", 380),
      reference("dataplane.md §9 (F-25, F-26)"),
    ],
    profiles: ALL,
  },
};
