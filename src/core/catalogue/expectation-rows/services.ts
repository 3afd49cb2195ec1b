/** Expectations of flows from inside the cluster to Services, by address and by name. */
import type { ExpectationRow, FlowName } from "../expectations.ts";
import { updateRevision } from "../profiles.ts";

/** The flows to the address of a Service. `pod-to-own-service` is the case in which the client is a back end. */
const BY_ADDRESS: readonly FlowName[] = ["pod-to-cluster-ip", "pod-to-own-service", "node-to-cluster-ip"];
const BY_NAME: readonly FlowName[] = [
  "pod-to-service-short-name",
  "pod-to-service-full-name",
  "pod-to-service-partial-name",
];
const TO_SERVICE: readonly FlowName[] = [...BY_ADDRESS, ...BY_NAME];
const FROM_PODS: readonly FlowName[] = ["pod-to-cluster-ip", "pod-to-own-service", ...BY_NAME];
const AT_NODES: readonly FlowName[] = [
  "node-to-own-node-port",
  "node-to-node-port",
  "outside-to-node-port",
  "outside-to-ingress",
];
const AFFINITY_FLOWS: readonly FlowName[] = ["session-affinity", "session-affinity-timeout"];
const ALL_SERVICE_FLOWS: readonly FlowName[] = [...TO_SERVICE, ...AT_NODES, ...AFFINITY_FLOWS];

const WS2019 = 17_763;
const WS2022 = 20_348;
/**
 * Builds between the two. Inferred: they were out of support when updates raised the number of back ends, so they kept
 * what they were released with (kube-proxy.md §3.13 names no update).
 */
const OLD_BUILDS: readonly number[] = [18_362, 19_041];
const BACK_ENDS_AT_RELEASE = 64;
const BACK_ENDS = 1_024;

const NAMES: readonly ExpectationRow[] = [
  {
    id: "SVC-NAME-DOT",
    when: { flow: "pod-to-service-partial-name", sourceOs: "windows" },
    expected: { outcome: "denied", code: "dns-name-with-dot-not-completed", proof: "name-not-found" },
    source: "windows-networking-documentation.md §6",
  },
];

const KINDS: readonly ExpectationRow[] = [
  {
    id: "SVC-EXTERNAL-NAME",
    when: { flow: [...BY_ADDRESS, ...AFFINITY_FLOWS], service: "external-name" },
    expected: {
      outcome: "not-applicable",
      code: "external-name-not-proxied",
    },
    source: "kube-proxy.md §3.1, KP-A",
  },
  {
    id: "SVC-EXTERNAL-NAME-EXCEPTED",
    when: {
      flow: BY_NAME,
      service: "external-name",
      sourceOs: "windows",
      outboundNat: "excepted",
      hasRouteToSource: false,
    },
    expected: { outcome: "denied", code: "outbound-nat-exception", proof: "drop" },
    source: "windows-networking-documentation.md §9 (2)",
  },
  {
    id: "SVC-EXTERNAL-NAME-WITHOUT-NAT",
    when: {
      flow: BY_NAME,
      service: "external-name",
      sourceOs: "windows",
      outboundNat: "none",
      hasRouteToSource: false,
    },
    expected: { outcome: "denied", code: "no-route-back", proof: "drop" },
    source: "dataplane.md §2.4 B-6",
  },
  {
    id: "SVC-EXTERNAL-NAME-BY-NAME",
    when: { flow: BY_NAME, service: "external-name" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §5",
  },
  {
    id: "SVC-HEADLESS",
    when: { flow: [...BY_ADDRESS, ...AFFINITY_FLOWS], service: "headless" },
    expected: {
      outcome: "not-applicable",
      code: "headless-service-without-vip",
    },
    source: "kube-proxy.md §3.1, KP-A",
  },
  {
    id: "SVC-HEADLESS-EMPTY",
    when: { flow: BY_NAME, service: "headless", backEnds: 0 },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §6",
  },
  {
    id: "SVC-HEADLESS-BY-NAME",
    when: { flow: BY_NAME, service: "headless" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §6",
  },
  {
    id: "SVC-NO-PROXY",
    when: { flow: ALL_SERVICE_FLOWS, hasProxy: false },
    expected: { outcome: "not-applicable" },
    source: "users.md G3",
  },
  {
    id: "SVC-STRANGERS",
    when: { flow: ALL_SERVICE_FLOWS, hasStrangers: true },
    expected: { outcome: "not-applicable" },
    source: "kube-proxy.md §3.4",
  },
  {
    id: "SVC-BACK-ENDS-STRAY",
    when: { flow: ALL_SERVICE_FLOWS, protocol: ["tcp", "udp"], service: "cluster-ip", strayBackEnds: "all" },
    expected: {
      outcome: "denied",
      code: "service-back-end-in-other-network",
      proof: "drop",
      // A Linux node translates its own packets before there is a frame.
      dropCodes: ["no-route"],
    },
    source: "kube-proxy.md §3.4, §8 row B5",
  },
  {
    id: "SVC-BACK-ENDS-PARTLY-STRAY",
    when: { flow: ALL_SERVICE_FLOWS, protocol: ["tcp", "udp"], service: "cluster-ip", strayBackEnds: "some" },
    expected: {
      outcome: "not-applicable",
      code: "service-back-end-in-other-network",
    },
    source: "kube-proxy.md §3.4, §8 row B5",
  },
  {
    // Windows' kube-proxy makes no load balancer, so that the packet goes where its route leads.
    id: "SVC-NO-BACK-ENDS",
    when: { flow: "pod-to-cluster-ip", protocol: ["tcp", "udp"], sourceOs: "windows", backEnds: 0 },
    expected: { outcome: "denied", code: "service-without-back-ends", proof: "drop" },
    source: "kube-proxy.md §3.9",
  },
  {
    id: "SVC-NO-ENDPOINTS-LINUX",
    when: { flow: "pod-to-cluster-ip", protocol: ["tcp", "udp"], sourceOs: "linux", backEnds: 0 },
    expected: { outcome: "denied", code: "service-without-endpoints", proof: "drop" },
    source: "Kubernetes documentation: kube-proxy on Linux refuses connections to Services without endpoints",
  },
  {
    id: "SVC-EMPTY",
    when: { flow: ALL_SERVICE_FLOWS, backEnds: 0 },
    expected: { outcome: "not-applicable" },
    source: "kube-proxy.md §3.9",
  },
  {
    id: "SVC-NO-ROUTE",
    when: { flow: ALL_SERVICE_FLOWS, hasRouteToTarget: false },
    expected: { outcome: "not-applicable" },
    source: "dataplane.md §2.4 cfg-2",
  },
  {
    id: "SVC-ICMP",
    when: { flow: TO_SERVICE, protocol: "icmp" },
    expected: {
      outcome: "denied",
      code: "icmp-to-service-not-balanced",
      proof: "drop",
    },
    source: "dataplane.md §2.9",
  },
];

/** More back ends than HNS takes: the load balancer is refused, and nothing else leads to the Service. */
function tooMany(id: string, when: ExpectationRow["when"], max: number): ExpectationRow {
  return {
    id,
    when: { ...when, backEnds: { atLeast: max + 1 } },
    expected: {
      outcome: "denied",
      code: "too-many-back-ends",
      proof: "drop",
      // A packet to a load balancer's address that no node takes goes round between the node and the router.
      dropCodes: [
        "service-without-back-ends",
        "service-vip-from-node-unsupported",
        "port-not-listening",
        "ttl-expired",
      ],
    },
    source: "kube-proxy.md §3.13, windows-networking-documentation.md §8",
  };
}

/** The client's node chooses among the back ends of a Service's address. */
const FROM_WINDOWS = { flow: [...TO_SERVICE, ...AFFINITY_FLOWS], sourceOs: "windows" } as const;
/** The node that is asked chooses among those of its NodePort, and of the address of a load balancer. */
const AT_WINDOWS = { flow: AT_NODES, targetOs: "windows" } as const;

const LIMITS: readonly ExpectationRow[] = [
  tooMany("SVC-BACK-ENDS-1024", FROM_WINDOWS, BACK_ENDS),
  tooMany(
    "SVC-BACK-ENDS-64-2019",
    { ...FROM_WINDOWS, sourceBuild: WS2019, sourceRevision: { below: updateRevision("KB5016623") } },
    BACK_ENDS_AT_RELEASE,
  ),
  tooMany("SVC-BACK-ENDS-64-OLD", { ...FROM_WINDOWS, sourceBuild: OLD_BUILDS }, BACK_ENDS_AT_RELEASE),
  tooMany(
    "SVC-BACK-ENDS-64-2022",
    { ...FROM_WINDOWS, sourceBuild: WS2022, sourceRevision: { below: updateRevision("KB5016627") } },
    BACK_ENDS_AT_RELEASE,
  ),
  tooMany("NODEPORT-BACK-ENDS-1024", AT_WINDOWS, BACK_ENDS),
  tooMany(
    "NODEPORT-BACK-ENDS-64-2019",
    { ...AT_WINDOWS, targetBuild: WS2019, targetRevision: { below: updateRevision("KB5016623") } },
    BACK_ENDS_AT_RELEASE,
  ),
  tooMany("NODEPORT-BACK-ENDS-64-OLD", { ...AT_WINDOWS, targetBuild: OLD_BUILDS }, BACK_ENDS_AT_RELEASE),
  tooMany(
    "NODEPORT-BACK-ENDS-64-2022",
    { ...AT_WINDOWS, targetBuild: WS2022, targetRevision: { below: updateRevision("KB5016627") } },
    BACK_ENDS_AT_RELEASE,
  ),
];

/**
 * SVC-FROM-NODE. Inferred: the release that the documentation announces is Windows Server 2022 (dataplane.md §2.4 B-8).
 * SVC-HAIRPIN under DSR. Inferred: a pod whose own range is not excepted gets the node's address on its way to itself,
 * as loopbackDSR gives it (dataplane.md §2.4 B-5).
 */
const POLICIES: readonly ExpectationRow[] = [
  {
    id: "SVC-LOCAL-IGNORED",
    when: {
      flow: TO_SERVICE,
      sourceOs: "windows",
      internalTrafficPolicy: "Local",
      localBackEnds: 0,
      kubernetesMinor: { below: 27 },
    },
    expected: { outcome: "works", sees: "any" },
    source: "kube-proxy.md §3.1 (internalTrafficLocal from 1.27 on)",
  },
  {
    id: "SVC-LOCAL-EMPTY",
    when: { flow: TO_SERVICE, internalTrafficPolicy: "Local", localBackEnds: 0 },
    expected: { outcome: "not-applicable" },
    source: "kube-proxy.md §3.8",
  },
  {
    id: "SVC-FROM-NODE",
    when: { flow: "node-to-cluster-ip", sourceOs: "windows", sourceBuild: { below: WS2022 } },
    expected: { outcome: "denied", code: "service-vip-from-node-unsupported", proof: "drop" },
    source: "windows-networking-documentation.md §9 (8), dataplane.md §2.4 B-8",
  },
  {
    id: "SVC-FROM-FURTHER-NETWORK",
    when: { flow: FROM_PODS, sourceOs: "windows", isClientServed: false },
    expected: { outcome: "works", sees: "any" },
    source: "dataplane.md §2.2.3, §2.4 B-8",
  },
  {
    id: "SVC-HAIRPIN-DSR",
    when: {
      flow: "pod-to-own-service",
      sourceOs: "windows",
      isDsr: true,
      outboundNat: ["excepted", "none"],
    },
    expected: {
      outcome: "denied",
      code: "hairpin-under-dsr",
      proof: "drop",
      // On an L2Tunnel network the packet comes back from the fabric, and the pod's own stack refuses it.
      dropCodes: ["hairpin-under-dsr", "martian-source"],
    },
    source: "dataplane.md §2.4 B-5",
  },
  {
    id: "SVC-HAIRPIN-OVERLAY",
    when: { flow: "pod-to-own-service", sourceOs: "windows", isDsr: false, driver: "Overlay" },
    expected: { outcome: "works", sees: "client-source-vip" },
    source: "dataplane.md §2.3 O-5, §3.3",
  },
  {
    id: "SVC-HAIRPIN",
    when: { flow: "pod-to-own-service", sourceOs: "windows" },
    expected: { outcome: "works", sees: "client-node" },
    source: "dataplane.md §2.4 B-5",
  },
  {
    id: "SVC-HAIRPIN-LINUX",
    when: { flow: "pod-to-own-service" },
    expected: { outcome: "works", sees: "any" },
    source: "Kubernetes documentation: kube-proxy masquerades hairpin traffic",
  },
  {
    id: "SVC-DSR",
    when: { flow: FROM_PODS, sourceOs: "windows", isDsr: true, outboundNat: ["excepted", "none"] },
    expected: { outcome: "works", sees: "client" },
    source: "windows-networking-documentation.md §5, dataplane.md §2.4 B-3",
  },
  {
    id: "SVC-NON-DSR-OVERLAY",
    when: { flow: FROM_PODS, sourceOs: "windows", isDsr: false, driver: "Overlay" },
    expected: { outcome: "works", sees: "client-source-vip" },
    source: "dataplane.md §2.3 O-5, §3.3",
  },
  {
    id: "SVC-NON-DSR",
    when: { flow: FROM_PODS, sourceOs: "windows", isDsr: false },
    expected: { outcome: "works", sees: "client-node" },
    source: "dataplane.md §2.4 B-4",
  },
  {
    id: "SVC",
    when: { flow: TO_SERVICE },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §3",
  },
];

const AFFINITY: readonly ExpectationRow[] = [
  {
    id: "AFFINITY-OLD",
    when: { flow: AFFINITY_FLOWS, sourceOs: "windows", sourceBuild: { below: WS2022 } },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §5",
  },
  {
    id: "AFFINITY",
    when: { flow: "session-affinity" },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §5, dataplane.md §3.1",
  },
  {
    id: "AFFINITY-TIMEOUT",
    when: { flow: "session-affinity-timeout", sourceOs: "windows" },
    expected: { outcome: "denied", code: "session-affinity-timeout-ignored", proof: "same-back-end" },
    source: "windows-networking-documentation.md §5, kube-proxy.md §3.10",
  },
  {
    id: "AFFINITY-TIMEOUT-LINUX",
    when: { flow: "session-affinity-timeout" },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §5",
  },
];

export const SERVICE_ROWS: readonly ExpectationRow[] = [
  ...NAMES,
  ...KINDS,
  ...LIMITS,
  ...POLICIES,
  ...AFFINITY,
];
