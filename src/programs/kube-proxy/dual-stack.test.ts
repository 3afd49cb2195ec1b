import { describe, expect, it } from "vitest";
import type { EndpointSlice, Service } from "#contracts/kubernetes/objects.ts";
import { Prng } from "#core/base/prng.ts";
import { TurningHcnClient } from "#test/support/hns/turning-hcn-client.ts";
import {
  ADDRESS,
  type EndpointLike,
  KubeProxyNode,
  NODE_NAME,
  NODE_PORT,
  type NodeSettings,
  type ServiceSketch,
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

const L1_V6 = "fd00::1:1";
const R1_V6 = "fd00::1:2";

type Spec = NonNullable<ServiceSketch["spec"]>;

function dual(spec: Spec = {}, ingress?: ServiceSketch["ingress"]): Service {
  const both = {
    clusterIPs: [ADDRESS.C, "fd01::41"],
    ipFamilies: ["IPv4", "IPv6"],
    ipFamilyPolicy: "PreferDualStack",
  };
  return service({ spec: { ...both, ...spec }, ...(ingress === undefined ? {} : { ingress }) });
}

function slices(v4: readonly EndpointLike[], v6: readonly EndpointLike[]): readonly EndpointSlice[] {
  return [slice(v4), slice(v6, { addressType: "IPv6" })];
}

const LOCAL_V6: EndpointLike = { at: { address: L1_V6, node: NODE_NAME } };
const REMOTE_V6: EndpointLike = { at: { address: R1_V6, node: "other-node" } };
const POD = slices(["L1"], [LOCAL_V6]);

/** A node whose local pod has an address of each family. */
function dualNode(settings: NodeSettings = {}): KubeProxyNode {
  const node = new KubeProxyNode(settings);
  node.putLocal("EP-L1", ADDRESS.L1, "EP-L1", [L1_V6]);
  return node;
}

async function loadBalancersOf(settings: NodeSettings, svc: Service): Promise<readonly string[]> {
  const node = dualNode(settings);
  await node.begin([svc], POD);
  return node.loadBalancers();
}

/** Versions that know both addresses of a pod (kube-proxy.md §4). */
const BOTH_KNOWN: MinorRange = [27, 37];
const DSR: NodeSettings = { options: { enableDSR: true, featureGates: { WinDSR: true } } };

const C4 = "C:80→8080 [EP-L1] L0 P0 D0";
const NP4 = "∅:3001→8080 [EP-L1] L0 P18 D0";

/** Rows in which one family is programmed. */
const SINGLE: readonly Row[] = [
  {
    id: "G6",
    given: "overlay",
    node: { isOverlay: true },
    services: [dual()],
    slices: POD,
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D0 S=SV"],
  },
  {
    id: "G7",
    given: "HNS before 11.10",
    node: { hns: { Major: 11, Minor: 9 } },
    services: [dual()],
    slices: POD,
    loadBalancers: [C4],
  },
];

describe("dual stack (§8.8)", () => {
  inVersions("KP-G1 a ClusterIP of each family", BOTH_KNOWN, async (minor) => {
    expect(await loadBalancersOf({ minor }, dual())).toEqual([C4, "fd01::41:80→8080 [EP-L1] L2 P0 D0"]);
  });

  inVersions("KP-G1 KP-G2 KP-G3 the second address of a pod is not known", [20, 26], async (minor) => {
    expect(await loadBalancersOf({ minor, ...DSR }, dual({ ports: NODE_PORT }))).toEqual([
      "C:80→8080 [EP-L1] L1 P0 D0",
      "∅:3001→8080 [EP-L1] L0 P2 D0",
    ]);
  });

  inVersions("KP-G2 node ports", [36, 37], async (minor) => {
    expect(await loadBalancersOf({ minor }, dual({ ports: NODE_PORT }))).toEqual([
      C4,
      NP4,
      "fd01::41:80→8080 [EP-L1] L2 P0 D0",
      "∅:3001→8080 [EP-L1] L2 P18 D0",
    ]);
  });

  inVersions(
    "KP-G2 the second family takes the first one's node port for its own",
    [27, 35],
    async (minor) => {
      expect(await loadBalancersOf({ minor }, dual({ ports: NODE_PORT }))).toEqual([
        C4,
        NP4,
        "fd01::41:80→8080 [EP-L1] L2 P0 D0",
      ]);
    },
  );

  /** The node ports that both families' syncs leave when they run at once. */
  async function raced(minor: number, seed: number): Promise<string> {
    const client = new TurningHcnClient(new Prng(seed));
    const made = await loadBalancersOf(
      { minor, client, options: { syncsFamiliesAtOnce: true } },
      dual({ ports: NODE_PORT }),
    );
    expect(made).toContain(C4);
    expect(made).toContain("fd01::41:80→8080 [EP-L1] L2 P0 D0");
    return made
      .filter((each) => each.startsWith("∅"))
      .toSorted()
      .join(", ");
  }

  const NP6 = "∅:3001→8080 [EP-L1] L2 P18 D0";
  const SEEDS = Array.from({ length: 24 }, (_, seed) => seed);

  it("KP-G2 at once, up to 1.35: either family has the node port alone, or both have", async () => {
    const outcomes = new Set<string>();
    for (const seed of SEEDS) outcomes.add(await raced(35, seed));
    expect([...outcomes].toSorted()).toEqual([NP4, `${NP4}, ${NP6}`, NP6]);
  });

  it("KP-G2 at once, from 1.36: both have it, whoever comes first", async () => {
    for (const seed of SEEDS) expect(await raced(36, seed)).toBe(`${NP4}, ${NP6}`);
  });

  it("KP-G2 hardened makes both in 1.35, too", async () => {
    const made = await loadBalancersOf({ minor: 35, compat: "hardened" }, dual({ ports: NODE_PORT }));
    expect(made).toContain("∅:3001→8080 [EP-L1] L2 P18 D0");
  });

  inVersions("KP-G3 with enableDSR", BOTH_KNOWN, async (minor) => {
    expect(await loadBalancersOf({ minor, ...DSR }, dual())).toEqual([
      "C:80→8080 [EP-L1] L1 P0 D0",
      "fd01::41:80→8080 [EP-L1] L3 P0 D0",
    ]);
  });

  const FRONT: Spec = { type: "LoadBalancer", ports: NODE_PORT, clusterIPs: [ADDRESS.C, "fd00::21"] };
  const BOTH_INGRESS = [{ ip: ADDRESS.G }, { ip: "fd00::1" }];

  inVersions(
    "KP-G4 LoadBalancer with external policy Local, enableDSR and forwarding",
    [36, 37],
    async (minor) => {
      const node = dualNode({ minor, options: { enableDSR: true, forwardHealthCheckVip: true } });
      await node.begin([dual({ ...FRONT, externalTrafficPolicy: "Local" }, BOTH_INGRESS)], POD);
      expect(node.numberedLoadBalancers()).toEqual([
        "LBID-1 C:80→8080 [EP-L1] L1 P0 D0",
        "LBID-2 ∅:3001→8080 [EP-L1] L1 P18 D0",
        "LBID-3 G:80→8080 [EP-L1] L1 P16 D0",
        "LBID-4 G:10256→10256 [GW] L0 P0 D0",
        "LBID-5 fd00::21:80→8080 [EP-L1] L3 P0 D0",
        "LBID-6 ∅:3001→8080 [EP-L1] L3 P18 D0",
        "LBID-7 fd00::1:80→8080 [EP-L1] L3 P16 D0",
        "LBID-8 fd00::1:10256→10256 [GW] L0 P0 D0",
      ]);
    },
  );

  // The forwarded health check has no family, and what is deleted before it is looked for in that of the proxier: with
  // back ends that change it is deleted, and found among what was read before (`syncProxyRules`, `deleteExistingLoadBalancer`).
  inVersions(
    "KP-G4 each change of back ends takes the second family's forwarded health check, or brings it back",
    [36, 37],
    async (minor) => {
      const node = dualNode({ minor, options: { forwardHealthCheckVip: true } });
      const checks = (): readonly string[] => node.loadBalancers().filter((text) => text.includes("[GW]"));
      const FIRST = "G:10256→10256 [GW] L0 P0 D0";
      await node.begin([dual(FRONT, BOTH_INGRESS)], POD);
      expect(checks()).toEqual([FIRST, "fd00::1:10256→10256 [GW] L0 P0 D0"]);
      await node.change(...slices(["L1", "R1"], [LOCAL_V6, REMOTE_V6]));
      expect(checks()).toEqual([FIRST]);
      await node.change(...POD);
      expect(checks()).toEqual([FIRST, "fd00::1:10256→10256 [GW] L0 P0 D0"]);
    },
  );

  it("KP-G4 hardened keeps the forwarded health check of the second family", async () => {
    const node = dualNode({ minor: 37, compat: "hardened", options: { forwardHealthCheckVip: true } });
    await node.begin([dual(FRONT, BOTH_INGRESS)], POD);
    const checks = (): readonly string[] =>
      node.numberedLoadBalancers().filter((text) => text.includes("[GW]"));
    const before = checks();
    await node.change(...slices(["L1", "R1"], [LOCAL_V6, REMOTE_V6]));
    expect(node.loadBalancers()).toContain("fd00::1:10256→10256 [GW] L0 P0 D0");
    // The same ones: none was deleted and made again.
    expect(checks()).toEqual(before);
  });

  // Up to 1.35 front ends of the other family are not left out (§3.1), and those of one shape are taken for the same (§3.6).
  inVersions(
    "KP-G4 each family makes the ingress of both, and they are taken for one",
    [27, 35],
    async (minor) => {
      const settings = { enableDSR: true, forwardHealthCheckVip: true, featureGates: { WinDSR: true } };
      const node = dualNode({ minor, options: settings });
      await node.begin([dual({ ...FRONT, externalTrafficPolicy: "Local" }, BOTH_INGRESS)], POD);
      expect(node.loadBalancers()).toEqual([
        "C:80→8080 [EP-L1] L1 P0 D0",
        "∅:3001→8080 [EP-L1] L1 P18 D0",
        "G:80→8080 [EP-L1] L1 P16 D0",
        "G:10256→10256 [GW] L0 P0 D0",
        "fd00::1:80→8080 [EP-L1] L1 P16 D0",
        "fd00::1:10256→10256 [GW] L0 P0 D0",
        "fd00::21:80→8080 [EP-L1] L3 P0 D0",
      ]);
    },
  );

  inVersions("KP-G5 each family asks for the ingress of both", [27, 35], async (minor) => {
    const node = dualNode({ minor });
    await node.begin([dual(FRONT, BOTH_INGRESS)], slices(["L1", "R1"], [LOCAL_V6, REMOTE_V6]));
    expect(node.loadBalancers()).toEqual(
      expect.arrayContaining([
        "C:80→8080 [R1,EP-L1] L0 P0 D0",
        "∅:3001→8080 [R1,EP-L1] L0 P18 D0",
        "G:80→8080 [R1,EP-L1] L0 P16 D0",
        "fd00::1:80→8080 [R1,EP-L1] L0 P16 D0",
        `fd00::21:80→8080 [EP-L1,${R1_V6}] L2 P0 D0`,
      ]),
    );
  });

  inVersions("KP-G5 LoadBalancer with policy Cluster and a remote pod", [36, 37], async (minor) => {
    const node = dualNode({ minor });
    await node.begin([dual(FRONT, BOTH_INGRESS)], slices(["L1", "R1"], [LOCAL_V6, REMOTE_V6]));
    expect(node.loadBalancers()).toEqual([
      "C:80→8080 [R1,EP-L1] L0 P0 D0",
      "∅:3001→8080 [R1,EP-L1] L0 P18 D0",
      "G:80→8080 [R1,EP-L1] L0 P16 D0",
      `fd00::21:80→8080 [EP-L1,${R1_V6}] L2 P0 D0`,
      `∅:3001→8080 [EP-L1,${R1_V6}] L2 P18 D0`,
      `fd00::1:80→8080 [EP-L1,${R1_V6}] L2 P16 D0`,
    ]);
    expect(node.madeEndpoints()).toEqual(["R1 ×1", `${R1_V6} ×1`]);
  });

  describeRows(SINGLE);

  inVersions("KP-G8 the MAC address of a remote pod", [21, 37], async (minor) => {
    const node = dualNode({ minor });
    await node.begin([dual()], slices([], [REMOTE_V6]));
    expect(node.hns.bodiesOf("create Endpoint")).toMatchObject([{ MacAddress: "02-11-02-00-01-00" }]);
  });

  inVersions(
    "KP-G9 an address of the other family is passed by, and an event says so",
    ALL_MINORS,
    async (minor) => {
      const node = dualNode({ minor });
      const wrong: EndpointLike = { at: { address: R1_V6, node: "other-node" } };
      const report = await node.begin([service()], [slice(["L1", wrong])]);
      expect(node.loadBalancers()).toEqual([C4]);
      expect(report.families[0]?.events).toMatchObject([
        { type: "Warning", reason: "KubeProxyIncorrectIPVersion", namespace: "default", name: "svc" },
      ]);
      // Several are told in the order of their names.
      const names = ["b", "c", "a"];
      const change = await node.change(...names.map((of) => slice([wrong], { of })));
      expect(change.families[0]?.events.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    },
  );
});
