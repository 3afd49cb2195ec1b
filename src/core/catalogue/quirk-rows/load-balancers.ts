/** Defects of load balancers, as HNS keeps them. */
import { type QuirkRow, onProfiles } from "../quirk.ts";

export type LoadBalancerQuirk =
  | "load-balancer-update-ignored"
  | "load-balancer-port-blocks-not-shared"
  | "own-node-port-unreachable"
  | "front-end-stale-after-delete"
  | "load-balancers-of-one-endpoint-hang"
  | "load-balancer-port-missing"
  | "degraded-load-balancer-not-deleted"
  | "listener-blocks-front-end"
  | "load-balancer-count-limit";

export const LOAD_BALANCER_QUIRKS: Readonly<Record<LoadBalancerQuirk, QuirkRow>> = {
  "load-balancer-update-ignored": {
    concerns: [{ profile: "ws2025", hns: { Major: 15, Minor: 4 } }],
    strikes: "always",
    explanation: "load-balancer-update-ignored",
    sources: ["hcn.md §7.1", "dataplane.md F-21", "kubernetes/kubernetes#131466"],
  },
  "load-balancer-port-blocks-not-shared": {
    // Inferred for 1903 and 2004: builds released after that update, May 2020, have what it brought.
    concerns: [{ profile: "ws2019", until: "KB4551853" }, { profile: "1903" }],
    strikes: "always",
    explanation: "load-balancer-ports-exhausted",
    sources: ["hcn.md §4.8, §8.5", "dataplane.md F-14, DT-111", "microsoft/SDN#399"],
  },
  "own-node-port-unreachable": {
    // Inferred for the other builds: those released after that update have what it brought, those before have not.
    concerns: [{ profile: "ws2019", until: "KB4571748" }, { profile: "1903" }, { profile: "2004" }],
    strikes: "always",
    explanation: "node-port-from-node-unsupported",
    sources: ["dataplane.md F-47, DT-117"],
  },
  "front-end-stale-after-delete": {
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "load-balancer-port-already-exists",
    sources: [
      "hcn.md §4.7",
      "dataplane.md F-16",
      "kubernetes/kubernetes#137530",
      "kubernetes/kubernetes#113524",
    ],
  },
  "load-balancers-of-one-endpoint-hang": {
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "hns-service-hangs",
    sources: ["hcn.md §8.5", "Azure/aks-engine#4315", "kubernetes-sigs/image-builder#566"],
  },
  "load-balancer-port-missing": {
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "hns-switch-port-missing",
    sources: ["dataplane.md F-49", "microsoft/hcsshim#1043"],
  },
  "degraded-load-balancer-not-deleted": {
    concerns: [],
    strikes: "sometimes",
    explanation: "hns-object-degraded",
    sources: ["hcn.md §2.10", "users.md §4"],
  },
  "listener-blocks-front-end": {
    concerns: onProfiles("ws2019"),
    strikes: "always",
    explanation: "load-balancer-port-already-exists",
    sources: ["hcn.md §4.7, §8.5", "dataplane.md F-56", "kubernetes/community#8883"],
  },
  "load-balancer-count-limit": {
    concerns: onProfiles("ws2019"),
    strikes: "sometimes",
    explanation: "hns-rules-differ",
    sources: ["dataplane.md F-37", "microsoft/SDN#477"],
  },
};
