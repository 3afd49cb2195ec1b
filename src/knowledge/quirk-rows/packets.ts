/** Defects that packets meet because HNS programmed something else than its objects say. */
import { type QuirkRow, onProfiles } from "../quirk.ts";

const RULES_FOLLOW = "the rules of a port always follow from the objects here";

export type PacketQuirk =
  | "nat-denies-outbound"
  | "load-balancer-rules-stale"
  | "load-balancer-rules-doubled"
  | "load-balancer-rules-missing"
  | "outbound-nat-rules-missing"
  | "overlay-routes-need-a-pod"
  | "overlay-decap-lost-at-restart"
  | "network-space-removed-late"
  | "sockets-refused"
  | "session-affinity-not-kept"
  | "acl-without-effect"
  | "client-policies-not-applied"
  | "proxy-policy-limit"
  | "ipv6-port-mapping-from-node";

export const PACKET_QUIRKS: Readonly<Record<PacketQuirk, QuirkRow>> = {
  "nat-denies-outbound": {
    title: "Containers on a NAT network may not open connections unless an ACL allows it",
    concerns: onProfiles("ws2019"),
    strikes: "always",
    notActedOn: "packets of NAT networks are not simulated by this version",
    explanation: "hns-nat-denies-outbound",
    sources: ["hcn.md §3.5", "microsoft/Windows-Containers#617"],
  },
  "load-balancer-rules-stale": {
    title: "Rules of a deleted load balancer stay in VFP and lead to pods that are gone",
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    notActedOn: RULES_FOLLOW,
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-16", "users.md §4", "kubernetes/kubernetes#113524"],
  },
  "load-balancer-rules-doubled": {
    title: "The same rule stands twice in LB_DSR or EXTERNAL_L2_REWRITE_LAYER",
    concerns: [],
    strikes: "sometimes",
    notActedOn: RULES_FOLLOW,
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-17, F-18", "users.md §4"],
  },
  "load-balancer-rules-missing": {
    title: "The port of a pod lacks rules of a load balancer, mostly those of DNS",
    concerns: [],
    strikes: "sometimes",
    notActedOn: RULES_FOLLOW,
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-19", "users.md G1"],
  },
  "outbound-nat-rules-missing": {
    title: "The port of a new pod lacks its OutBoundNAT rules: nothing gets out",
    concerns: [],
    strikes: "sometimes",
    notActedOn: RULES_FOLLOW,
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-09", "projectcalico/calico#12862"],
  },
  "overlay-routes-need-a-pod": {
    title: "Routes to other nodes of an overlay network are programmed with the first pod only",
    concerns: [],
    strikes: "always",
    notActedOn: "packets of overlay networks are not simulated by this version",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-08", "projectcalico/calico#8569"],
  },
  "overlay-decap-lost-at-restart": {
    title: "A restart of the service leaves ports without the layer that unpacks VXLAN",
    concerns: [{ profile: "ws2019", since: "KB4565349", until: "KB4577668" }],
    strikes: "always",
    notActedOn: "packets of overlay networks are not simulated by this version",
    explanation: "windows-update-drops-overlay-rules",
    sources: ["users.md G19", "microsoft/Windows-Containers#61"],
  },
  "network-space-removed-late": {
    title: "What a deleted network had in VFP goes 30 s and more after it",
    concerns: [],
    strikes: "sometimes",
    notActedOn: RULES_FOLLOW,
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-50"],
  },
  "sockets-refused": {
    title: "Programs in containers cannot open sockets",
    concerns: [{ profile: "ws2022", since: "KB5040437", until: "KB5044281" }],
    strikes: "sometimes",
    notActedOn: "sockets belong to the host's stack",
    explanation: "windows-update-denies-sockets",
    sources: ["dataplane.md F-27", "projectcalico/calico#9043"],
  },
  "session-affinity-not-kept": {
    title: "Connections of one client go to different back ends in spite of session affinity",
    concerns: onProfiles("ws2022"),
    strikes: "sometimes",
    notActedOn: "the build that repaired it is not known; affinity is kept here",
    explanation: "hns-rules-differ",
    sources: ["kube-proxy.md §7 row 29", "Azure/AKS#3856"],
  },
  "acl-without-effect": {
    title: "ACLs on an endpoint block nothing, or everything",
    concerns: onProfiles("ws2025"),
    strikes: "sometimes",
    notActedOn: "the thread does not tell which ACLs fail how",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-29", "microsoft/Windows-Containers#616"],
  },
  "client-policies-not-applied": {
    title: "On client editions policies are taken and not applied: IsApplied is false",
    concerns: onProfiles("win11-21h2"),
    strikes: "sometimes",
    notActedOn: "no source says on which revisions it holds",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-36", "microsoft/Windows-Containers#608", "projectcalico/calico#8465"],
  },
  "proxy-policy-limit": {
    title: "L4WFPPROXY is not applied after about 15 policies",
    concerns: [],
    strikes: "always",
    notActedOn: "proxies of the Windows filtering platform are not simulated",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-31", "microsoft/hcsshim#2571"],
  },
  "ipv6-port-mapping-from-node": {
    title: "IPv6 port mappings do not work from the node itself",
    concerns: [],
    strikes: "always",
    notActedOn: "IPv6 port mappings are stored and not carried out by this version",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-43", "Azure/azure-container-networking#2879"],
  },
};
