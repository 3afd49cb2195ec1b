/** Values of names, Services, slices, policies and nodes. */
import {
  type Bound,
  type Fields,
  x,
  times,
  made,
  service,
  configMap,
  cron,
  slice,
  policy,
  node,
  EXTERNAL,
  rowsOfBounds,
} from "./bound.ts";
import type { VerdictRow } from "../server-verdicts.ts";

const BOUNDS: readonly Bound[] = [
  // Metadata and names
  {
    what: "a finalizer",
    object: (name: string) => configMap({}, { finalizers: [name] }),
    taken: ["orphan", "foregroundDeletion", "kubernetes", "example.com/a"],
    refused: ["done", "orphan!", "/a"],
  },
  {
    what: "the key of a label",
    object: (key: string) => configMap({}, { labels: { [key]: "a" } }),
    taken: [x(63), `${x(253)}/a`, "A_b.c-d"],
    refused: [x(64), `${x(254)}/a`, "a/b/c", "A.b/", "X.com/a"],
  },
  {
    what: "the key of an annotation",
    object: (key: string) => configMap({}, { annotations: { [key]: "a" } }),
    taken: ["X.com/a"],
    refused: ["a b"],
  },
  {
    what: "the value of a label",
    object: (value: string) => configMap({}, { labels: { a: value } }),
    taken: ["", x(63)],
    refused: [x(64), "-a", "a-"],
  },
  {
    what: "the name of a ConfigMap",
    object: (name: string) => configMap({}, { name }),
    taken: [x(253), "a.b"],
    refused: [x(254), "a..b", "a.-b"],
  },
  {
    what: "the name of a Service",
    object: (name: string) => service({}, { name }),
    taken: [x(63), "a-1"],
    refused: [x(64), "1-a", "a.b"],
  },
  {
    what: "the name of a CronJob",
    object: (name: string) => ({ ...cron({}), metadata: { name } }),
    taken: [x(52)],
    refused: [x(53)],
  },
  {
    what: "annotations of a size",
    object: (size: number) => configMap({}, { annotations: { a: x(size - 1) } }),
    taken: [262_144],
    refused: [262_145],
  },
  {
    what: "the key of a ConfigMap",
    object: (key: string) => configMap({ data: { [key]: "a" } }),
    taken: [x(253), ".a", "A_b"],
    refused: [x(254), ".", "..", "a b", "", "..a"],
  },
  {
    what: "texts of a ConfigMap of a size",
    object: (size: number) => configMap({ data: { a: x(size) } }),
    taken: [1_048_576],
    refused: [1_048_577],
  },
  {
    what: "bytes of a ConfigMap of a size",
    object: (size: number) => configMap({ binaryData: { a: Buffer.alloc(size).toString("base64") } }),
    taken: [1_048_575, 1_048_576],
    refused: [1_048_577],
  },
  // Services
  {
    what: "the port of a Service",
    object: (port: number) => service({ ports: [{ port }] }),
    taken: [1, 65_535],
    refused: [0, 65_536],
  },
  {
    what: "ports of a Service",
    object: (ports: unknown) => service({ ports }),
    taken: [
      [
        { port: 53, name: "a" },
        { port: 53, name: "b", protocol: "UDP" },
      ],
      [
        { port: 53, name: "a" },
        { port: 54, name: "b" },
      ],
    ],
    refused: [
      [
        { port: 53, name: "a" },
        { port: 53, name: "b" },
      ],
      [
        { port: 53, name: "a" },
        { port: 53, name: "b", protocol: "TCP" },
      ],
      [
        { port: 53, name: "a" },
        { port: 54, name: "a" },
      ],
      [{ port: 53, name: "a" }, { port: 54 }],
      [],
    ],
  },
  {
    what: "ports of a node",
    object: (ports: unknown) => service({ type: "NodePort", ports }),
    taken: [
      [
        { port: 53, name: "a", nodePort: 30_053 },
        { port: 53, name: "b", nodePort: 30_053, protocol: "UDP" },
      ],
      [
        { port: 53, name: "a", nodePort: 0 },
        { port: 54, name: "b", nodePort: 0 },
      ],
    ],
    refused: [
      [
        { port: 53, name: "a", nodePort: 30_053 },
        { port: 54, name: "b", nodePort: 30_053 },
      ],
    ],
  },
  {
    what: "the port of a pod",
    object: (targetPort: unknown) => service({ ports: [{ port: 80, targetPort }] }),
    taken: [65_535, "web-1", x(15), 0, ""],
    refused: [65_536, x(16), "80", "a--b", "-a", "a_b"],
  },
  {
    what: "a Service without ports",
    object: (spec: Fields) => service({ ports: [], ...spec }),
    taken: [{ clusterIP: "None" }, EXTERNAL],
    refused: [{}, { type: "NodePort" }],
  },
  {
    what: "an address from outside",
    object: (address: string) => service({ externalIPs: [address] }),
    taken: [
      "203.0.113.1",
      "225.0.0.1",
      "224.0.1.1",
      "169.253.0.1",
      "2001:db8::1",
      "128.0.0.1",
      "::2",
      "fec0::1",
      "ff05::1",
    ],
    refused: [
      "0.0.0.0",
      "::",
      "127.0.0.1",
      "127.255.0.1",
      "::1",
      "169.254.9.9",
      "fe80::1",
      "febf::1",
      "224.0.0.9",
      "ff02::1",
    ],
  },
  {
    what: "seconds of an affinity",
    object: (timeoutSeconds: number) =>
      service({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds } } }),
    taken: [1, 86_400],
    refused: [0, 86_401],
  },
  {
    what: "a name outside",
    object: (externalName: string) => service({ type: "ExternalName", externalName }),
    taken: ["a.b", "a.b."],
    refused: ["", "a..", "A.b"],
  },
  {
    what: "a Service that is",
    object: (spec: Fields) => service(spec),
    taken: [
      { externalTrafficPolicy: "Local", externalIPs: ["203.0.113.1"] },
      { externalTrafficPolicy: "Local", type: "LoadBalancer" },
      { clusterIP: "None", type: "ClusterIP" },
      { type: "LoadBalancer", loadBalancerClass: "a/b" },
    ],
    refused: [
      { externalTrafficPolicy: "Local" },
      { externalTrafficPolicy: "Local", externalIPs: [] },
      { externalTrafficPolicy: "Local", ...EXTERNAL },
      { clusterIP: "None", type: "NodePort" },
      { clusterIP: "10.96.3.4", ...EXTERNAL },
      { clusterIPs: ["10.96.3.4"] },
      { clusterIP: "10.96.3.4", clusterIPs: ["10.96.3.5"] },
      { clusterIP: "10.96.3.4", clusterIPs: ["10.96.3.4", "10.96.3.5"] },
      { clusterIP: "fd00::1", clusterIPs: ["fd00::1", "fd00::2"] },
      { ipFamilies: ["IPv4", "IPv4"] },
      { healthCheckNodePort: 30_001 },
      { healthCheckNodePort: 30_001, type: "LoadBalancer", externalTrafficPolicy: "Cluster" },
      { type: "LoadBalancer", loadBalancerClass: "a b" },
    ],
  },
  // Slices and policies
  {
    what: "addresses of an endpoint",
    object: (count: number) =>
      slice({ endpoints: [{ addresses: times(count, (index) => `10.1.2.${index + 1}`) }] }),
    taken: [1, 100],
    refused: [0, 101],
  },
  {
    what: "hints of an endpoint",
    object: (count: number) =>
      slice({
        endpoints: [
          { addresses: ["10.1.2.3"], hints: { forZones: times(count, (index) => ({ name: `z${index}` })) } },
        ],
      }),
    taken: [8],
    refused: [9],
  },
  {
    what: "an address of a slice",
    object: ([addressType, address]: readonly [string, string]) =>
      slice({ addressType, endpoints: [{ addresses: [address] }] }),
    taken: [
      ["IPv6", "2001:db8::1"],
      ["FQDN", "a.b"],
    ],
    refused: [
      ["IPv6", "10.1.2.3"],
      ["IPv4", "2001:db8::1"],
      ["IPv4", "127.0.0.1"],
      ["FQDN", "a b"],
      ["FQDN", "A.b"],
    ],
  },
  {
    what: "ports of a slice",
    object: (ports: unknown) => slice({ ports }),
    taken: [
      [{ port: 1 }],
      [
        { port: 1, name: "a" },
        { port: 2, name: "" },
      ],
    ],
    refused: [
      [{ port: 1 }, { port: 2 }],
      [
        { port: 1, name: "a" },
        { port: 2, name: "a" },
      ],
    ],
  },
  {
    what: "a subset of Endpoints",
    object: (subset: Fields) => made("v1", "Endpoints", { subsets: [subset] }),
    taken: [
      { notReadyAddresses: [{ ip: "10.1.2.3" }] },
      { addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 1 }] },
    ],
    refused: [
      { addresses: [{ ip: "127.0.0.1" }] },
      { addresses: [{ ip: "10.1.2.3" }], ports: [{ port: 0 }] },
    ],
  },
  {
    what: "ports of a policy",
    object: (ports: Fields) => policy({ ingress: [{ ports: [ports] }] }),
    taken: [{ port: 80, endPort: 80 }, { port: 80, endPort: 65_535 }, { port: "http" }, {}],
    refused: [
      { port: 80, endPort: 79 },
      { port: "http", endPort: 90 },
      { endPort: 90 },
      { port: 0 },
      { port: 80, endPort: 65_536 },
    ],
  },
  {
    what: "an exception of 10.0.0.0/24",
    object: (range: string) =>
      policy({ ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/24", except: [range] } }] }] }),
    taken: ["10.0.0.0/25", "10.0.0.255/32"],
    refused: ["10.0.0.0/24", "10.0.1.0/25", "10.0.0.0/23", "fd00::/64", "10.0.0.1"],
  },
  {
    what: "a peer",
    object: (peer: Fields) => policy({ egress: [{ to: [peer] }] }),
    taken: [
      { podSelector: {}, namespaceSelector: {} },
      { namespaceSelector: {} },
      { ipBlock: { cidr: "fd00::/8" } },
    ],
    refused: [{ namespaceSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }, { ipBlock: {} }, {}],
  },
  {
    what: "an expression of a selector",
    object: (expression: Fields) =>
      policy({ podSelector: { matchExpressions: [{ key: "a", ...expression }] } }),
    taken: [
      { operator: "In", values: ["b"] },
      { operator: "NotIn", values: ["b"] },
      { operator: "Exists" },
      { operator: "DoesNotExist", values: [] },
    ],
    refused: [
      { operator: "In" },
      { operator: "NotIn", values: [] },
      { operator: "Exists", values: ["b"] },
      { operator: "DoesNotExist", values: ["b"] },
      { operator: "Gt", values: ["1"] },
    ],
  },
  // Nodes
  {
    what: "taints",
    object: (taints: unknown) => node({ taints }),
    taken: [
      ["NoSchedule", "NoExecute"].map((effect) => ({ key: "os", effect })),
      ["os", "arch"].map((key) => ({ key, effect: "NoSchedule" })),
    ],
    refused: [
      ["a", "b"].map((value) => ({ key: "os", value, effect: "NoExecute" })),
      [{ effect: "NoSchedule" }],
    ],
  },
  {
    what: "ranges of pods",
    object: (spec: Fields) => node(spec),
    taken: [
      { podCIDRs: ["10.1.0.0/24"] },
      { podCIDR: "10.1.0.0/24" },
      { podCIDR: "", podCIDRs: ["10.1.0.0/24"] },
    ],
    refused: [{ podCIDRs: ["x"] }, { podCIDR: "x" }, { podCIDRs: ["fd00::/64", "fd01::/64"] }],
  },
];

export const BOUNDS_OF_SERVICES: readonly VerdictRow[] = rowsOfBounds(BOUNDS);
