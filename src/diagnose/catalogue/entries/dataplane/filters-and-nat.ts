/** What the rules on a pod's switch port do to a packet: filters, address translation, flows. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  KUBERNETES_ON_WINDOWS,
  NETWORK_ISOLATION,
  VFP_PAPER,
  reference,
  thread,
} from "../entry-text.ts";

type FilterAndNatCode =
  | "icmp-outbound-not-translated"
  | "outbound-nat-exception"
  | "outbound-nat-on-answers"
  | "acl-rule-blocked"
  | "acl-no-rule-matched"
  | "host-acl-blocked"
  | "host-firewall-protocol-denied"
  | "nat-port-pool-exhausted"
  | "flow-table-full"
  | "fragment-without-first"
  | "malformed-frame";

export const FILTER_AND_NAT_ENTRIES: EntryTable<FilterAndNatCode> = {
  "icmp-outbound-not-translated": {
    title: "Ping from a pod to outside leaves with the pod's own address",
    cause: prose`
      TCP and UDP from a pod leave the node with the node's address, because an OutBoundNAT policy on the
      endpoint puts one translation rule for TCP and one for UDP on the pod's switch port. There is no such rule
      for ICMP: the switch extension of Windows (VFP) does not translate it. An echo request to an address
      outside therefore goes out with the pod's address as its source. The network outside has no route to pod
      addresses, so the answer never finds its way and ping times out. No machine drops anything on the way out.

      Ping between pods works, since nothing must be translated there.`,
    onNode: prose`
      List the outgoing NAT rules of the pod's port. There is one for TCP, one for UDP, and none for ICMP:

          vfpctrl /list-vmswitch-port
          vfpctrl /list-rule /port <port> /layer SLB_NAT_LAYER /group SLB_GROUP_NAT_IPv4_OUT

      The names to look for are SNAT_TCP_OUTBOUNDNAT_… and SNAT_UDP_OUTBOUNDNAT_…. A capture on the node shows
      the echo request with the pod's address as source, and no reply:

          pktmon filter add ping -t ICMP
          pktmon start --capture
          pktmon stop
          pktmon etl2txt PktMon.etl`,
    remedy: prose`
      Test with TCP or UDP instead of ping, for example:

          curl.exe -Iv https://203.0.113.10
          Test-NetConnection 203.0.113.10 -Port 443

      If ping has to work, the network outside must know the way to the pod ranges (a route per node), or
      translate for itself.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      thread("microsoft/SDN", 170),
      reference("windows-networking-documentation.md §8, §9"),
      reference("dataplane.md §2.9"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "outbound-nat-exception": {
    title: "The destination is excepted from OutBoundNAT, so the pod's own address is kept",
    cause: prose`
      The OutBoundNAT policy of an endpoint has a list of exceptions (ExceptionList in HNS v1, Exceptions in HCN
      v2). A packet to one of these ranges leaves with the pod's address. That is right for the pod range, the
      service range and the nodes' own subnet, where everybody knows the way back to a pod. It is wrong for any
      other network: the host there receives a packet from an address that it cannot answer.

      Typical mistakes are a range that is too wide (10.0.0.0/8 in a company that uses 10.x everywhere), and the
      office LAN put on the list because the template had a line for the management subnet.`,
    onNode: prose`
      Read the exceptions that the endpoint really has; a changed CNI file applies to new pods only:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 20
          Get-Content C:\etc\cni\net.d\*.conf*

      In a capture on the node's adapter the packet to the unreachable host carries the pod's address as source
      instead of the node's.`,
    remedy: prose`
      Keep three kinds of ranges on the list and nothing else: the cluster's pod range, the service range, and
      the subnet of the nodes (single node addresses where the subnet also holds other machines). Change the CNI
      configuration, then delete the pods so that they are made again. If the excepted network must see pod
      addresses, give it routes to each node's pod range.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      COMMON_PROBLEMS,
      thread("microsoft/SDN", 313),
      thread("kubernetes-sigs/sig-windows-tools", 96),
      reference("windows-networking-documentation.md §9"),
      reference("cni.md §2.10"),
    ],
    profiles: ALL,
  },

  "outbound-nat-on-answers": {
    title: "The answers of a pod leave with the node's address",
    cause: prose`
      OutBoundNAT looks at the destination of a packet, not at who opened the connection. A client whose address is not on the
      exception list connects to the pod's own address; the packet arrives, and the answer is translated to the
      node's address as if the pod had begun. The caller gets an answer from an address that it never asked, and
      refuses it: a TCP connection is reset, a UDP answer is thrown away.

      Ports that a Service or a hostPort leads to are spared: their load balancer puts a rule in front that lets
      answers pass as they are.

      Inferred: that the translation is what breaks them; the resets themselves have been reported.`,
    onNode: prose`
      Read the exceptions that the endpoint really has, and look for the caller's range:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 20

      A capture at the caller shows the answer from the node's address, followed by a reset:

          tcpdump -ni eth0 host <node IP>`,
    remedy: prose`
      Add the caller's range to the exception list of OutBoundNAT, that of the nodes above all, and make the pods
      again. Or let the caller come through a Service or a hostPort.`,
    sources: [
      thread("Azure/AKS", 1367),
      thread("Azure/AKS", 1859),
      COMMON_PROBLEMS,
      reference("dataplane.md §0.5 (8), §9 (F-10)"),
    ],
    profiles: ALL,
  },

  "acl-rule-blocked": {
    title: "An ACL rule with action Block matched",
    cause: prose`
      The endpoint has an ACL policy whose direction, addresses, ports and protocol fit the packet and whose
      action is Block. Among the rules of one direction the one with the lowest priority number decides; the
      others are not asked. "Local" in such a rule is always the pod and "remote" its peer, in both directions.

      ACLs come from a network policy engine (Calico, Azure NPM, Antrea), from the CNI configuration, or by
      hand. A new Block rule also stops connections that are already open, with their next packet.`,
    onNode: prose`
      Find the rule and its counter on the pod's port:

          vfpctrl /list-rule /port <port> /layer ACL_ENDPOINT_LAYER
          vfpctrl /get-rule-counter /port <port>

      And the policy that made it:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | % Policies | ? Type -eq ACL`,
    remedy: prose`
      Look at the object that the trace names as the origin of the rule. If the packet should pass, add an Allow
      rule with a lower priority number, or change the NetworkPolicy behind it. With a service in front, keep in
      mind what the rule sees: with Direct Server Return an outgoing rule sees the back end's address and port,
      not those of the service.`,
    sources: [
      NETWORK_ISOLATION,
      thread("projectcalico/calico", 10199),
      reference("dataplane.md §4"),
      reference("hcn.md §3.5"),
    ],
    profiles: ALL,
  },

  "acl-no-rule-matched": {
    title: "The endpoint has ACL rules, and none of them allows the packet",
    cause: prose`
      The ACL layer of a pod's port has no default of its own: what matches no rule is dropped. Endpoints
      without any policy get rules that allow everything, so this shows only when ACLs are set:
      from then on every direction needs a rule that allows what shall pass.

      Answers need no rule. ACLs on the switch are stateful, so the reply to an allowed packet passes.`,
    onNode: prose`
      List both groups of the layer and look for a rule with a high number that allows the rest:

          vfpctrl /list-rule /port <port> /layer ACL_ENDPOINT_LAYER
          vfpctrl /get-layer-counter /port <port>

      The layer's counter "No match count" rises with each packet that is lost this way.`,
    remedy: prose`
      Add Allow rules for the traffic that is wanted, or one Allow rule per direction with a high priority
      number (65500, say) that lets the rest through. A policy engine does this by itself: if its base rules are
      missing, look whether the engine runs on the node.`,
    sources: [
      NETWORK_ISOLATION,
      thread("Azure/azure-container-networking", 1752),
      reference("dataplane.md §1.3, §4.2"),
    ],
    profiles: ALL,
  },

  "host-acl-blocked": {
    title: "An ACL of RuleType Host blocked the packet",
    cause: prose`
      The endpoint, or its network, has an ACL whose RuleType is Host. Such a rule belongs to the Windows firewall (WFP) in
      the compartment of the pod, not to the switch extension. A packet has to pass both: what a Switch rule allows can
      still be blocked here. The rule holds for the first packet of a connection; answers pass.`,
    onNode: prose`
      vfpctrl does not show these rules. The policies of the endpoint do, and so do the filters of the firewall:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | % Policies | ? RuleType -eq Host
          netsh wfp show filters file=filters.xml`,
    remedy: prose`
      Change the ACL, or add one with a lower priority number that allows the traffic. Rules without a RuleType, and those
      with Switch, do not overrule it.`,
    sources: [NETWORK_ISOLATION, reference("dataplane.md §4.1, §4.4, DT-149"), reference("hcn.md §3.5")],
    profiles: ALL,
  },

  "host-firewall-protocol-denied": {
    title: "The pod's firewall does not allow this IP protocol",
    cause: prose`
      A pod without ACLs of its own takes TCP, UDP, ICMP and IGMP. Every other IP protocol, such as GRE or ESP, is denied
      on the way in by the firewall of its compartment, without an answer to the sender.`,
    onNode: prose`
      The switch port passes the packet, and nothing arrives in the pod:

          pktmon start --capture --type drop
          netsh wfp show netevents file=events.xml`,
    remedy: prose`
      Use TCP or UDP. An ACL with RuleType Host, Action Allow, Direction In and the protocol's number in Protocols lets it
      pass the firewall; something in the pod has to take it then.`,
    sources: [NETWORK_ISOLATION, reference("dataplane.md §4.2, DT-155")],
    profiles: ALL,
  },

  "nat-port-pool-exhausted": {
    title: "No port is left for source NAT",
    cause: prose`
      OutBoundNAT gives each outgoing connection a port of the node's address. The ports come from the dynamic
      range of the node (49152 to 65535) in blocks of 64, and a load balancer without Direct Server Return takes
      a block of its own. When no block is left, a new connection gets no port and its first packet is lost
      without any message; connections that are open continue. Names stop resolving first, because each look-up is
      a new flow.`,
    onNode: prose`
      See how much of the range is taken, and by whom:

          netsh int ipv4 show dynamicportrange tcp
          netsh int ipv4 show excludedportrange tcp
          netsh int ipv4 show excludedportrange udp
          Invoke-HnsRequest -Type portpools -Method GET

      kube-proxy and HNS report the same shortage as "The specified port already exists." (0x803b0013).`,
    remedy: prose`
      Use Direct Server Return in kube-proxy, which takes no ports for ClusterIP services. Have programs keep
      their connections instead of opening one per request. On Windows Server 2019 install KB4551853, which lets
      load balancers share blocks. A wider dynamic range helps for a while; on Azure keep UDP port 65330 out of
      it.`,
    sources: [
      COMMON_PROBLEMS,
      thread("Azure/AKS", 1375),
      thread("kubernetes/kubernetes", 137530),
      reference("dataplane.md §1.8, §3.5, §3.9"),
    ],
    profiles: ALL,
  },

  "flow-table-full": {
    title: "The switch port cannot track more connections",
    cause: prose`
      Every connection through a pod's port takes an entry in the port's flow table, and the table has an upper
      bound. A packet that would begin one more connection is dropped. Entries leave the table when a connection
      closes, or after 240 seconds without a packet, so a flood of short UDP exchanges or of half-open
      connections fills it fastest.

      Inferred: the bound of a real node is not public. Mullion uses about a million connections per port and
      drops the new one, as similar engines do.`,
    onNode: prose`
      Read the number of entries, the limit and the highest number seen, by class of flow:

          vfpctrl /get-port-flow-stats /port <port>
          vfpctrl /get-port-counter /port <port>`,
    remedy: prose`
      Find the program that opens so many connections, and let it re-use them. If the load is real, spread it
      over more pods: each has a port and a table of its own.`,
    sources: [VFP_PAPER, reference("dataplane.md §1.2, §1.10, §7.7")],
    profiles: ALL,
  },

  "fragment-without-first": {
    title: "A fragment came before the first one of its packet",
    cause: prose`
      Only the first fragment of an IP packet carries the ports. The switch remembers what it did with the first
      one and treats the others alike. Windows does not wait for fragments that overtake: one that comes before
      its first fragment fits no entry and is dropped, and with it the whole datagram is lost.`,
    onNode: prose`
      Look at the fragment counters of the pod's port: "Frag cache no match" rises.

          vfpctrl /get-layer-counter /port <port>

      pktmon names such a loss "Invalid Packet" at the location of vfpext:

          pktmon counters --drop-reason`,
    remedy: prose`
      Avoid fragments: let the program send datagrams that fit the MTU of the path (1450 on an overlay network,
      1500 otherwise), or use TCP. If fragments overtake each other on the way, look for several links that
      share the load by packet instead of by flow.`,
    sources: [thread("docker/for-win", 1144), reference("dataplane.md §1.2, §1.10, §9 (F-04, F-32)")],
    profiles: ALL,
  },

  "malformed-frame": {
    title: "The frame's headers contradict its length or themselves",
    cause: prose`
      A header announces more bytes than the frame holds, a length field is smaller than the header itself, or a
      version number fits no protocol. Such a frame cannot be matched against rules, so it is dropped at the
      first part that reads it. The step of the trace says which header it was.`,
    onNode: prose`
      The switch counts these packets as invalid, by component and reason:

          pktmon counters --drop-reason
          vfpctrl /list-vmswitch-port

      In the second output look at the drop reasons of the port's NIC statistics ("InvalidPacket").`,
    remedy: prose`
      Find out who built the frame. On real nodes the usual suspects are a network adapter's offload (segments
      or checksums that the driver should have finished) and a tunnel whose MTU is too large. Turn the offload
      off on the adapter and try again. In Mullion, a frame from a capture file or a test may simply be cut off.`,
    sources: [thread("projectcalico/calico", 3145), reference("dataplane.md §6"), reference("users.md G22")],
    profiles: ALL,
  },
};
