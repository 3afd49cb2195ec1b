/** Defects of ports, flows and the wire: rules are as they should be, and packets fare otherwise all the same. */
import { ALL_PROFILES, type QuirkRow, onProfiles } from "../quirk.ts";

export type PortQuirk =
  | "idle-flows-forgotten"
  | "acl-change-resets-flows"
  | "encap-layer-rebuilt"
  | "fragment-collisions"
  | "large-udp-dropped"
  | "nat-ports-reused"
  | "nat-ports-exhausted"
  | "acl-applied-late"
  | "load-balancer-rules-late"
  | "receive-coalescing-slow"
  | "l2bridge-unstable"
  | "vxlan-port-taken"
  | "udp-port-65330-taken";

export const PORT_QUIRKS: Readonly<Record<PortQuirk, QuirkRow>> = {
  "idle-flows-forgotten": {
    concerns: ALL_PROFILES,
    strikes: "always",
    explanation: "vfp-flow-forgotten",
    sources: [
      "dataplane.md F-01, §1.10",
      "microsoft/Windows-Containers#81",
      "microsoft/Windows-Containers#269",
    ],
  },
  "acl-change-resets-flows": {
    concerns: [],
    strikes: "always",
    explanation: "vfp-flow-forgotten",
    sources: ["dataplane.md F-02, §1.10, §4.7", "projectcalico/calico#10199"],
  },
  "encap-layer-rebuilt": {
    concerns: [],
    strikes: "always",
    explanation: "vfp-layer-rebuilt",
    sources: ["dataplane.md F-03"],
  },
  "fragment-collisions": {
    concerns: [],
    strikes: "sometimes",
    explanation: "fragment-cache-collision",
    sources: ["dataplane.md F-04, DT-024"],
  },
  "large-udp-dropped": {
    concerns: [],
    strikes: "always",
    explanation: "large-udp-dropped",
    sources: ["dataplane.md F-32, §5.4", "docker/for-win#1144", "docker/for-win#8693"],
  },
  "nat-ports-reused": {
    concerns: [],
    strikes: "always",
    explanation: "nat-port-pool-exhausted",
    sources: ["dataplane.md F-12, §3.9", "projectcalico/calico#6324", "microsoft/SDN#250"],
  },
  "nat-ports-exhausted": {
    concerns: [],
    strikes: "always",
    explanation: "nat-port-pool-exhausted",
    sources: ["dataplane.md F-13", "Azure/AKS#1375"],
  },
  "acl-applied-late": {
    concerns: [],
    strikes: "always",
    explanation: "vfp-rules-late",
    sources: ["dataplane.md F-30, §4.7", "Azure/azure-container-networking#1614"],
  },
  "load-balancer-rules-late": {
    concerns: [],
    strikes: "always",
    explanation: "vfp-rules-late",
    sources: ["dataplane.md F-39", "kubernetes/kubernetes#109162"],
  },
  "receive-coalescing-slow": {
    concerns: [],
    strikes: "always",
    explanation: "receive-coalescing-slow",
    sources: ["dataplane.md F-28, §5.4", "microsoft/hcsshim#371", "microsoft/Windows-Containers#145"],
  },
  "l2bridge-unstable": {
    concerns: onProfiles("ws2022"),
    strikes: "sometimes",
    explanation: "l2bridge-unstable",
    sources: ["dataplane.md F-55", "microsoft/Windows-Containers#439"],
  },
  "vxlan-port-taken": {
    concerns: [],
    strikes: "always",
    explanation: "vxlan-port-taken",
    sources: ["dataplane.md F-35"],
  },
  "udp-port-65330-taken": {
    concerns: [],
    strikes: "always",
    explanation: "udp-port-65330-taken",
    sources: ["dataplane.md F-54, §3.9", "Azure/AgentBaker#1913"],
  },
};
