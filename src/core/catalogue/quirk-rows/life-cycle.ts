/** Defects in the life of objects and of the service itself: addresses, attaching, restarts, hangs. */
import { type QuirkRow, onProfiles } from "../quirk.ts";

export type LifeCycleQuirk =
  | "duplicate-local-address"
  | "reattach-refused"
  | "outbound-nat-host-bits-accepted"
  | "networks-lost-at-reboot"
  | "load-balancers-lost-at-restart"
  | "load-balancers-restored-late"
  | "endpoints-lost-at-restart"
  | "loopback-gateway-not-reloaded"
  | "service-deadlock"
  | "parallel-attach-not-found"
  | "stored-object-incompatible"
  | "namespace-deletion-stuck"
  | "source-address-refused";

export const LIFE_CYCLE_QUIRKS: Readonly<Record<LifeCycleQuirk, QuirkRow>> = {
  "duplicate-local-address": {
    concerns: onProfiles("ws2019"),
    strikes: "always",
    explanation: "hns-duplicate-local-address",
    sources: ["hcn.md §4.2", "kubernetes/kubernetes#130963", "kubernetes/kubernetes#131138"],
  },
  "reattach-refused": {
    concerns: onProfiles("ws2019"),
    strikes: "always",
    explanation: "hns-endpoint-attached-once",
    sources: ["hcn.md §4.5", "moby/buildkit#5668", "moby/buildkit#5686"],
  },
  "outbound-nat-host-bits-accepted": {
    // Inferred for 1903 and 2004: they lie between 2019, which takes them, and 2022, which does not.
    concerns: onProfiles("ws2019", "1903", "2004"),
    strikes: "always",
    explanation: "hns-prefix-host-bits",
    sources: ["hcn.md §3.3", "microsoft/hcsshim#1951"],
  },
  "networks-lost-at-reboot": {
    concerns: [{ profile: "ws2019", until: "KB4482887" }],
    strikes: "always",
    explanation: "hns-networks-lost-at-reboot",
    sources: ["users.md G9", "hcn.md §4.6", "Azure/aks-engine#168"],
  },
  "load-balancers-lost-at-restart": {
    // Met on 2019 and 2022; a thread of 2026 shows them restored, see load-balancers-restored-late.
    concerns: onProfiles("ws2019", "ws2022"),
    strikes: "sometimes",
    explanation: "hns-load-balancers-lost",
    sources: [
      "hcn.md §4.6",
      "dataplane.md F-15",
      "kubernetes/kubernetes#110849",
      "kubernetes/kubernetes#110674",
    ],
  },
  "load-balancers-restored-late": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-load-balancers-lost",
    sources: ["kube-proxy.md §7 row 14", "kubernetes/kubernetes#139519", "kubernetes/kubernetes#139503"],
  },
  "endpoints-lost-at-restart": {
    concerns: onProfiles("ws2022"),
    strikes: "sometimes",
    explanation: "hns-endpoints-lost",
    sources: ["dataplane.md F-40", "projectcalico/calico#5164"],
  },
  "loopback-gateway-not-reloaded": {
    concerns: [],
    strikes: "always",
    explanation: "hns-networks-lost-at-reboot",
    sources: ["hcn.md §4.2", "Azure/azure-container-networking#2933"],
  },
  "service-deadlock": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-service-hangs",
    sources: ["dataplane.md F-38", "users.md G10", "microsoft/Windows-Containers#278"],
  },
  "parallel-attach-not-found": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-attach-fails",
    sources: ["cni.md §11", "microsoft/hcsshim#151", "kubernetes/kubernetes#75421"],
  },
  "stored-object-incompatible": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-stored-object-incompatible",
    sources: ["hcn.md §4.4", "flannel-io/flannel#1112", "flannel-io/flannel#1423"],
  },
  "namespace-deletion-stuck": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-namespace-stuck",
    sources: ["hcn.md §2.4, §4.5", "microsoft/Windows-Containers#485", "microsoft/hcsshim#2155"],
  },
  "source-address-refused": {
    concerns: onProfiles("2004"),
    strikes: "sometimes",
    explanation: "hns-address-refused",
    sources: ["dataplane.md F-48", "kubernetes/kubernetes#100962"],
  },
};
