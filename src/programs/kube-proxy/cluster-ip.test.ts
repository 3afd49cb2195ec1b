import { describe, expect, it } from "vitest";
import {
  ADDRESS,
  HNS_WITHOUT_DSR,
  KubeProxyNode,
  NODE_PORT,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import {
  ALL_MINORS,
  type Row,
  describeRows,
  inVersions,
} from "#test/support/kube-proxy/decision-table.suite.ts";
import type { ServicePort } from "#contracts/kubernetes/objects.ts";

const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";
const C_R1 = "C:80→8080 [R1] L0 P0 D0";
const C_BOTH = "C:80→8080 [R1,EP-L1] L0 P0 D0";
const NONE: readonly string[] = [];
const UNUSABLE = "service-without-usable-endpoints";

function ports(...list: readonly Partial<ServicePort>[]): readonly ServicePort[] {
  return list.map((port) => ({ port: 80, protocol: "TCP", ...port }));
}

/** kube-proxy.md §8.2. */
const SELECTION: readonly Row[] = [
  {
    id: "A1",
    given: "clusterIP None",
    services: [service({ spec: { clusterIP: "None" } })],
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: NONE,
  },
  {
    id: "A2",
    given: "type ExternalName without a ClusterIP",
    services: [service({ spec: { type: "ExternalName", clusterIP: "", externalName: "example.com" } })],
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: NONE,
  },
  {
    id: "A3",
    given: "type ExternalName with a ClusterIP left over",
    services: [service({ spec: { type: "ExternalName", externalName: "example.com" } })],
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: NONE,
  },
  {
    id: "A4",
    given: "the label of another proxy",
    services: [service({ labels: { "service.kubernetes.io/service-proxy-name": "foo" } })],
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: NONE,
  },
  {
    id: "A5",
    given: "a Service without slices",
    services: [service()],
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
  {
    id: "A6",
    given: "a Service without slices on overlay",
    node: { isOverlay: true },
    services: [
      service({
        spec: {
          type: "NodePort",
          ports: NODE_PORT,
          externalIPs: [ADDRESS.E],
          sessionAffinity: "ClientIP",
        },
      }),
    ],
    loadBalancers: NONE,
    endpoints: ["SV local", "C(10.0.0.1) ×1"],
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
  {
    id: "A7",
    given: "slices without a Service",
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: NONE,
  },
  {
    id: "A8",
    given: "a Service of IPv6 alone, and a proxier of IPv4 alone",
    node: { hns: HNS_WITHOUT_DSR },
    services: [service({ spec: { clusterIP: "fd01::41", clusterIPs: ["fd01::41"], ipFamilies: ["IPv6"] } })],
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: NONE,
  },
  {
    id: "A10",
    given: "a class of load balancers, and an ingress address",
    services: [
      service({
        spec: { type: "LoadBalancer", ports: NODE_PORT, loadBalancerClass: "x" },
        ingress: [{ ip: ADDRESS.G }],
      }),
    ],
    slices: [slice(["L1"])],
    loadBalancers: [C_L1, "∅:3001→8080 [EP-L1] L0 P18 D0", "G:80→8080 [EP-L1] L0 P16 D0"],
  },
  {
    id: "A11",
    given: "source ranges",
    services: [
      service({
        spec: { type: "LoadBalancer", ports: NODE_PORT, loadBalancerSourceRanges: ["192.0.2.0/24"] },
        ingress: [{ ip: ADDRESS.G }],
      }),
    ],
    slices: [slice(["L1"])],
    loadBalancers: [C_L1, "∅:3001→8080 [EP-L1] L0 P18 D0", "G:80→8080 [EP-L1] L0 P16 D0"],
  },
  {
    id: "A12",
    given: "two ports",
    services: [
      service({
        spec: {
          ports: ports(
            { name: "p80", port: 80, targetPort: 8080 },
            { name: "p443", port: 443, targetPort: 8443 },
          ),
        },
      }),
    ],
    slices: [
      slice(["L1"], {
        ports: [
          { name: "p80", port: 8080, protocol: "TCP" },
          { name: "p443", port: 8443, protocol: "TCP" },
        ],
      }),
    ],
    loadBalancers: [C_L1, "C:443→8443 [EP-L1] L0 P0 D0"],
  },
  {
    id: "A13",
    given: "one port over UDP and TCP",
    services: [
      service({
        spec: {
          ports: ports(
            { name: "dns", port: 53, protocol: "UDP", targetPort: 53 },
            { name: "dns-tcp", port: 53, targetPort: 53 },
          ),
        },
      }),
    ],
    slices: [
      slice(["L1"], {
        ports: [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "dns-tcp", port: 53, protocol: "TCP" },
        ],
      }),
    ],
    loadBalancers: ["udp C:53→53 [EP-L1] L0 P0 D0", "C:53→53 [EP-L1] L0 P0 D0"],
  },
  {
    id: "A14",
    given: "an SCTP port",
    services: [service({ spec: { ports: ports({ name: "p80", protocol: "SCTP", targetPort: 8080 }) } })],
    slices: [slice(["L1"], { ports: [{ name: "p80", port: 8080, protocol: "SCTP" }] })],
    loadBalancers: ["sctp C:80→8080 [EP-L1] L0 P0 D0"],
  },
  {
    id: "A15",
    given: "a slice whose port has no name",
    services: [service()],
    slices: [slice(["L1"], { ports: [{ port: 8080, protocol: "TCP" }] })],
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
];

/** kube-proxy.md §8.3. */
const CLUSTER_IP: readonly Row[] = [
  {
    id: "B1",
    given: "L1",
    services: [service()],
    slices: [slice(["L1"])],
    loadBalancers: [C_L1],
    endpoints: NONE,
  },
  {
    id: "B2",
    given: "R1",
    services: [service()],
    slices: [slice(["R1"])],
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B3",
    given: "L1, R1",
    services: [service()],
    slices: [slice(["L1", "R1"])],
    loadBalancers: [C_BOTH],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B4",
    given: "a local pod without an HNS endpoint",
    services: [service()],
    slices: [slice(["L9"])],
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: ["service-local-endpoint-missing"],
  },
  {
    id: "B5",
    given: "a local pod without an HNS endpoint, and R1",
    services: [service()],
    slices: [slice(["L9", "R1"])],
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
    codes: ["service-local-endpoint-missing"],
  },
  {
    id: "B6",
    given: "R1 not ready",
    services: [service()],
    slices: [slice([{ at: "R1", is: "unready" }])],
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
  {
    id: "B7",
    given: "L1 ready, R1 not",
    services: [service()],
    slices: [slice(["L1", { at: "R1", is: "unready" }])],
    loadBalancers: [C_L1],
    endpoints: NONE,
  },
  {
    id: "B8",
    given: "R1 terminating and serving",
    services: [service()],
    slices: [slice([{ at: "R1", is: "serving" }])],
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
  {
    id: "B9",
    given: "R1 without conditions",
    services: [service()],
    slices: [slice([{ at: "R1", is: "unset" }])],
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B10",
    given: "enableDSR",
    node: { options: { enableDSR: true } },
    services: [service()],
    slices: [slice(["L1"])],
    loadBalancers: ["C:80→8080 [EP-L1] L1 P0 D0"],
  },
  {
    id: "B11",
    given: "affinity",
    node: { hns: { Major: 12, Minor: 0 } },
    services: [service({ spec: { sessionAffinity: "ClientIP" } })],
    slices: [slice(["L1"])],
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D2"],
  },
  {
    id: "B12",
    given: "affinity, HNS before 12.0",
    services: [service({ spec: { sessionAffinity: "ClientIP" } })],
    slices: [slice(["L1"])],
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D2"],
    codes: ["session-affinity-unsupported"],
  },
  {
    id: "B13",
    given: "a named target port",
    services: [service({ spec: { ports: ports({ name: "p80", targetPort: "http" }) } })],
    slices: [slice(["R1"])],
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B14",
    given: "target port 80, slice port 8080",
    minors: [34, 37],
    services: [service({ spec: { ports: ports({ name: "p80", targetPort: 80 }) } })],
    slices: [slice(["L1"])],
    loadBalancers: [C_L1],
  },
  {
    id: "B14",
    given: "target port 80, slice port 8080",
    minors: [20, 33],
    services: [service({ spec: { ports: ports({ name: "p80", targetPort: 80 }) } })],
    slices: [slice(["L1"])],
    loadBalancers: ["C:80→80 [EP-L1] L0 P0 D0"],
    codes: ["slice-port-not-used"],
  },
  ...(
    [
      [[34, 37], "C:80→9090 [R1,EP-L1] L0 P0 D0"],
      [[20, 33], "C:80→8080 [R1,EP-L1] L0 P0 D0"],
    ] as const
  ).map(
    ([minors, loadBalancer]): Row => ({
      id: "B15",
      given: "a named port with two numbers",
      minors,
      services: [service({ spec: { ports: ports({ name: "p80", targetPort: "http" }) } })],
      slices: [
        slice(["R1"], { name: "a" }),
        slice(["L1"], { name: "b", ports: [{ name: "p80", port: 9090, protocol: "TCP" }] }),
      ],
      loadBalancers: [loadBalancer],
      endpoints: ["R1 ×1"],
      codes: ["service-target-ports-differ"],
    }),
  ),
  // §3.4 c.3: from 1.34 on the last endpoint's port, before that targetPort.
  ...(
    [
      [[34, 37], 8081],
      [[20, 33], 8080],
    ] as const
  ).map(
    ([minors, port]): Row => ({
      id: "B16",
      given: "R1 with two ports",
      minors,
      services: [service()],
      slices: [
        slice(["R1"], { name: "a" }),
        slice(["R1"], { name: "b", ports: [{ name: "p80", port: 8081, protocol: "TCP" }] }),
      ],
      loadBalancers: [`C:80→${port} [R1,R1] L0 P0 D0`],
      endpoints: ["R1 ×2"],
      codes: ["service-target-ports-differ"],
    }),
  ),
  {
    id: "B20",
    given: "two Services with R1",
    services: [service({ name: "a" }), service({ name: "b", spec: { clusterIP: ADDRESS.C2 } })],
    slices: [slice(["R1"], { of: "a" }), slice(["R1"], { of: "b" })],
    loadBalancers: [C_R1, "C2:80→8080 [R1] L0 P0 D0"],
    endpoints: ["R1 ×2"],
  },
  {
    id: "B23",
    given: "internal policy Local; L1, R1, and no node names",
    minors: [27, 37],
    services: [service({ spec: { internalTrafficPolicy: "Local" } })],
    slices: [slice([{ at: { address: ADDRESS.L1, node: "" } }, { at: { address: ADDRESS.R1, node: "" } }])],
    loadBalancers: [C_L1],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B23",
    given: "internal policy Local; L1, R1, and no node names: the policy is not read (§1.2)",
    minors: [20, 26],
    services: [service({ spec: { internalTrafficPolicy: "Local" } })],
    slices: [slice([{ at: { address: ADDRESS.L1, node: "" } }, { at: { address: ADDRESS.R1, node: "" } }])],
    loadBalancers: [C_BOTH],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B24",
    given: "internal policy Local; R1",
    minors: [27, 37],
    services: [service({ spec: { internalTrafficPolicy: "Local" } })],
    slices: [slice(["R1"])],
    loadBalancers: NONE,
    endpoints: ["R1 ×1"],
    codes: ["internal-policy-local-without-endpoint"],
  },
  {
    id: "B24",
    given: "internal policy Local; R1: the policy is not read (§1.2)",
    minors: [20, 26],
    services: [service({ spec: { internalTrafficPolicy: "Local" } })],
    slices: [slice(["R1"])],
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
  },
  {
    id: "B25",
    given: "type ClusterIP with external policy Local",
    services: [service({ spec: { externalTrafficPolicy: "Local" } })],
    slices: [slice(["L1", "R1"])],
    loadBalancers: [C_BOTH],
  },
];

describe("selection (§8.2)", () => {
  describeRows(SELECTION);

  inVersions("KP-A9 nothing is asked of HNS before slices are listed", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ minor });
    node.objects.servicesListed([service()]);
    expect(await node.start()).toBe("running");
    node.hns.refuse = ({ call }) => new Error(`${call} is a call`);
    const report = await node.proxy.sync();
    expect(report.families.map(({ outcome }) => outcome)).toEqual(["not-ready"]);
  });

  it.each([
    ["first", ["a", "b"]],
    ["last", ["b", "a"]],
  ])("KP-A16 an endpoint in two slices, the one that names its node %s", async (_case, [named, bare]) => {
    // From 1.36 on it is not asked where an entry is, but whether it terminates.
    const node = new KubeProxyNode({ minor: 35 });
    const unnamed = slice(["L1"], { name: bare! });
    const withoutNode = { ...unnamed, endpoints: [{ addresses: [ADDRESS.L1] }] };
    // Without an HNS endpoint a local one is passed by; a remote one would be made.
    node.hns.put("Endpoint", { ID: "10ca1000-0000-4000-8000-000000000001", IpConfigurations: [] });
    await node.begin([service()], [slice(["L1"], { name: named! }), withoutNode]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.madeEndpoints()).toEqual([]);
    expect(node.codes()).toEqual(["service-local-endpoint-missing"]);
  });

  inVersions("KP-A16 an endpoint in two slices is one back end", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ minor });
    const again = { ...slice(["L1"], { name: "z" }), endpoints: [{ addresses: [ADDRESS.L1] }] };
    await node.begin([service()], [slice(["L1"]), again]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });
});

describe("ClusterIP on L2Bridge (§8.3)", () => {
  describeRows(CLUSTER_IP);

  inVersions(
    "KP-B2 the remote endpoint has a conjured MAC address and no policy",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      await node.begin([service()], [slice(["R1"])]);
      expect(node.hns.bodiesOf("create Endpoint")).toEqual([
        {
          HostComputeNetwork: "00123abc-0000-4000-8000-000000000000",
          IpConfigurations: [{ IpAddress: ADDRESS.R1 }],
          MacAddress: "02-11-c0-a8-02-03",
          Flags: 1,
          SchemaVersion: { Major: 2, Minor: 0 },
        },
      ]);
    },
  );

  inVersions(
    "KP-B5 the missing pod is not tried again until its slices change",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      await node.begin([service()], [slice(["L9", "R1"])]);
      node.forgetCalls();
      await node.proxy.sync();
      expect(node.calls()).toEqual([]);
      expect(node.applied()).toEqual(["svc:p80"]);
    },
  );

  // One version of each way to update load balancers: a thousand endpoints take their time.
  it.each([20, 27, 31, 37])(
    "DT-104 KP-B17 1025 back ends: refused at each sync, and the counts grow, 1.%i",
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      const addresses = Array.from({ length: 1025 }, (_, n) => `10.9.${n >> 8}.${n & 255}`);
      const many = addresses.map((address) => ({ at: { address, node: "other-node" } }) as const);
      await node.begin([service()], [slice(many)]);
      await node.proxy.sync();
      expect(node.loadBalancers()).toEqual([]);
      expect(node.calls().filter((call) => call === "refused LoadBalancer")).toHaveLength(2);
      expect(new Set(node.madeEndpoints().map((text) => text.slice(-2)))).toEqual(new Set(["×2"]));
      expect(node.madeEndpoints()).toHaveLength(1025);
      expect(node.notApplied()).toEqual(["svc:p80"]);
      expect(node.codes()).toEqual(["too-many-back-ends"]);
    },
  );

  inVersions("KP-B18 a second sync without a change only reads", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ minor });
    await node.begin([service()], [slice(["L1", "R1"])]);
    node.forgetCalls();
    const reads: string[] = [];
    node.hns.refuse = ({ call }) => {
      if (call.startsWith("enumerate")) reads.push(call);
      return undefined;
    };
    await node.proxy.sync();
    expect(node.calls()).toEqual([]);
    // One round for each family.
    expect(new Set(reads)).toEqual(
      new Set(["enumerate Network", "enumerate Endpoint", "enumerate LoadBalancer"]),
    );
  });

  inVersions(
    "KP-B19 after a restart load balancers are made anew and R1 is adopted",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      await node.begin([service()], [slice(["L1", "R1"])]);
      node.forgetCalls();
      node.proxy = node.newProxy();
      expect(await node.start()).toBe("running");
      expect(node.loadBalancers()).toEqual([]);
      await node.proxy.sync();
      expect(node.numberedLoadBalancers()).toEqual([`LBID-2 ${C_BOTH}`]);
      expect(node.madeIds()).toEqual(["EPID-1"]);
      expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
    },
  );

  inVersions(
    "KP-B21 KP-B22 an endpoint goes with the last Service that uses it",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      const [a, b] = [service({ name: "a" }), service({ name: "b", spec: { clusterIP: ADDRESS.C2 } })];
      await node.begin([a, b], [slice(["R1"], { of: "a" }), slice(["R1"], { of: "b" })]);
      await node.remove(a);
      expect(node.loadBalancers()).toEqual(["C2:80→8080 [R1] L0 P0 D0"]);
      expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
      await node.remove(b);
      expect(node.loadBalancers()).toEqual([]);
      expect(node.madeEndpoints()).toEqual([]);
    },
  );
});
