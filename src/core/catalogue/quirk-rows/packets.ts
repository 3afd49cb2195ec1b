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
    concerns: onProfiles("ws2019"),
    strikes: "always",
    explanation: "hns-nat-denies-outbound",
    sources: ["hcn.md §3.5", "microsoft/Windows-Containers#617"],
  },
  "load-balancer-rules-stale": {
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-16", "users.md §4", "kubernetes/kubernetes#113524"],
  },
  "load-balancer-rules-doubled": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-17", "users.md §4"],
  },
  "l2-rewrite-rules-doubled": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-18", "users.md §4"],
  },
  "load-balancer-rules-missing": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-19", "users.md G1"],
  },
  "load-balancer-rules-left-on-change": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-22", "kubernetes/kubernetes#112836", "kubernetes/kubernetes#112837"],
  },
  "outbound-nat-rules-missing": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-09", "projectcalico/calico#12862"],
  },
  "encap-route-rules-missing": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-07, DT-040", "flannel-io/flannel#1394", "flannel-io/flannel#1405"],
  },
  "overlay-routes-need-a-pod": {
    concerns: [],
    strikes: "always",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-08", "projectcalico/calico#8569"],
  },
  "overlay-decap-lost-at-restart": {
    concerns: [{ profile: "ws2019", since: "KB4565349", until: "KB4577668" }],
    strikes: "always",
    explanation: "windows-update-drops-overlay-rules",
    sources: ["users.md G19", "microsoft/Windows-Containers#61"],
  },
  "network-space-removed-late": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-50"],
  },
  "session-affinity-not-kept": {
    concerns: onProfiles("ws2022"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["kube-proxy.md §7 row 29", "Azure/AKS#3856"],
  },
  "acl-without-effect": {
    concerns: onProfiles("ws2025"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-29, DT-153, §4.7", "microsoft/Windows-Containers#616"],
  },
  "acl-blocks-all": {
    concerns: onProfiles("ws2025"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-29, DT-153, §4.7", "microsoft/Windows-Containers#616"],
  },
  "client-policies-not-applied": {
    concerns: onProfiles("win11-21h2"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-36", "microsoft/Windows-Containers#608", "projectcalico/calico#8465"],
  },
  "proxy-policy-limit": {
    concerns: [],
    strikes: "always",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-31", "microsoft/hcsshim#2571"],
  },
  "ipv6-port-mapping-from-node": {
    // No build is named that is without it; these have two families on L2Bridge (dataplane.md §2.11, DT-127).
    concerns: onProfiles("2004", "ws2022", "win11-21h2", "23h2", "ws2025"),
    strikes: "always",
    explanation: "ipv6-host-port-from-node",
    sources: ["dataplane.md F-43", "Azure/azure-container-networking#2879"],
  },
  "overlay-nodeport-ws2022": {
    // No update is known that mended it (windows-networking-documentation.md §5).
    concerns: onProfiles("ws2022"),
    strikes: "always",
    explanation: "node-port-on-overlay-server-2022",
    sources: ["windows-networking-documentation.md §5", "microsoft/Windows-Containers#204"],
  },
  "l2bridge-dsr-kb5005619": {
    concerns: [{ profile: "ws2022", since: "KB5005619" }],
    strikes: "always",
    explanation: "l2bridge-broken-with-dsr",
    sources: ["windows-networking-documentation.md §5", "microsoft/Windows-Containers#204"],
  },
};
