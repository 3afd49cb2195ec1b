/** What a switch port refuses besides its rules: tunnels it cannot take or make, guards, limits, rates. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, NETWORK_DRIVERS, VFP_PAPER, reference, thread } from "../entry-text.ts";

type SwitchPortCode =
  | "tunnel-refused"
  | "mapping-unknown"
  | "provider-address-missing"
  | "virtual-subnet-unknown"
  | "overlay-without-host-route"
  | "pod-networks-isolated"
  | "flow-limit-reached"
  | "fragment-cache-full"
  | "fragment-cache-collision"
  | "bandwidth-exceeded"
  | "rate-limit-exceeded"
  | "mac-spoofing-refused"
  | "vlan-not-allowed"
  | "fabric-acl-denied"
  | "address-spoofing-refused"
  | "arp-spoofing-refused"
  | "dhcp-server-refused"
  | "router-advertisement-refused"
  | "non-ip-frame-refused";

const GUARDS = reference("dataplane.md §1.2");

export const SWITCH_PORT_ENTRIES: EntryTable<SwitchPortCode> = {
  "tunnel-refused": {
    title: "The packet's tunnel headers are not what the switch port takes",
    cause: prose`
      The packet came to the port of VXLAN, or as NVGRE, and its tunnel header does not say which network it belongs
      to, is cut short, or carries a frame that is broken; or a rule wanted to take off a tunnel that is not there, or to
      put a second one on. RFC 7348 asks receivers to drop a packet whose VNI is not marked as valid.

      Inferred: that a port drops such a packet at once, whatever its rules say.`,
    onNode: prose`
      pktmon names such drops "Invalid Packet". A capture on the node's adapter shows the header:

          pktmon filter add vxlan -t UDP -p 4789
          pktmon start --capture
          pktmon stop
          pktmon etl2txt PktMon.etl`,
    remedy: prose`
      Look at the sender. Something else than VXLAN may use UDP port 4789 (vSphere does); or the sender encapsulates
      with group policy or generic protocol extensions, which Windows does not speak.`,
    sources: [reference("dataplane.md §1.2, §6.1, §6.4, DT-037"), reference("dataplane.md §9 (F-35)")],
    profiles: ALL,
  },

  "mapping-unknown": {
    title: "The switch port does not know on which node this address is",
    cause: prose`
      On an overlay network a packet to an address of the same subnet on another node is encapsulated to the node that
      the port's mapping names. The port has no mapping for this address: no remote endpoint was made for it in HNS.`,
    onNode: prose`
      List the remote endpoints and look for the address:

          Get-HnsEndpoint | ? IsRemoteEndpoint -eq True | ft ID, IPAddress, MacAddress`,
    remedy: prose`
      Let the control plane make the remote endpoint (kube-proxy and swarm do so), or give the node a range of its own
      and a RemoteSubnetRoute per other node.`,
    sources: [reference("dataplane.md §1.6, §1.7"), NETWORK_DRIVERS],
    profiles: ALL,
  },

  "provider-address-missing": {
    title: "The switch port has no provider address to encapsulate from",
    cause: prose`
      A rule wants to put outer headers on the packet, and their source would be the port's provider address, which is
      the node's address on the network between the nodes. The port has none of that family.`,
    onNode: prose`
      Read the port's addresses; "Provider IP" is the one:

          vfpctrl /get-address-info /port <port>`,
    remedy: prose`
      See that the network's management address is right, and make the endpoints again. A wrong one (of a second adapter)
      is a known fault, too.`,
    sources: [reference("dataplane.md §1.2"), thread("containerd/containerd", 5729)],
    profiles: ALL,
  },

  "virtual-subnet-unknown": {
    title: "A VXLAN packet came for a network that this node does not have",
    cause: prose`
      The VXLAN network identifier (VNI) of the packet is that of no subnet of an overlay network on this node. Either
      the nodes do not agree on the VNI, or the packet was sent to the wrong node.

      Inferred: that the switch ends it, and the host's stack does not see it.`,
    onNode: prose`
      Compare the VNI of the node's networks with the one in a capture on its adapter:

          Get-HnsNetwork | % { $_.Name; $_.Subnets.Policies }
          pktmon filter add vxlan -t UDP -p 4789`,
    remedy: prose`
      Give all nodes one VNI. Windows takes 4096 and above, so it is the Linux nodes' that must be raised.`,
    sources: [reference("dataplane.md §2.17 (2), DT-036"), NETWORK_DRIVERS],
    profiles: ALL,
  },

  "overlay-without-host-route": {
    title: "The node does not reach its pods: the overlay network has no HostRoute policy",
    cause: prose`
      On an overlay network the node itself is not part of the pods' network. The HostRoute policy of the network lets
      the node and its own endpoints reach each other; without it probes of the kubelet fail.

      Inferred: that the node's packets end at its own switch port.`,
    onNode: prose`
      Look for HostRoute among the network's policies, and try a pod from the node:

          (Get-HnsNetwork | ? Type -eq Overlay).Policies
          Test-NetConnection <pod address> -Port <port>`,
    remedy: prose`
      Make the network with a HostRoute policy, as flannel does. It needs a build from 18321 on, or KB4489899 on Windows
      Server 2019.`,
    sources: [reference("dataplane.md §2.3 (O-9), DT-051, DT-052")],
    profiles: ALL,
  },

  "pod-networks-isolated": {
    title: "Sender and receiver are in different overlay networks",
    cause: prose`
      Each overlay network is a virtual network of its own, told apart by its VXLAN network identifier. Endpoints of two
      of them never exchange a packet, also on one node and also when both hold the same address: a packet to such an
      address goes to the endpoint of the sender's own network.`,
    onNode: prose`
      The network of each endpoint, and the identifier of each network:

          Get-HnsEndpoint | select Name, IPAddress, VirtualNetworkName
          Get-HnsNetwork | ? Type -eq overlay | % { $_.Name; $_.Subnets.Policies }`,
    remedy: prose`
      Put the two into one network, or publish a port of the receiver on its node and ask for that.`,
    sources: [
      NETWORK_DRIVERS,
      reference("windows-networking-documentation.md §2"),
      reference("dataplane.md §2.17"),
    ],
    profiles: ALL,
  },

  "flow-limit-reached": {
    title: "The switch port has reached its limit of connections of this kind",
    cause: prose`
      A port can be given limits: for all flows, for TCP, UDP and others, and for TCP connections whose other side has
      not answered. This packet would begin one more. Idle connections are forgotten first, after 240 s.

      Inferred: a new connection is dropped; no established one must go for it.`,
    onNode: prose`
      Counts, limits and maxima by class:

          vfpctrl /get-port-flow-stats /port <port>`,
    remedy: prose`
      Find who opens so many connections. Many half-open ones mean that a server does not answer, or a scan.`,
    sources: [reference("dataplane.md §1.2, DT-020, DT-021"), VFP_PAPER],
    profiles: ALL,
  },

  "fragment-cache-full": {
    title: "The switch port cannot track more fragmented packets",
    cause: prose`
      Only the first fragment of a packet carries ports, so the port remembers what it did to it and does the same to the
      others. Its memory for that is full: the first fragment continued, the others will be dropped.`,
    onNode: prose`
      "Frag cache no match" of the layers rises:

          vfpctrl /get-layer-counter /port <port>`,
    remedy: prose`
      Avoid fragments: keep UDP messages below the MTU (1450 bytes less headers on overlay networks), and let DNS use
      smaller answers or TCP.`,
    sources: [reference("dataplane.md §1.10, §5.4")],
    profiles: ALL,
  },

  "fragment-cache-collision": {
    title: "A fragment was taken for one of another packet and dropped",
    cause: prose`
      A known fault of the switch extension: two fragmented packets whose entries fall on the same place of its table
      harm each other, and some of their fragments are lost. About one in a hundred fragmented UDP packets was.`,
    onNode: prose`
      pktmon reports the drop with reason "Invalid Packet" at location 0xE0006096:

          pktmon start --capture --type drop
          pktmon stop
          pktmon etl2txt PktMon.etl | Select-String 0xE0006096`,
    remedy: prose`
      Avoid fragments: keep UDP messages below the MTU, and let DNS use smaller answers or TCP.`,
    sources: [reference("dataplane.md §9 (F-04), DT-024")],
    profiles: ALL,
  },

  "bandwidth-exceeded": {
    title: "The pod sends faster than its QoS policy allows",
    cause: prose`
      The endpoint has a QoS policy with a maximum of outgoing bytes per second. What exceeds it waits in a queue of the
      port; the queue is full, so the packet was dropped. The policy holds for what the pod sends, not for what it gets.`,
    onNode: prose`
      The policy, and the port's queue:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | % Policies | ? Type -eq QOS
          vfpctrl /list-queue /port <port>`,
    remedy: prose`
      Raise MaximumOutgoingBandwidthInBytes (bytes, not bits), or send less. Windows' kubelet takes no bandwidth
      annotations; the policy comes from the CNI configuration.`,
    sources: [reference("dataplane.md §1.6, §2.14, DT-026, DT-178")],
    profiles: ALL,
  },

  "rate-limit-exceeded": {
    title: "The vNIC sends more messages of this kind than its port lets through",
    cause: prose`
      A guard of the port limits broadcasts, ARP, DHCP or ICMPv6 messages per second. This one was too many.`,
    onNode: prose`
      The guard flags of the port (2 ARP, 8 DHCP, 2048 ICMPv6, 32768 broadcast), and the switch's own storm limit:

          vfpctrl /get-port-state /port <port>
          Get-VMNetworkAdapter -ManagementOS | fl Name, StormLimit`,
    remedy: prose`Find what floods the network; the limit does what it is for.`,
    sources: [GUARDS],
    profiles: ALL,
  },

  "mac-spoofing-refused": {
    title: "A frame left with a MAC address that does not belong to its port",
    cause: prose`
      The port's MAC guard lets only frames with its own source MAC pass. On a virtual machine it is the adapter of the
      machine whose hypervisor says so: frames of transparent and L2Bridge pods with MACs of their own are then lost.`,
    onNode: prose`
      On the Hyper-V host of the node:

          Get-VMNetworkAdapter -VMName <node> | fl Name, MacAddressSpoofing`,
    remedy: prose`
      Set-VMNetworkAdapter -VMName <node> -MacAddressSpoofing On, or use a network type whose pods share the node's MAC
      on the wire (l2bridge).`,
    sources: [GUARDS, reference("dataplane.md DT-071"), NETWORK_DRIVERS],
    profiles: ALL,
  },

  "vlan-not-allowed": {
    title: "The switch port is not in the frame's VLAN",
    cause: prose`
      Ports of endpoints are in access mode: they take frames without a tag and belong to one VLAN. A tagged frame from
      such a port, or one from the wire with the tag of a VLAN in which the switch has no port, ends there.`,
    onNode: prose`
      The VLAN of the network's endpoints:

          Get-HnsNetwork | select Name, Type, @{n='VLAN';e={$_.Policies.VLAN}}
          Get-HnsEndpoint | select Name, @{n='VLAN';e={$_.Policies.VLAN}}`,
    remedy: prose`
      Give network and fabric the same VLAN, and make the fabric's port a trunk that carries it. Do not tag inside a
      container.`,
    sources: [NETWORK_DRIVERS, reference("dataplane.md §2.6, T-7, DT-072")],
    profiles: ALL,
  },

  "fabric-acl-denied": {
    title: "A rule of the physical host's switch denies the connection",
    cause: prose`
      On an L2Tunnel network every frame of a pod goes out to the switch of the physical host, also when it is for a pod
      of the same node, so that the rules of the virtual network (network security groups) hold for pods. One of them
      denies this packet.`,
    onNode: prose`
      Nothing to see on a node: the frame leaves by its adapter and no answer comes. The rules are those of the fabric.`,
    remedy: prose`Allow the two addresses in the rules of the virtual network.`,
    sources: [NETWORK_DRIVERS, reference("dataplane.md §2.5, DT-067, DT-068")],
    profiles: ALL,
  },

  "address-spoofing-refused": {
    title: "A packet left with an IP address that does not belong to its port",
    cause: prose`
      The port's IPv4 or IPv6 guard lets only packets with one of its own source addresses pass. The sender used another
      one: an address that it was not given, or one that it forwards for.`,
    onNode: prose`
      Compare the packet's source with the port's addresses ("Customer IPv4"):

          vfpctrl /get-address-info /port <port>`,
    remedy: prose`Use the address that HNS gave the endpoint, or lift the guard for ports that forward.`,
    sources: [GUARDS],
    profiles: ALL,
  },

  "arp-spoofing-refused": {
    title: "An ARP message spoke for an address that does not belong to its port",
    cause: prose`
      The port's ARP guard lets only messages pass that name the port's own MAC and one of its addresses as sender.`,
    onNode: prose`
      A capture on the port shows the message; the port's addresses are in:

          vfpctrl /get-address-info /port <port>`,
    remedy: prose`Find who answers for addresses of others: a second address set by hand, or a proxy.`,
    sources: [GUARDS],
    profiles: ALL,
  },

  "dhcp-server-refused": {
    title: "A DHCP server's answer came from a port where none is allowed",
    cause: prose`
      The port's DHCP guard drops what only a DHCP server sends (UDP from port 67 to 68, for IPv6 from 547 to 546), so
      that no virtual machine or pod hands out addresses.`,
    onNode: prose`
      The guard of an adapter:

          Get-VMNetworkAdapter -ManagementOS | fl Name, DhcpGuard`,
    remedy: prose`Set-VMNetworkAdapter -DhcpGuard Off on the adapter of a server that is meant to be one.`,
    sources: [GUARDS],
    profiles: ALL,
  },

  "router-advertisement-refused": {
    title: "A router's advertisement came from a port where none is allowed",
    cause: prose`
      The port's neighbour discovery guard drops router advertisements and redirects from its vNIC, and neighbour
      advertisements for addresses that the port does not have.

      A host refuses advertisements, too: it takes 16 routers and 16 prefixes of a link, and what comes beyond that
      floods it.`,
    onNode: prose`
      The guard of an adapter:

          Get-VMNetworkAdapter -ManagementOS | fl Name, RouterGuard`,
    remedy: prose`Set-VMNetworkAdapter -RouterGuard Off on the adapter of a router that is meant to be one.`,
    sources: [GUARDS],
    profiles: ALL,
  },

  "non-ip-frame-refused": {
    title: "The switch port lets only IP and ARP pass",
    cause: prose`
      The port's guard against other protocols than IP and ARP is set, and the frame's ethertype is another one.`,
    onNode: prose`
      The guard flags of the port (32 blocks what is not IP):

          vfpctrl /get-port-state /port <port>`,
    remedy: prose`Lift the guard, if the protocol is wanted.`,
    sources: [GUARDS],
    profiles: ALL,
  },
};
