import { describe, expect, it } from "vitest";
import type { Guid } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import {
  ADDRESS,
  type EndpointLike,
  HNS_WITH_MODIFY,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
  type ServiceSketch,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import {
  ALL_MINORS,
  type MinorRange,
  asMadeIn,
  inVersions,
  minorsIn,
} from "#test/support/kube-proxy/decision-table.suite.ts";

type Spec = NonNullable<ServiceSketch["spec"]>;

const MODIFY: NodeSettings = { hns: HNS_WITH_MODIFY };
const WITHOUT_OPTIMISATION = { winProxyOptimization: "disabled" };
const ETP_LOCAL = { externalTrafficPolicy: "Local" } as const;

function nodePort(spec: Spec = {}, more: ServiceSketch = {}): Service {
  return service({ ...more, spec: { type: "NodePort", ports: NODE_PORT, ...spec } });
}

function balanced(more: ServiceSketch = {}): Service {
  const ingress = [{ ip: ADDRESS.G }];
  return service({ ingress, ...more, spec: { type: "LoadBalancer", ports: NODE_PORT } });
}

async function started(
  settings: NodeSettings,
  svc: Service,
  ...endpoints: readonly EndpointLike[]
): Promise<KubeProxyNode> {
  const node = new KubeProxyNode(settings);
  await node.begin([svc], [slice(endpoints)]);
  return node;
}

/** HNS refuses the calls of that name. */
function refuse(
  node: KubeProxyNode,
  name: string,
  error: Error = new HcnError("HCN_E_PORT_NOT_FOUND"),
): void {
  node.hns.refuse = ({ call }) => (call === name ? error : undefined);
}

/** Versions without the optimisation: a change takes everything of the Service away first (kube-proxy.md §3.2). */
const ALL_ANEW: MinorRange = [20, 26];
/** Versions with it. */
const OPTIMISED: MinorRange = [27, 37];
/** Versions that ask HNS to change a load balancer (§4). */
const MODIFYING: MinorRange = [31, 37];
/** Versions whose check before a deletion looks for the right front end (§4). */
const SINCE_31: MinorRange = [31, 37];

/** From 1.27 to 1.30 a sync deletes all whose count is zero, also what is gone already (§3.3, step 13). */
function deletedAgain(minor: number, ...ids: readonly string[]): readonly string[] {
  return minor >= 27 && minor <= 30 ? ids.map((id) => `delete ${id}`) : [];
}

const LOCAL_2 = "10ca1000-0000-4000-8000-000000000002";
const C_R1 = "C:80→8080 [R1] L0 P0 D0";
const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";
const C_BOTH = "C:80→8080 [R1,EP-L1] L0 P0 D0";
const NP_BOTH = "∅:3001→8080 [R1,EP-L1] L0 P18 D0";

describe("transitions (§8.9): back ends", () => {
  inVersions("KP-H1 a back end more: delete and create", OPTIMISED, async (minor) => {
    const node = await started({ minor }, nodePort(), "R1");
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-3", "delete LBID-2", "create LBID-4"]);
    expect(node.numberedLoadBalancers()).toEqual([`LBID-3 ${C_BOTH}`, `LBID-4 ${NP_BOTH}`]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
  });

  inVersions("KP-H1 a back end more: everything goes first", ALL_ANEW, async (minor) => {
    const node = await started({ minor }, nodePort(), "R1");
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual([
      "delete LBID-1",
      "delete LBID-2",
      "delete EPID-1",
      "create EPID-2",
      "create LBID-3",
      "create LBID-4",
    ]);
    expect(node.loadBalancers()).toEqual(asMadeIn(minor, [C_BOTH, NP_BOTH]));
  });

  inVersions("KP-H2 with modify: two updates", MODIFYING, async (minor) => {
    const node = await started({ ...MODIFY, minor }, nodePort(), "R1");
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual(["update LBID-1", "update LBID-2"]);
    expect(node.numberedLoadBalancers()).toEqual([`LBID-1 ${C_BOTH}`, `LBID-2 ${NP_BOTH}`]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
  });

  inVersions("KP-H2 modify is not used", [27, 30], async (minor) => {
    const node = await started({ ...MODIFY, minor }, service(), "R1");
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2"]);
  });

  const MOVED: NodeSettings = {
    isOverlay: true,
    options: { enableDSR: true, featureGates: { WinDSR: true } },
  };

  inVersions("KP-H3 overlay, R1 becomes X, with modify", MODIFYING, async (minor) => {
    const node = await started({ ...MOVED, ...MODIFY, minor }, nodePort(), "R1");
    expect(node.madeIds()).toEqual(["EPID-1", "EPID-2", "EPID-3"]);
    await node.change(slice(["X"]));
    expect(node.calls()).toEqual([
      "delete EPID-2",
      "create EPID-4",
      "create EPID-5",
      "update LBID-1",
      "update LBID-2",
      "delete EPID-3",
    ]);
    expect(node.numberedLoadBalancers()).toEqual([
      "LBID-1 C:80→8080 [X] L1 P0 D0 S=N",
      "LBID-2 ∅:3001→8080 [X] L0 P18 D0 S=N",
    ]);
    expect(node.madeEndpoints()).toContain("X(10.0.0.3) ×1");
  });

  inVersions("KP-H4 the same without modify", OPTIMISED, async (minor) => {
    const node = await started({ ...MOVED, minor }, nodePort(), "R1");
    await node.change(slice(["X"]));
    expect(node.calls()).toEqual([
      "delete EPID-2",
      "create EPID-4",
      "create EPID-5",
      "delete LBID-1",
      "create LBID-3",
      "delete LBID-2",
      "create LBID-4",
      ...deletedAgain(minor, "EPID-2"),
      "delete EPID-3",
    ]);
  });

  inVersions("KP-H4 the same without the optimisation: everything goes first", ALL_ANEW, async (minor) => {
    const node = await started({ ...MOVED, minor }, nodePort(), "R1");
    await node.change(slice(["X"]));
    expect(node.calls()).toEqual([
      "delete LBID-1",
      "delete LBID-2",
      "delete EPID-3",
      "delete EPID-2",
      "create EPID-4",
      "create EPID-5",
      "create LBID-3",
      "create LBID-4",
    ]);
  });

  inVersions("KP-H5 modify is answered with not implemented: never tried again", MODIFYING, async (minor) => {
    const node = await started({ ...MODIFY, minor }, service(), "R1");
    refuse(node, "modify LoadBalancer", new HcnError("E_NOTIMPL"));
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual(["update LBID-1", "delete LBID-1", "create LBID-2"]);
    await node.change(slice(["L1"]));
    expect(node.calls()).toEqual(["delete LBID-2", "create LBID-3", "delete EPID-1"]);
  });

  inVersions(
    "KP-H6 modify fails otherwise: the old one stays, and the next sync tries again",
    MODIFYING,
    async (minor) => {
      const node = await started({ ...MODIFY, minor }, service(), "R1");
      refuse(node, "modify LoadBalancer");
      await node.change(slice(["R1", "L1"]));
      expect(node.numberedLoadBalancers()).toEqual([`LBID-1 ${C_R1}`]);
      expect(node.notApplied()).toEqual(["svc:p80"]);
      expect(node.codes()).toEqual(["service-load-balancer-refused"]);
      node.hns.refuse = undefined;
      await node.proxy.sync();
      expect(node.numberedLoadBalancers()).toEqual([`LBID-1 ${C_BOTH}`]);
      expect(node.notApplied()).toEqual([]);
    },
  );

  inVersions("KP-H7 an endpoint that is not ready changes nothing", SINCE_31, async (minor) => {
    const node = await started({ minor }, service(), "L1");
    await node.change(slice(["L1", { at: "R1", is: "unready" }]));
    expect(node.calls()).toEqual([]);
    expect(node.numberedLoadBalancers()).toEqual([`LBID-1 ${C_L1}`]);
    expect(node.notApplied()).toEqual([]);
  });

  inVersions("KP-H7 the load balancer is deleted, and its identifier used on", [27, 30], async (minor) => {
    const node = await started({ minor }, service(), "L1");
    await node.change(slice(["L1", { at: "R1", is: "unready" }]));
    expect(node.calls()).toEqual(["delete LBID-1"]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.applied()).toEqual(["svc:p80"]);
    expect(node.proxy.services()[0]?.frontEnds).toHaveLength(1);
  });

  inVersions("KP-H7 the load balancer is made anew", ALL_ANEW, async (minor) => {
    const node = await started({ minor }, service(), "L1");
    await node.change(slice(["L1", { at: "R1", is: "unready" }]));
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2"]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  inVersions("KP-H8 the last endpoints go", ALL_MINORS, async (minor) => {
    const node = await started({ minor }, nodePort(), "R1", "L1");
    await node.change(slice([]));
    expect(node.calls()).toEqual(["delete LBID-1", "delete LBID-2", "delete EPID-1"]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
  });

  inVersions("KP-H9 R1 goes", OPTIMISED, async (minor) => {
    const node = await started({ minor }, service(), "R1", "L1");
    await node.change(slice(["L1"]));
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2", "delete EPID-1"]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  inVersions("KP-H9 R1 goes, before the load balancer is made anew", ALL_ANEW, async (minor) => {
    const node = await started({ minor }, service(), "R1", "L1");
    await node.change(slice(["L1"]));
    expect(node.calls()).toEqual(["delete LBID-1", "delete EPID-1", "create LBID-2"]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  inVersions("KP-H10 without the optimisation everything is made anew", ALL_MINORS, async (minor) => {
    const svc = nodePort({}, { annotations: WITHOUT_OPTIMISATION });
    const node = await started({ minor }, svc, "R1");
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual([
      "delete LBID-1",
      "delete LBID-2",
      "delete EPID-1",
      "create EPID-2",
      "create LBID-3",
      "create LBID-4",
      ...deletedAgain(minor, "EPID-1"),
    ]);
  });

  inVersions("KP-H10 there is no optimisation", ALL_ANEW, async (minor) => {
    const node = await started({ minor }, service(), "R1");
    await node.change(slice(["R1", "L1"]));
    expect(node.calls()).toEqual(["delete LBID-1", "delete EPID-1", "create EPID-2", "create LBID-2"]);
  });
});

describe("transitions (§8.9): the Service", () => {
  inVersions("KP-H11 its port", ALL_MINORS, async (minor) => {
    const node = await started({ minor }, service(), "R1");
    await node.change(service({ spec: { ports: [{ name: "p80", port: 81, targetPort: 8080 }] } }));
    expect(node.calls()).toEqual([
      "delete LBID-1",
      "delete EPID-1",
      "create EPID-2",
      "create LBID-2",
      ...deletedAgain(minor, "EPID-1"),
    ]);
    expect(node.loadBalancers()).toEqual(["C:81→8080 [R1] L0 P0 D0"]);
  });

  inVersions("KP-H12 its port, on overlay", ALL_MINORS, async (minor) => {
    const node = await started({ isOverlay: true, minor }, service(), "R1");
    await node.change(service({ spec: { ports: [{ name: "p80", port: 81, targetPort: 8080 }] } }));
    expect(node.calls()).toEqual([
      "delete LBID-1",
      "delete EPID-3",
      "delete EPID-2",
      "create EPID-4",
      "create EPID-5",
      "create LBID-2",
      ...deletedAgain(minor, "EPID-2", "EPID-3"),
    ]);
  });

  inVersions("KP-H13 NodePort becomes ClusterIP", ALL_MINORS, async (minor) => {
    const node = await started({ minor }, nodePort(), "L1");
    await node.change(service());
    expect(node.calls()).toEqual(["delete LBID-1", "delete LBID-2", "create LBID-3"]);
    expect(node.loadBalancers()).toEqual([C_L1]);
  });

  inVersions("KP-H14 a label that nobody reads", ALL_MINORS, async (minor) => {
    const node = await started({ minor }, service(), "R1");
    await node.change(service({ labels: { team: "red" } }));
    expect(node.calls()).toEqual([]);
  });

  inVersions(
    "KP-H28 a node port and the slice of one Service change at once; the shared endpoint stays",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      const other = nodePort(
        { clusterIP: ADDRESS.C2, ports: [{ ...NODE_PORT[0]!, nodePort: 3002 }] },
        { name: "svc2" },
      );
      await node.begin(
        [nodePort({}, { name: "svc1" }), other],
        [slice(["R1"], { of: "svc1" }), slice(["R1"], { of: "svc2" })],
      );
      expect(node.madeEndpoints()).toEqual(["R1 ×2"]);
      const changed = nodePort({ ports: [{ ...NODE_PORT[0]!, nodePort: 3003 }] }, { name: "svc1" });
      const ports = [
        { name: "p80", port: 8080, protocol: "TCP" },
        { name: "p443", port: 8443, protocol: "TCP" },
      ];
      await node.change(changed, slice(["R1"], { of: "svc1", ports }));
      expect(node.calls()).toEqual(["delete LBID-1", "delete LBID-2", "create LBID-5", "create LBID-6"]);
      expect(node.madeIds()).toEqual(["EPID-1"]);
      expect(node.madeEndpoints()).toEqual(["R1 ×2"]);
    },
  );
});

describe("transitions (§8.9): failures of HNS", () => {
  inVersions(
    "KP-H15 a deletion that fails twice leaves the old one for the next sync",
    OPTIMISED,
    async (minor) => {
      const node = await started({ minor }, service(), "R1");
      refuse(node, "delete LoadBalancer");
      // The front end of the old one is in the way on a real HNS; the row's fake allows both.
      node.hns.put("LoadBalancer", {
        ...node.hns.list("LoadBalancer")[0],
        ID: "1b000000-0000-4000-8000-000000000001",
        FrontendVIPs: ["192.0.2.1"],
      });
      const report = await node.change(slice(["R1", "L1"]));
      expect(node.calls()).toEqual([
        "delete LBID-1",
        "delete LBID-1",
        "create LBID-2",
        // The attempt to clean up, with its own second try.
        "delete LBID-1",
        "delete LBID-1",
      ]);
      expect(report.families[0]?.staleLoadBalancers).toBe(1);
      node.hns.refuse = undefined;
      const next = await node.proxy.sync();
      expect(next.families[0]?.staleLoadBalancers).toBe(0);
      expect(node.numberedLoadBalancers()).toEqual([`LBID-2 ${C_BOTH}`]);
    },
  );

  inVersions("KP-H16 deletions fail and creations collide", OPTIMISED, async (minor) => {
    const node = new KubeProxyNode({ minor });
    const four: readonly EndpointLike[] = ["L1", "R1", "R2", "U"];
    const other = nodePort(
      { clusterIP: ADDRESS.C2, ports: [{ ...NODE_PORT[0]!, nodePort: 3002 }] },
      { name: "b" },
    );
    await node.begin(
      [nodePort({}, { name: "a" }), other],
      [slice(four, { of: "a" }), slice(four, { of: "b" })],
    );
    expect(node.madeEndpoints()).toEqual(["R1 ×2", "R2 ×2", "U ×2"]);
    const before = node.numberedLoadBalancers();
    refuse(node, "delete LoadBalancer");
    const two: readonly EndpointLike[] = ["L1", "R1"];
    await node.change(slice(two, { of: "a" }), slice(two, { of: "b" }));
    // The old ones stay, with identifiers of endpoints that are gone.
    expect(node.hns.list("LoadBalancer")).toHaveLength(before.length);
    expect(node.notApplied()).toEqual(["a:p80", "b:p80"]);
    const clusterIps = node.proxy
      .services()
      .flatMap(({ frontEnds }) => frontEnds.filter(({ kind }) => kind === "ClusterIP"));
    expect(clusterIps).toEqual([]);
    expect(node.madeEndpoints()).toEqual(["R1 ×2"]);
    expect(node.madeIds()).toEqual(["EPID-1"]);
  });

  inVersions("KP-H17 25 stale load balancers go in two syncs", OPTIMISED, async (minor) => {
    const node = new KubeProxyNode({ minor });
    const services = Array.from({ length: 25 }, (_, n) =>
      service({ name: `s${n}`, spec: { clusterIP: `10.20.31.${n + 1}` } }),
    );
    const slices = services.map(({ metadata }) => slice(["L1"], { of: metadata.name }));
    await node.begin(services, slices);
    refuse(node, "delete LoadBalancer");
    const failed = await node.remove(...services);
    expect(failed.families[0]?.staleLoadBalancers).toBe(25);
    node.hns.refuse = undefined;
    node.forgetCalls();
    const first = await node.proxy.sync();
    expect(first.families[0]?.staleLoadBalancers).toBe(5);
    expect(node.calls()).toHaveLength(20);
    const second = await node.proxy.sync();
    expect(second.families[0]?.staleLoadBalancers).toBe(0);
    expect(node.loadBalancers()).toEqual([]);
  });

  const NETWORK = "00123abc-0000-4000-8000-000000000000";
  const OTHER_NETWORK = "00123abc-0000-4000-8000-000000000001";

  inVersions(
    "KP-H18 another network with the name: everything goes, and comes back a sync later",
    ALL_MINORS,
    async (minor) => {
      const node = await started({ minor }, service(), "R1", "L1");
      const [network] = node.hns.list("Network");
      await node.hns.delete("Network", NETWORK);
      node.hns.put("Network", { ...network, ID: OTHER_NETWORK });
      const report = await node.change();
      expect(new Set(report.families.map(({ outcome }) => outcome))).toEqual(new Set(["network-gone"]));
      expect(node.calls()).toEqual(["delete LBID-1", "delete EPID-1"]);
      node.forgetCalls();
      await node.proxy.sync();
      expect(node.calls()).toContain("create EPID-2");
      expect(node.hns.bodiesOf("create Endpoint")).toMatchObject([{ HostComputeNetwork: OTHER_NETWORK }]);
    },
  );

  inVersions("KP-H19 the network stays away for three syncs", ALL_MINORS, async (minor) => {
    const node = await started({ minor }, service(), "R1", "L1");
    const network = { ...node.hns.list("Network")[0], ID: NETWORK };
    await node.hns.delete("Network", NETWORK);
    for (const _round of [1, 2, 3]) {
      const report = await node.proxy.sync();
      expect(report.families[0]).toMatchObject({
        outcome: "network-gone",
        finding: { code: "kube-proxy-network-missing" },
      });
      expect(node.loadBalancers()).toEqual([]);
      expect(node.notApplied()).toEqual(["svc:p80"]);
    }
    node.hns.put("Network", network);
    await node.proxy.sync();
    expect(node.loadBalancers()).toEqual([C_BOTH]);
  });

  it.each([
    ...minorsIn([20, 36]).map((minor) => [minor, "network-gone", []] as const),
    [37, "hns-unreadable", [C_L1]] as const,
  ])("KP-H19 in 1.%i an HNS that does not answer means %s", async (minor, outcome, left) => {
    const node = await started({ minor }, service(), "L1");
    refuse(node, "enumerate Network", new HcnError("RPC_S_UNKNOWN_IF"));
    const report = await node.proxy.sync();
    expect(report.families[0]?.outcome).toBe(outcome);
    expect(node.loadBalancers()).toEqual(left);
  });

  it.each(["HCN_E_MANAGER_STOPPED", "RPC_S_SERVER_UNAVAILABLE", "EPT_S_NOT_REGISTERED"] as const)(
    "KP-H19 from 1.37 on everything goes after %s, but in hardened",
    async (code) => {
      for (const [compat, outcome, left] of [
        ["upstream", "network-gone", []],
        ["hardened", "hns-unreadable", [C_L1]],
      ] as const) {
        const node = await started({ minor: 37, compat }, service(), "L1");
        refuse(node, "enumerate Network", new HcnError(code));
        const report = await node.proxy.sync();
        expect(report.families[0]?.outcome).toBe(outcome);
        expect(node.loadBalancers()).toEqual(left);
      }
    },
  );

  inVersions("KP-H20 a load balancer that somebody deletes stays away", ALL_MINORS, async (minor) => {
    const node = await started({ minor }, service(), "L1");
    await node.hns.delete("LoadBalancer", "1b000000-0000-4000-8000-000000000001");
    await node.change();
    expect(node.calls()).toEqual([]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  inVersions(
    "KP-H23 a node port that keeps failing: counts grow, and R1 outlives its Service",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      node.hns.refuse = ({ call, body }) =>
        call === "create LoadBalancer" && JSON.stringify(body).includes("3001")
          ? new HcnError("HCN_E_PORT_ALREADY_EXISTS")
          : undefined;
      await node.begin([nodePort()], [slice(["R1"])]);
      expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
      await node.proxy.sync();
      await node.proxy.sync();
      expect(node.madeEndpoints()).toEqual(["R1 ×3"]);
      expect(node.codes()).toEqual(["load-balancer-port-already-exists"]);
      node.hns.refuse = undefined;
      await node.remove(nodePort());
      expect(node.madeEndpoints()).toEqual(["R1 ×2"]);
    },
  );

  it("KP-H23 hardened counts once", async () => {
    const node = new KubeProxyNode({ compat: "hardened" });
    refuse(node, "create LoadBalancer");
    await node.begin([nodePort()], [slice(["R1"])]);
    await node.proxy.sync();
    expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
    node.hns.refuse = undefined;
    await node.remove(nodePort());
    expect(node.madeEndpoints()).toEqual([]);
  });

  it.each([
    [36, "upstream", 1],
    [37, "upstream", 2],
    [36, "hardened", 2],
  ] as const)(
    "from 1.37, and in hardened, a load balancer in the way is removed: 1.%i %s",
    async (minor, compat, id) => {
      const node = new KubeProxyNode({ minor, compat });
      node.objects.servicesListed([service()]);
      node.objects.endpointSlicesListed([slice(["L1"])]);
      expect(await node.start()).toBe("running");
      await node.hns.create("LoadBalancer", {
        HostComputeEndpoints: ["10ca1000-0000-4000-8000-000000000002"],
        FrontendVIPs: [ADDRESS.C],
        PortMappings: [{ Protocol: 6, InternalPort: 8080, ExternalPort: 80 }],
      });
      await node.proxy.sync();
      expect(node.numberedLoadBalancers()).toEqual([
        id === 2 ? `LBID-2 ${C_L1}` : "LBID-1 C:80→8080 [EP-L2] L0 P0 D0",
      ]);
      expect(node.notApplied()).toEqual(id === 2 ? [] : ["svc:p80"]);
    },
  );
});

describe("transitions (§8.9): termination", () => {
  const TERMINATING: EndpointLike = { at: "L1", is: "serving" };

  inVersions(
    "KP-H21 all back ends of a LoadBalancer start terminating: the node port stays",
    SINCE_31,
    async (minor) => {
      const node = await started({ minor }, balanced(), "L1");
      const before = node.numberedLoadBalancers();
      await node.change(slice([TERMINATING]));
      expect(node.calls()).toEqual([]);
      expect(node.numberedLoadBalancers()).toEqual(before);
    },
  );

  // From 1.27 to 1.30 the check before a deletion looks for another front end (§3.6); before, only ready pods count.
  inVersions("KP-H21 all back ends start terminating: everything goes", [20, 30], async (minor) => {
    const node = await started({ minor }, balanced(), "L1");
    await node.change(slice([TERMINATING]));
    expect(node.calls()).toEqual(["delete LBID-1", "delete LBID-2", "delete LBID-3"]);
    expect(node.loadBalancers()).toEqual([]);
  });

  inVersions("KP-H22 only ready pods count, and everything goes", ALL_ANEW, async (minor) => {
    const node = await started({ minor }, balanced(), "L1");
    await node.change(slice([TERMINATING]));
    expect(node.loadBalancers()).toEqual([]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
  });

  inVersions("KP-H22 the same without the optimisation: the node port goes", OPTIMISED, async (minor) => {
    const node = await started({ minor }, balanced({ annotations: WITHOUT_OPTIMISATION }), "L1");
    await node.change(slice([TERMINATING]));
    expect(node.calls()).toEqual([
      "delete LBID-1",
      "delete LBID-2",
      "delete LBID-3",
      "create LBID-4",
      "create LBID-5",
    ]);
    expect(node.loadBalancers()).toEqual([C_L1, "G:80→8080 [EP-L1] L0 P16 D0"]);
  });
});

describe("transitions (§8.9): endpoints of HNS", () => {
  inVersions(
    "KP-H24 one address is local to one Service and remote to another; HNS has the local endpoint",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      const remote: EndpointLike = { at: { address: ADDRESS.L1, node: "other-node" } };
      await node.begin(
        [service({ name: "svc1" }), service({ name: "svc2", spec: { clusterIP: ADDRESS.C2 } })],
        [slice(["L1"], { of: "svc1" }), slice([remote], { of: "svc2" })],
      );
      expect(node.loadBalancers()).toEqual([C_L1, "C2:80→8080 [EP-L1] L0 P0 D0"]);
      expect(node.madeEndpoints()).toEqual([]);
      expect(node.proxy.proxier(4)?.referencesTo("10ca1000-0000-4000-8000-000000000001")).toBe(0);
    },
  );

  /** A pod of this node gets the address of one elsewhere, on which two Services count, and a third one is its own. */
  async function addressComesHere(
    minor: number,
  ): Promise<{ node: KubeProxyNode; finish: () => Promise<void> }> {
    const node = new KubeProxyNode({ minor });
    const services = ["svc1", "svc2", "svc3"].map((name, n) =>
      service({ name, spec: { clusterIP: `10.20.30.5${n}` } }),
    );
    const [one, two] = [slice(["R1"], { of: "svc1" }), slice(["R1"], { of: "svc2" })];
    await node.begin(services, [one, two]);
    expect(node.madeEndpoints()).toEqual(["R1 ×2"]);
    node.putLocal("EP-L2", ADDRESS.R1);
    const here: EndpointLike = { at: { address: ADDRESS.R1, node: "test-node" } };
    await node.change(slice([here], { of: "svc3" }));
    const finish = async (): Promise<void> => {
      await node.remove(one, two);
      await node.proxy.sync();
      expect(node.hns.list("Endpoint").map(({ ID }) => ID)).toContain(LOCAL_2);
    };
    return { node, finish };
  }

  inVersions(
    "KP-H24b a local endpoint gets the address of a remote one: it survives",
    [36, 37],
    async (minor) => {
      const { node, finish } = await addressComesHere(minor);
      expect(node.madeEndpoints()).toEqual([]);
      await finish();
      expect(node.loadBalancers()).toEqual(["10.20.30.52:80→8080 [EP-L2] L0 P0 D0"]);
    },
  );

  inVersions(
    "KP-H24b a local endpoint gets the address of a remote one: the remote one is used on",
    [33, 35],
    async (minor) => {
      const { node, finish } = await addressComesHere(minor);
      expect(node.madeEndpoints()).toEqual(["R1 ×3"]);
      await finish();
      // What the slice calls local is never given up.
      expect(node.madeEndpoints()).toEqual(["R1 ×1"]);
      expect(node.loadBalancers()).toEqual(["10.20.30.52:80→8080 [R1] L0 P0 D0"]);
    },
  );

  /** R1 is a back end; an endpoint of this node gets its address; R1 leaves the slices. */
  async function replacedByLocal(minor: number): Promise<readonly Guid[]> {
    const node = await started({ minor }, service(), "R1");
    await node.hns.delete("Endpoint", LOCAL_2);
    node.putLocal("EP-L2", ADDRESS.R1);
    await node.change(slice([]));
    return node.hns.list("Endpoint").map(({ ID }) => ID as Guid);
  }

  // The regression of 1.31 (#130963): what vanished is looked for by its address.
  inVersions(
    "KP-H24b the local endpoint with the address of one that vanished is deleted",
    [31, 32],
    async (minor) => {
      expect(await replacedByLocal(minor)).not.toContain(LOCAL_2);
    },
  );

  inVersions(
    "KP-H24b the local endpoint with the address of one that vanished survives",
    [33, 37],
    async (minor) => {
      expect(await replacedByLocal(minor)).toContain(LOCAL_2);
    },
  );

  inVersions(
    "KP-H24b a remote endpoint goes by its identifier, and the local one survives",
    [20, 30],
    async (minor) => {
      expect(await replacedByLocal(minor)).toContain(LOCAL_2);
    },
  );

  inVersions(
    "KP-H25 internal policy Local: local back ends count, remote ones do not",
    [35, 37],
    async (minor) => {
      const node = await started({ minor }, service({ spec: { internalTrafficPolicy: "Local" } }), "L1");
      await node.change(slice(["L1", "L2"]));
      expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2"]);
      await node.change(slice(["L1", "L2", "R1"]));
      expect(node.calls()).toEqual(["create EPID-1"]);
      expect(node.numberedLoadBalancers()).toEqual(["LBID-2 C:80→8080 [EP-L1,EP-L2] L0 P0 D0"]);
    },
  );

  inVersions("KP-H25 internal policy Local is not read", ALL_ANEW, async (minor) => {
    const node = await started({ minor }, service({ spec: { internalTrafficPolicy: "Local" } }), "L1");
    await node.change(slice(["L1", "L2"]));
    expect(node.calls()).toEqual(["delete LBID-1", "create LBID-2"]);
    await node.change(slice(["L1", "L2", "R1"]));
    expect(node.calls()).toEqual(["delete LBID-2", "create EPID-1", "create LBID-3"]);
  });

  // What is there is compared with all back ends (§3.6).
  inVersions("KP-H25 the load balancer disappears", [27, 34], async (minor) => {
    const svc = service({ spec: { internalTrafficPolicy: "Local" } });
    const node = await started({ minor }, svc, "L1", "L2");
    await node.change(slice(["L1", "L2", "R1"]));
    expect(node.calls()).toEqual(["create EPID-1", "delete LBID-1"]);
    expect(node.loadBalancers()).toEqual([]);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  async function losersOfTwo(minor: number): Promise<KubeProxyNode> {
    const node = new KubeProxyNode({ minor });
    await node.begin(
      [service({ name: "a" }), service({ name: "b", spec: { clusterIP: ADDRESS.C2 } })],
      [slice(["L1", "R1"], { of: "a" }), slice(["L1", "R2"], { of: "b" })],
    );
    await node.change(slice(["L1"], { of: "a" }), slice(["L1"], { of: "b" }));
    return node;
  }

  inVersions(
    "KP-H26 two Services lose their endpoints in one sync: both are deleted",
    [35, 37],
    async (minor) => {
      expect((await losersOfTwo(minor)).madeEndpoints()).toEqual([]);
    },
  );

  inVersions(
    "KP-H26 two Services lose their endpoints in one sync: that of the first stays",
    [31, 34],
    async (minor) => {
      expect((await losersOfTwo(minor)).madeEndpoints()).toEqual(["R1 ×0"]);
    },
  );

  inVersions(
    "KP-H26 two Services lose their endpoints in one sync: none is remembered, both go",
    [20, 30],
    async (minor) => {
      expect((await losersOfTwo(minor)).madeEndpoints()).toEqual([]);
    },
  );

  inVersions(
    "KP-H27 R1 is not ready, then gone: its endpoint stays without a count in between",
    SINCE_31,
    async (minor) => {
      const node = await started({ minor }, service(), "R1");
      await node.change(slice([{ at: "R1", is: "unready" }]));
      expect(node.calls()).toEqual(["delete LBID-1"]);
      expect(node.madeEndpoints()).toEqual(["R1 ×0"]);
      await node.change(slice([]));
      expect(node.calls()).toEqual(["delete EPID-1"]);
    },
  );

  inVersions("KP-H27 the endpoint goes at once", [20, 30], async (minor) => {
    const node = await started({ minor }, service(), "R1");
    await node.change(slice([{ at: "R1", is: "unready" }]));
    expect(node.calls()).toEqual(["delete LBID-1", "delete EPID-1"]);
  });

  inVersions(
    "KP-B21 with external policy Local an endpoint goes only when nobody counts on it",
    SINCE_31,
    async (minor) => {
      const svc = nodePort(ETP_LOCAL);
      const node = await started({ minor }, svc, "L1", "R1");
      await node.change(slice(["L1"]));
      expect(node.calls()).toEqual(["delete LBID-1", "create LBID-3", "delete EPID-1"]);
    },
  );

  inVersions(
    "KP-B21 the node port, which stays as it was, goes for its wrong front end",
    [27, 30],
    async (minor) => {
      const node = await started({ minor }, nodePort(ETP_LOCAL), "L1", "R1");
      await node.change(slice(["L1"]));
      expect(node.calls()).toEqual(["delete LBID-1", "create LBID-3", "delete LBID-2", "delete EPID-1"]);
    },
  );
});

describe("deletions that fail (§7, row 5)", () => {
  it("in 1.25 a load balancer with old back ends is used on: only their number counts", async () => {
    const node = await started({ minor: 25 }, service(), "R1");
    refuse(node, "delete LoadBalancer");
    await node.change(slice(["L1"]));
    expect(node.calls()).toEqual(["delete LBID-1", "delete EPID-1"]);
    expect(node.hns.list("LoadBalancer")).toHaveLength(1);
    expect(node.applied()).toEqual(["svc:p80"]);
  });

  it("in 1.26 it is told apart; the new one is refused until the old one is gone", async () => {
    const node = await started({ minor: 26 }, service(), "R1");
    refuse(node, "delete LoadBalancer");
    await node.change(slice(["L1"]));
    // The clean-up runs for the old and for the new list, each with its second try.
    const tries = ["delete LBID-1", "delete LBID-1"];
    expect(node.calls()).toEqual([...tries, "delete EPID-1", ...tries, "refused LoadBalancer"]);
    expect(node.notApplied()).toEqual(["svc:p80"]);
  });
});

describe("several changes between two syncs", () => {
  it("that come to nothing are no change", async () => {
    const node = await started({}, service(), "R1");
    node.objects.serviceChanged(undefined, service({ spec: { clusterIP: ADDRESS.C2 } }));
    node.objects.endpointSliceChanged(undefined, slice(["L1"]));
    const back: EndpointSlice = slice(["R1"]);
    await node.change(service(), back);
    expect(node.calls()).toEqual([]);
  });
});
