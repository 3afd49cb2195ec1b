/** What a host's own stack refuses before any program sees it. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  reference,
  thread,
} from "../entry-text.ts";

type HostStackCode =
  | "checksum-invalid"
  | "martian-source"
  | "reassembly-failed"
  | "protocol-unknown"
  | "ipv6-not-carried"
  | "ipv6-address-duplicate"
  | "interface-down";

export const HOST_STACK_ENTRIES: EntryTable<HostStackCode> = {
  "checksum-invalid": {
    title: "A checksum of the packet is wrong",
    cause: prose`
      The receiver computes the checksums of the IP header and of TCP, UDP or ICMP itself and found another
      value than the packet carries. It drops such a packet silently, so the sender tries again until it
      gives up. Bits are rarely lost on the way: nearly always a machine rewrote a header and left the checksum
      to hardware that did not do it, as some virtual adapters do with packets inside a VXLAN tunnel.`,
    onNode: prose`
      Windows counts the packets as errors, by protocol:

          netstat -s -p ip
          netstat -s -p udp

      On a Linux peer a capture marks them ("bad udp cksum"), which is normal for outgoing packets and a fault
      for incoming ones:

          tcpdump -vv -ni eth0 udp`,
    remedy: prose`
      Switch checksum offload off on the sending side and test again. On the peers that send VXLAN:

          ethtool -K flannel.4096 tx-checksum-ip-generic off

      On Windows, per adapter:

          Disable-NetAdapterChecksumOffload -Name <adapter>

      If that helps, look for a newer driver of the virtual adapter.`,
    sources: [
      thread("projectcalico/calico", 3145),
      thread("flannel-io/flannel", 1282),
      reference("dataplane.md §6.8"),
      reference("users.md G22"),
    ],
    profiles: ALL,
  },

  "martian-source": {
    title: "The packet's source address cannot come from there",
    cause: prose`
      A packet arrived over the network whose source is one of the receiver's own addresses, a loopback,
      broadcast or multicast address, or whose destination is a loopback address. No honest machine sends such a
      packet over that interface, so the stack drops it. The case that people meet is a pod that calls its own
      service: the load balancer picks the calling pod as back end, and the packet comes back to it with its own
      address as source and destination.`,
    onNode: prose`
      Inside the pod the counter of received address errors rises:

          kubectl exec <pod> -- netstat -s -p ip

      In a capture at the pod's port, source and destination of the packet are the same:

          pktmon start --capture
          pktmon stop
          pktmon etl2txt PktMon.etl`,
    remedy: prose`
      If a pod calls itself through its service, run more than one back end, let it use 127.0.0.1, or switch on
      loopback support where the plugin has it (loopbackDSR of win-bridge and win-overlay). If two machines have
      one address, give one of them another.`,
    sources: [
      thread("Azure/AKS", 2608),
      reference("dataplane.md §2.4 (B-5)"),
      { text: "RFC 1122 §3.2.1.3", url: "https://www.rfc-editor.org/rfc/rfc1122" },
    ],
    profiles: ALL,
  },

  "reassembly-failed": {
    title: "The fragments of a packet did not form a whole",
    cause: prose`
      A packet came in fragments, and the receiver could not put it together: a fragment was lost on the way, a
      fragment overlaps another or reaches beyond the largest packet, or too many packets were incomplete at the
      same time. Losing one fragment loses the packet; fragments are not sent again.`,
    onNode: prose`
      The stack counts how often it needed to reassemble, and how often that failed:

          netstat -s -p ip

      Fragments that the switch dropped before they reached the pod show in the port's counters:

          vfpctrl /get-layer-counter /port <port>`,
    remedy: prose`
      Avoid fragments: keep UDP datagrams below the MTU of the path less 28 bytes, or use TCP. If only large
      datagrams are lost, compare the MTU of both ends and of everything between.`,
    sources: [
      thread("docker/for-win", 1144),
      reference("dataplane.md §1.10, §5.4"),
      { text: "RFC 791 §3.2", url: "https://www.rfc-editor.org/rfc/rfc791" },
    ],
    profiles: ALL,
  },

  "protocol-unknown": {
    title: "The receiver's stack does not handle this kind of packet",
    cause: prose`
      The frame reached the right machine, and its stack serves neither the ethertype nor the IP protocol, nor,
      for ICMP, the message type inside. For an unknown IP protocol it also notifies the sender ("protocol
      unreachable"). Frames of this kind are ordinary on a network: announcements of switches, routing protocols,
      tunnels that end elsewhere.`,
    onNode: prose`
      Packets with an unknown protocol are counted:

          netstat -s -p ip

      A port without any policy lets TCP, UDP, ICMP and IGMP in and refuses other protocols.`,
    remedy: prose`
      Nothing, if the packet was not meant for a program there. If a tunnel should end on this machine, it needs
      its own driver: VXLAN is taken out by the switch of an overlay network and never reaches the stack.`,
    sources: [
      reference("dataplane.md §4.2"),
      { text: "RFC 1122 §3.2.2.1", url: "https://www.rfc-editor.org/rfc/rfc1122" },
    ],
    profiles: ALL,
  },

  "ipv6-not-carried": {
    title: "An interface without IPv6 got an IPv6 packet",
    cause: prose`
      An IPv6 packet reached a node, pod or host whose interface has no IPv6 address. In Mullion such an interface
      does not speak IPv6 at all: it takes nothing, answers no neighbour discovery, and has no link-local address.
      A real interface has a link-local address from the start, and would drop the packet because it is for
      another machine.

      Pods of Windows get IPv6 addresses as the second family of an L2Bridge network, never alone, not on overlay
      networks and not behind NAT.`,
    onNode: prose`
      Whether pods of a real node have IPv6 addresses, and routes for them:

          Get-HnsNetwork | ft Name, Type, IPv6
          Get-NetIPAddress -IncludeAllCompartments -AddressFamily IPv6`,
    remedy: prose`
      Give the cluster a second family: ranges of IPv6 for the nodes and their pods on an L2Bridge network, on
      builds that know dual stack (Server 2022 and later).`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      reference("windows-networking-documentation.md §7"),
      reference("dataplane.md §2.11"),
    ],
    profiles: ALL,
  },

  "ipv6-address-duplicate": {
    title: "Another machine on the link has the same IPv6 address",
    cause: prose`
      A stack asks the link whether another machine has an IPv6 address before it takes it into use (duplicate address
      detection, RFC 4862 §5.4). Another machine answered, or asked for the same address at the same time. The address
      stays on the interface and is not used: nothing is sent from it, nothing that is sent to it is taken.`,
    onNode: prose`
      The state of the address is Duplicate:

          Get-NetIPAddress -IncludeAllCompartments -AddressFamily IPv6 | ft IPAddress, AddressState`,
    remedy: prose`
      Give one of the two another address. If both are pods, two nodes have the same pod range, or an address was
      given out twice by the IPAM plugin.`,
    sources: [{ text: "RFC 4862 §5.4", url: "https://www.rfc-editor.org/rfc/rfc4862" }],
    profiles: ALL,
  },

  "interface-down": {
    title: "The network adapter takes no frames",
    cause: prose`
      The stack had a route and a neighbour, and handed the finished frame to the adapter, which refused it: the
      adapter was removed, its cable leads nowhere, or its queue is full. A pod's adapter disappears when its
      endpoint is deleted or detached while the pod still runs.`,
    onNode: prose`
      The adapters of all compartments, and the endpoints behind them:

          Get-NetAdapter -IncludeHidden | ft Name, Status, MediaConnectionState
          ipconfig /allcompartments
          Get-HnsEndpoint | ft Name, IPAddress, State`,
    remedy: prose`
      If the pod's endpoint is gone, delete the pod so that it is made again, and look in the System event log
      for a crash of the Host Network Service. If it is the node's own adapter, check that its name is the one
      in the start script or in flanneld's --iface.`,
    sources: [COMMON_PROBLEMS, thread("projectcalico/calico", 5164), reference("users.md G10, G11")],
    profiles: ALL,
  },
};
