/** How a packet finds its way: next hops, the switch, the underlay between the nodes. */
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

type ForwardingCode =
  | "next-hop-unresolved"
  | "pending-packets-full"
  | "forwarding-loop"
  | "no-route"
  | "neighbor-unresolved"
  | "ttl-expired"
  | "mtu-exceeded"
  | "no-route-back"
  | "switch-port-unknown"
  | "switch-port-blocked"
  | "broadcast-not-delivered"
  | "mac-not-local";

export const FORWARDING_ENTRIES: EntryTable<ForwardingCode> = {
  "next-hop-unresolved": {
    title: "The MAC address of the next hop was not resolved in time",
    cause: prose`
      A packet that was translated to the node's address leaves by the node's own routes. Its switch port
      therefore asks the host's routing and neighbour tables for the next hop and holds the packet until the
      host has an answer. Here none came in time: the gateway does not answer ARP, or the host has no route to
      the destination. The port keeps at most 2000 packets in this state and drops them when the wait is over.`,
    onNode: prose`
      Look at the host's route and neighbour for the destination:

          Find-NetRoute -RemoteIPAddress <destination>
          Get-NetNeighbor -IPAddress <gateway>

      A neighbour in state Unreachable or Incomplete is the cause. "Pending drop count" of the port rises:

          vfpctrl /get-layer-counter /port <port>`,
    remedy: prose`
      Make the node itself reach the destination first: default route, gateway address, VLAN, and MAC spoofing
      allowed on the virtual machine's adapter. What the node cannot reach, its pods cannot reach either.`,
    sources: [COMMON_PROBLEMS, reference("dataplane.md §1.2, §1.6, §1.10")],
    profiles: ALL,
  },

  "pending-packets-full": {
    title: "Too many packets of the port already wait for a next hop",
    cause: prose`
      Packets whose next hop is still being looked up wait at the switch port. The port keeps at most 2000 of
      them; this one came when the queue was full, so it was dropped at once. That many packets wait only when
      the host gets no answer for a next hop that is used a lot, normally its default gateway.`,
    onNode: prose`
      The port's counters of pending packets rise, and the neighbour in question has no address:

          vfpctrl /get-port-counter /port <port>
          Get-NetNeighbor -State Incomplete, Unreachable`,
    remedy: prose`
      Treat it as a next hop that cannot be resolved: make the node itself reach its gateway. The queue empties
      by itself as soon as the next hop answers, or when the waiting packets time out.`,
    sources: [reference("dataplane.md §1.2, §1.10")],
    profiles: ALL,
  },

  "forwarding-loop": {
    title: "The frame looped inside the switch",
    cause: prose`
      A hairpin layer of one port turned the frame round, the switch brought it to a port whose hairpin layer turned
      it again, and so on. Nothing counts hops inside a switch, so it would have gone on forever; after 16 ports the
      frame was dropped. Rules of HNS alone do not lead there: a port's rule that translates to an address, and another
      one that translates back, do.`,
    onNode: prose`
      Look for rules that turn a packet round on the ports named in the steps before:

          vfpctrl /list-rule /port <port>

      and for two load balancers whose back ends are each other's virtual addresses:

          Get-HnsPolicyList | ConvertTo-Json -Depth 10`,
    remedy: prose`
      Take one of the two rules away. A Service must not have another Service's address as its endpoint.`,
    sources: [reference("dataplane.md §1.3, §1.9")],
    profiles: ALL,
  },

  "no-route": {
    title: "A machine on the way has no route to the destination",
    cause: prose`
      The stack of the node, pod or router named in this step looked up the destination and found no route that
      covers it, so it dropped the packet (a router also sends an ICMP "network unreachable"). On an L2Bridge
      network without encapsulation this is the most common reason why pods on different nodes do not meet:
      each node must have a route to the pod range of each other node, and so must every router between them.`,
    onNode: prose`
      On the node, and inside the pod's compartment:

          route print -4
          Get-NetRoute -IncludeAllCompartments -AddressFamily IPv4

      There should be a line per other node: its pod range, next hop its node address. Also see whether the node
      forwards at all; both adapters must say Enabled:

          Get-NetIPInterface -AddressFamily IPv4 | ft ifIndex, InterfaceAlias, Forwarding`,
    remedy: prose`
      Add the routes: with flannel's host-gw backend flanneld does it, in a cloud it is a route table
      (user-defined routes), otherwise by hand on each node:

          route add -p 10.244.2.0 mask 255.255.255.0 10.0.0.12

      In a cluster file, "network.routes: static" gives every node the routes of all others.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      NETWORK_DRIVERS,
      reference("windows-networking-documentation.md §2"),
      reference("dataplane.md §2.4"),
    ],
    profiles: ALL,
  },

  "neighbor-unresolved": {
    title: "No answer to the ARP request for the next hop",
    cause: prose`
      The destination, or the gateway towards it, is in the sender's own subnet, so the sender asked for its
      MAC address. No machine on that network has the address, or the answer was lost, and after some attempts
      the packets that waited were dropped. An address that no pod has (any more) is the usual reason; on
      virtual machines it is a hypervisor that lets no foreign MAC addresses through.`,
    onNode: prose`
      The neighbour tables of all compartments:

          Get-NetNeighbor -IncludeAllCompartments -IPAddress <next hop>
          arp -a

      And whether the address exists on the node:

          Get-HnsEndpoint | ? IPAddress -eq <next hop>`,
    remedy: prose`
      Check the address first. If it is a gateway of a pod network, see that the bridge endpoint exists in the
      host (address .2 of the node's pod range on a network with its own subnet). On virtual machines allow MAC
      address spoofing on the adapter of every node.`,
    sources: [
      COMMON_PROBLEMS,
      reference("windows-networking-documentation.md §9"),
      reference("dataplane.md §2.10"),
    ],
    profiles: ALL,
  },

  "ttl-expired": {
    title: "The packet was forwarded too often and its TTL ran out",
    cause: prose`
      Each machine that routes a packet lowers its time to live by one; the one that finds 1 drops it and notifies
      the sender ("TTL expired in transit"). Windows sends with 128, so a packet that ends this way normally ran
      in circles: two machines each believe that the other knows the way. A tool such as tracert causes it on
      purpose, with small values.`,
    onNode: prose`
      Trace the way with a program that shows every hop:

          tracert -d <destination>

      Two addresses that take turns are the loop. Compare their routes:

          Find-NetRoute -RemoteIPAddress <destination>`,
    remedy: prose`
      Correct the route of one of the two. Often a pod range is routed to a node that no longer owns it and
      sends the packet back to its default gateway; remove the route, or let the program that made it (flanneld,
      the cloud's route controller) catch up.`,
    sources: [
      reference("dataplane.md §2.4, §5.4"),
      { text: "RFC 1812 §5.3.1", url: "https://www.rfc-editor.org/rfc/rfc1812" },
    ],
    profiles: ALL,
  },

  "mtu-exceeded": {
    title: "The packet is larger than the next link takes, and may not be fragmented",
    cause: prose`
      Windows sets "don't fragment" on TCP. A packet above the MTU of the outgoing link is dropped by the
      machine in front of it, which sends the right size to the sender (ICMP "fragmentation needed"). If that
      message is filtered on the way, the sender continues with large packets: small requests work, large answers
      hang.`,
    onNode: prose`
      The MTU of each interface, in the pod and on the node, and a probe of the path between nodes:

          netsh interface ipv4 show subinterfaces
          ping -f -l 1472 <other node>

      The largest payload that passes, plus 28, is the MTU of the path.`,
    remedy: prose`
      Use one MTU along the whole path: 1500 for nodes and pods of an L2Bridge network, 1450 for pods of an
      overlay network whose underlay has 1500. Let ICMP "fragmentation needed" pass through firewalls.`,
    sources: [
      thread("projectcalico/calico", 9433),
      reference("users.md G22"),
      reference("dataplane.md §5.4"),
    ],
    profiles: ALL,
  },

  "no-route-back": {
    title: "The packet arrived, but the answer has no way back",
    cause: prose`
      The receiver took the packet and answered to the address that it saw as the source. For that address the
      receiver, or a router behind it, has no route, so the answer was lost. The sender sees a timeout and
      suspects its own side. When the source is a pod address outside the cluster's networks, the packet was not
      translated on its way out: it was ICMP, or the destination is on the OutBoundNAT exception list.`,
    onNode: prose`
      Capture on the receiver, or on the last router: the request is there, with a pod's address as source.
      On the node, see whether OutBoundNAT covers the destination:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | % Policies | ? Type -eq OutBoundNAT`,
    remedy: prose`
      Either let the packet leave with the node's address (take the destination off the exception list, and use
      TCP or UDP), or teach the network outside the way: one route per node, pod range by way of the node's
      address. In a cluster file the router learns such routes from "underlay.routes".`,
    sources: [
      thread("flannel-io/flannel", 1405),
      thread("microsoft/SDN", 313),
      reference("users.md G7"),
      reference("dataplane.md §2.4 (B-6)"),
    ],
    profiles: ALL,
  },

  "switch-port-unknown": {
    title: "The switch has no port for this frame",
    cause: prose`
      The destination belongs to this node's pod network, but no switch port with that address exists: the pod
      is gone, its endpoint was never attached, or HNS lost it when the service was restarted. Programs that
      address a port directly get the same fact from HNS as error 0x803b0007 (HCN_E_PORT_NOT_FOUND).`,
    onNode: prose`
      Compare what HNS knows with what the switch has:

          hnsdiag list endpoints
          vfpctrl /list-vmswitch-port

      An endpoint that has no port in the second list is not attached; State is 1 for created and 3 for
      attached.

          Get-HnsEndpoint | ft IPAddress, State, Name`,
    remedy: prose`
      Delete the pod, so that the runtime makes a new sandbox with a new endpoint. If many endpoints lost their
      ports, look in the System event log for a crash of the Host Network Service, and restart kube-proxy
      afterwards so that services are made again.`,
    sources: [
      thread("microsoft/hcsshim", 1043),
      thread("projectcalico/calico", 5164),
      reference("hcn.md §6.1"),
      reference("dataplane.md §2.17"),
    ],
    profiles: ALL,
  },

  "switch-port-blocked": {
    title: "The switch port is blocked and lets nothing through",
    cause: prose`
      A port of the switch can be blocked: VFP then drops every frame in both directions, whatever the rules
      say. A port in this state belongs to an endpoint whose set-up failed half way, or it was restored after a
      reboot and never got its layers again.`,
    onNode: prose`
      The state of the pod's port; a healthy one says FALSE:

          vfpctrl /get-port-state /port <port>

      Look for "Blocked : TRUE" and "BlockedOnRestore : TRUE", and whether the port has layers at all:

          vfpctrl /list-layer /port <port>`,
    remedy: prose`
      Delete the pod, so that it gets a new endpoint and a new port. If all ports of the node are blocked after
      a reboot, restart the Host Network Service and then the programs that make its networks.`,
    sources: [
      reference("dataplane.md §1.2"),
      reference("users.md §4 (networkhealth.ps1, EndpointVfpPortState)"),
    ],
    profiles: ALL,
  },

  "broadcast-not-delivered": {
    title: "Pods get no broadcast or multicast frames from the switch",
    cause: prose`
      HNS gives the ports of a pod network no broadcasts of the subnet: the flag EnableBroadcast of an address
      block is off by default. Frames to ff-ff-ff-ff-ff-ff and to multicast addresses therefore
      reach no pod. ARP is not affected where it is needed, since HNS and the switch see to it. Programs that
      find their peers by broadcast or multicast (NetBIOS names, mDNS, some cluster software) find none.`,
    onNode: prose`
      A capture on the node shows the frame at the sender's port and at no other pod's port:

          pktmon start --capture
          pktmon stop
          pktmon etl2txt PktMon.etl

      The address block of the network, with its flags:

          Get-HnsNetwork | ConvertTo-Json -Depth 20 | Select-String EnableBroadcast, Flags`,
    remedy: prose`
      Use unicast: a headless service gives a program the addresses of its peers by DNS. Most cluster software
      can be given its peers instead of searching for them.`,
    sources: [reference("dataplane.md §2.1, §2.10"), reference("hcn.md §4.2")],
    profiles: ALL,
  },

  "mac-not-local": {
    title: "The frame is addressed to a MAC address that is not on this machine",
    cause: prose`
      A frame reached a network adapter, but its destination MAC address is neither the adapter's own nor one of
      the ports behind it. Hosts ignore such frames. It happens while switches flood frames they have not
      learned, and it points to a fault when it stays: a neighbour entry that is out of date, or a rewrite rule
      that wrote the wrong address.`,
    onNode: prose`
      The sender's idea of the address, and the addresses that really exist:

          Get-NetNeighbor -IncludeAllCompartments -IPAddress <next hop>
          Get-NetAdapter | ft Name, MacAddress
          Get-HnsEndpoint | ft IPAddress, MacAddress

      pktmon counts the frame as "Not locally destined".`,
    remedy: prose`
      If the neighbour entry is wrong, remove it (Remove-NetNeighbor) and look who announced it: two machines
      with one address, or a node whose adapter was replaced. On virtual machines allow MAC address spoofing, so
      that the hypervisor delivers frames for the pods' addresses.`,
    sources: [COMMON_PROBLEMS, reference("dataplane.md §2.13, §2.17, §7.12")],
    profiles: ALL,
  },
};
