/** What is wrong with the policies, ranges and IPAM of CNI configurations. */
import { prose } from "../../prose.ts";
import {
  ALL,
  COMMON_PROBLEMS,
  type EntryTable,
  HOST_LOCAL_PAGE,
  KUBERNETES_ON_WINDOWS,
  WIN_BRIDGE_PAGE,
  reference,
  thread,
} from "../entry-text.ts";

type CniPolicyCode =
  | "cni-policy-shape-mismatch"
  | "cni-policy-unknown"
  | "cni-address-invalid"
  | "cni-exception-list-mixed-families"
  | "cni-exception-list-without-services"
  | "cni-exception-list-without-pods"
  | "cni-exception-list-external"
  | "cni-exception-list-lan"
  | "cni-service-route-missing"
  | "cni-route-need-encap"
  | "cni-ipam-subnet-missing"
  | "cni-ipam-fields-lost"
  | "cni-ipam-route-gateway-ignored"
  | "cni-overlay-ipv6";

const WCN = {
  text: "microsoft/windows-container-networking",
  url: "https://github.com/microsoft/windows-container-networking",
};

/** The policies that arrived. */
const ENDPOINT_POLICIES = prose`
  The policies as HNS has them, for one pod:

      Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 9`;

export const CNI_POLICY_ENTRIES: EntryTable<CniPolicyCode> = {
  "cni-policy-shape-mismatch": {
    title: "A policy is written in the dialect of the other HNS interface",
    cause: prose`
      HNS has an old interface with flat policies, {"Type": "OutBoundNAT", "ExceptionList": […]} and ROUTE, and a new
      one, HCN, with {"Type", "Settings"}, Exceptions and SDNRoute. win-bridge and win-overlay read the new form when
      their apiVersion is 2 and the old one otherwise; nat, sdnbridge and sdnoverlay read the new one, azure-vnet the
      old one. What is in the wrong form is dropped: an OutBoundNAT policy loses its exceptions and translates
      traffic inside the cluster, too, or HNS refuses the policy (0x803b000d).`,
    onNode: ENDPOINT_POLICIES,
    remedy: prose`
      Write the policy in the form of this plugin:

          {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.244.0.0/16"]}}
          {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}}`,
    sources: [
      WIN_BRIDGE_PAGE,
      WCN,
      thread("containernetworking/plugins", 1229),
      reference("cni.md, fact 5"),
      reference("users.md §1 G13"),
    ],
    profiles: ALL,
    severity: "error",
  },

  "cni-policy-unknown": {
    title: "A policy has an unknown name or type",
    cause: prose`
      Plugins for Windows pass on the entries whose name is EndpointPolicy, and skip all others silently. The
      type below "value" goes to HNS, which refuses an unknown one with 0x803b000e, so that the pod gets no network.`,
    onNode: prose`
      The events of the pod have the number, and HNS what arrived:

          kubectl describe pod <pod>
          Get-HnsEndpoint | ConvertTo-Json -Depth 9`,
    remedy: prose`
      Write "name": "EndpointPolicy", and a type that HNS has: OutBoundNAT, SDNRoute, ACL, PortMapping,
      ProviderAddress, L2Driver, QOS.`,
    sources: [WIN_BRIDGE_PAGE, reference("hcn.md §3.3, §6.1"), reference("cni.md §2.1")],
    profiles: ALL,
    severity: "error",
  },

  "cni-address-invalid": {
    title: "A policy or range of a CNI configuration holds something that is not an address",
    cause: prose`
      Exceptions and routes are prefixes or addresses, a provider address is the node's own. The plugin passes the
      text on unread. HNS refuses the policy, or takes the endpoint and marks it as degraded; then the pod fails
      only when its namespace is attached.`,
    onNode: prose`
      An endpoint with a policy that HNS cannot use is degraded, and the pod's events name 0x803b000d:

          Get-HnsEndpoint | Select-Object Name, State, Health
          kubectl describe pod <pod>`,
    remedy: prose`
      Correct the text, then delete the pods whose endpoints were made with it.`,
    sources: [thread("containerd/containerd", 5729), reference("cni.md §9.A"), reference("users.md §1 G13")],
    profiles: ALL,
    severity: "error",
  },

  "cni-exception-list-mixed-families": {
    title: "One OutBoundNAT policy excepts IPv4 and IPv6 ranges",
    cause: prose`
      A policy of type OutBoundNAT belongs to one address family. Installers of dual-stack nodes write two of them,
      because ranges of both families in one list are not applied as written.`,
    onNode: ENDPOINT_POLICIES,
    remedy: prose`
      Write two policies, one with the IPv4 ranges and one with the IPv6 ranges.`,
    sources: [thread("Azure/AgentBaker", 3049), reference("cni.md §2.10")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-exception-list-without-services": {
    title: "The exceptions of OutBoundNAT lack the range of Services",
    cause: prose`
      OutBoundNAT gives packets that leave the node the node's address, except towards the ranges in its list. The
      documentation asks for three: pods, Services, and the nodes' subnet. Without the range of Services a packet to
      a ClusterIP may be translated before a load balancer has seen it, and back ends see the node as the client.`,
    onNode: ENDPOINT_POLICIES,
    remedy: prose`
      Add the range. The endpoints of running pods keep what they have: delete the pods afterwards.`,
    sources: [
      COMMON_PROBLEMS,
      KUBERNETES_ON_WINDOWS,
      reference("windows-networking-documentation.md §9 row 2"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-exception-list-without-pods": {
    title: "The exceptions of OutBoundNAT lack the range of pods",
    cause: prose`
      OutBoundNAT gives packets that leave the node the node's address, except towards the ranges in its list. When
      the range of pods is not in it, pods of other nodes see the node instead of the pod: network policies by pod
      address fail, and on overlay networks answers do not come back.`,
    onNode: ENDPOINT_POLICIES,
    remedy: prose`
      Add the range of the whole cluster's pods, not only that of the node. Delete running pods afterwards: their
      endpoints keep the old list.`,
    sources: [
      COMMON_PROBLEMS,
      reference("windows-networking-documentation.md §9 row 2"),
      reference("cni.md §3.3"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-exception-list-external": {
    title: "The exceptions of OutBoundNAT hold addresses of the internet",
    cause: prose`
      Packets to an excepted range keep the address of the pod. No router outside the cluster knows the way back to
      a pod, so connections to such addresses never get an answer, while all others work.`,
    onNode: prose`
      TCP to the excepted address times out, to others it works (ping says nothing: ICMP is never translated):

          kubectl exec <pod> -- curl.exe -v --max-time 5 https://<address>`,
    remedy: prose`
      Take the range out of the list; pods, Services and the nodes' own subnet are what belongs there.`,
    sources: [
      COMMON_PROBLEMS,
      reference("windows-networking-documentation.md §9 row 2"),
      thread("microsoft/SDN", 170),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "cni-exception-list-lan": {
    title: "The exceptions of OutBoundNAT hold the nodes' subnet with all its other machines",
    cause: prose`
      The documentation asks for the nodes' subnet in the list, so that pods and nodes see each other's addresses.
      Every other machine of that subnet is excepted with it: it sees pods' own addresses, and can answer only when
      it, or its router, has a route to the pods' range of each node. "The internet works, hosts of our own network
      do not" is what users report.`,
    onNode: prose`
      From the pod, a node answers and another machine of the subnet does not:

          kubectl exec <pod> -- curl.exe -v --max-time 5 http://<machine>`,
    remedy: prose`
      Nothing, when there are routes back. Otherwise list the nodes' addresses one by one, as /32.`,
    sources: [
      thread("microsoft/SDN", 313),
      thread("flannel-io/flannel", 1405),
      thread("kubernetes-sigs/sig-windows-tools", 141),
      reference("users.md §1 G7"),
    ],
    profiles: ALL,
    severity: "info",
  },

  "cni-service-route-missing": {
    title: "No route policy covers the range of Services",
    cause: prose`
      win-bridge, win-overlay and their like make no route for Services themselves. The policy ROUTE, or SDNRoute,
      with NeedEncap for the range of Services keeps that traffic inside the virtual switch, where the load balancers
      are, and away from OutBoundNAT.`,
    onNode: prose`
      The rules of the pod's port; a route for the range should be among them:

          hnsdiag list endpoints
          vfpctrl /list-rule /port <port of the pod>`,
    remedy: prose`
      Add the policy with the range of Services and "NeedEncap": true, and delete the pods afterwards.`,
    sources: [COMMON_PROBLEMS, reference("cni.md §2.3, §2.10"), reference("control-planes.md §2.4")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-route-need-encap": {
    title: "NeedEncap of a route policy is not true or false",
    cause: prose`
      NeedEncap decides whether the switch takes care of packets to the prefix. It is a truth value; a text in quotes
      or a number is of another type, and the policy is refused or its field is lost.`,
    onNode: ENDPOINT_POLICIES,
    remedy: prose`
      Write true without quotes, and delete the pods that failed.`,
    sources: [reference("cni.md §2.0"), reference("hcn.md §3.3")],
    profiles: ALL,
    severity: "error",
  },

  "cni-ipam-subnet-missing": {
    title: "host-local has no subnet to give addresses from",
    cause: prose`
      host-local wants a subnet, or ranges with a subnet each. Without one every ADD ends with "no IP ranges
      specified", unless the runtime passes ranges itself (capability ipRanges).`,
    onNode: prose`
      The range of the node, and the events of a pod:

          kubectl get node <node> -o jsonpath="{.spec.podCIDR}"
          kubectl describe pod <pod>`,
    remedy: prose`
      Add "subnet" with the node's podCIDR to "ipam".`,
    sources: [HOST_LOCAL_PAGE, reference("cni.md §4.1")],
    profiles: ALL,
    severity: "error",
  },

  "cni-ipam-fields-lost": {
    title: "Microsoft's plugins do not pass all fields of ipam on",
    cause: prose`
      nat, sdnbridge and sdnoverlay write the configuration again before they call the IPAM plugin, and keep only the
      fields that they know: type and subnet, and those of Azure. The ranges, rangeStart, gateway and dataDir of
      host-local are lost on the way, unless enableDualStack is set: then the text goes through as it is.`,
    onNode: prose`
      The store of host-local, and the addresses that it gave out:

          Get-ChildItem -Recurse C:\var\lib\cni\networks
          kubectl describe pod <pod>`,
    remedy: prose`
      Write "subnet" instead of "ranges", and make sure that the addresses that must stay free are outside it; or
      use win-bridge, which passes everything on.`,
    sources: [thread("microsoft/windows-container-networking", 64), reference("cni.md §2.4, §9.K")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-ipam-route-gateway-ignored": {
    title: 'A route in ipam names its gateway "gateway"',
    cause: prose`
      nat, sdnbridge and sdnoverlay read the gateway of a route from the field "GW". "gateway" is skipped, and the
      subnet's address plus one is taken. That is right by chance where the gateway is .1, and wrong on L2Bridge
      networks, where pods need .2.`,
    onNode: prose`
      The default gateway in the pod:

          kubectl exec <pod> -- ipconfig /all
          Get-HnsEndpoint | Select-Object IPAddress, GatewayAddress`,
    remedy: prose`
      Write "routes": [{"GW": "<gateway>"}] with the address that the pods shall use.`,
    sources: [WCN, reference("cni.md §2.4, §7.D row D2")],
    profiles: ALL,
    severity: "warning",
  },

  "cni-overlay-ipv6": {
    title: "An overlay network is given an IPv6 range",
    cause: prose`
      win-overlay makes endpoints with one IPv4 address and refuses anything else; dual stack on Windows is for
      L2Bridge networks, and overlay networks do not support it.`,
    onNode: prose`
      The events of the pod name the plugin's refusal:

          kubectl describe pod <pod>`,
    remedy: prose`
      Take the IPv6 range out of the overlay's configuration, or run pods that need IPv6 on an L2Bridge network.`,
    sources: [
      KUBERNETES_ON_WINDOWS,
      reference("cni.md §2.3"),
      reference("windows-networking-documentation.md §7"),
    ],
    profiles: ALL,
    severity: "error",
  },
};
