// What NetworkPolicies say of a connection. Expected: the sentences of the API reference and of
// https://kubernetes.io/docs/concepts/services-networking/network-policies/; inputs: recipes that are common in public.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { defined } from "#core/base/assert.ts";
import { parseIp } from "#core/net/ip.ts";
import {
  type PolicyConnection,
  type PolicyEnd,
  openDirections,
  readNetworkPolicy,
  verdictOf,
} from "./network-policy.ts";
import type { NetworkPolicy } from "./objects.ts";

interface PodShape {
  readonly address: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isHostNetwork?: boolean;
}

const NAMESPACES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  shop: { team: "shop", "kubernetes.io/metadata.name": "shop" },
  bank: { team: "bank", "kubernetes.io/metadata.name": "bank" },
};

const PODS: Readonly<Record<string, PodShape>> = {
  "shop/web": { address: "10.244.1.2", node: "win-1", labels: { app: "web" } },
  "shop/api": { address: "10.244.1.3", node: "win-1", labels: { app: "api", tier: "back" } },
  "bank/web": { address: "10.244.2.2", node: "win-2", labels: { app: "web" } },
  "bank/api": { address: "10.244.2.3", node: "win-2", labels: { app: "api" } },
  "shop/agent": { address: "10.0.0.11", node: "win-1", labels: { app: "agent" }, isHostNetwork: true },
};

/** `shop/web`, `node win-1 10.0.0.11`, or an address outside. */
function endOf(text: string): PolicyEnd {
  const [node, name, ip] = text.split(" ");
  if (node === "node") return { pod: undefined, address: parseIp(ip ?? ""), node: name };
  const shape = PODS[text];
  if (shape === undefined) return { pod: undefined, address: parseIp(text), node: undefined };
  const [namespace = "", pod = ""] = text.split("/");
  const ports = [
    { name: "http", protocol: "TCP", port: 8080 },
    { name: "http-udp", protocol: "UDP", port: 8080 },
  ];
  const { labels, address, isHostNetwork = false } = shape;
  const namespaceLabels = defined(NAMESPACES[namespace], "the table has the namespace");
  return {
    pod: { namespace, name: pod, labels, namespaceLabels, ports, isHostNetwork },
    address: parseIp(address),
    node: shape.node,
  };
}

function policy(spec: string, namespace = "shop", name = "p"): NetworkPolicy {
  const metadata = { name, namespace, uid: "u", resourceVersion: "1" };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata,
    spec: parse(spec) as NonNullable<NetworkPolicy["spec"]>,
  };
}

/** `shop/web → shop/api TCP 8080`. */
function connection(text: string): PolicyConnection {
  const [ends = "", rest = ""] = text.split(" : ");
  const [from = "", to = ""] = ends.split(" → ");
  const [protocol = "TCP", port = "8080"] = rest.split(" ");
  return {
    source: endOf(from),
    target: endOf(to),
    protocol: protocol as PolicyConnection["protocol"],
    port: Number(port),
  };
}

function said(policies: readonly NetworkPolicy[], flow: string): string {
  const verdict = verdictOf(policies.map(readNetworkPolicy), connection(flow));
  switch (verdict.outcome) {
    case "allowed":
      return ["allowed", ...verdict.rules.map(({ direction, index }) => `${direction}[${index}]`)].join(" ");
    case "denied":
      return `denied ${verdict.direction}`;
    case "undefined":
      return `undefined ${verdict.why}`;
  }
}

const WEB_TO_API = "shop/web → shop/api : TCP 8080";
const OTHER_TO_API = "bank/web → shop/api : TCP 8080";

describe("who may talk to whom, by one policy of namespace shop", () => {
  it.each<[sentence: string, spec: string, flow: string, expected: string]>([
    [
      "a pod that no policy selects takes everything",
      "{ podSelector: { matchLabels: { app: x } } }",
      WEB_TO_API,
      "allowed",
    ],
    [
      "an empty podSelector selects every pod of the namespace",
      "{ podSelector: {} }",
      WEB_TO_API,
      "denied ingress",
    ],
    ["a missing podSelector is an empty one", "{ policyTypes: [Ingress] }", WEB_TO_API, "denied ingress"],
    ["and no pod of another namespace", "{ podSelector: {} }", "shop/web → bank/api : TCP 8080", "allowed"],
    [
      "isolation for ingress says nothing of egress",
      "{ podSelector: {} }",
      "shop/web → 203.0.113.9 : TCP 443",
      "allowed",
    ],
    ["ingress [] lets nobody in", "{ podSelector: {}, ingress: [] }", WEB_TO_API, "denied ingress"],
    [
      "an empty rule lets everybody in",
      "{ podSelector: {}, ingress: [{}] }",
      OTHER_TO_API,
      "allowed ingress[0]",
    ],
    [
      "an empty from is everybody",
      "{ podSelector: {}, ingress: [{ from: [] }] }",
      OTHER_TO_API,
      "allowed ingress[0]",
    ],
    [
      "without policyTypes an egress rule isolates for egress",
      "{ podSelector: {}, egress: [{ ports: [{ port: 53 }] }] }",
      "shop/web → 203.0.113.9 : TCP 443",
      "denied egress",
    ],
    ["and for ingress, too", "{ podSelector: {}, egress: [{}] }", OTHER_TO_API, "denied ingress"],
    [
      "without an egress rule policyTypes is needed to deny egress",
      "{ podSelector: {}, policyTypes: [Egress] }",
      "shop/web → 203.0.113.9 : TCP 443",
      "denied egress",
    ],
    [
      "policyTypes Egress leaves ingress alone",
      "{ podSelector: {}, policyTypes: [Egress] }",
      OTHER_TO_API,
      "allowed",
    ],
    [
      "rules of a direction that policyTypes has not count for nothing",
      "{ podSelector: {}, policyTypes: [Ingress], egress: [] }",
      "shop/web → 203.0.113.9 : TCP 443",
      "allowed",
    ],
    [
      "both ends have to allow: the sender does not",
      "{ podSelector: { matchLabels: { app: web } }, policyTypes: [Egress] }",
      WEB_TO_API,
      "denied egress",
    ],
    [
      "a podSelector is about the policy's namespace",
      "{ podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: web } } }] }] }",
      OTHER_TO_API,
      "denied ingress",
    ],
    [
      "and lets its pods in",
      "{ podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: web } } }] }] }",
      WEB_TO_API,
      "allowed ingress[0]",
    ],
    [
      "an empty podSelector is every pod of the namespace",
      "{ podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] }",
      WEB_TO_API,
      "allowed ingress[0]",
    ],
    [
      "an empty namespaceSelector is every namespace",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }",
      OTHER_TO_API,
      "allowed ingress[0]",
    ],
    [
      "but no machine outside",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }",
      "203.0.113.9 → shop/api : TCP 8080",
      "denied ingress",
    ],
    [
      "two selectors in one peer both hold",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: bank } }, podSelector: { matchLabels: { app: api } } }] }] }",
      OTHER_TO_API,
      "denied ingress",
    ],
    [
      "two selectors in two peers: one is enough",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: bank } } }, { podSelector: { matchLabels: { app: api } } }] }] }",
      OTHER_TO_API,
      "allowed ingress[0]",
    ],
    [
      "a namespace by its name",
      "{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: bank } } }] }] }",
      OTHER_TO_API,
      "allowed ingress[0]",
    ],
    [
      "the second rule may be the one",
      "{ podSelector: {}, ingress: [{ ports: [{ port: 1 }] }, { ports: [{ port: 8080 }] }] }",
      WEB_TO_API,
      "allowed ingress[1]",
    ],
    [
      "a protocol that is not written is TCP",
      "{ podSelector: {}, ingress: [{ ports: [{ port: 8080 }] }] }",
      "shop/web → shop/api : UDP 8080",
      "denied ingress",
    ],
    [
      "a port that is not written is all of the protocol",
      "{ podSelector: {}, ingress: [{ ports: [{ protocol: UDP }] }] }",
      "shop/web → shop/api : UDP 9",
      "allowed ingress[0]",
    ],
    [
      "from and ports of a rule both hold",
      "{ podSelector: {}, ingress: [{ from: [{ podSelector: { matchLabels: { app: web } } }], ports: [{ port: 9 }] }] }",
      WEB_TO_API,
      "denied ingress",
    ],
    [
      "endPort is part of the range",
      "{ podSelector: {}, ingress: [{ ports: [{ port: 8000, endPort: 8080 }] }] }",
      WEB_TO_API,
      "allowed ingress[0]",
    ],
    [
      "what is above it is not",
      "{ podSelector: {}, ingress: [{ ports: [{ port: 8000, endPort: 8079 }] }] }",
      WEB_TO_API,
      "denied ingress",
    ],
    [
      "a named port is the pod's",
      "{ podSelector: {}, ingress: [{ ports: [{ port: http }] }] }",
      WEB_TO_API,
      "allowed ingress[0]",
    ],
    [
      "with its protocol",
      "{ podSelector: {}, ingress: [{ ports: [{ port: http, protocol: UDP }] }] }",
      "shop/web → shop/api : UDP 8080",
      "denied ingress",
    ],
    [
      "for egress it is the port of the pod that is asked",
      "{ podSelector: {}, policyTypes: [Egress], egress: [{ ports: [{ port: http }] }] }",
      "shop/web → bank/api : TCP 8080",
      "allowed egress[0]",
    ],
    [
      "a machine outside has no named port",
      "{ podSelector: {}, policyTypes: [Egress], egress: [{ ports: [{ port: http }] }] }",
      "shop/web → 203.0.113.9 : TCP 8080",
      "denied egress",
    ],
    [
      "an ipBlock",
      "{ podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 203.0.113.0/24 } }] }] }",
      "shop/web → 203.0.113.9 : TCP 443",
      "allowed egress[0]",
    ],
    [
      "without what except takes away",
      "{ podSelector: {}, policyTypes: [Egress], egress: [{ to: [{ ipBlock: { cidr: 203.0.113.0/24, except: [203.0.113.8/29] } }] }] }",
      "shop/web → 203.0.113.9 : TCP 443",
      "denied egress",
    ],
    [
      "a pod cannot block itself",
      "{ podSelector: {}, policyTypes: [Ingress, Egress] }",
      "shop/web → shop/web : TCP 8080",
      "allowed",
    ],
    [
      "its own node reaches it",
      "{ podSelector: {} }",
      "node win-1 10.0.0.11 → shop/api : TCP 8080",
      "allowed",
    ],
    [
      "another node does not",
      "{ podSelector: {} }",
      "node win-2 10.0.0.12 → shop/api : TCP 8080",
      "denied ingress",
    ],
    [
      "a pod reaches its own node",
      "{ podSelector: {}, policyTypes: [Egress] }",
      "shop/web → node win-1 10.0.0.11 : TCP 22",
      "allowed",
    ],
    [
      "what is no layer 4 connection is not defined",
      "{ podSelector: {} }",
      "shop/web → shop/api : ICMP 0",
      "undefined protocol",
    ],
    [
      "nor are pods in the host network",
      "{ podSelector: {} }",
      "shop/agent → shop/api : TCP 8080",
      "undefined host-network",
    ],
  ])("%s", (_, spec, flow, expected) => {
    expect(said([policy(spec)], flow)).toBe(expected);
  });
});

describe("several policies", () => {
  const denyAll = policy("{ podSelector: {}, policyTypes: [Ingress, Egress] }", "shop", "deny");
  const letWebOut = policy(
    "{ podSelector: { matchLabels: { app: web } }, policyTypes: [Egress], egress: [{ to: [{ podSelector: { matchLabels: { app: api } } }] }] }",
  );
  const letWebIn = policy(
    "{ podSelector: { matchLabels: { app: api } }, ingress: [{ from: [{ podSelector: { matchLabels: { app: web } } }] }] }",
  );

  it.each<[sentence: string, policies: readonly NetworkPolicy[], expected: string]>([
    ["no policy, no isolation", [], "allowed"],
    ["all are denied", [denyAll], "denied egress"],
    ["one end alone is not enough: ingress stays closed", [denyAll, letWebOut], "denied ingress"],
    ["nor is the other", [denyAll, letWebIn], "denied egress"],
    [
      "what any of them allows at each end is allowed",
      [denyAll, letWebOut, letWebIn],
      "allowed egress[0] ingress[0]",
    ],
    ["in whatever order", [letWebIn, letWebOut, denyAll], "allowed egress[0] ingress[0]"],
  ])("%s", (_, policies, expected) => {
    expect(said(policies, WEB_TO_API)).toBe(expected);
  });

  it("those that isolate are named, the others are not", () => {
    const elsewhere = policy("{ podSelector: {} }", "bank", "elsewhere");
    const verdict = verdictOf([elsewhere, denyAll].map(readNetworkPolicy), connection(OTHER_TO_API));
    expect(verdict).toMatchObject({ outcome: "denied", isolatedBy: [{ namespace: "shop", name: "deny" }] });
  });
});

it.each<[spec: string, expected: readonly string[]]>([
  ["{ podSelector: {}, ingress: [{}] }", ["ingress"]],
  ["{ podSelector: {}, ingress: [{ from: [], ports: [] }], egress: [{}] }", ["ingress", "egress"]],
  ["{ podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] }", []],
])("%s is open for %j", (spec, expected) => {
  expect(openDirections(readNetworkPolicy(policy(spec)))).toEqual(expected);
});
