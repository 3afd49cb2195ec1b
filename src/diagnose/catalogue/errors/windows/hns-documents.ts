/** HNS refuses what a document says. */
import { prose } from "../../prose.ts";
import { HCN_HRESULTS, reference, thread } from "../error-sources.ts";
import type { HcnExplanations } from "../hcn-explanation.ts";

type DocumentCode =
  | "HCN_E_INVALID_NETWORK"
  | "HCN_E_INVALID_NETWORK_TYPE"
  | "HCN_E_INVALID_ENDPOINT"
  | "HCN_E_INVALID_POLICY"
  | "HCN_E_INVALID_POLICY_TYPE"
  | "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION"
  | "HCN_E_GUID_CONVERSION_FAILURE"
  | "HCN_E_INVALID_JSON"
  | "HCN_E_INVALID_JSON_REFERENCE"
  | "HCN_E_INVALID_IP"
  | "HCN_E_INVALID_INTERNAL_PORT"
  | "HCN_E_ADDR_INVALID_OR_RESERVED"
  | "HCN_E_INVALID_PREFIX"
  | "HCN_E_INVALID_SUBNET"
  | "HCN_E_INVALID_IP_SUBNET"
  | "HCN_E_MAPPING_NOT_SUPPORTED"
  | "HCN_E_REQUEST_UNSUPPORTED";

export const HNS_DOCUMENT_ERRORS: HcnExplanations<DocumentCode> = {
  HCN_E_INVALID_NETWORK: {
    standing: "root",
    cause: prose`
      The description of a network is wrong: an invalid prefix, a prefix with bits set after its mask, a missing type,
      a gateway outside its subnet. HNS does not say which field it is.`,
    next: [
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`
      Check prefix, gateway and type. A prefix is written with its own base address: 10.244.1.0/24, not 10.244.1.5/24.`,
    sources: [HCN_HRESULTS, reference("hcn.md §4.1, §6.1")],
  },
  HCN_E_INVALID_NETWORK_TYPE: {
    standing: "root",
    cause: prose`
      HNS does not know the type of the network. In CNI plugins the type may come from the network's name, and a
      program may have found another network than it meant.`,
    next: ["Get-HnsNetwork | Select-Object Name, Type"],
    remedy: prose`Write one of NAT, Transparent, L2Bridge, L2Tunnel, Overlay, ICS, Internal, Private.`,
    sources: [HCN_HRESULTS, thread("microsoft/SDN", 238), reference("cni.md §9 J")],
  },
  HCN_E_INVALID_ENDPOINT: {
    standing: "root",
    cause: prose`The description of an endpoint is wrong: an invalid address, a MAC address in a wrong form, a field of the wrong kind.`,
    next: [
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`
      Compare the request with the endpoint of a pod that works (Get-HnsEndpoint | ConvertTo-Json -Depth 6).`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_INVALID_POLICY: {
    standing: "root",
    cause: prose`
      A policy of the endpoint or network is wrong, and HNS never says which field. Four cases make up nearly all: the
      names of the other schema (ExceptionList is v1, Exceptions is v2; ROUTE is v1, SDNRoute is v2); an address such
      as "Any" or a placeholder left in a template; a prefix with bits behind its mask (refused from Windows Server
      2022 on); and Windows editions for clients, where the VFP extension filters only and these policies do not
      exist.`,
    next: [
      "Get-Content C:\\k\\cni\\config\\cni.conf",
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`
      Take the policies out of the CNI configuration and put them back one by one. Match the shape to apiVersion (2
      with containerd), write prefixes with their base address, and give the real ranges of the cluster.`,
    sources: [
      HCN_HRESULTS,
      thread("projectcalico/calico", 8465),
      thread("microsoft/hcsshim", 1951),
      reference("users.md G13"),
    ],
  },
  HCN_E_INVALID_POLICY_TYPE: {
    standing: "root",
    cause: prose`
      HNS does not know the type of a policy on this object or this build: a type of the other schema, a misspelt one,
      or one that needs a newer Windows; or an SDN route on a network that cannot hold one.`,
    next: ["Get-HnsNetwork | Select-Object Name, Type", "Get-Content C:\\k\\cni\\config\\cni.conf"],
    remedy: prose`Correct the type, or remove the policy. The reference of HNS policies says which build knows which.`,
    sources: [HCN_HRESULTS, reference("hcn.md §3, §6.1")],
  },
  HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION: {
    standing: "refusal",
    cause: prose`
      A remote endpoint stands for an address on another node; it has no port here, so it can neither be attached nor
      get policies of a port. When a CNI plugin meets it, the address of its new pod still belongs to a remote endpoint
      that kube-proxy made for an earlier pod elsewhere.`,
    next: [
      "Get-HnsEndpoint | Where-Object IPAddress -eq <address> | Select-Object ID, IsRemoteEndpoint, State",
    ],
    remedy: prose`Delete the remote endpoint with that address (Remove-HnsEndpoint), then the pod; update kube-proxy.`,
    sources: [HCN_HRESULTS, thread("kubernetes/kubernetes", 130963), reference("users.md G2")],
  },
  HCN_E_GUID_CONVERSION_FAILURE: {
    standing: "root",
    cause: prose`
      A field that holds a GUID holds something else. From a CNI plugin it is often the network namespace: with
      containerd it must be the GUID of an HCN namespace, and ctr or nerdctl may pass the path of a Linux one.`,
    next: ["hnsdiag list namespaces", "crictl inspectp <sandbox>"],
    remedy: prose`Start pods through the kubelet or crictl, and set the plugin's apiVersion to 2.`,
    related: "cni-namespace-not-guid",
    sources: [HCN_HRESULTS, thread("containerd/containerd", 6305), reference("cni.md §9 A")],
  },
  HCN_E_INVALID_JSON: {
    standing: "root",
    cause: prose`
      HNS cannot parse the document: a comma too many, a comment, a no-break space copied from a web page, a byte order
      mark at the beginning.`,
    next: ["Get-Content -Raw C:\\k\\cni\\config\\cni.conf | ConvertFrom-Json"],
    remedy: prose`Write the file again with plain spaces, as UTF-8 without a byte order mark.`,
    sources: [HCN_HRESULTS, reference("users.md G12")],
  },
  HCN_E_INVALID_JSON_REFERENCE: {
    standing: "refusal",
    cause: prose`
      A load balancer was asked for without back ends: its list of endpoints is empty. kube-proxy before 1.23 tried it
      for every Service without endpoints, and tried again with each round.`,
    next: [
      "kubectl get endpointslices -l kubernetes.io/service-name=<service>",
      "hnsdiag list loadbalancers",
    ],
    remedy: prose`Give the Service endpoints, or update kube-proxy to 1.23 or later.`,
    related: "service-without-usable-endpoints",
    moreTexts: ["The reference is invalid in the JSON document. A Reference is required"],
    sources: [HCN_HRESULTS, thread("kubernetes/kubernetes", 106775), reference("hcn.md §6.3, §9.24")],
  },
  HCN_E_INVALID_IP: {
    standing: "root",
    cause: prose`
      An endpoint asks for an address that is in no subnet of its network. For kube-proxy it is the source VIP of an
      old pod range, kept in sourceVip.json over a re-join; for a CNI plugin it is an IPAM range that differs from the
      network's subnet.`,
    next: [
      "Get-HnsNetwork | Select-Object Name, Subnets | ConvertTo-Json -Depth 5",
      "kubectl get node <node> -o jsonpath='{.spec.podCIDR}'",
      "Get-Content C:\\k\\sourceVip.json",
    ],
    remedy: prose`
      Make the three equal: the node's podCIDR, the subnet of the HNS network, the IPAM range. Remove SourceVip.json and
      SourceVipRequest.json and start again.`,
    moreNames: ["HCN_E_INVALID_IP_ADDRESS"],
    sources: [
      HCN_HRESULTS,
      thread("kubernetes-sigs/sig-windows-tools", 250),
      reference("users.md G5; windows-networking-documentation.md §9.5"),
    ],
  },
  HCN_E_INVALID_INTERNAL_PORT: {
    standing: "root",
    cause: prose`A port mapping or a load balancer has the internal port 0, or none.`,
    next: ["kubectl get service <service> -o yaml", "hnsdiag list loadbalancers"],
    remedy: prose`
      Give the mapping a container port. With kube-proxy, check that a named targetPort exists in the pod: an unknown
      name becomes port 0.`,
    sources: [HCN_HRESULTS, thread("kubernetes/kubernetes", 67827), reference("hcn.md §6.1")],
  },
  HCN_E_ADDR_INVALID_OR_RESERVED: {
    standing: "root",
    cause: prose`
      An endpoint asks for an address that cannot be used: the subnet's own, its gateway, its broadcast address, or one
      that HNS cannot use at this moment. Met nearly always as kube-proxy's source VIP on overlay networks; then no
      Service at all is programmed on the node.`,
    next: [
      "Get-Content C:\\k\\sourceVip.json",
      "Get-HnsNetwork | Select-Object Name, Subnets | ConvertTo-Json -Depth 5",
      "Get-HnsEndpoint | Select-Object Name, IPAddress, IsRemoteEndpoint",
    ],
    remedy: prose`
      Choose a free address of this node's pod subnet, neither the first nor the gateway nor the last. Remove
      SourceVip.json and SourceVipRequest.json, so that it is chosen again, and restart kube-proxy after the network
      is complete.`,
    sources: [
      HCN_HRESULTS,
      thread("kubernetes/kubernetes", 100962),
      thread("kubernetes-sigs/sig-windows-tools", 71),
      reference("users.md G5; kube-proxy.md §7 row 9"),
    ],
  },
  HCN_E_INVALID_PREFIX: {
    standing: "root",
    cause: prose`A prefix cannot be read, or has bits behind its mask.`,
    next: ["Get-HnsNetwork | Select-Object Name, Subnets | ConvertTo-Json -Depth 5"],
    remedy: prose`Write the base address of the range with its length: 10.244.1.0/24.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_INVALID_SUBNET: {
    standing: "root",
    cause: prose`A subnet of the network is described wrongly: prefix, route or policy (a VSID without a number).`,
    next: [
      "Get-WinEvent Microsoft-Windows-Host-Network-Service-Admin -MaxEvents 20 | Format-List TimeCreated, Message",
    ],
    remedy: prose`Give prefix, next hop and 0.0.0.0/0 in Routes, and with Overlay a VSID of 4096 or more.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_INVALID_IP_SUBNET: {
    standing: "root",
    cause: prose`An IpSubnet within a subnet is described wrongly; it must be inside the subnet's prefix.`,
    next: ["Get-HnsNetwork | Select-Object Name, Subnets | ConvertTo-Json -Depth 5"],
    remedy: prose`Put the IpAddressPrefix of the IpSubnet into the prefix of its subnet, or leave IpSubnets out.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_MAPPING_NOT_SUPPORTED: {
    standing: "root",
    cause: prose`
      A port of the host is to lead to a container on a network that has no translation for it. Port mappings work on
      NAT networks, and on L2Bridge where the build and the plugin support hostPort.`,
    next: ["Get-HnsNetwork | Select-Object Name, Type"],
    remedy: prose`Use a Service of type NodePort instead of hostPort, or another kind of network.`,
    sources: [HCN_HRESULTS, reference("users.md G15; hcn.md §6.1")],
  },
  HCN_E_REQUEST_UNSUPPORTED: {
    standing: "refusal",
    cause: prose`
      HNS does not do this on this object or this build. Known cases: a namespace is deleted while containers are in
      it, and a modification that the build does not have.`,
    next: ["hnsdiag list namespaces", "[System.Environment]::OSVersion.Version"],
    remedy: prose`Stop the containers of the namespace first; compare the build with the feature's requirement.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
  },
};
