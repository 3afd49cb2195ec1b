/** Expectations of flows to ports of nodes and to addresses of load balancers. */
import type { ExpectationRow, FlowName } from "../expectations.ts";
import { updateRevision } from "../profiles.ts";

const WS2019 = 17_763;
/** Inferred: these releases did not get what KB4571748 brought to Windows Server 2019 (dataplane.md DT-117). */
const OLD_BUILDS: readonly number[] = [18_362, 19_041];
const FROM_OUTSIDE: readonly FlowName[] = ["outside-to-node-port", "outside-to-ingress"];
const FROM_ELSEWHERE: readonly FlowName[] = [...FROM_OUTSIDE, "node-to-node-port"];

export const OUTSIDE_ROWS: readonly ExpectationRow[] = [
  {
    id: "SERVICE-SCTP",
    when: { flow: "service-state", serviceState: "sctp" },
    expected: { outcome: "denied", code: "service-sctp-unsupported", proof: "shown" },
    source: "Kubernetes documentation: SCTP is not supported on Windows nodes",
  },
  {
    id: "SERVICE-WITHOUT-ADDRESS",
    when: { flow: "service-state", serviceState: "without-address" },
    expected: { outcome: "denied", code: "load-balancer-without-address", proof: "shown" },
    source: "Kubernetes documentation: Service, type LoadBalancer",
  },
  {
    // Whoever asks, and whatever the policy: nothing forwards the port.
    id: "NODEPORT-WITHOUT-PODS",
    when: {
      flow: ["outside-to-node-port", "node-to-node-port", "node-to-own-node-port"],
      targetOs: "windows",
      externalTrafficPolicy: "Cluster",
      askedHasPods: false,
    },
    expected: { outcome: "denied", code: "node-port-without-pods-on-node", proof: "drop" },
    source: "dataplane.md DT-116",
  },
  {
    // The node itself asks its load balancer another way.
    id: "NODEPORT-OVERLAY-2022",
    when: {
      flow: ["outside-to-node-port", "node-to-node-port"],
      driver: "Overlay",
      externalTrafficPolicy: "Cluster",
      losesOverlayNodePorts: true,
    },
    expected: { outcome: "denied", code: "node-port-on-overlay-server-2022", proof: "drop" },
    source: "windows-networking-documentation.md §5",
  },
  {
    id: "NODEPORT-SECOND-FAMILY",
    when: {
      flow: ["outside-to-node-port", "node-to-node-port", "node-to-own-node-port"],
      losesSecondNodePort: true,
    },
    expected: {
      outcome: "denied",
      code: "dual-stack-node-port-missing",
      proof: "drop",
      dropCodes: ["port-not-listening", "no-answer"],
    },
    source: "kube-proxy.md §3.11",
  },
  {
    id: "NODEPORT-SELF-2019",
    when: {
      flow: "node-to-own-node-port",
      targetBuild: WS2019,
      targetRevision: { below: updateRevision("KB4571748") },
    },
    expected: { outcome: "denied", code: "node-port-from-node-unsupported", proof: "drop" },
    source: "windows-networking-documentation.md §8, §9 (3), dataplane.md DT-117",
  },
  {
    id: "LOCAL-EMPTY-SELF",
    when: {
      flow: "node-to-own-node-port",
      targetOs: "windows",
      externalTrafficPolicy: "Local",
      localBackEnds: 0,
    },
    expected: {
      outcome: "denied",
      code: "external-traffic-policy-local-without-local-endpoint",
      proof: "drop",
      dropCodes: ["port-not-listening", "no-answer"],
    },
    source: "kube-proxy.md §3.8",
  },
  {
    id: "NODEPORT-SELF-OLD",
    when: { flow: "node-to-own-node-port", targetBuild: OLD_BUILDS },
    expected: { outcome: "denied", code: "node-port-from-node-unsupported", proof: "drop" },
    source: "windows-networking-documentation.md §8, §9 (3)",
  },
  {
    id: "LOCAL-WITHOUT-DSR",
    when: {
      flow: FROM_ELSEWHERE,
      externalTrafficPolicy: "Local",
      targetBuild: WS2019,
      targetRevision: { below: updateRevision("KB4571748") },
    },
    expected: {
      outcome: "denied",
      code: "external-traffic-policy-local-without-dsr",
      proof: "client-address-lost",
    },
    source: "windows-networking-documentation.md §8, kube-proxy.md §3.8",
  },
  {
    id: "LOCAL-EMPTY",
    when: { flow: FROM_ELSEWHERE, externalTrafficPolicy: "Local", localBackEnds: 0 },
    expected: {
      outcome: "denied",
      code: "external-traffic-policy-local-without-local-endpoint",
      proof: "drop",
      dropCodes: ["port-not-listening", "no-answer"],
    },
    source: "dataplane.md §2.4 B-7, kube-proxy.md §3.8",
  },
  {
    id: "LOCAL",
    when: { flow: FROM_OUTSIDE, externalTrafficPolicy: "Local" },
    expected: { outcome: "works", sees: "client" },
    source: "windows-networking-documentation.md §5, dataplane.md §2.4 B-7",
  },
  {
    id: "NODEPORT",
    when: { flow: [...FROM_ELSEWHERE, "node-to-own-node-port"] },
    expected: { outcome: "works", sees: "any" },
    source: "windows-networking-documentation.md §5, dataplane.md §2.4 B-7",
  },
  {
    id: "HOST-PORT",
    when: { flow: "outside-to-host-port" },
    expected: { outcome: "works", sees: "client" },
    source: "dataplane.md §2.4 B-7",
  },
];
