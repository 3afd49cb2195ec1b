import { describe, expect, it } from "vitest";
import { Prng } from "../base/prng.ts";
import {
  ALL_UPDATES,
  type Expectation,
  type ExpectationRow,
  FLOWS,
  type FlowFacts,
  type FlowName,
} from "./expectations.ts";
import { differenceFromPage, findSentence } from "./documentation.ts";
import { DOCUMENTED_SENTENCES } from "./page-sentences.ts";
import { EXPECTATION_ROWS, findExpectation, matchesRow } from "./expectation-table.ts";

/** A pod on Windows Server 2022 with all updates, in a cluster as the defaults make it. */
const FACTS: FlowFacts = {
  flow: "pod-to-pod-ip",
  protocol: "tcp",
  relation: "other-node",
  sourceOs: "windows",
  sourceBuild: 20_348,
  sourceRevision: ALL_UPDATES,
  sourceBuildNamed: 0,
  targetOs: "windows",
  targetBuild: 20_348,
  targetRevision: ALL_UPDATES,
  driver: "L2Bridge",
  shape: "own-subnet",
  hasOtherVni: false,
  hasGivenSubnetFile: false,
  networks: "same",
  hasTwin: false,
  isMacRefused: false,
  isDeniedByFabric: false,
  kubernetesMinor: 34,
  outboundNat: "excepted",
  areAnswersTranslated: false,
  hasRouteToTarget: true,
  hasRouteToSource: true,
  hasOwnRules: false,
  hasLoopbackDsr: false,
  hasDns: true,
  isHostProcess: false,
  hasName: true,
  setUp: "present",
  hasProxy: true,
  isDsr: false,
  losesPodsWithDsr: false,
  mayOpenNoConnections: false,
  losesOverlayNodePorts: false,
  losesSecondNodePort: false,
  preservesDestination: false,
  service: "none",
  isClientServed: true,
  strayBackEnds: "none",
  backEnds: 0,
  localBackEnds: 0,
  askedHasPods: true,
  hasStrangers: false,
  internalTrafficPolicy: "Cluster",
  externalTrafficPolicy: "Cluster",
  serviceState: "as-written",
  asDocumented: "no",
};

const OUTSIDE: Partial<FlowFacts> = {
  flow: "pod-to-external-ip",
  relation: "outside",
  outboundNat: "translates",
  hasRouteToSource: false,
};
const SERVICE: Partial<FlowFacts> = {
  flow: "pod-to-cluster-ip",
  relation: "service",
  service: "cluster-ip",
  backEnds: 3,
  localBackEnds: 1,
};
const NODE_PORT: Partial<FlowFacts> = { ...SERVICE, flow: "outside-to-node-port", sourceOs: "outside" };
const LINUX: Partial<FlowFacts> = { sourceOs: "linux", sourceBuild: 0, sourceRevision: 0 };
const OVN: Partial<FlowFacts> = { setUp: "ovn", driver: "Transparent", outboundNat: "translates" };
const ACS: Partial<FlowFacts> = { setUp: "acs-2017", driver: "Transparent", outboundNat: "none" };
const WS2019: Partial<FlowFacts> = { sourceBuild: 17_763, targetBuild: 17_763 };

/** What a row promises, in one word or code. */
function short(expected: Expectation): string {
  if (expected.outcome === "works") return `works, sees ${expected.sees}`;
  return expected.outcome === "denied" ? expected.code : "not-applicable";
}

type Case = readonly [id: string, facts: Partial<FlowFacts>, expected: string];

/** Read off the documents, row by row. */
const CASES: readonly Case[] = [
  // control-planes.md §9: the set-up of 2017.
  ["OVN-OUTSIDE", { ...OUTSIDE, ...OVN, protocol: "icmp" }, "works, sees client-node"],
  ["OVN-NO-BACK-ENDS", { ...SERVICE, ...OVN, backEnds: 0 }, "service-without-endpoints"],
  ["OVN-SERVICE-ICMP", { ...SERVICE, ...OVN, protocol: "icmp" }, "icmp-to-service-not-balanced"],
  ["OVN-SERVICE", { ...SERVICE, ...OVN }, "works, sees any"],
  ["OVN-OWN-NODEPORT", { ...NODE_PORT, ...OVN, flow: "node-to-own-node-port" }, "port-not-listening"],
  ["ACS-OUTSIDE", { ...OUTSIDE, ...ACS, protocol: "icmp" }, "works, sees client-node"],
  ["ACS-NAME-DOT", { ...SERVICE, ...ACS, flow: "pod-to-service-partial-name" }, "works, sees any"],
  ["ACS-NO-BACK-ENDS", { ...SERVICE, ...ACS, backEnds: 0 }, "service-without-back-ends"],
  ["ACS-SERVICE", { ...SERVICE, ...ACS, backEnds: 2_000 }, "works, sees any"],
  ["ACS-SERVICE", { ...SERVICE, ...ACS, flow: "node-to-cluster-ip", protocol: "icmp" }, "works, sees any"],
  ["ACS-TRAFFIC-POLICY", { ...NODE_PORT, ...ACS, externalTrafficPolicy: "Local" }, "not-applicable"],
  ["ACS-NODEPORT", { ...NODE_PORT, ...ACS, askedHasPods: false }, "works, sees any"],
  ["ACS-HOST-PORT", { ...ACS, flow: "outside-to-host-port", sourceOs: "outside" }, "host-port-ignored"],
  [
    "NODEPORT-OVERLAY-2022",
    { ...NODE_PORT, driver: "Overlay", losesOverlayNodePorts: true },
    "node-port-on-overlay-server-2022",
  ],
  [
    "PRESERVE-EMPTY",
    { ...NODE_PORT, preservesDestination: true, localBackEnds: 0 },
    "service-without-usable-endpoints",
  ],
  [
    "PRESERVE-INGRESS",
    { ...NODE_PORT, flow: "outside-to-ingress", preservesDestination: true, localBackEnds: 1 },
    "destination-not-local",
  ],
  ["NODEPORT-SECOND-FAMILY", { ...NODE_PORT, losesSecondNodePort: true }, "dual-stack-node-port-missing"],
  [
    "PP-L2BRIDGE-DSR-HEADLESS",
    { ...SERVICE, flow: "pod-to-service-full-name", service: "headless", losesPodsWithDsr: true },
    "l2bridge-broken-with-dsr",
  ],
  [
    "PP-L2BRIDGE-DSR-SAME-NODE",
    { relation: "same-node", isDsr: true, losesPodsWithDsr: true },
    "l2bridge-broken-with-dsr",
  ],
  [
    "PP-L2BRIDGE-DSR",
    { isDsr: true, losesPodsWithDsr: true, outboundNat: "excepted" },
    "l2bridge-broken-with-dsr",
  ],
  // windows-networking-documentation.md §3, dataplane.md §2.4 B-1, B-2.
  ["PP-OWN-ADDRESS", {}, "works, sees client"],
  ["PP-OWN-ADDRESS", { relation: "same-node" }, "works, sees client"],
  ["PP-OWN-ADDRESS", { flow: "pod-to-pod-name" }, "works, sees client"],
  ["PP-OWN-ADDRESS", { protocol: "icmp" }, "works, sees client"],
  ["PP-OWN-ADDRESS", { protocol: "udp", targetOs: "linux" }, "works, sees client"],
  ["PP-OWN-ADDRESS", { ...LINUX, outboundNat: "none" }, "works, sees client"],
  ["PP", { outboundNat: "translates" }, "works, sees any"],
  // windows-networking-documentation.md §2: overlay networks are apart, also with the same addresses.
  ["NET-VIRTUAL", { driver: "Overlay", networks: "virtual" }, "pod-networks-isolated"],
  ["NET-VIRTUAL", { driver: "Overlay", networks: "virtual", hasTwin: true }, "pod-networks-isolated"],
  [
    "NET-TWIN-ECHO",
    { driver: "Overlay", networks: "virtual", hasTwin: true, protocol: "icmp" },
    "not-applicable",
  ],
  ["NET-JOINED", { networks: "joined" }, "not-applicable"],
  ["NET-TWIN-FROM-NODE", { flow: "node-to-pod", hasTwin: true }, "not-applicable"],
  ["NET-TWIN-TO-NODE", { flow: "pod-to-node", hasTwin: true, relation: "same-node" }, "not-applicable"],
  ["NET-TWIN-ECHO-TO-NODE", { flow: "pod-to-node", hasTwin: true, protocol: "icmp" }, "not-applicable"],
  // dataplane.md §2.5, §2.6.
  ["FABRIC-DENIES", { driver: "L2Tunnel", isDeniedByFabric: true }, "fabric-acl-denied"],
  ["MAC-REFUSED", { driver: "Transparent", isMacRefused: true }, "mac-spoofing-refused"],
  // dataplane.md §2.7.
  ["NAT-OTHER-NODE", { driver: "NAT", outboundNat: "none" }, "no-route"],
  ["NAT-OTHER-NODE", { driver: "NAT", flow: "node-to-pod" }, "no-route"],
  ["NAT-OUTBOUND-2019", { driver: "NAT", mayOpenNoConnections: true }, "hns-nat-denies-outbound"],
  ["NAT-OUTBOUND-2019", { driver: "NAT", ...OUTSIDE, mayOpenNoConnections: true }, "hns-nat-denies-outbound"],
  ["NAT-OUTSIDE", { driver: "NAT", ...OUTSIDE, outboundNat: "none" }, "works, sees client-node"],
  ["NAT-OUTSIDE", { driver: "NAT", ...OUTSIDE, protocol: "icmp" }, "works, sees client-node"],
  ["NAT-TO-OTHER-NODE", { driver: "NAT", flow: "pod-to-node" }, "works, sees client-node"],
  ["PP-NO-ROUTE", { hasRouteToTarget: false }, "no-route"],
  ["PP-NO-ROUTE-BACK", { hasRouteToSource: false }, "no-route-back"],
  ["PP-ANSWERS-TRANSLATED", { areAnswersTranslated: true }, "outbound-nat-on-answers"],
  [
    "PP-ANSWERS-TRANSLATED",
    { flow: "node-to-pod", protocol: "udp", areAnswersTranslated: true },
    "outbound-nat-on-answers",
  ],
  ["PP-OWN-ADDRESS", { protocol: "icmp", areAnswersTranslated: true }, "works, sees client"],
  ["OWN-RULES", { hasOwnRules: true }, "not-applicable"],
  ["NO-DNS", { flow: "pod-to-pod-name", hasDns: false }, "not-applicable"],
  ["DNS-SERVER", { flow: "pod-to-cluster-dns", protocol: "tcp" }, "works, sees any"],
  ["NO-DNS", { flow: "pod-to-cluster-dns", hasDns: false }, "not-applicable"],
  ["NO-NAME", { ...OUTSIDE, flow: "pod-to-external-name", hasName: false }, "not-applicable"],
  // dataplane.md §2.4 B-8.
  ["NP", { flow: "node-to-pod" }, "works, sees any"],
  ["NP-NO-ROUTE", { flow: "node-to-pod", hasRouteToTarget: false }, "no-route"],
  ["PN-OWN-ADDRESS", { flow: "pod-to-node", relation: "same-node" }, "works, sees client"],
  ["PN-OWN-ADDRESS", { flow: "pod-to-node", protocol: "icmp" }, "works, sees client"],
  ["PN-NO-ROUTE-BACK", { flow: "pod-to-node", hasRouteToSource: false }, "no-route-back"],
  [
    "PN-ICMP-NO-ROUTE-BACK",
    { flow: "pod-to-node", protocol: "icmp", hasRouteToSource: false, outboundNat: "translates" },
    "icmp-outbound-not-translated",
  ],
  ["PN-LINUX", { ...LINUX, flow: "pod-to-node", hasRouteToSource: false }, "works, sees any"],
  ["PN", { flow: "pod-to-node", outboundNat: "translates", hasRouteToSource: false }, "works, sees any"],
  // windows-networking-documentation.md §8; dataplane.md §2.4 B-6, §2.9.
  ["EX-TRANSLATED", OUTSIDE, "works, sees client-node"],
  ["EX-TRANSLATED", { ...OUTSIDE, flow: "pod-to-external-name", protocol: "udp" }, "works, sees client-node"],
  ["EX-ICMP", { ...OUTSIDE, protocol: "icmp" }, "icmp-outbound-not-translated"],
  ["EX-ROUTED-ICMP", { ...OUTSIDE, protocol: "icmp", hasRouteToSource: true }, "works, sees client"],
  ["EX-ICMP-EXCEPTED", { ...OUTSIDE, protocol: "icmp", outboundNat: "excepted" }, "no-route-back"],
  ["EX-EXCEPTED", { ...OUTSIDE, outboundNat: "excepted" }, "outbound-nat-exception"],
  ["EX-WITHOUT-NAT", { ...OUTSIDE, outboundNat: "none" }, "no-route-back"],
  ["EX-ROUTED", { ...OUTSIDE, outboundNat: "none", hasRouteToSource: true }, "works, sees client"],
  ["EX-LINUX", { ...OUTSIDE, ...LINUX, protocol: "icmp" }, "works, sees client-node"],
  // dataplane.md §2.4 B-3, B-4, B-5.
  ["SVC-NON-DSR", SERVICE, "works, sees client-node"],
  ["SVC-DSR", { ...SERVICE, isDsr: true }, "works, sees client"],
  ["SVC-NON-DSR", { ...SERVICE, flow: "pod-to-service-short-name" }, "works, sees client-node"],
  ["SVC-DSR", { ...SERVICE, flow: "pod-to-service-full-name", isDsr: true }, "works, sees client"],
  ["SVC", { ...SERVICE, ...LINUX }, "works, sees any"],
  ["SVC-HAIRPIN", { ...SERVICE, flow: "pod-to-own-service" }, "works, sees client-node"],
  // dataplane.md §2.3 O-5, §3.3.
  ["SVC-NON-DSR-OVERLAY", { ...SERVICE, driver: "Overlay" }, "works, sees client-source-vip"],
  [
    "SVC-HAIRPIN-OVERLAY",
    { ...SERVICE, driver: "Overlay", flow: "pod-to-own-service" },
    "works, sees client-source-vip",
  ],
  ["SVC-DSR", { ...SERVICE, driver: "Overlay", isDsr: true }, "works, sees client"],
  [
    "SVC-HAIRPIN-LOOPBACK-DSR",
    { ...SERVICE, flow: "pod-to-own-service", isDsr: true, hasLoopbackDsr: true },
    "works, sees client-node",
  ],
  ["SVC-HAIRPIN-DSR", { ...SERVICE, flow: "pod-to-own-service", isDsr: true }, "hairpin-under-dsr"],
  [
    "SVC-HAIRPIN",
    { ...SERVICE, flow: "pod-to-own-service", isDsr: true, outboundNat: "translates" },
    "works, sees client-node",
  ],
  ["SVC-HAIRPIN-LINUX", { ...SERVICE, ...LINUX, flow: "pod-to-own-service", isDsr: true }, "works, sees any"],
  ["SVC-ICMP", { ...SERVICE, protocol: "icmp" }, "icmp-to-service-not-balanced"],
  ["SVC-NO-BACK-ENDS", { ...SERVICE, backEnds: 0 }, "service-without-back-ends"],
  ["SVC-NO-ENDPOINTS-LINUX", { ...SERVICE, ...LINUX, backEnds: 0 }, "service-without-endpoints"],
  // kube-proxy.md §3.4, §8 row B5.
  [
    "SVC-BACK-ENDS-STRAY",
    { ...SERVICE, backEnds: 0, localBackEnds: 0, strayBackEnds: "all" },
    "service-back-end-in-other-network",
  ],
  ["SVC-BACK-ENDS-STRAY", { ...NODE_PORT, strayBackEnds: "all" }, "service-back-end-in-other-network"],
  ["SVC-BACK-ENDS-PARTLY-STRAY", { ...SERVICE, strayBackEnds: "some" }, "not-applicable"],
  // dataplane.md §2.2.3, §2.4 B-8.
  ["SVC-FROM-FURTHER-NETWORK", { ...SERVICE, isDsr: true, isClientServed: false }, "works, sees any"],
  ["SVC-STRANGERS", { ...SERVICE, hasStrangers: true }, "not-applicable"],
  ["SVC-EMPTY", { ...SERVICE, protocol: "icmp", backEnds: 0 }, "not-applicable"],
  ["SVC-NO-ROUTE", { ...SERVICE, hasRouteToTarget: false }, "not-applicable"],
  ["SVC", { ...SERVICE, isDsr: true, outboundNat: "translates" }, "works, sees any"],
  ["SVC-NO-PROXY", { ...SERVICE, hasProxy: false }, "not-applicable"],
  ["SVC-HEADLESS", { ...SERVICE, service: "headless" }, "not-applicable"],
  [
    "SVC-HEADLESS-BY-NAME",
    { ...SERVICE, flow: "pod-to-service-short-name", service: "headless" },
    "works, sees any",
  ],
  [
    "SVC-HEADLESS-EMPTY",
    { ...SERVICE, flow: "pod-to-service-full-name", service: "headless", backEnds: 0 },
    "not-applicable",
  ],
  ["SVC-EXTERNAL-NAME", { ...SERVICE, service: "external-name", backEnds: 0 }, "not-applicable"],
  [
    "SVC-EXTERNAL-NAME-BY-NAME",
    { ...SERVICE, flow: "pod-to-service-full-name", service: "external-name", backEnds: 0 },
    "works, sees any",
  ],
  [
    "SVC-EXTERNAL-NAME-EXCEPTED",
    {
      ...SERVICE,
      flow: "pod-to-service-full-name",
      service: "external-name",
      backEnds: 0,
      hasRouteToSource: false,
      outboundNat: "excepted",
    },
    "outbound-nat-exception",
  ],
  [
    "SVC-EXTERNAL-NAME-WITHOUT-NAT",
    {
      ...SERVICE,
      flow: "pod-to-service-full-name",
      service: "external-name",
      backEnds: 0,
      hasRouteToSource: false,
      outboundNat: "none",
    },
    "no-route-back",
  ],
  ["SVC-LOCAL-EMPTY", { ...SERVICE, internalTrafficPolicy: "Local", localBackEnds: 0 }, "not-applicable"],
  [
    "SVC-LOCAL-IGNORED",
    { ...SERVICE, internalTrafficPolicy: "Local", localBackEnds: 0, kubernetesMinor: 26 },
    "works, sees any",
  ],
  // windows-networking-documentation.md §6.
  ["SVC-NAME-DOT", { ...SERVICE, flow: "pod-to-service-partial-name" }, "dns-name-with-dot-not-completed"],
  ["SVC", { ...SERVICE, ...LINUX, flow: "pod-to-service-partial-name" }, "works, sees any"],
  // kube-proxy.md §3.13.
  ["SVC-NON-DSR", { ...SERVICE, backEnds: 64, sourceRevision: 886 }, "works, sees client-node"],
  ["SVC-BACK-ENDS-64-2022", { ...SERVICE, backEnds: 65, sourceRevision: 886 }, "too-many-back-ends"],
  ["SVC-NON-DSR", { ...SERVICE, backEnds: 65, sourceRevision: 887 }, "works, sees client-node"],
  [
    "SVC-BACK-ENDS-64-2019",
    { ...SERVICE, ...WS2019, backEnds: 65, sourceRevision: 3286 },
    "too-many-back-ends",
  ],
  ["SVC-BACK-ENDS-64-OLD", { ...SERVICE, backEnds: 65, sourceBuild: 19_041 }, "too-many-back-ends"],
  ["SVC-BACK-ENDS-1024", { ...SERVICE, backEnds: 1025, sourceBuild: 26_100 }, "too-many-back-ends"],
  ["SVC", { ...SERVICE, ...LINUX, backEnds: 1025 }, "works, sees any"],
  [
    "NODEPORT-BACK-ENDS-64-2019",
    { ...NODE_PORT, targetBuild: 17_763, targetRevision: 3286, backEnds: 65 },
    "too-many-back-ends",
  ],
  ["NODEPORT-BACK-ENDS-64-OLD", { ...NODE_PORT, targetBuild: 18_362, backEnds: 65 }, "too-many-back-ends"],
  ["NODEPORT-BACK-ENDS-64-2022", { ...NODE_PORT, targetRevision: 886, backEnds: 65 }, "too-many-back-ends"],
  ["NODEPORT-BACK-ENDS-1024", { ...NODE_PORT, backEnds: 1025 }, "too-many-back-ends"],
  ["NODEPORT", { ...NODE_PORT, backEnds: 65 }, "works, sees any"],
  // windows-networking-documentation.md §9 (8); dataplane.md §2.4 B-8.
  [
    "SVC-FROM-NODE",
    { ...SERVICE, ...WS2019, flow: "node-to-cluster-ip" },
    "service-vip-from-node-unsupported",
  ],
  ["SVC", { ...SERVICE, flow: "node-to-cluster-ip" }, "works, sees any"],
  // windows-networking-documentation.md §8, §9 (3); dataplane.md §10.
  [
    "NODEPORT-SELF-2019",
    { ...SERVICE, ...WS2019, flow: "node-to-own-node-port", targetRevision: 1431 },
    "node-port-from-node-unsupported",
  ],
  [
    "NODEPORT",
    { ...SERVICE, ...WS2019, flow: "node-to-own-node-port", targetRevision: 1432 },
    "works, sees any",
  ],
  [
    "NODEPORT-SELF-OLD",
    { ...SERVICE, flow: "node-to-own-node-port", targetBuild: 19_041 },
    "node-port-from-node-unsupported",
  ],
  [
    "NODEPORT",
    { ...SERVICE, flow: "node-to-node-port", targetBuild: 17_763, targetRevision: 1 },
    "works, sees any",
  ],
  // dataplane.md §10.
  ["NODEPORT-WITHOUT-PODS", { ...NODE_PORT, askedHasPods: false }, "node-port-without-pods-on-node"],
  ["NODEPORT", { ...NODE_PORT, askedHasPods: false, targetOs: "linux" }, "works, sees any"],
  // dataplane.md §2.4 B-7; kube-proxy.md §3.8.
  ["NODEPORT", NODE_PORT, "works, sees any"],
  ["LOCAL", { ...NODE_PORT, externalTrafficPolicy: "Local" }, "works, sees client"],
  [
    "LOCAL-EMPTY",
    { ...NODE_PORT, externalTrafficPolicy: "Local", localBackEnds: 0 },
    "external-traffic-policy-local-without-local-endpoint",
  ],
  [
    "LOCAL-WITHOUT-DSR",
    { ...NODE_PORT, externalTrafficPolicy: "Local", targetBuild: 17_763, targetRevision: 1431 },
    "external-traffic-policy-local-without-dsr",
  ],
  [
    "LOCAL",
    { ...NODE_PORT, flow: "outside-to-ingress", externalTrafficPolicy: "Local" },
    "works, sees client",
  ],
  [
    "LOCAL-EMPTY-SELF",
    {
      ...SERVICE,
      flow: "node-to-own-node-port",
      targetBuild: 19_041,
      externalTrafficPolicy: "Local",
      localBackEnds: 0,
    },
    "external-traffic-policy-local-without-local-endpoint",
  ],
  [
    "LOCAL-EMPTY-SELF",
    { ...SERVICE, flow: "node-to-own-node-port", externalTrafficPolicy: "Local", localBackEnds: 0 },
    "external-traffic-policy-local-without-local-endpoint",
  ],
  ["HOST-PORT", { flow: "outside-to-host-port", sourceOs: "outside" }, "works, sees client"],
  // windows-networking-documentation.md §5.
  // windows-networking-documentation.md §9 (8): whatever the policy of the Service, and however old kube-proxy is.
  [
    "SVC-FROM-NODE",
    {
      ...SERVICE,
      ...WS2019,
      flow: "node-to-cluster-ip",
      internalTrafficPolicy: "Local",
      localBackEnds: 0,
      kubernetesMinor: 26,
    },
    "service-vip-from-node-unsupported",
  ],
  ["AFFINITY", { ...SERVICE, flow: "session-affinity" }, "works, sees any"],
  ["AFFINITY-OLD", { ...SERVICE, ...WS2019, flow: "session-affinity" }, "not-applicable"],
  ["AFFINITY-OLD", { ...SERVICE, ...WS2019, flow: "session-affinity-timeout" }, "not-applicable"],
  ["AFFINITY-TIMEOUT", { ...SERVICE, flow: "session-affinity-timeout" }, "session-affinity-timeout-ignored"],
  ["AFFINITY-TIMEOUT-LINUX", { ...SERVICE, ...LINUX, flow: "session-affinity-timeout" }, "not-applicable"],
  // windows-networking-documentation.md §8.
  ["BRING-UP", { flow: "bring-up" }, "works, sees any"],
  ["HOST-NETWORK", { flow: "pod-in-host-network" }, "host-network-unsupported"],
  ["HOST-PROCESS", { flow: "pod-in-host-network", isHostProcess: true }, "works, sees any"],
  ["PROMISED", { ...LINUX, flow: "pod-in-host-network" }, "works, sees any"],
  // Kubernetes documentation: Protocols for Services; Service of type LoadBalancer.
  ["SERVICE-SCTP", { flow: "service-state", serviceState: "sctp" }, "service-sctp-unsupported"],
  [
    "SERVICE-WITHOUT-ADDRESS",
    { flow: "service-state", serviceState: "without-address" },
    "load-balancer-without-address",
  ],
];

describe("the table of expectations", () => {
  it.each(CASES.map(([id, facts, expected]) => ({ id, facts, expected })))(
    "$id: $expected",
    ({ id, facts, expected }) => {
      const row = findExpectation({ ...FACTS, ...facts });
      expect([row.id, short(row.expected)]).toEqual([id, expected]);
    },
  );

  it("has a case here for each of its rows, and ids that are unique", () => {
    const ids = EXPECTATION_ROWS.map((row) => row.id);
    expect(new Set(ids).size).toBe(ids.length);
    const cases = new Set(CASES.map(([id]) => id));
    expect(ids.filter((id) => !cases.has(id))).toEqual([]);
  });

  it("promises each of the nine flows for TCP and UDP on every build (windows-networking-documentation.md §3)", () => {
    for (const sourceBuild of [17_763, 18_362, 19_041, 20_348, 22_000, 26_100]) {
      for (const protocol of ["tcp", "udp"] as const) {
        for (const flow of FLOWS.slice(0, 9)) {
          const near = flow.includes("service") || flow.includes("cluster-ip") ? SERVICE : {};
          const facts = { ...FACTS, ...near, ...(flow.includes("external") ? OUTSIDE : {}), flow };
          const { expected } = findExpectation({ ...facts, sourceBuild, targetBuild: sourceBuild, protocol });
          expect([flow, protocol, expected.outcome]).toEqual([flow, protocol, "works"]);
        }
      }
    }
  });
});

/** Each fact's values on both sides of every condition of the table. */
const DOMAIN: { readonly [Fact in keyof FlowFacts]: readonly FlowFacts[Fact][] } = {
  flow: FLOWS,
  protocol: ["tcp", "icmp"],
  relation: ["same-node", "other-node", "service"],
  sourceOs: ["windows", "linux", "outside"],
  sourceBuild: [17_763, 19_041, 20_348],
  sourceRevision: [886, 887, 3_287],
  sourceBuildNamed: [0],
  targetOs: ["windows", "linux"],
  targetBuild: [17_763, 19_041, 20_348],
  targetRevision: [886, 1_431, 3_287],
  driver: ["L2Bridge", "Overlay", "NAT"],
  shape: ["own-subnet"],
  hasOtherVni: [true, false],
  hasGivenSubnetFile: [true, false],
  networks: ["same", "virtual", "joined"],
  hasTwin: [true, false],
  isMacRefused: [true, false],
  isDeniedByFabric: [true, false],
  kubernetesMinor: [26, 27],
  outboundNat: ["translates", "excepted", "none"],
  areAnswersTranslated: [true, false],
  hasRouteToTarget: [true, false],
  hasRouteToSource: [true, false],
  hasOwnRules: [true, false],
  hasLoopbackDsr: [true, false],
  hasDns: [true, false],
  isHostProcess: [true, false],
  hasName: [true, false],
  // Mostly not of 2017, whose rows look at few facts.
  setUp: ["present", "present", "present", "acs-2017", "ovn"],
  hasProxy: [true, false],
  isDsr: [true, false],
  losesPodsWithDsr: [true, false],
  mayOpenNoConnections: [true, false],
  losesOverlayNodePorts: [true, false],
  losesSecondNodePort: [true, false],
  preservesDestination: [true, false],
  service: ["cluster-ip", "headless", "external-name"],
  isClientServed: [true, false],
  strayBackEnds: ["none", "some", "all"],
  backEnds: [0, 64, 65, 1_025],
  localBackEnds: [0, 1],
  askedHasPods: [true, false],
  hasStrangers: [true, false],
  internalTrafficPolicy: ["Cluster", "Local"],
  externalTrafficPolicy: ["Cluster", "Local"],
  serviceState: ["as-written", "sctp", "without-address"],
  asDocumented: ["no"],
};

function concerns(row: ExpectationRow, flow: FlowName): boolean {
  const condition = row.when.flow;
  return (
    condition === undefined || (Array.isArray(condition) ? condition.includes(flow) : condition === flow)
  );
}

/** Facts that decide alone when they are not as usual. */
const GATES: ReadonlySet<string> = new Set([
  "hasOwnRules",
  "hasDns",
  "hasName",
  "hasProxy",
  "hasStrangers",
  "networks",
  "hasTwin",
  "isMacRefused",
  "isDeniedByFabric",
  "strayBackEnds",
]);
const SAMPLES = 4_000;

/** Combinations of the facts that rows of this flow look at, drawn evenly; one in eight with a gate closed. */
function* combinations(flow: FlowName, prng: Prng): Generator<FlowFacts> {
  const rows = EXPECTATION_ROWS.filter((row) => concerns(row, flow));
  const facts = [...new Set(rows.flatMap(({ when }) => Object.keys(when) as (keyof FlowFacts)[]))];
  const drawn = facts.filter((fact) => fact !== "flow");
  for (let sample = 0; sample < SAMPLES; sample++) {
    const varied = sample % 8 === 0 ? drawn : drawn.filter((fact) => !GATES.has(fact));
    const values = varied.map((fact) => [fact, DOMAIN[fact][prng.below(DOMAIN[fact].length)]] as const);
    yield { ...FACTS, flow, ...Object.fromEntries(values) };
  }
}

describe("combinations of facts that the table can tell apart", () => {
  it("are decided by exactly one row, and every row decides some", () => {
    const prng = new Prng(1);
    const deciding = new Set<string>();
    let undecided = 0;
    for (const flow of FLOWS) {
      for (const facts of combinations(flow, prng)) {
        const row = findExpectation(facts);
        if (!matchesRow(row, facts)) undecided++;
        deciding.add(row.id);
      }
    }
    expect(undecided).toBe(0);
    expect(EXPECTATION_ROWS.map((row) => row.id).filter((id) => !deciding.has(id))).toEqual([]);
  });

  it("are decided at all: the last row has no conditions", () => {
    expect(EXPECTATION_ROWS.at(-1)?.when).toEqual({});
  });
});

/** By DOMAIN no sample has what the page's sentences differ by alone. */
const NEAR_UPDATES: Partial<typeof DOMAIN> = {
  hasOtherVni: [true, false],
  isDsr: [true, false],
  sourceBuild: [17_763, 20_348, 26_100],
  sourceRevision: [261, 886, 887, 1_431, 1_432, 3_286, 3_287],
  targetBuild: [17_763, 19_041, 20_348, 26_100],
  targetRevision: [261, 886, 887, 1_431, 1_432, 3_286, 3_287],
  externalTrafficPolicy: ["Cluster", "Local"],
  backEnds: [1, 64, 65],
  localBackEnds: [0, 1],
};

describe("what the Kubernetes page denies and the table does not", () => {
  it("has a known reason on every build", () => {
    const prng = new Prng(2);
    const differing = new Set<string>();
    for (const flow of FLOWS) {
      for (const facts of combinations(flow, prng)) {
        const near = Object.entries(NEAR_UPDATES).map(([fact, values]) => [
          fact,
          values[prng.below(values.length)],
        ]);
        const drawn = { ...facts, ...Object.fromEntries(near) } as FlowFacts;
        const { outcome } = findExpectation(drawn).expected;
        const sentence = findSentence(drawn);
        if (outcome !== "works" || sentence?.outcome !== "denied") continue;
        const page = differenceFromPage(drawn, outcome);
        expect([sentence.id, drawn, page?.difference.id]).toEqual([sentence.id, drawn, expect.any(String)]);
        differing.add(sentence.id);
      }
    }
    const denied = DOCUMENTED_SENTENCES.filter(
      ({ outcome, differs, speaksOf, troubles }) =>
        outcome === "denied" && differs.length > 0 && speaksOf.length > 0 && troubles === undefined,
    );
    expect(denied.map(({ id }) => id).filter((id) => !differing.has(id))).toEqual([]);
  });
});
