/** Defects that packets meet because HNS programmed something else than its objects say. */
import { type QuirkRow, onProfiles } from "../quirk.ts";

export type PacketQuirk =
  | "nat-denies-outbound"
  | "load-balancer-rules-stale"
  | "load-balancer-rules-doubled"
  | "l2-rewrite-rules-doubled"
  | "load-balancer-rules-missing"
  | "load-balancer-rules-left-on-change"
  | "outbound-nat-rules-missing"
  | "encap-route-rules-missing"
  | "overlay-routes-need-a-pod"
  | "overlay-decap-lost-at-restart"
  | "network-space-removed-late"
  | "session-affinity-not-kept"
  | "acl-without-effect"
  | "acl-blocks-all"
  | "client-policies-not-applied"
  | "proxy-policy-limit"
  | "ipv6-port-mapping-from-node"
  | "overlay-nodeport-ws2022"
  | "l2bridge-dsr-kb5005619";

export const PACKET_QUIRKS: Readonly<Record<PacketQuirk, QuirkRow>> = {
  "nat-denies-outbound": {
    title: "Containers on a NAT network may not open connections unless an ACL allows it",
    concerns: onProfiles("ws2019"),
    strikes: "always",
    explanation: "hns-nat-denies-outbound",
    sources: ["hcn.md §3.5", "microsoft/Windows-Containers#617"],
  },
  "load-balancer-rules-stale": {
    title: "Rules of a deleted load balancer stay in VFP and lead to pods that are gone",
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-16", "users.md §4", "kubernetes/kubernetes#113524"],
  },
  "load-balancer-rules-doubled": {
    title: "Each rule of a load balancer stands twice in LB_DSR",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-17", "users.md §4"],
  },
  "l2-rewrite-rules-doubled": {
    title: "Each rule stands twice in EXTERNAL_L2_REWRITE_LAYER",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-18", "users.md §4"],
  },
  "load-balancer-rules-missing": {
    title: "The port of a pod lacks the load-balancing rules of DNS",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-19", "users.md G1"],
  },
  "load-balancer-rules-left-on-change": {
    title: "When a load balancer changes, its former rules stay beside the new ones",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-22", "kubernetes/kubernetes#112836", "kubernetes/kubernetes#112837"],
  },
  "outbound-nat-rules-missing": {
    title: "The port of a new pod lacks its OutBoundNAT rules: nothing gets out",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-09", "projectcalico/calico#12862"],
  },
  "encap-route-rules-missing": {
    title:
      "The port of a pod lacks the rules that lead to other nodes: what is for them leaves without a tunnel",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-07, DT-040", "flannel-io/flannel#1394", "flannel-io/flannel#1405"],
  },
  "overlay-routes-need-a-pod": {
    title: "Routes to other nodes of an overlay network are programmed with the first pod only",
    concerns: [],
    strikes: "always",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-08", "projectcalico/calico#8569"],
  },
  "overlay-decap-lost-at-restart": {
    title: "A restart of the service leaves ports without the layer that unpacks VXLAN",
    concerns: [{ profile: "ws2019", since: "KB4565349", until: "KB4577668" }],
    strikes: "always",
    explanation: "windows-update-drops-overlay-rules",
    sources: ["users.md G19", "microsoft/Windows-Containers#61"],
  },
  "network-space-removed-late": {
    title: "What a deleted network had in VFP goes 30 s and more after it",
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-50"],
  },
  "session-affinity-not-kept": {
    title: "Connections of one client go to different back ends in spite of session affinity",
    concerns: onProfiles("ws2022"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["kube-proxy.md §7 row 29", "Azure/AKS#3856"],
  },
  "acl-without-effect": {
    title: "ACLs that block have no effect",
    concerns: onProfiles("ws2025"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-29, DT-153, §4.7", "microsoft/Windows-Containers#616"],
  },
  "acl-blocks-all": {
    title: "An ACL that blocks blocks everything in its direction",
    concerns: onProfiles("ws2025"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-29, DT-153, §4.7", "microsoft/Windows-Containers#616"],
  },
  "client-policies-not-applied": {
    title: "On client editions policies are taken and not applied: IsApplied is false",
    concerns: onProfiles("win11-21h2"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-36", "microsoft/Windows-Containers#608", "projectcalico/calico#8465"],
  },
  "proxy-policy-limit": {
    title: "L4WFPPROXY is not applied after about 15 policies",
    concerns: [],
    strikes: "always",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-31", "microsoft/hcsshim#2571"],
  },
  "ipv6-port-mapping-from-node": {
    title: "IPv6 port mappings do not work from the node itself",
    // No build is named that is without it; these have two families on L2Bridge (dataplane.md §2.11, DT-127).
    concerns: onProfiles("2004", "ws2022", "win11-21h2", "23h2", "ws2025"),
    strikes: "always",
    explanation: "ipv6-host-port-from-node",
    sources: ["dataplane.md F-43", "Azure/azure-container-networking#2879"],
  },
  "overlay-nodeport-ws2022": {
    title: "NodePorts of overlay networks are lost on Server 2022, but with externalTrafficPolicy: Local",
    // No update is known that mended it (windows-networking-documentation.md §5).
    concerns: onProfiles("ws2022"),
    strikes: "always",
    explanation: "node-port-on-overlay-server-2022",
    sources: ["windows-networking-documentation.md §5", "microsoft/Windows-Containers#204"],
  },
  "l2bridge-dsr-kb5005619": {
    title: "Pods of L2Bridge networks do not reach each other while a load balancer of the network has DSR",
    concerns: [{ profile: "ws2022", since: "KB5005619" }],
    strikes: "always",
    explanation: "l2bridge-broken-with-dsr",
    sources: ["windows-networking-documentation.md §5", "microsoft/Windows-Containers#204"],
  },
};
