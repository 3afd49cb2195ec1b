import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  ADDRESS,
  type EndpointLike,
  HNS_WITHOUT_DSR,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import {
  ALL_MINORS,
  type MinorRange,
  type Row,
  describeRows,
  inVersions,
} from "#test/support/kube-proxy/decision-table.suite.ts";

/** L1's pod as the slice has it when the node's name is another one here. */
const FOREIGN_L1: EndpointLike = { at: { address: ADDRESS.L1, node: "Test-Node" } };

/** kube-proxy.md §8.10, first part. */
const LOCALITY: readonly Row[] = [
  {
    id: "L1",
    given: "another name of the node, overlay",
    node: { isOverlay: true },
    services: [service()],
    slices: [slice([FOREIGN_L1])],
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D0 S=N"],
    endpoints: ["SV local", "C(10.0.0.1) ×1"],
  },
  {
    id: "L2",
    given: "another name of the node, external policy Local, node port",
    services: [service({ spec: { type: "NodePort", ports: NODE_PORT, externalTrafficPolicy: "Local" } })],
    slices: [slice([FOREIGN_L1])],
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D0", "∅:3001→8080 [EP-L1] L1 P18 D0"],
    endpoints: [],
  },
  {
    id: "L3",
    given: "another name of the node, both policies Local: the internal one is not read",
    minors: [20, 26],
    services: [service({ spec: { externalTrafficPolicy: "Local", internalTrafficPolicy: "Local" } })],
    slices: [slice([FOREIGN_L1])],
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D0"],
    endpoints: [],
  },
  {
    id: "L3",
    given: "another name of the node, both policies Local",
    minors: [27, 37],
    services: [service({ spec: { externalTrafficPolicy: "Local", internalTrafficPolicy: "Local" } })],
    slices: [slice([FOREIGN_L1])],
    loadBalancers: [],
    endpoints: [],
    notApplied: ["svc:p80"],
    codes: ["service-without-usable-endpoints"],
  },
];

const OVERLAY: NodeSettings = { isOverlay: true };

/** kube-proxy.md §8.10, second part: what ends the start. */
const REFUSED: readonly (readonly [
  id: string,
  given: string,
  node: NodeSettings,
  message: string,
  minors?: MinorRange,
])[] = [
  [
    "S1",
    "no name of a network",
    { options: { networkName: "" } },
    "Environment variable KUBE_NETWORK and network-flag not initialized",
  ],
  [
    "S2",
    "overlay without a source VIP",
    { ...OVERLAY, options: { sourceVip: "" } },
    "source-vip flag not set",
  ],
  [
    "S3",
    "overlay with WinOverlay off",
    { ...OVERLAY, options: { featureGates: { WinOverlay: false } } },
    "WinOverlay feature gate not enabled",
    [20, 33],
  ],
  [
    "S4",
    "enableDSR with WinDSR off",
    { options: { enableDSR: true, featureGates: { WinDSR: false } } },
    "WinDSR feature gate not enabled",
    [20, 33],
  ],
  [
    "S5",
    "enableDSR, HNS without DSR",
    { hns: HNS_WITHOUT_DSR, options: { enableDSR: true, featureGates: { WinDSR: true } } },
    "DSR is asked for (enableDSR), and this version of HNS does not support it",
  ],
  [
    "S6",
    "overlay, and no interface with the node's address",
    { ...OVERLAY, options: { hostInterfaces: [] } },
    "could not find host mac address for 10.0.0.1",
  ],
];

describe("locality (§8.10)", () => {
  describeRows(LOCALITY);
});

describe("the start (§8.10)", () => {
  for (const [id, given, settings, message, minors = ALL_MINORS] of REFUSED)
    inVersions(`KP-${id} ${given}`, minors, async (minor) => {
      const node = new KubeProxyNode({ ...settings, minor });
      expect(await node.start()).toBe(message);
      expect(await node.proxy.start()).toMatchObject({
        state: "failed",
        finding: { code: "kube-proxy-cannot-start" },
      });
    });

  inVersions("KP-S4 WinDSR is off where nothing is said", [20, 32], async (minor) => {
    const node = new KubeProxyNode({ minor, options: { enableDSR: true } });
    expect(await node.start()).toBe("WinDSR feature gate not enabled");
  });

  inVersions("KP-S4 WinDSR is on where nothing is said", [33, 37], async (minor) => {
    expect(await new KubeProxyNode({ minor, options: { enableDSR: true } }).start()).toBe("running");
  });

  inVersions("KP-S3 KP-S4 both gates are locked on", [34, 37], async (minor) => {
    const featureGates = { WinDSR: false, WinOverlay: false };
    const node = new KubeProxyNode({ ...OVERLAY, minor, options: { enableDSR: true, featureGates } });
    expect(await node.start()).toBe("running");
  });

  inVersions("KP-S7 L2Bridge needs no interface with the node's address", ALL_MINORS, async (minor) => {
    expect(await new KubeProxyNode({ minor, options: { hostInterfaces: [] } }).start()).toBe("running");
  });

  inVersions("KP-S1 the variable KUBE_NETWORK does, too", ALL_MINORS, async (minor) => {
    const options = { networkName: "", kubeNetwork: "TestNetwork" };
    expect(await new KubeProxyNode({ minor, options }).start()).toBe("running");
  });

  it("a machine whose HNS lists no policies is not for kube-proxy", async () => {
    const node = new KubeProxyNode();
    node.hns.refuse = ({ call }) =>
      call === "GET /policylists/" ? new HcnError("HCN_E_REQUEST_UNSUPPORTED") : undefined;
    expect(await node.start()).toContain("the kernel is not compatible");
  });

  inVersions(
    "KP-S8 the network is not there yet: load balancers are gone, and it waits in steps of a second",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      const network = { ...node.hns.list("Network")[0], ID: "00123abc-0000-4000-8000-000000000000" };
      await node.hns.delete("Network", network.ID);
      node.hns.put("LoadBalancer", { ID: "1b000000-0000-4000-8000-0000000000ff", HostComputeEndpoints: [] });
      for (let second = 0; second < 30; second++) {
        expect(await node.proxy.start()).toMatchObject({
          state: "waiting",
          retryAfterMs: 1_000,
          finding: { code: "kube-proxy-network-missing" },
        });
      }
      expect(node.hns.list("LoadBalancer")).toEqual([]);
      expect((await node.proxy.sync()).families.map(({ outcome }) => outcome)).toEqual(["not-ready"]);
      node.hns.put("Network", network);
      expect(await node.proxy.start()).toEqual({ state: "running" });
    },
  );

  inVersions(
    "KP-S9 overlay: it waits ten seconds and looks again; failure then is for good",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...OVERLAY, minor });
      expect(await node.proxy.start()).toMatchObject({ state: "waiting", retryAfterMs: 10_000 });
      await node.hns.delete("Network", "00123abc-0000-4000-8000-000000000000");
      expect(await node.proxy.start()).toMatchObject({
        state: "failed",
        finding: { message: "could not find HNS network TestNetwork" },
      });
    },
  );

  inVersions("KP-S10 load balancers of others are removed", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ minor });
    node.hns.put("LoadBalancer", {
      ID: "1b000000-0000-4000-8000-0000000000ff",
      HostComputeEndpoints: ["10ca1000-0000-4000-8000-000000000001"],
      FrontendVIPs: ["192.0.2.1"],
    });
    expect(await node.start()).toBe("running");
    expect(node.hns.list("LoadBalancer")).toEqual([]);
    expect(node.calls()).toHaveLength(1);
  });

  describe("HNS does not answer once", () => {
    it.each([
      ["GET /policylists/", "upstream", "failed", "kube-proxy-cannot-start"],
      ["GET /globals/version", "upstream", "failed", "kube-proxy-cannot-start"],
      ["GET /policylists/", "hardened", "waiting", "hns-unreachable"],
      ["GET /globals/version", "hardened", "waiting", "hns-unreachable"],
    ] as const)(
      "to %s, when it is looked whether it can be used, %s: %s",
      async (call, compat, state, code) => {
        const node = new KubeProxyNode({ compat });
        node.hns.failNext(call, new HcnError("RPC_S_SERVER_UNAVAILABLE"));
        expect(await node.proxy.start()).toMatchObject({ state, finding: { code } });
        expect((await node.proxy.start()).state).toBe(compat === "upstream" ? "failed" : "running");
      },
    );

    it.each([
      ["upstream", "failed", "kube-proxy-cannot-start", "failed"],
      ["hardened", "waiting", "hns-unreachable", "running"],
    ] as const)("KP-S9 when an overlay network has settled, %s: %s", async (compat, state, code, then) => {
      const node = new KubeProxyNode({ ...OVERLAY, compat });
      await node.proxy.start();
      node.hns.failNext("enumerate Network", new HcnError("RPC_S_SERVER_UNAVAILABLE"));
      expect(await node.proxy.start()).toMatchObject({ state, finding: { code } });
      expect((await node.proxy.start()).state).toBe(then);
    });

    it("hardened: an HNS that refuses, and a network that is gone, are no matter of time", async () => {
      const refusing = new KubeProxyNode({ compat: "hardened" });
      refusing.hns.failNext("GET /policylists/", new HcnError("HCN_E_REQUEST_UNSUPPORTED"));
      expect((await refusing.proxy.start()).state).toBe("failed");
      const settled = new KubeProxyNode({ ...OVERLAY, compat: "hardened" });
      await settled.proxy.start();
      await settled.hns.delete("Network", "00123abc-0000-4000-8000-000000000000");
      expect((await settled.proxy.start()).state).toBe("failed");
    });
  });

  describe("KP-S10 HNS does not list the load balancers of an earlier run", () => {
    const LEFT = "1b000000-0000-4000-8000-0000000000ff";

    /** HNS answers the check, and not the listing after it. */
    function failing(settings: NodeSettings): KubeProxyNode {
      const node = new KubeProxyNode(settings);
      node.hns.put("LoadBalancer", {
        ID: LEFT,
        HostComputeEndpoints: ["10ca1000-0000-4000-8000-000000000001"],
        FrontendVIPs: [ADDRESS.C],
        PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
      });
      let checks = 0;
      node.hns.refuse = ({ call }) => {
        const isListing = call === "enumerate LoadBalancer" || (call === "GET /policylists/" && ++checks > 1);
        return isListing ? new HcnError("RPC_S_SERVER_UNAVAILABLE") : undefined;
      };
      return node;
    }

    it("hardened: it waits, says so, and removes them when HNS answers", async () => {
      const node = failing({ compat: "hardened" });
      for (let second = 0; second < 2; second++) {
        const result = await node.proxy.start();
        expect(result).toMatchObject({ state: "waiting", retryAfterMs: 1_000 });
        const finding = result.state === "waiting" ? result.finding : undefined;
        expect(finding?.code).toBe("hns-unreachable");
        expect(finding?.message).toMatch(/lists the load balancers of an earlier run.*6ba/);
      }
      expect(node.hns.list("LoadBalancer")).toHaveLength(1);
      expect((await node.proxy.sync()).families.map(({ outcome }) => outcome)).toEqual(["not-ready"]);
      node.hns.refuse = undefined;
      expect(await node.proxy.start()).toEqual({ state: "running" });
      expect(node.hns.list("LoadBalancer")).toEqual([]);
    });

    inVersions("upstream: it goes on, and they stay", ALL_MINORS, async (minor) => {
      const node = failing({ minor });
      expect(await node.proxy.start()).toEqual({ state: "running" });
      node.hns.refuse = undefined;
      await node.proxy.sync();
      expect(node.hns.list("LoadBalancer").map((each) => each["ID"])).toEqual([LEFT]);
    });

    inVersions("KP-S10 they are policy lists of HNS v1", [20, 30], async (minor) => {
      const node = failing({ minor });
      node.hns.refuse = undefined;
      await node.start();
      expect(node.hns.calls.map(({ call }) => call)).toEqual([`DELETE /policylists/${LEFT.toUpperCase()}`]);
    });

    // kubernetes/kubernetes, pkg/proxy/winkernel/hcnutils.go of v1.31.0: ListLoadBalancers and Delete of hcn.
    inVersions("KP-S10 they are load balancers of HCN", [31, 37], async (minor) => {
      const node = failing({ minor });
      node.hns.refuse = undefined;
      await node.start();
      expect(node.hns.calls).toEqual([{ call: "delete LoadBalancer", id: LEFT }]);
    });
  });
});

describe("a node", () => {
  it("reads Services once for all nodes and keeps its own counts", async () => {
    const first = new KubeProxyNode();
    await first.begin([service()], [slice(["L1", "R1"])]);
    const second = new KubeProxyNode({ options: { hostname: "other-node" } }, first.objects);
    expect(await second.start()).toBe("running");
    await second.proxy.sync();
    expect(second.loadBalancers()).toEqual(["C:80→8080 [EP-L1] L0 P0 D0"]);
    await first.change(slice(["L1"]));
    expect(first.madeEndpoints()).toEqual([]);
    await second.proxy.sync();
    expect(second.loadBalancers()).toEqual(["C:80→8080 [EP-L1] L0 P0 D0"]);
  });

  it("can be forked, and the copy goes its own way", async () => {
    const node = new KubeProxyNode();
    await node.begin([service()], [slice(["R1"])]);
    const copy = fork({ hns: node.hns, objects: node.objects, proxy: node.proxy });
    copy.objects.serviceChanged(service(), undefined);
    await copy.proxy.sync();
    expect(copy.hns.list("LoadBalancer")).toEqual([]);
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1] L0 P0 D0"]);
  });

  it("makes the same calls each time", async () => {
    const run = async (): Promise<readonly string[]> => {
      const node = new KubeProxyNode();
      const names = ["z", "b", "a", "m"];
      const services = names.map((name, n) => service({ name, spec: { clusterIP: `10.20.30.5${n}` } }));
      await node.begin(
        services,
        names.map((name) => slice(["R1", "L1"], { of: name })),
      );
      return node.numberedLoadBalancers();
    };
    const once = await run();
    expect(once.map((text) => text.split(":")[0])).toEqual([
      "LBID-1 10.20.30.52",
      "LBID-2 10.20.30.51",
      "LBID-3 10.20.30.53",
      "LBID-4 10.20.30.50",
    ]);
    expect(await run()).toEqual(once);
  });

  it("with reads of new objects alone asks only for the network when nothing changed", async () => {
    // From 1.36 on identifiers are listed, unless HNS says that nothing has changed: a local endpoint may have come.
    const node = new KubeProxyNode({ minor: 35, options: { reads: "new" } });
    await node.begin([service()], [slice(["R1"])]);
    const reads: string[] = [];
    node.hns.refuse = ({ call }) => {
      reads.push(call);
      return undefined;
    };
    await node.proxy.sync();
    expect([...new Set(reads)]).toEqual(["enumerate Network", "query Network"]);
    await node.change(slice(["R1", "L1"]));
    expect(node.loadBalancers()).toEqual(["C:80→8080 [R1,EP-L1] L0 P0 D0"]);
  });
});
