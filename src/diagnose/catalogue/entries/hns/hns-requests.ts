/** What HNS refuses, or takes otherwise than written, in requests. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, NETWORK_DRIVERS, reference, thread } from "../entry-text.ts";

type HnsRequestCode =
  | "hns-prefix-host-bits"
  | "hns-prefix-invalid"
  | "hns-network-type-unknown"
  | "hns-network-without-subnet"
  | "hns-network-without-gateway"
  | "hns-vsid-invalid"
  | "hns-load-balancer-without-endpoints"
  | "hns-port-mapping-invalid"
  | "hns-nat-not-for-kubernetes"
  | "hns-policy-type-unknown"
  | "hns-policy-scope"
  | "hns-policy-shape-mismatch"
  | "hns-policy-not-enforced"
  | "hns-acl-invalid"
  | "hns-remote-subnet-route-invalid"
  | "hns-dns-shape-mismatch";

const SCHEMA = {
  text: "Microsoft: HCN JSON document schemas",
  url: "https://learn.microsoft.com/en-us/windows-server/networking/technologies/hcn/hcn-json-document-schemas",
};
const HCSSHIM = { text: "microsoft/hcsshim: hcn", url: "https://github.com/microsoft/hcsshim/tree/main/hcn" };

/** HNS says no more than a number. */
const ANSWER = prose`
  HNS answers with a number and one sentence, and names no field; its event log has the request:

      Get-WinEvent -LogName Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20`;

export const HNS_REQUEST_ENTRIES: EntryTable<HnsRequestCode> = {
  "hns-prefix-host-bits": {
    title: "A prefix has bits set behind its length",
    cause: prose`
      10.244.5.1/24 is an address with a length, not a network: the network is 10.244.5.0/24. HNS refuses a network
      whose subnet is written so (0x803b000a), and from Windows Server 2022 on a policy OutBoundNAT with such an
      exception (0x803b000d). Windows Server 2019 took the policy, so the fault shows after an upgrade.`,
    onNode: prose`
      The number is in the pod's events, or in the answer of the request:

          kubectl describe pod <pod>
          Get-WinEvent -LogName Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20`,
    remedy: prose`
      Write the network's own address, with zeros behind the length; the message shows it.`,
    sources: [
      thread("projectcalico/calico", 8465),
      thread("microsoft/containers-toolkit", 24),
      reference("hcn.md §3.3, §4.1"),
    ],
    profiles: ["ws2022", "win11-21h2", "ws2025"],
    severity: "error",
  },

  "hns-prefix-invalid": {
    title: "A subnet of an HNS network is not a prefix",
    cause: prose`
      A subnet is written as an address with a length, for example 10.244.3.0/24. HNS refuses the whole network
      otherwise (0x803b000a, 0x803b0030).`,
    onNode: ANSWER,
    remedy: prose`
      Write address and length; the gateway is a field of its own.`,
    sources: [SCHEMA, reference("hcn.md §2.5, §6.1")],
    profiles: ALL,
    severity: "error",
  },

  "hns-network-type-unknown": {
    title: "HNS has no network of this type",
    cause: prose`
      The type of a network is one of NAT, ICS, Transparent, L2Bridge, L2Tunnel, Overlay, Private and Internal, and a
      few that only Windows itself makes. An unknown one is refused with 0x803b000b. Without a type HNS makes a NAT
      network.`,
    onNode: ANSWER,
    remedy: prose`
      Write the type with the spelling above: some programs compare it exactly when they look for their network.`,
    sources: [SCHEMA, NETWORK_DRIVERS, reference("hcn.md §2.2, §6.1")],
    profiles: ALL,
    severity: "error",
  },

  "hns-network-without-subnet": {
    title: "A network for pods is made without a subnet",
    cause: prose`
      L2Bridge, L2Tunnel and Overlay networks have static addresses: endpoints get them from a subnet of the network.
      Without one, endpoints are refused (0x803b0005), and CNI plugins that read the network's first subnet crash.`,
    onNode: prose`
      The network exists and has no subnets:

          Get-HnsNetwork | Select-Object Name, Type, Subnets`,
    remedy: prose`
      Add the range of this node's pods with its gateway.`,
    sources: [SCHEMA, reference("hcn.md §4.1"), reference("cni.md §2.1")],
    profiles: ALL,
    severity: "warning",
  },

  "hns-network-without-gateway": {
    title: "A subnet of an HNS network has no gateway",
    cause: prose`
      A subnet names its gateway: GatewayAddress in HNS v1, a default route with a NextHop in HCN. Programs that use
      hcsshim refuse the request before HNS sees it: "subnet has address prefix but no gateway specified".`,
    onNode: prose`
      The gateway of each subnet:

          Get-HnsNetwork | ConvertTo-Json -Depth 9 | Select-String Gateway`,
    remedy: prose`
      Add the first address of the subnet as the gateway.`,
    sources: [HCSSHIM, reference("hcn.md §4.1")],
    profiles: ALL,
    severity: "warning",
  },

  "hns-vsid-invalid": {
    title: "An overlay network has no VXLAN network identifier that Windows takes",
    cause: prose`
      The identifier (VNI) of an overlay network is in a policy of type VSID at its subnet: exactly one, from
      4096 on. Without it HNS refuses the network, and smaller numbers are kept for Windows itself.`,
    onNode: prose`
      The identifier of each overlay network:

          Get-HnsNetwork | ? Type -eq overlay | ConvertTo-Json -Depth 9 | Select-String IsolationId`,
    remedy: prose`
      Add it to the subnet's policies:

          {"Type": "VSID", "Settings": {"IsolationId": 4096}}`,
    sources: [SCHEMA, thread("flannel-io/flannel", 1215), reference("hcn.md §3.2")],
    profiles: ALL,
    severity: "error",
  },

  "hns-load-balancer-without-endpoints": {
    title: "A load balancer without an endpoint is refused",
    cause: prose`
      A load balancer belongs to the network of its endpoints, and so it needs one at least. An empty list is
      answered with 0x803b001c, "A Reference is required".`,
    onNode: ANSWER,
    remedy: prose`
      Make the load balancer when there is a back end, and delete it with the last one, as kube-proxy does.`,
    sources: [HCSSHIM, thread("kubernetes/kubernetes", 106775), reference("hcn.md §2.7, §4.7")],
    profiles: ALL,
    severity: "error",
  },

  "hns-port-mapping-invalid": {
    title: "A port mapping has no port or protocol that HNS takes",
    cause: prose`
      The internal port is needed and not zero (0x803b002d); the external one may be 0, for a port of HNS' choice.
      Protocols are numbers: 6 for TCP, 17 for UDP, 132 for SCTP. A load balancer needs one mapping at least.`,
    onNode: ANSWER,
    remedy: prose`
      Write ports from 1 to 65535, and the protocol's number.`,
    sources: [SCHEMA, reference("hcn.md §2.7, §3.3, §6.1")],
    profiles: ALL,
    severity: "error",
  },

  "hns-nat-not-for-kubernetes": {
    title: "A NAT network is not for the pods of a cluster",
    cause: prose`
      A NAT network hides its containers behind the node's address: other nodes cannot reach them, and pods on two
      nodes may have the same address. Kubernetes requires that pods reach each other without translation. The
      network type exists for single machines.`,
    onNode: prose`
      Pods with an address of the network nat:

          kubectl get pods -o wide
          Get-HnsEndpoint | Select-Object IPAddress, VirtualNetworkName`,
    remedy: prose`
      Use an L2Bridge or Overlay network for pods. A NAT network beside it does no harm.`,
    sources: [NETWORK_DRIVERS, reference("windows-networking-documentation.md §2")],
    profiles: ALL,
    severity: "info",
  },

  "hns-policy-type-unknown": {
    title: "HNS knows no policy of this type",
    cause: prose`
      The type of a policy is one of a fixed list, in which upper and lower case do not matter. An unknown one is
      refused with 0x803b000e, and with it the whole network or endpoint.`,
    onNode: ANSWER,
    remedy: prose`
      Correct the type. Frequent ones are OutBoundNAT, SDNRoute, ACL, PortMapping, ProviderAddress and L2Driver for
      endpoints, NetAdapterName, HostRoute, RemoteSubnetRoute and VxlanPort for networks.`,
    sources: [SCHEMA, reference("hcn.md §3, §6.1")],
    profiles: ALL,
    severity: "error",
  },

  "hns-policy-scope": {
    title: "A policy is on the wrong kind of object",
    cause: prose`
      Policies belong to networks, to subnets, or to endpoints. A route to another node's subnet is one of the
      network, a route of a pod (SDNRoute) one of its endpoint, and the identifier of an overlay one of the subnet.
      At another object HNS refuses them (0x803b000e).`,
    onNode: ANSWER,
    remedy: prose`
      Move the policy to the object that the message names.`,
    sources: [SCHEMA, reference("hcn.md §3.1, §3.2, §3.3")],
    profiles: ALL,
    severity: "error",
  },

  "hns-policy-shape-mismatch": {
    title: "A policy is written in the form of the other interface of HNS",
    cause: prose`
      HCN (version 2) takes {"Type", "Settings"}, the old interface flat fields beside "Type". In the wrong form the
      fields are not seen: the policy is refused (0x803b000d), or is there without what it should say, for example
      OutBoundNAT without exceptions.`,
    onNode: prose`
      The policy as HNS has it:

          Get-HnsEndpoint | ConvertTo-Json -Depth 9`,
    remedy: prose`
      Write it in the form of the document in which it stands; ExceptionList is Exceptions in HCN.`,
    sources: [SCHEMA, reference("hcn.md §3, §3.6"), reference("users.md §1 G13")],
    profiles: ALL,
    severity: "error",
  },

  "hns-policy-not-enforced": {
    title: "HNS stores a policy that may decide about packets, and nothing here acts on it",
    cause: prose`
      ACLs of RuleType Switch are rules of VFP, which works on networks of type L2Bridge, L2Tunnel and Overlay. What they do
      on Transparent and NAT networks is not settled: the documentation says that Windows Firewall enforces port ACLs there,
      Microsoft's engineers that VFP does on NAT, and users saw them hold on Server 2019 and not on Server 2025. Mullion
      stores and returns them, and the policies of the Hyper-V firewall. Flows of pods that have them are not judged. ACLs of
      RuleType Host go to Windows Firewall on every type of network, here, too.`,
    onNode: prose`
      Whether a packet is dropped, and by which of the two:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 10
          netsh wfp show netevents`,
    remedy: prose`
      For rules that hold on Transparent and NAT networks write RuleType Host, or use a network of type L2Bridge or
      Overlay.`,
    sources: [
      Object.freeze({
        text: "Microsoft: Network isolation and security",
        url: "https://learn.microsoft.com/en-us/virtualization/windowscontainers/container-networking/network-isolation-security",
      }),
      thread("microsoft/Windows-Containers", 616),
      thread("microsoft/Windows-Containers", 617),
      reference("dataplane.md §2.1, §2.6"),
    ],
    profiles: ALL,
  },

  "hns-acl-invalid": {
    title: "An ACL policy holds a value that HNS does not take",
    cause: prose`
      The action is Allow, Block or Pass, the direction In or Out. Any address is said by leaving the field out: the
      words Any and * are refused (0x803b000d). Ports need a protocol with ports. Rules with a priority above 65500
      stand behind HNS' own rules and never decide.`,
    onNode: ANSWER,
    remedy: prose`
      Correct the value at the place that the message names; use priorities from 100 to 65499.`,
    sources: [SCHEMA, thread("microsoft/hcsshim", 1059), reference("hcn.md §3.5")],
    profiles: ALL,
    severity: "error",
  },

  "hns-remote-subnet-route-invalid": {
    title: "A route to another node's subnet lacks a field, or has a wrong one",
    cause: prose`
      RemoteSubnetRoute needs four values: the other node's range, the VNI, the address that packets are sent to,
      and the MAC address of the other node's distributed router. With one missing or wrong, packets for that node
      are dropped or thrown away there.`,
    onNode: prose`
      One such policy for each other node:

          Get-HnsNetwork | ? Type -eq overlay | ConvertTo-Json -Depth 9`,
    remedy: prose`
      Take the values from the other node's annotations, which flanneld writes.`,
    sources: [SCHEMA, reference("hcn.md §3.1"), reference("users.md §1 G6")],
    profiles: ALL,
    severity: "error",
  },

  "hns-dns-shape-mismatch": {
    title: "Name servers are written in the form of the other interface of HNS",
    cause: prose`
      In HNS v1 DNSServerList and DNSSuffix are texts with commas. In HCN they are lists, below Dns. The other form
      is refused as invalid JSON for that field, or not read.`,
    onNode: prose`
      What arrived:

          Get-HnsEndpoint | Select-Object IPAddress, DNSServerList, DNSSuffix`,
    remedy: prose`
      Write one text with commas in v1, and Dns: {"ServerList": […], "Search": […]} in HCN.`,
    sources: [SCHEMA, reference("hcn.md §2.6, §2.12")],
    profiles: ALL,
    severity: "error",
  },
};
