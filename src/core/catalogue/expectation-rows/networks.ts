/** Expectations that come from the driver of a network, and from several networks on one node. */
import type { ExpectationRow, FlowName } from "../expectations.ts";

const POD_TO_POD: readonly FlowName[] = ["pod-to-pod-ip", "pod-to-pod-name"];
const TO_EXTERNAL: readonly FlowName[] = ["pod-to-external-ip", "pod-to-external-name"];

/** Two networks: only virtual ones are promised to be apart. */
const SEVERAL: readonly ExpectationRow[] = [
  {
    id: "NET-TWIN-ECHO",
    when: { flow: POD_TO_POD, networks: "virtual", hasTwin: true, protocol: "icmp" },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §2",
  },
  {
    id: "NET-VIRTUAL",
    when: { flow: POD_TO_POD, networks: "virtual" },
    expected: { outcome: "denied", code: "pod-networks-isolated", proof: "not-reached" },
    source: "windows-networking-documentation.md §2",
  },
  {
    id: "NET-JOINED",
    when: { flow: POD_TO_POD, networks: "joined" },
    expected: { outcome: "not-applicable" },
    source: "windows-networking-documentation.md §2",
  },
  {
    id: "NET-TWIN-FROM-NODE",
    when: { flow: "node-to-pod", hasTwin: true },
    expected: { outcome: "not-applicable" },
    source: "dataplane.md §2.3 O-9",
  },
  {
    id: "NET-TWIN-TO-NODE",
    when: { flow: "pod-to-node", hasTwin: true, relation: "same-node" },
    expected: { outcome: "not-applicable" },
    source: "dataplane.md §2.3 O-9",
  },
  {
    id: "NET-TWIN-ECHO-TO-NODE",
    when: { flow: "pod-to-node", hasTwin: true, protocol: "icmp" },
    expected: { outcome: "not-applicable" },
    source: "dataplane.md §2.3 O-9",
  },
];

const FABRIC: readonly ExpectationRow[] = [
  {
    id: "FABRIC-DENIES",
    when: { isDeniedByFabric: true },
    expected: { outcome: "denied", code: "fabric-acl-denied", proof: "drop" },
    source: "dataplane.md §2.5, DT-068",
  },
  {
    id: "MAC-REFUSED",
    when: { isMacRefused: true },
    expected: {
      outcome: "denied",
      code: "mac-spoofing-refused",
      proof: "drop",
      // The first frame that is lost is an ARP request or its answer.
      dropCodes: ["neighbor-unresolved"],
    },
    source: "dataplane.md §2.6, DT-071",
  },
];

/** Behind a NAT nobody is reached but by the ports that its node publishes (dataplane.md §2.7). */
const NAT: readonly ExpectationRow[] = [
  {
    id: "NAT-OUTBOUND-2019",
    when: {
      driver: "NAT",
      flow: [...POD_TO_POD, ...TO_EXTERNAL, "pod-to-node"],
      relation: ["other-node", "outside"],
      mayOpenNoConnections: true,
    },
    expected: { outcome: "denied", code: "hns-nat-denies-outbound", proof: "drop" },
    source: "microsoft/Windows-Containers#617, hcn.md §3.5",
  },
  {
    id: "NAT-OTHER-NODE",
    when: { driver: "NAT", flow: [...POD_TO_POD, "node-to-pod"], relation: "other-node" },
    expected: { outcome: "denied", code: "no-route", proof: "drop" },
    source: "dataplane.md §2.7",
  },
  {
    id: "NAT-OUTSIDE",
    when: { driver: "NAT", flow: TO_EXTERNAL, sourceOs: "windows" },
    expected: { outcome: "works", sees: "client-node" },
    source: "dataplane.md §2.7 N-1, DT-081",
  },
  {
    id: "NAT-TO-OTHER-NODE",
    when: { driver: "NAT", flow: "pod-to-node", sourceOs: "windows", relation: "other-node" },
    expected: { outcome: "works", sees: "client-node" },
    source: "dataplane.md §2.7 N-1",
  },
];

export const NETWORK_ROWS: readonly ExpectationRow[] = [...SEVERAL, ...FABRIC, ...NAT];
