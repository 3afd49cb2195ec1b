/** Defects of nodes: their stacks, addresses and routes, and what HNS keeps of objects that are gone. */
import { type QuirkRow, onProfiles } from "../quirk.ts";

export type NodeQuirk =
  | "sockets-refused"
  | "names-fail-at-first"
  | "encap-overhead-ignored"
  | "low-virtual-subnet-silent"
  | "source-vip-is-network-address"
  | "management-address-flips"
  | "metadata-route-lost"
  | "bridge-endpoint-not-routed"
  | "remote-endpoint-left-behind"
  | "front-end-keeps-back-ends"
  | "shared-back-ends-removed";

export const NODE_QUIRKS: Readonly<Record<NodeQuirk, QuirkRow>> = {
  "sockets-refused": {
    concerns: [{ profile: "ws2022", since: "KB5040437", until: "KB5044281" }],
    strikes: "sometimes",
    explanation: "windows-update-denies-sockets",
    sources: ["dataplane.md F-27", "projectcalico/calico#9043"],
  },
  "names-fail-at-first": {
    concerns: [],
    strikes: "always",
    explanation: "dns-cold-start",
    sources: ["dataplane.md F-45, §5.3, DT-161", "microsoft/hcsshim#150"],
  },
  "encap-overhead-ignored": {
    concerns: [],
    strikes: "always",
    explanation: "mtu-exceeded",
    sources: ["dataplane.md F-33, §5.4", "moby/moby#33596"],
  },
  "low-virtual-subnet-silent": {
    concerns: [],
    strikes: "always",
    explanation: "flannel-vni-below-4096",
    sources: ["dataplane.md F-34, DT-048", "k3s-io/k3s#9295", "rancher/rke2#5995"],
  },
  "source-vip-is-network-address": {
    concerns: [],
    strikes: "always",
    explanation: "source-vip-is-network-address",
    sources: ["dataplane.md F-06, DT-112", "kubernetes-sigs/sig-windows-tools#101"],
  },
  "management-address-flips": {
    concerns: [],
    strikes: "always",
    explanation: "management-address-flips",
    sources: ["dataplane.md F-44", "kubernetes/kubernetes#75561"],
  },
  "metadata-route-lost": {
    concerns: [],
    strikes: "always",
    explanation: "metadata-route-lost",
    sources: ["dataplane.md F-53"],
  },
  "bridge-endpoint-not-routed": {
    // Builds without a profile of their own.
    concerns: [],
    strikes: "always",
    explanation: "destination-not-local",
    sources: ["dataplane.md DT-064, §2.4"],
  },
  "remote-endpoint-left-behind": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-remote-endpoint-left",
    sources: ["dataplane.md F-25", "microsoft/Windows-Containers#631", "microsoft/hcsshim#994"],
  },
  "front-end-keeps-back-ends": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-remote-endpoint-left",
    sources: ["dataplane.md F-26", "kubernetes-sigs/sig-windows-tools#380", "kubernetes/kubernetes#131387"],
  },
  "shared-back-ends-removed": {
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-20", "kubernetes/kubernetes#91703", "kubernetes/kubernetes#76316"],
  },
};
