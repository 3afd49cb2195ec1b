/** What NetworkPolicies say that the ACLs of HNS, or the agents that write them, cannot express. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference, thread } from "../entry-text.ts";

type NetworkPolicyCode =
  | "network-policy-not-enforced"
  | "policy-kind-not-enforced"
  | "network-policy-named-port"
  | "network-policy-sctp"
  | "network-policy-except"
  | "network-policy-ipv6"
  | "network-policy-wide-port-range"
  | "network-policy-service-address";

const NETWORK_POLICIES = Object.freeze({
  text: "Kubernetes documentation: Network Policies",
  url: "https://kubernetes.io/docs/concepts/services-networking/network-policies/",
});

const CALICO_LIMITS = Object.freeze({
  text: "Calico documentation: Windows limitations and known issues",
  url: "https://docs.tigera.io/calico/latest/getting-started/kubernetes/windows-calico/limitations",
});

const SHOW_ACLS = prose`
      The ACLs of the pod's endpoint, as HNS has them:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 10`;

export const NETWORK_POLICY_ENTRIES: EntryTable<NetworkPolicyCode> = {
  "network-policy-not-enforced": {
    title: "NetworkPolicies are stored here and not enforced",
    cause: prose`
      Kubernetes leaves NetworkPolicies to the network: Calico, Azure NPM, Cilium and Antrea have an engine that makes
      rules of them, flannel and win-bridge have none, and there a policy has no effect. Mullion has no such engine yet.
      A policy isolates the pods that it selects, for ingress, egress or both. Packets to or from such a pod get
      through here, whatever the policy says, so the outcome is no answer about the real cluster: verify and trace call
      it not judged. Traffic of a pod with itself, and between a pod and its own node, is always allowed and is judged.`,
    onNode: prose`
      Whether something enforces policies on a Windows node shows in the ACLs of the pod's endpoint and in the agent
      that would write them:

          kubectl get networkpolicies -A
          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 10`,
    remedy: prose`
      Read the answer as that of a cluster without these policies. To take that into account and go on:

          mullion verify -f cluster.yaml --allow not-judged`,
    sources: [NETWORK_POLICIES, CALICO_LIMITS, thread("flannel-io/flannel", 1293)],
    profiles: ALL,
    severity: "info",
  },

  "policy-kind-not-enforced": {
    title: "Policies of other APIs are left out and not enforced",
    cause: prose`
      Calico, Cilium, Antrea, OVN-Kubernetes and Istio have kinds of policies of their own, and AdminNetworkPolicy is one
      of the Kubernetes network policy API. Mullion passes them by and does not read whom they select. A policy of a
      namespace may be about every pod in it, one of the whole cluster about every flow, so verify and trace call these
      flows not judged.`,
    onNode: prose`
      What the engine made of them shows in the ACLs of the pod's endpoint:

          Get-HnsEndpoint | ? IPAddress -eq <pod IP> | ConvertTo-Json -Depth 10`,
    remedy: prose`
      Read the answer as that of a cluster without these policies. To take that into account and go on:

          mullion verify -f cluster.yaml --allow not-judged`,
    sources: [
      Object.freeze({
        text: "Calico documentation: Global network policy",
        url: "https://docs.tigera.io/calico/latest/reference/resources/globalnetworkpolicy",
      }),
      Object.freeze({
        text: "Network Policy API: API overview",
        url: "https://network-policy-api.sigs.k8s.io/api-overview/",
      }),
      CALICO_LIMITS,
    ],
    profiles: ALL,
  },

  "network-policy-named-port": {
    title: "A NetworkPolicy with a named port does not hold on Windows",
    cause: prose`
      ACLs of HNS know numbers. The name of a container's port may stand for another number in every pod, so the agent
      would have to write an ACL per pod; Calico leaves such rules out on Windows, and Azure NPM refuses the policy.
      Connections that the rule should allow are blocked.`,
    onNode: SHOW_ACLS,
    remedy: prose`Write the number of the port, in a rule for each set of pods that has its own.`,
    sources: [
      NETWORK_POLICIES,
      CALICO_LIMITS,
      thread("Azure/azure-container-networking", 1752),
      reference("dataplane.md §4.6"),
      reference("control-planes.md §7.2"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "network-policy-sctp": {
    title: "A NetworkPolicy for SCTP does not hold on Windows",
    cause: prose`
      Azure NPM refuses a policy with SCTP on Windows nodes. Windows itself has no SCTP stack, so no container there
      answers on it either.`,
    onNode: SHOW_ACLS,
    remedy: prose`Leave SCTP out of policies for Windows pods.`,
    sources: [NETWORK_POLICIES, reference("control-planes.md §7.2"), reference("users.md G17")],
    profiles: ALL,
    severity: "warning",
  },

  "network-policy-except": {
    title: "ipBlock.except cannot be expressed by one ACL, and agents on Windows leave it out or refuse it",
    cause: prose`
      ACLs of HNS have no negation. Calico skips what it can only write as one on Windows; Azure NPM refuses the whole
      policy. In the first case the addresses of "except" get through, or the rule is missing, in the second no rule of
      the policy is there.`,
    onNode: SHOW_ACLS,
    remedy: prose`Write the ranges that are left over as ipBlocks of their own, without except.`,
    sources: [
      NETWORK_POLICIES,
      CALICO_LIMITS,
      thread("projectcalico/calico", 4289),
      reference("dataplane.md §4.6"),
      reference("control-planes.md §7.2"),
    ],
    profiles: ALL,
    severity: "warning",
  },

  "network-policy-ipv6": {
    title: "Agents on Windows write no ACLs for IPv6",
    cause: prose`
      Calico and Azure NPM write ACLs for IPv4 on Windows and skip ranges of IPv6. On a dual-stack network traffic over
      IPv6 is neither allowed nor blocked as the policy says.`,
    onNode: SHOW_ACLS,
    remedy: prose`
      Do not rely on a policy for IPv6 of Windows pods; keep them to IPv4 where it matters.`,
    sources: [CALICO_LIMITS, reference("dataplane.md §4.6"), reference("control-planes.md §7.2")],
    profiles: ALL,
    severity: "warning",
  },

  "network-policy-wide-port-range": {
    title: "A wide range of ports in a NetworkPolicy is written out port by port",
    cause: prose`
      Azure NPM on Windows knows no ranges: it writes a list with every single port of port … endPort into the ACL. A
      wide range makes requests that HNS needs long for, on every pod that the policy selects.`,
    onNode: SHOW_ACLS,
    remedy: prose`
      Keep the range small, or leave the ports out. Calico passes ranges on as they are.`,
    sources: [NETWORK_POLICIES, reference("control-planes.md §7.2"), reference("users.md G17")],
    profiles: ALL,
    severity: "info",
  },

  "network-policy-service-address": {
    title: "A NetworkPolicy names a Service's address, which policies never see",
    cause: prose`
      With Direct Server Return the address of a Service is replaced by that of a pod at the client's own switch port,
      before the ACLs for what goes out. An ipBlock with the Service's address matches no packet. Linux' kube-proxy
      behaves in the same way.`,
    onNode: SHOW_ACLS,
    remedy: prose`Select the pods behind the Service with podSelector and namespaceSelector, and allow their port.`,
    sources: [NETWORK_POLICIES, reference("dataplane.md §4.5")],
    profiles: ALL,
    severity: "warning",
  },
};
