import { describe, expect, it } from "vitest";
import type { Compat } from "#core/base/compat.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { JsonObject } from "#core/base/json.ts";
import {
  ADDRESS,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import {
  ALL_MINORS,
  type Row,
  describeRows,
  inVersions,
} from "#test/support/kube-proxy/decision-table.suite.ts";

const NETWORK_ID = "00123abc-0000-4000-8000-000000000000";
const OVERLAY: NodeSettings = { isOverlay: true };
const SV = "SV local";
const VIP = "C(10.0.0.1) ×1";
const R1 = "R1(10.0.0.3) ×1";

/** kube-proxy.md §8.4. */
const ROWS: readonly Row[] = [
  {
    id: "C1",
    given: "L1",
    node: OVERLAY,
    services: [service()],
    slices: [slice(["L1"])],
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D0 S=SV"],
    endpoints: [SV, VIP],
  },
  {
    id: "C2",
    given: "R1",
    node: OVERLAY,
    services: [service()],
    slices: [slice(["R1"])],
    loadBalancers: ["C:80→8080 [R1] L0 P0 D0 S=SV"],
    endpoints: [SV, VIP, R1],
  },
  {
    id: "C3",
    given: "a pod in the network of another node",
    node: OVERLAY,
    services: [service()],
    slices: [slice(["X"])],
    loadBalancers: ["C:80→8080 [X] L0 P0 D0 S=N"],
    endpoints: [SV, VIP, "X(10.0.0.3) ×1"],
  },
  {
    id: "C4",
    given: "an outside address",
    node: OVERLAY,
    services: [service()],
    slices: [slice(["U"])],
    loadBalancers: ["C:80→8080 [U] L0 P0 D0 S=N"],
    endpoints: [SV, VIP, "U(10.0.0.1) ×1"],
  },
  {
    id: "C5",
    given: "R1 and an outside address",
    node: OVERLAY,
    services: [service()],
    slices: [slice(["R1", "U"])],
    loadBalancers: ["C:80→8080 [R1,U] L0 P0 D0 S=N"],
    endpoints: [SV, VIP, R1, "U(10.0.0.1) ×1"],
  },
  {
    id: "C6",
    given: "a pod in the node's own network",
    node: OVERLAY,
    services: [service()],
    slices: [slice(["N"])],
    loadBalancers: [],
    endpoints: [SV, VIP],
    notApplied: ["svc:p80"],
    codes: ["service-local-endpoint-missing"],
  },
  {
    id: "C7",
    given: "R1, enableDSR",
    node: { isOverlay: true, options: { enableDSR: true } },
    services: [service()],
    slices: [slice(["R1"])],
    loadBalancers: ["C:80→8080 [R1] L1 P0 D0 S=SV"],
    endpoints: [SV, VIP, R1],
  },
  {
    id: "C11",
    given: "two subnets that hold R1",
    node: {
      isOverlay: true,
      remoteSubnets: [
        ["192.168.0.0/16", "10.0.0.9"],
        ["192.168.2.0/24", "10.0.0.3"],
      ],
    },
    services: [service()],
    slices: [slice(["R1"])],
    loadBalancers: ["C:80→8080 [R1] L0 P0 D0 S=SV"],
    endpoints: [SV, VIP, R1],
  },
  {
    id: "C12",
    given: "the same in the other order",
    node: {
      isOverlay: true,
      remoteSubnets: [
        ["192.168.2.0/24", "10.0.0.3"],
        ["192.168.0.0/16", "10.0.0.9"],
      ],
    },
    services: [service()],
    slices: [slice(["R1"])],
    loadBalancers: ["C:80→8080 [R1] L0 P0 D0 S=SV"],
    endpoints: [SV, VIP, "R1(10.0.0.9) ×1"],
  },
  {
    id: "C15",
    given: "node port, external address and ingress",
    node: OVERLAY,
    services: [
      service({
        spec: { type: "LoadBalancer", ports: NODE_PORT, externalIPs: [ADDRESS.E] },
        ingress: [{ ip: ADDRESS.G }],
      }),
    ],
    slices: [slice(["R1"])],
    loadBalancers: [
      "C:80→8080 [R1] L0 P0 D0 S=SV",
      "∅:3001→8080 [R1] L0 P18 D0 S=SV",
      "E:80→8080 [R1] L0 P16 D0 S=SV",
      "G:80→8080 [R1] L0 P16 D0 S=SV",
    ],
    endpoints: [SV, VIP, R1],
  },
  {
    id: "C16",
    given: "L1 and an outside address, node port and ingress",
    node: OVERLAY,
    services: [service({ spec: { type: "LoadBalancer", ports: NODE_PORT }, ingress: [{ ip: ADDRESS.G }] })],
    slices: [slice(["L1", "U"])],
    loadBalancers: [
      "C:80→8080 [EP-L1,U] L0 P0 D0 S=N",
      "∅:3001→8080 [EP-L1,U] L0 P18 D0 S=N",
      "G:80→8080 [EP-L1,U] L0 P16 D0 S=N",
    ],
  },
];

/** HNS refuses endpoints whose document has `text`. */
function refuseEndpoint(node: KubeProxyNode, text: string): void {
  node.hns.refuse = ({ call, body }) =>
    call === "create Endpoint" && JSON.stringify(body).includes(`"${text}"`)
      ? new HcnError("HCN_E_ADDR_INVALID_OR_RESERVED")
      : undefined;
}

describe("overlay (§8.4)", () => {
  describeRows(ROWS);

  inVersions(
    "KP-C2 identifiers follow the order of creation, and documents are those of §3.5",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...OVERLAY, minor });
      await node.begin([service()], [slice(["R1"])]);
      expect(node.madeIds()).toEqual(["EPID-1", "EPID-2", "EPID-3"]);
      const common = {
        HostComputeNetwork: NETWORK_ID,
        SchemaVersion: { Major: 2, Minor: 0 },
      };
      const provider = (address: string): object => ({
        Policies: [{ Type: "ProviderAddress", Settings: { ProviderAddress: address } }],
        Flags: 1,
      });
      const host = { MacAddress: "00:11:22:33:44:55" };
      expect(node.hns.bodiesOf("create Endpoint")).toEqual([
        { ...common, ...host, IpConfigurations: [{ IpAddress: ADDRESS.SV }] },
        { ...common, ...host, ...provider(ADDRESS.N), IpConfigurations: [{ IpAddress: ADDRESS.C }] },
        {
          ...common,
          ...provider(ADDRESS.X),
          IpConfigurations: [{ IpAddress: ADDRESS.R1 }],
          MacAddress: "02-11-c0-a8-02-03",
        },
      ]);
    },
  );

  inVersions(
    "KP-A12 on overlay two ports of a Service share one endpoint for the ClusterIP",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...OVERLAY, minor });
      const ports = [
        { name: "p80", port: 80, targetPort: 8080 },
        { name: "p443", port: 443, targetPort: 8443 },
      ];
      await node.begin([service({ spec: { ports } })], []);
      expect(node.madeEndpoints()).toEqual([SV, VIP]);
    },
  );

  inVersions("KP-C8 an endpoint with the source VIP is not made again", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ ...OVERLAY, minor });
    node.putLocal("EP-L2", ADDRESS.SV);
    await node.begin([service()], [slice(["R1"])]);
    expect(node.madeEndpoints()).toEqual([VIP, R1]);
  });

  inVersions("KP-C9 without the source VIP nothing is programmed", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ ...OVERLAY, minor });
    refuseEndpoint(node, ADDRESS.SV);
    const report = await node.begin([service()], [slice(["L1"])]);
    expect(node.loadBalancers()).toEqual([]);
    expect(report.families.map(({ outcome }) => outcome)).toEqual(["source-vip-failed"]);
  });

  // An address of another subnet most often (kube-proxy.md §2.3).
  it.each([
    ["HCN_E_INVALID_IP", "kube-proxy-source-vip-invalid"],
    ["HCN_E_ADDR_INVALID_OR_RESERVED", "kube-proxy-source-vip-invalid"],
    ["HCN_E_PORT_NOT_FOUND", "service-remote-endpoint-refused"],
  ] as const)("KP-C9 a source VIP that HNS refuses with %s is explained by %s", async (refusal, code) => {
    const node = new KubeProxyNode(OVERLAY);
    node.hns.failNext("create Endpoint", new HcnError(refusal));
    const report = await node.begin([service()], [slice(["L1"])]);
    expect(report.families[0]?.finding?.code).toBe(code);
  });

  inVersions(
    "KP-C10 a refused ClusterIP endpoint passes by its own Service alone",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...OVERLAY, minor });
      refuseEndpoint(node, ADDRESS.C);
      await node.begin(
        [service({ name: "a" }), service({ name: "b", spec: { clusterIP: ADDRESS.C2 } })],
        [slice(["L1"], { of: "a" }), slice(["L1"], { of: "b" })],
      );
      expect(node.loadBalancers()).toEqual(["C2:80→8080 [EP-L1] L0 P0 D0 S=SV"]);
      expect(node.notApplied()).toEqual(["a:p80"]);
      expect(node.codes()).toEqual(["service-remote-endpoint-refused"]);
    },
  );

  inVersions("KP-C13 a refused remote endpoint is left out until a change", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ ...OVERLAY, minor });
    refuseEndpoint(node, ADDRESS.R1);
    await node.begin([service()], [slice(["L1", "R1"])]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [EP-L1] L0 P0 D0 S=SV"]);
    expect(node.applied()).toEqual(["svc:p80"]);
    node.hns.refuse = undefined;
    node.forgetCalls();
    await node.proxy.sync();
    expect(node.calls()).toEqual([]);
  });

  it("KP-C13 hardened tries the refused remote endpoint again", async () => {
    const node = new KubeProxyNode({ isOverlay: true, compat: "hardened" });
    refuseEndpoint(node, ADDRESS.R1);
    await node.begin([service()], [slice(["L1", "R1"])]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    node.hns.refuse = undefined;
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1,EP-L1] L0 P0 D0 S=SV"]);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  inVersions("KP-C14 the type in capitals counts as overlay", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ ...OVERLAY, minor });
    const [network] = node.hns.list("Network");
    node.hns.put("Network", { ...network, ID: NETWORK_ID, Type: "OVERLAY" });
    await node.begin([service()], []);
    expect(node.madeEndpoints()).toEqual([SV, VIP]);
  });

  inVersions(
    "KP-C17 the network is gone while R1 is made: everything is cleaned up",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...OVERLAY, minor });
      await node.begin([service({ name: "a" })], [slice(["L1"], { of: "a" })]);
      let reads = 0;
      node.hns.refuse = ({ call }) => {
        if (call === "enumerate Network") reads += 1;
        return call === "enumerate Network" && reads === 2
          ? new HcnError("HCN_E_NETWORK_NOT_FOUND")
          : undefined;
      };
      const b = service({ name: "b", spec: { clusterIP: ADDRESS.C2 } });
      const report = await node.change(b, slice(["R1"], { of: "b" }));
      expect(report.families.map(({ outcome }) => outcome)).toEqual(["network-gone"]);
      expect(node.loadBalancers()).toEqual([]);
      expect(node.madeEndpoints()).toEqual([SV]);
    },
  );

  inVersions(
    "KP-C18 a deleted Service takes R1 and its ClusterIP along; the source VIP stays",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...OVERLAY, minor });
      await node.begin([service()], [slice(["R1"])]);
      await node.remove(service());
      expect(node.loadBalancers()).toEqual([]);
      expect(node.madeEndpoints()).toEqual([SV]);
    },
  );

  describe("a node joins after the start", () => {
    const JOINED = { address: "192.168.7.3", node: "third-node" };

    /** HNS has the way to its pods from now on. */
    function join(node: KubeProxyNode): void {
      const [network] = node.hns.list("Network");
      const policies = (network?.["Policies"] ?? []) as readonly JsonObject[];
      const Settings = {
        DestinationPrefix: "192.168.7.0/24",
        IsolationId: 4096,
        ProviderAddress: "10.0.0.7",
      };
      node.hns.put("Network", {
        ...network,
        ID: NETWORK_ID,
        Policies: [...policies, { Type: "RemoteSubnetRoute", Settings }],
      });
    }

    it.each(["upstream", "hardened"] as const)("its pods lead to it, %s", async (compat) => {
      const node = new KubeProxyNode({ ...OVERLAY, compat });
      await node.begin([service()], [slice(["L1"])]);
      join(node);
      await node.change(slice(["L1", { at: JOINED }]));
      expect(node.madeEndpoints()).toContain("192.168.7.3(10.0.0.7) ×1");
    });

    it.each(["upstream", "hardened"] as const)("in the place of another, %s", async (compat) => {
      const node = new KubeProxyNode({ ...OVERLAY, compat });
      await node.begin([service()], [slice(["R1"])]);
      const [network] = node.hns.list("Network");
      const policies = JSON.stringify(network?.["Policies"]).replaceAll('"10.0.0.3"', '"10.0.0.8"');
      node.hns.put("Network", {
        ...network,
        ID: NETWORK_ID,
        Policies: JSON.parse(policies) as readonly JsonObject[],
      });
      await node.change(slice(["R1", { at: { address: "192.168.2.77", node: "second-node" } }]));
      expect(node.madeEndpoints()).toContain("192.168.2.77(10.0.0.8) ×1");
    });

    it("upstream sees it also when it joins during a sync", async () => {
      const node = new KubeProxyNode(OVERLAY);
      await node.begin([service()], [slice(["L1"])]);
      node.hns.refuse = ({ call }) => {
        if (call === "enumerate LoadBalancer") {
          node.hns.refuse = undefined;
          join(node);
        }
        return undefined;
      };
      await node.change(slice(["L1", { at: JOINED }]));
      expect(node.madeEndpoints()).toContain("192.168.7.3(10.0.0.7) ×1");
    });
  });

  async function withUnreadableSubnet(minor: number, compat: Compat = "upstream"): Promise<KubeProxyNode> {
    const node = new KubeProxyNode({ ...OVERLAY, minor, compat });
    await node.begin([service()], [slice(["R1"])]);
    const [network] = node.hns.list("Network");
    node.hns.put("Network", {
      ...network,
      ID: NETWORK_ID,
      Policies: [{ Type: "RemoteSubnetRoute", Settings: { DestinationPrefix: "nonsense" } }],
    });
    return node;
  }

  inVersions(
    "KP-C19 a remote subnet that cannot be read counts as a network that is gone",
    ALL_MINORS,
    async (minor) => {
      const node = await withUnreadableSubnet(minor);
      const report = await node.change();
      expect(report.families.map(({ outcome }) => outcome)).toEqual(["network-gone"]);
      expect(node.loadBalancers()).toEqual([]);
      expect(node.madeEndpoints()).toEqual([SV]);
    },
  );

  it("KP-C19 in hardened what cannot be read is not gone", async () => {
    const node = await withUnreadableSubnet(37, "hardened");
    const before = node.loadBalancers();
    const report = await node.change();
    expect(report.families.map(({ outcome }) => outcome)).toEqual(["hns-unreadable"]);
    expect(node.loadBalancers()).toEqual(before);
  });
});
