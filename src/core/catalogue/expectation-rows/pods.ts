/** Expectations of flows between pods, nodes and the outside, without Services. */
import type { ExpectationRow, FlowName } from "../expectations.ts";

/** The flows that begin by asking the name service. */
export const NAME_FLOWS: readonly FlowName[] = [
  "pod-to-pod-name",
  "pod-to-service-short-name",
  "pod-to-service-full-name",
  "pod-to-service-partial-name",
  "pod-to-external-name",
  "pod-to-cluster-dns",
];
const POD_TO_POD: readonly FlowName[] = ["pod-to-pod-ip", "pod-to-pod-name"];
const TO_EXTERNAL: readonly FlowName[] = ["pod-to-external-ip", "pod-to-external-name"];

/** What stands in the way of a flow whatever else is true. */
export const GENERAL_ROWS: readonly ExpectationRow[] = [
  {
    id: "BRING-UP",
    when: { flow: "bring-up" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §1, §2",
  },
  {
    id: "HOST-PROCESS",
    when: { flow: "pod-in-host-network", sourceOs: "windows", isHostProcess: true },
    expected: { outcome: "works", sees: "any" },
    source: "Kubernetes documentation: HostProcess pods use the network of their node",
  },
  {
    id: "HOST-NETWORK",
    when: { flow: "pod-in-host-network", sourceOs: "windows" },
    expected: { outcome: "denied", code: "host-network-unsupported", proof: "not-in-host-network" },
    source: "windows-networking-documentation.md §8",
  },
  {
    id: "OWN-RULES",
    when: { hasOwnRules: true },
    expected: { outcome: "not-applicable" },
    source: "dataplane.md §4.2",
  },
  {
    id: "NO-DNS",
    when: { flow: NAME_FLOWS, hasDns: false },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §6",
  },
  {
    id: "DNS-SERVER",
    when: { flow: "pod-to-cluster-dns", hasDns: true },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §6; RFC 7766 §5: servers answer over UDP and TCP",
  },
  {
    id: "NO-NAME",
    when: { flow: NAME_FLOWS, hasName: false },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §6",
  },
];

/** Without a route on the node or in the network between, nothing arrives: own subnets need routes. */
const BETWEEN_NODES: readonly ExpectationRow[] = [
  {
    id: "PP-L2BRIDGE-DSR-SAME-NODE",
    when: {
      flow: POD_TO_POD,
      relation: "same-node",
      driver: "L2Bridge",
      shape: "own-subnet",
      losesPodsWithDsr: true,
    },
    expected: { outcome: "denied", code: "l2bridge-broken-with-dsr", proof: "drop" },
    source: "windows-networking-documentation.md §5",
  },
  {
    // What is no exception of source NAT is no pod to the node.
    id: "PP-L2BRIDGE-DSR",
    when: {
      flow: POD_TO_POD,
      outboundNat: "excepted",
      driver: "L2Bridge",
      shape: "own-subnet",
      losesPodsWithDsr: true,
    },
    expected: { outcome: "denied", code: "l2bridge-broken-with-dsr", proof: "drop" },
    source: "windows-networking-documentation.md §5",
  },
  {
    id: "PP-L2BRIDGE-DSR-HEADLESS",
    when: {
      flow: ["pod-to-service-short-name", "pod-to-service-full-name"],
      service: "headless",
      driver: "L2Bridge",
      shape: "own-subnet",
      losesPodsWithDsr: true,
    },
    expected: { outcome: "denied", code: "l2bridge-broken-with-dsr", proof: "drop" },
    source: "windows-networking-documentation.md §5",
  },
  {
    id: "PP-NO-ROUTE",
    when: { flow: POD_TO_POD, relation: "other-node", hasRouteToTarget: false },
    expected: { outcome: "denied", code: "no-route", proof: "drop" },
    source: "dataplane.md §2.4 cfg-2",
  },
  {
    id: "PP-NO-ROUTE-BACK",
    when: {
      flow: POD_TO_POD,
      relation: "other-node",
      hasRouteToSource: false,
      outboundNat: ["excepted", "none"],
    },
    expected: {
      outcome: "denied",
      code: "no-route-back",
      proof: "drop",
      dropCodes: ["outbound-nat-exception"],
    },
    source: "dataplane.md §2.4 cfg-2",
  },
  {
    id: "PP-ANSWERS-TRANSLATED",
    when: {
      flow: [...POD_TO_POD, "node-to-pod"],
      protocol: ["tcp", "udp"],
      areAnswersTranslated: true,
      hasRouteToTarget: true,
    },
    expected: {
      outcome: "denied",
      code: "outbound-nat-on-answers",
      proof: "drop",
      // The caller's stack refuses an answer from somebody whom it never asked, each in its own way.
      dropCodes: ["port-not-listening", "no-answer", "connection-invalid", "martian-source", "mac-not-local"],
    },
    source: "dataplane.md §0.5 (8), §9 F-10",
  },
  {
    id: "PP-OWN-ADDRESS",
    when: { flow: POD_TO_POD, outboundNat: ["excepted", "none"] },
    expected: { outcome: "works", sees: "client" },
    source: "windows-networking-documentation.md §3, dataplane.md §2.4 B-1, B-2",
  },
  {
    id: "PP",
    when: { flow: POD_TO_POD },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §3, dataplane.md §2.9",
  },
  {
    id: "NP-NO-ROUTE",
    when: { flow: "node-to-pod", relation: "other-node", hasRouteToTarget: false },
    expected: { outcome: "denied", code: "no-route", proof: "drop" },
    source: "dataplane.md §2.4 cfg-2",
  },
  {
    id: "NP",
    when: { flow: "node-to-pod" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §3, dataplane.md §2.4 B-8",
  },
  {
    id: "PN-LINUX",
    when: { flow: "pod-to-node", sourceOs: "linux" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §3; flannel masquerades what leaves the pod range",
  },
  {
    id: "PN-NO-ROUTE-BACK",
    when: {
      flow: "pod-to-node",
      relation: "other-node",
      hasRouteToSource: false,
      outboundNat: ["excepted", "none"],
    },
    expected: {
      outcome: "denied",
      code: "no-route-back",
      proof: "drop",
      dropCodes: ["outbound-nat-exception"],
    },
    source: "dataplane.md §2.4 B-8",
  },
  {
    id: "PN-ICMP-NO-ROUTE-BACK",
    when: {
      flow: "pod-to-node",
      protocol: "icmp",
      relation: "other-node",
      hasRouteToSource: false,
    },
    expected: { outcome: "denied", code: "icmp-outbound-not-translated", proof: "drop" },
    source: "windows-networking-documentation.md §8, dataplane.md §2.9",
  },
  {
    id: "PN-OWN-ADDRESS",
    when: { flow: "pod-to-node", outboundNat: ["excepted", "none"] },
    expected: { outcome: "works", sees: "client" },
    source: "windows-networking-documentation.md §3, dataplane.md §2.4 B-8",
  },
  {
    id: "PN",
    when: { flow: "pod-to-node" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §3, dataplane.md §2.4 B-8",
  },
];

const TO_OUTSIDE: readonly ExpectationRow[] = [
  {
    id: "EX-LINUX",
    when: { flow: TO_EXTERNAL, sourceOs: "linux" },
    expected: { outcome: "works", sees: "client-node" },
    source: "Kubernetes documentation: cluster networking, masquerade of traffic that leaves the cluster",
  },
  {
    id: "EX-ROUTED-ICMP",
    when: { flow: TO_EXTERNAL, protocol: "icmp", hasRouteToSource: true },
    expected: { outcome: "works", sees: "client" },
    source: "dataplane.md §2.9",
  },
  {
    id: "EX-ICMP-EXCEPTED",
    when: { flow: TO_EXTERNAL, protocol: "icmp", outboundNat: ["excepted", "none"] },
    expected: {
      outcome: "denied",
      code: "no-route-back",
      proof: "drop",
      dropCodes: ["outbound-nat-exception", "icmp-outbound-not-translated"],
    },
    source: "dataplane.md §2.4 B-6",
  },
  {
    id: "EX-ICMP",
    when: { flow: TO_EXTERNAL, protocol: "icmp" },
    expected: { outcome: "denied", code: "icmp-outbound-not-translated", proof: "drop" },
    source: "windows-networking-documentation.md §8, dataplane.md §2.9",
  },
  {
    id: "EX-TRANSLATED",
    when: { flow: TO_EXTERNAL, outboundNat: "translates" },
    expected: { outcome: "works", sees: "client-node" },
    source: "windows-networking-documentation.md §3, dataplane.md §2.4 B-6",
  },
  {
    id: "EX-ROUTED",
    when: { flow: TO_EXTERNAL, hasRouteToSource: true },
    expected: { outcome: "works", sees: "client" },
    source: "dataplane.md §2.4 B-6",
  },
  {
    id: "EX-EXCEPTED",
    when: { flow: TO_EXTERNAL, outboundNat: "excepted" },
    expected: { outcome: "denied", code: "outbound-nat-exception", proof: "drop" },
    source: "windows-networking-documentation.md §9 (2)",
  },
  {
    id: "EX-WITHOUT-NAT",
    when: { flow: TO_EXTERNAL },
    expected: { outcome: "denied", code: "no-route-back", proof: "drop" },
    source: "dataplane.md §2.4 B-6",
  },
];

export const POD_ROWS: readonly ExpectationRow[] = [...BETWEEN_NODES, ...TO_OUTSIDE];
