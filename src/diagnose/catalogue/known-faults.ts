/**
 * The known faults of the data plane by their numbers (dataplane.md §9), and where each lives here. Most are defects that
 * can be switched (`quirks.ts`). Some are how Windows is by design, some come of a configuration, and some belonged to
 * versions of kube-proxy; those follow from the cluster and need no switch.
 */
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { QuirkName } from "#core/catalogue/quirks.ts";

/** `F-07`. */
export type KnownFaultId = `F-${number}${number}`;

export type KnownFault =
  /** Switched by name; the first one is the fault itself. */
  | { readonly kind: "quirk"; readonly quirks: readonly [QuirkName, ...QuirkName[]] }
  /** By design of Windows: always so. */
  | { readonly kind: "behaviour"; readonly what: string; readonly code?: KnowledgeCode }
  /** Comes of what somebody configured. */
  | { readonly kind: "configuration"; readonly what: string; readonly code: KnowledgeCode }
  /** Comes of the version of kube-proxy that the cluster file names (`#programs/kube-proxy/behaviour.ts`). */
  | { readonly kind: "kube-proxy"; readonly what: string; readonly code: KnowledgeCode };

function quirk(...quirks: [QuirkName, ...QuirkName[]]): KnownFault {
  return Object.freeze({ kind: "quirk", quirks: Object.freeze(quirks) });
}

function behaviour(what: string, code?: KnowledgeCode): KnownFault {
  return Object.freeze({ kind: "behaviour", what, ...(code !== undefined && { code }) });
}

function configuration(what: string, code: KnowledgeCode): KnownFault {
  return Object.freeze({ kind: "configuration", what, code });
}

function kubeProxy(what: string, code: KnowledgeCode): KnownFault {
  return Object.freeze({ kind: "kube-proxy", what, code });
}

export const KNOWN_FAULTS: Readonly<Record<KnownFaultId, KnownFault>> = Object.freeze({
  "F-01": quirk("idle-flows-forgotten"),
  "F-02": quirk("acl-change-resets-flows"),
  "F-03": quirk("encap-layer-rebuilt"),
  "F-04": quirk("fragment-collisions"),
  "F-05": behaviour(
    "a pod does not reach itself through its Service with DSR; loopbackDSR of the CNI plugin changes that",
    "hairpin-under-dsr",
  ),
  "F-06": quirk("source-vip-is-network-address"),
  "F-07": quirk("encap-route-rules-missing"),
  "F-08": quirk("overlay-routes-need-a-pod"),
  "F-09": quirk("outbound-nat-rules-missing"),
  "F-10": behaviour(
    "answers to callers that are no exception are translated, and the caller refuses them",
    "outbound-nat-on-answers",
  ),
  "F-11": behaviour("an answer from another address than the one that was asked fits no flow"),
  "F-12": quirk("nat-ports-reused"),
  "F-13": quirk("nat-ports-exhausted"),
  "F-14": quirk("load-balancer-port-blocks-not-shared", "front-end-stale-after-delete"),
  "F-15": quirk("load-balancers-lost-at-restart", "load-balancers-restored-late"),
  "F-16": quirk("load-balancer-rules-stale"),
  "F-17": quirk("load-balancer-rules-doubled"),
  "F-18": quirk("l2-rewrite-rules-doubled"),
  "F-19": quirk("load-balancer-rules-missing"),
  "F-20": quirk("shared-back-ends-removed"),
  "F-21": quirk("load-balancer-update-ignored"),
  "F-22": quirk("load-balancer-rules-left-on-change"),
  "F-23": kubeProxy(
    "before 1.27 terminating endpoints leave at once, and connections to the others are evaluated again",
    "terminating-endpoints-not-used",
  ),
  "F-24": kubeProxy(
    "with externalTrafficPolicy Local some versions make no load balancer for the ClusterIP",
    "external-traffic-policy-local-without-local-endpoint",
  ),
  "F-25": quirk("remote-endpoint-left-behind"),
  "F-26": quirk("front-end-keeps-back-ends"),
  "F-27": quirk("sockets-refused"),
  "F-28": quirk("receive-coalescing-slow"),
  "F-29": quirk("acl-without-effect", "acl-blocks-all"),
  "F-30": quirk("acl-applied-late"),
  "F-31": quirk("proxy-policy-limit"),
  "F-32": quirk("large-udp-dropped"),
  "F-33": quirk("encap-overhead-ignored"),
  "F-34": quirk("low-virtual-subnet-silent"),
  "F-35": quirk("vxlan-port-taken"),
  "F-36": quirk("client-policies-not-applied"),
  "F-37": quirk("load-balancer-count-limit"),
  "F-38": quirk("service-deadlock"),
  "F-39": quirk("load-balancer-rules-late"),
  "F-40": quirk("endpoints-lost-at-restart"),
  "F-41": behaviour("an echo request of a pod leaves untranslated", "icmp-outbound-not-translated"),
  "F-42": behaviour("all echo requests of Windows have the identifier 1"),
  "F-43": quirk("ipv6-port-mapping-from-node"),
  "F-44": quirk("management-address-flips"),
  "F-45": quirk("names-fail-at-first"),
  "F-46": behaviour("Windows remembers for five minutes that a name does not exist"),
  "F-47": quirk("own-node-port-unreachable"),
  "F-48": quirk("source-address-refused"),
  "F-49": quirk("load-balancer-port-missing"),
  "F-50": quirk("network-space-removed-late"),
  "F-51": configuration(
    "an endpoint whose only ACL blocks what comes in, as a plugin makes it that waits for a policy engine",
    "acl-rule-blocked",
  ),
  "F-52": configuration(
    "nodes that publish the same address, such as 10.0.2.15 of VirtualBox",
    "cluster-file-duplicate-address",
  ),
  "F-53": quirk("metadata-route-lost"),
  "F-54": quirk("udp-port-65330-taken"),
  "F-55": quirk("l2bridge-unstable"),
  "F-56": quirk("listener-blocks-front-end"),
});

/** The numbers of the faults that a defect stands for. */
export function faultsOf(name: QuirkName): readonly KnownFaultId[] {
  return (Object.keys(KNOWN_FAULTS) as KnownFaultId[]).filter((id) => {
    const fault = KNOWN_FAULTS[id];
    return fault?.kind === "quirk" && fault.quirks.includes(name);
  });
}
