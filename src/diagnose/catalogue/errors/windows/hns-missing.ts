/** HNS does not find what a call names. */
import { prose } from "../../prose.ts";
import { HCN_HRESULTS, reference, thread } from "../error-sources.ts";
import type { HcnExplanations } from "../hcn-explanation.ts";

type MissingCode =
  | "HCN_E_NETWORK_NOT_FOUND"
  | "HCN_E_ENDPOINT_NOT_FOUND"
  | "HCN_E_LAYER_NOT_FOUND"
  | "HCN_E_SWITCH_NOT_FOUND"
  | "HCN_E_SUBNET_NOT_FOUND"
  | "HCN_E_ADAPTER_NOT_FOUND"
  | "HCN_E_PORT_NOT_FOUND"
  | "HCN_E_POLICY_NOT_FOUND"
  | "HCN_E_VFP_PORTSETTING_NOT_FOUND"
  | "HCN_E_SWITCH_EXTENSION_NOT_FOUND"
  | "HCN_E_OBJECT_USED_AFTER_UNLOAD";

export const HNS_MISSING_ERRORS: HcnExplanations<MissingCode> = {
  HCN_E_NETWORK_NOT_FOUND: {
    standing: "root",
    cause: prose`
      A call names an HNS network by an id that does not exist. Usually the network was lost in a restart of the node
      or of HNS, or was deleted and made again under another id, while a CNI plugin or kube-proxy still remembers the
      old one.`,
    next: ["Get-HnsNetwork | Select-Object Name, Type, ID", "hnsdiag list networks"],
    remedy: prose`
      Let the program that owns the network make it again: restart flanneld, the CNI agent or the node's start script;
      then kube-proxy. Delete state files that carry the old id (for Azure CNI azure-vnet.json).`,
    related: "cni-network-not-found",
    sources: [HCN_HRESULTS, thread("Azure/azure-container-networking", 283), reference("users.md G9")],
  },
  HCN_E_ENDPOINT_NOT_FOUND: {
    standing: "refusal",
    cause: prose`
      A call names an endpoint that HNS no longer has. In kube-proxy's log it means that a load balancer refers to a
      remote endpoint or a pod that is gone; in a CNI DEL it is harmless, the work is done already.`,
    next: ["hnsdiag list endpoints", "Get-HnsPolicyList | ConvertTo-Json -Depth 5"],
    remedy: prose`
      With kube-proxy: delete the load balancers that refer to missing endpoints, then restart kube-proxy. Versions
      from 1.34 on lose fewer remote endpoints.`,
    sources: [HCN_HRESULTS, thread("kubernetes/kubernetes", 135144), reference("users.md G2")],
  },
  HCN_E_LAYER_NOT_FOUND: {
    standing: "refusal",
    cause: prose`
      The document of a new network names an underlying layer (LayerConstraint) that HNS does not have: a network of
      that id was deleted, or the document comes from another machine.`,
    next: ["Get-HnsNetwork | Select-Object Name, ID, LayerResource"],
    remedy: prose`Leave the LayerConstraint out, or name the layer of a network that exists.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_SWITCH_NOT_FOUND: {
    standing: "root",
    cause: prose`
      HNS knows a network whose virtual switch is gone. The switch was removed with Remove-VMSwitch, or the
      Hyper-V switch service did not come up with the node.`,
    next: [
      "Get-VMSwitch",
      "Get-HnsNetwork | Select-Object Name, Type, SwitchName",
      "Get-Service vmms, vfpext",
    ],
    remedy: prose`
      Delete the HNS network and let its owner make it again. Switches of HNS are never removed by hand.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_SUBNET_NOT_FOUND: {
    standing: "refusal",
    cause: prose`
      An endpoint is to be made on a network that has no subnet from which it could get an address, and brings none of
      its own.`,
    next: ["Get-HnsNetwork | Select-Object Name, Subnets | ConvertTo-Json -Depth 5"],
    remedy: prose`
      Give the network a subnet (Ipams, Subnets), or the endpoint an address in IpConfigurations. After a change of
      the node's pod range, delete the network and let it be made again.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
  },
  HCN_E_ADAPTER_NOT_FOUND: {
    standing: "root",
    cause: prose`
      HNS finds no network adapter to build the switch on. The name given is not the adapter's (often "Ethernet" where
      the card has another name), the adapter already carries another HNS network, it is part of a team, or a second
      start finds the vNIC "vEthernet (…)" instead of the card.`,
    next: [
      "Get-NetAdapter | Select-Object Name, InterfaceDescription, Status",
      "Get-HnsNetwork | Select-Object Name, Type, NetworkAdapterName, ManagementIP",
    ],
    remedy: prose`
      Name the right adapter: -InterfaceName of the start script, --iface of flanneld, NetworkAdapterName in the
      network. Remove the network that occupies it; one adapter carries one external network.`,
    sources: [HCN_HRESULTS, thread("microsoft/SDN", 269), reference("users.md G11")],
  },
  HCN_E_PORT_NOT_FOUND: {
    standing: "root",
    cause: prose`
      HNS wants to program a load balancer or a policy on an endpoint whose port on the switch is gone, or not there
      yet. It is met when pods are deleted while kube-proxy works, and after a restart of HNS that left endpoints
      without ports. The Service's address then misses on this node.`,
    next: [
      "hnsdiag list endpoints",
      "vfpctrl /list-vmswitch-port",
      "Get-HnsEndpoint | Select-Object ID, IPAddress, State, IsRemoteEndpoint",
    ],
    remedy: prose`
      Restart kube-proxy, so that it makes what failed again. When single endpoints stay without a port, delete their
      pods. When it is about kube-dns, look at once: no name resolves on this node.`,
    sources: [HCN_HRESULTS, thread("microsoft/hcsshim", 1043), reference("dataplane.md §9 F-49")],
  },
  HCN_E_POLICY_NOT_FOUND: {
    standing: "refusal",
    cause: prose`A policy is to be removed, or built upon, that the network or endpoint does not have.`,
    next: ["Get-HnsNetwork | ConvertTo-Json -Depth 6", "Get-HnsEndpoint | ConvertTo-Json -Depth 6"],
    remedy: prose`
      When removing: nothing, the policy is gone. When adding: add the policy first that the message is about, for
      example the provider address before a remote subnet.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_VFP_PORTSETTING_NOT_FOUND: {
    standing: "root",
    cause: prose`
      The switch port has no VFP settings yet, so no policy can be programmed on it. VFP is not bound to the switch, or
      not ready after a start.`,
    next: [
      "Get-Service vfpext",
      "Get-VMSwitch | Get-VMSwitchExtension | Select-Object Name, Enabled, Running",
    ],
    remedy: prose`
      Make sure that the service vfpext runs and that the extension is enabled on the switch, then restart HNS and
      kube-proxy.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_SWITCH_EXTENSION_NOT_FOUND: {
    standing: "refusal",
    cause: prose`
      An extension of the virtual switch is to be switched on or off that this switch does not have: the driver is not
      installed, or its id is wrong. Programs with a switch extension of their own meet it, such as Open vSwitch.`,
    next: ["Get-VMSwitch | Get-VMSwitchExtension | Select-Object Id, Name, Enabled"],
    remedy: prose`Install the extension's driver, and take its id from the list.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_OBJECT_USED_AFTER_UNLOAD: {
    standing: "refusal",
    cause: prose`A program uses a network or endpoint that HNS is taking down, or has taken down, at that moment.`,
    next: ["Get-Service hns", "hnsdiag list all"],
    remedy: prose`Try again. When it stays, restart the program, which holds on to an old handle.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
};
