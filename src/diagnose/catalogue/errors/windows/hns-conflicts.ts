/** HNS refuses because something is there already, is in use, or is in the wrong state. */
import { prose } from "../../prose.ts";
import { HCN_HRESULTS, reference, thread } from "../error-sources.ts";
import type { HcnExplanations } from "../hcn-explanation.ts";

type ConflictCode =
  | "HCN_E_NETWORK_ALREADY_EXISTS"
  | "HCN_E_LAYER_ALREADY_EXISTS"
  | "HCN_E_POLICY_ALREADY_EXISTS"
  | "HCN_E_PORT_ALREADY_EXISTS"
  | "HCN_E_ENDPOINT_ALREADY_ATTACHED"
  | "HCN_E_DEGRADED_OPERATION"
  | "HCN_E_SHARED_SWITCH_MODIFICATION"
  | "HCN_E_ENDPOINT_SHARING_DISABLED"
  | "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS"
  | "HCN_E_ENTITY_HAS_REFERENCES"
  | "HCN_E_NAMESPACE_ATTACH_FAILED"
  | "HCN_E_ENDPOINT_NOT_ATTACHED"
  | "HCN_E_ENDPOINT_NOT_LOCAL"
  | "HCN_INTERFACEPARAMETERS_ALREADY_APPLIED";

export const HNS_CONFLICT_ERRORS: HcnExplanations<ConflictCode> = {
  HCN_E_NETWORK_ALREADY_EXISTS: {
    standing: "root",
    cause: prose`
      A network of that name or id exists already: a start script or plugin ran twice, or an earlier run left its
      network behind.`,
    next: ["Get-HnsNetwork | Select-Object Name, Type, ID, Subnets"],
    remedy: prose`Use the network when it is the right one; else delete it (Remove-HnsNetwork) before the program starts.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1, §9.24")],
  },
  HCN_E_LAYER_ALREADY_EXISTS: {
    standing: "refusal",
    cause: prose`An underlying layer of that id exists already. Windows prints the text of a doubled network for it.`,
    next: ["Get-HnsNetwork | Select-Object Name, ID, LayerResource"],
    remedy: prose`Delete the network that owns the layer, or leave the layer's id out of the document.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_POLICY_ALREADY_EXISTS: {
    standing: "refusal",
    cause: prose`The object already has a policy of a kind that may be there once only.`,
    next: ["Get-HnsEndpoint | ConvertTo-Json -Depth 6"],
    remedy: prose`Update the policy instead of adding it, or remove the old one first.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_PORT_ALREADY_EXISTS: {
    standing: "root",
    cause: prose`
      A load balancer or a port mapping asks for a port that is taken. Another load balancer has the same address and
      port (often one that an earlier kube-proxy left behind, or the health check of a VIP on 10256), a process of the
      node listens there, or the pool of ports is used up: without DSR every load balancer reserves blocks of 64 ports.`,
    next: [
      "hnsdiag list loadbalancers",
      "netsh int ipv4 show excludedportrange tcp",
      "netsh int ipv4 show dynamicportrange tcp",
      "Get-NetTCPConnection -LocalPort <port>",
    ],
    remedy: prose`
      Delete the doubled load balancer (hnsdiag delete loadbalancers <id>) and restart kube-proxy. When ports are used
      up, switch DSR on (--enable-dsr) or widen the dynamic range. With --forward-healthcheck-vip look for a listener
      on 10256.`,
    related: "load-balancer-port-already-exists",
    sources: [
      HCN_HRESULTS,
      thread("kubernetes/kubernetes", 137530),
      thread("kubernetes/community", 8883),
      reference("users.md G14; dataplane.md §9 F-14"),
    ],
  },
  HCN_E_ENDPOINT_ALREADY_ATTACHED: {
    standing: "refusal",
    cause: prose`
      The endpoint hangs on the switch already. A second attach of the host's endpoint (cbr0_ep) gives it, and flanneld
      counts it as success; so does an attach of a container after a restart of HNS.`,
    next: ["Get-HnsEndpoint | Select-Object Name, IPAddress, State"],
    remedy: prose`Nothing, when it is the host's endpoint. Else delete the endpoint and the pod, so that both are made again.`,
    sources: [HCN_HRESULTS, reference("control-planes.md §1.9; hcn.md §6.1")],
  },
  HCN_E_DEGRADED_OPERATION: {
    standing: "refusal",
    cause: prose`
      The network or endpoint is in the state Degraded: one of its policies could not be programmed, and HNS takes no
      further work on it. Often the range of a policy in the CNI configuration is a placeholder or wrong.`,
    next: ["Get-HnsEndpoint | Select-Object ID, IPAddress, State, Health | ConvertTo-Json -Depth 6"],
    remedy: prose`Read Health: it names the policy. Correct the CNI configuration, then delete the pod.`,
    moreTexts: ["Endpoint is in invalid state"],
    sources: [HCN_HRESULTS, thread("containerd/containerd", 5729), reference("cni.md §9 A")],
  },
  HCN_E_SHARED_SWITCH_MODIFICATION: {
    standing: "refusal",
    cause: prose`Several networks share the virtual switch, so one of them cannot change or remove it.`,
    next: ["Get-HnsNetwork | Select-Object Name, ID, SwitchName"],
    remedy: prose`Delete the other networks of the switch first.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_ENDPOINT_SHARING_DISABLED: {
    standing: "refusal",
    cause: prose`A second container is to share an endpoint of a network that forbids sharing (DisableSharing).`,
    next: ["Get-HnsNetwork | Select-Object Name, Flags"],
    remedy: prose`Make the network without that flag, or give the container an endpoint of its own.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS: {
    standing: "refusal",
    cause: prose`
      The endpoint is part of a network namespace already. A CNI ADD was repeated: win-bridge and win-overlay add to the
      namespace without a look at whether it is done.`,
    next: ["hnsdiag list namespaces", "Get-HnsEndpoint | Select-Object Name, IPAddress, Namespace"],
    remedy: prose`
      Nothing, when the pod has its network. Else delete the pod; the runtime then calls DEL and ADD in order.`,
    sources: [HCN_HRESULTS, reference("cni.md §2.2, §9 B")],
  },
  HCN_E_ENTITY_HAS_REFERENCES: {
    standing: "refusal",
    cause: prose`Something still refers to the object that is to be removed: endpoints to their network, load balancers to endpoints.`,
    next: ["hnsdiag list all"],
    remedy: prose`Remove load balancers first, then endpoints, then the network.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
  HCN_E_NAMESPACE_ATTACH_FAILED: {
    standing: "refusal",
    cause: prose`
      A container starts in a network namespace in which an endpoint is bad. The CNI plugin had reported success, since
      a wrong policy shows only now; a placeholder or a wrong service range in the CNI configuration is the usual
      reason.`,
    next: [
      "Get-HnsEndpoint | Select-Object ID, IPAddress, State, Health | ConvertTo-Json -Depth 6",
      "Get-Content C:\\k\\cni\\config\\cni.conf",
    ],
    remedy: prose`Correct the ranges of the policies in the CNI configuration, then delete the pod.`,
    sources: [HCN_HRESULTS, thread("containerd/containerd", 5729), thread("projectcalico/felix", 2893)],
  },
  HCN_E_ENDPOINT_NOT_ATTACHED: {
    standing: "refusal",
    cause: prose`The operation needs an endpoint that hangs on the switch, and this one does not: its container is not started or ended.`,
    next: ["Get-HnsEndpoint | Select-Object Name, IPAddress, State"],
    remedy: prose`Start the container first. An endpoint that stays in state 1 (created) belongs to a pod that must be deleted.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1; users.md G11")],
    isInferred: true,
  },
  HCN_E_ENDPOINT_NOT_LOCAL: {
    standing: "refusal",
    cause: prose`A remote endpoint, which stands for an address on another node, is to be added to a namespace here.`,
    next: ["Get-HnsEndpoint | Where-Object IPAddress -eq <address> | Select-Object ID, IsRemoteEndpoint"],
    remedy: prose`Delete the remote endpoint that has the pod's address, then the pod; update kube-proxy.`,
    sources: [HCN_HRESULTS, thread("kubernetes/kubernetes", 130963), reference("hcn.md §6.1")],
  },
  HCN_INTERFACEPARAMETERS_ALREADY_APPLIED: {
    standing: "refusal",
    cause: prose`An endpoint has two policies InterfaceParameters; one is allowed.`,
    next: ["Get-HnsEndpoint | ConvertTo-Json -Depth 6"],
    remedy: prose`Join the two into one.`,
    sources: [HCN_HRESULTS, reference("hcn.md §6.1")],
    isInferred: true,
  },
};
