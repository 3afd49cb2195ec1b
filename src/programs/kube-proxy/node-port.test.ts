import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import {
  ADDRESS,
  HNS_WITHOUT_DSR,
  KubeProxyNode,
  NODE_PORT,
  type ServiceSketch,
  service,
  slice,
} from "#test/support/kube-proxy/kube-proxy-node.ts";
import {
  ALL_MINORS,
  type Row,
  asMadeIn,
  describeRows,
  inVersions,
} from "#test/support/kube-proxy/decision-table.suite.ts";

const C_BOTH = "C:80→8080 [R1,EP-L1] L0 P0 D0";
const C_L1 = "C:80→8080 [EP-L1] L0 P0 D0";
const C_R1 = "C:80→8080 [R1] L0 P0 D0";
const NP_BOTH = "∅:3001→8080 [R1,EP-L1] L0 P18 D0";
const NP_L1_DSR = "∅:3001→8080 [EP-L1] L1 P18 D0";
const NONE: readonly string[] = [];
const PRESERVE = { "preserve-destination": "true" };
const WITHOUT_LOCAL = "external-traffic-policy-local-without-local-endpoint";
const UNUSABLE = "service-without-usable-endpoints";
const REFUSED = "service-load-balancer-refused";
/** Versions that do not read the internal policy (kube-proxy.md §1.2). */
const NO_INTERNAL_POLICY = [20, 26] as const;

type Spec = NonNullable<ServiceSketch["spec"]>;

function nodePort(spec: Spec = {}, more: ServiceSketch = {}): readonly ReturnType<typeof service>[] {
  return [service({ ...more, spec: { type: "NodePort", ports: NODE_PORT, ...spec } })];
}

function external(spec: Spec = {}, more: ServiceSketch = {}): readonly ReturnType<typeof service>[] {
  return [service({ ...more, spec: { externalIPs: [ADDRESS.E], ...spec } })];
}

const BOTH = [slice(["L1", "R1"])];
const L1 = [slice(["L1"])];
const R1 = [slice(["R1"])];
const LOCAL = { externalTrafficPolicy: "Local" } as const;
const INTERNAL = { internalTrafficPolicy: "Local" } as const;

/** kube-proxy.md §8.5. */
const NODE_PORTS: readonly Row[] = [
  {
    id: "D1",
    given: "L1, R1",
    services: nodePort(),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D2",
    given: "external policy Local; L1, R1",
    services: nodePort(LOCAL),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1_DSR],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D3",
    given: "external policy Local; R1 (F-24)",
    minors: [23, 37],
    services: nodePort(LOCAL),
    slices: R1,
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
    codes: [WITHOUT_LOCAL],
  },
  {
    id: "D4",
    given: "external policy Local; HNS without DSR",
    node: { hns: HNS_WITHOUT_DSR },
    services: nodePort(LOCAL),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH],
    endpoints: ["R1 ×1"],
    codes: ["external-traffic-policy-local-without-dsr"],
  },
  {
    id: "D5",
    given: "preserve-destination",
    services: nodePort({}, { annotations: PRESERVE }),
    slices: BOTH,
    loadBalancers: [C_BOTH, "∅:3001→8080 [EP-L1] L0 P18 D0"],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D6",
    given: "internal policy Local",
    minors: [27, 37],
    services: nodePort(INTERNAL),
    slices: BOTH,
    loadBalancers: [C_L1, NP_BOTH],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D6",
    given: "internal policy Local: it is not read",
    minors: NO_INTERNAL_POLICY,
    services: nodePort(INTERNAL),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D7",
    given: "both policies Local",
    minors: [27, 37],
    services: nodePort({ ...LOCAL, ...INTERNAL }),
    slices: BOTH,
    loadBalancers: [C_L1, NP_L1_DSR],
    endpoints: NONE,
  },
  {
    id: "D7",
    given: "both policies Local: the internal one is not read",
    minors: NO_INTERNAL_POLICY,
    services: nodePort({ ...LOCAL, ...INTERNAL }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1_DSR],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D8",
    given: "internal policy Local; R1",
    minors: [27, 37],
    services: nodePort(INTERNAL),
    slices: R1,
    loadBalancers: ["∅:3001→8080 [R1] L0 P18 D0"],
    endpoints: ["R1 ×1"],
    codes: ["internal-policy-local-without-endpoint"],
  },
  {
    id: "D8",
    given: "internal policy Local; R1: it is not read",
    minors: NO_INTERNAL_POLICY,
    services: nodePort(INTERNAL),
    slices: R1,
    loadBalancers: [C_R1, "∅:3001→8080 [R1] L0 P18 D0"],
    endpoints: ["R1 ×1"],
  },
  {
    id: "D9",
    given: "both policies Local; R1",
    minors: [27, 37],
    services: nodePort({ ...LOCAL, ...INTERNAL }),
    slices: R1,
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
  {
    id: "D9",
    given: "both policies Local; R1: as D3",
    minors: [23, 26],
    services: nodePort({ ...LOCAL, ...INTERNAL }),
    slices: R1,
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
    codes: [WITHOUT_LOCAL],
  },
  {
    id: "D9",
    given: "both policies Local; R1: as D15",
    minors: [20, 22],
    services: nodePort({ ...LOCAL, ...INTERNAL }),
    slices: R1,
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
    notApplied: ["svc:p80"],
    codes: [REFUSED],
  },
  {
    id: "D10",
    given: "affinity",
    node: { hns: { Major: 12, Minor: 0 } },
    services: nodePort({ sessionAffinity: "ClientIP" }),
    slices: L1,
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D2", "∅:3001→8080 [EP-L1] L0 P18 D2"],
  },
  {
    id: "D11",
    given: "VipExternalIP is not set",
    minors: [20, 26],
    services: nodePort(),
    slices: L1,
    loadBalancers: [C_L1, "∅:3001→8080 [EP-L1] L0 P2 D0"],
  },
  {
    id: "D11",
    given: "VipExternalIP is set",
    minors: [27, 37],
    services: nodePort(),
    slices: L1,
    loadBalancers: [C_L1, "∅:3001→8080 [EP-L1] L0 P18 D0"],
  },
  {
    id: "D13",
    given: "enableDSR",
    node: { options: { enableDSR: true } },
    services: nodePort(),
    slices: L1,
    loadBalancers: ["C:80→8080 [EP-L1] L1 P0 D0", "∅:3001→8080 [EP-L1] L0 P18 D0"],
  },
  {
    id: "D14",
    given: "L1 terminating and serving, no ingress",
    services: nodePort(),
    slices: [slice([{ at: "L1", is: "serving" }])],
    loadBalancers: NONE,
    endpoints: NONE,
    notApplied: ["svc:p80"],
    codes: [UNUSABLE],
  },
  ...["D3", "D15"].map(
    (id): Row => ({
      id,
      given: "external policy Local; R1: the empty list is asked for and refused",
      minors: [20, 22],
      services: nodePort(LOCAL),
      slices: R1,
      loadBalancers: [C_R1],
      notApplied: ["svc:p80"],
      codes: [REFUSED],
    }),
  ),
  {
    id: "D15",
    given: "external policy Local; R1: the empty list is not asked for",
    minors: [23, 37],
    services: nodePort(LOCAL),
    slices: R1,
    loadBalancers: [C_R1],
    codes: [WITHOUT_LOCAL],
  },
];

/** kube-proxy.md §8.6. */
const EXTERNAL_ADDRESSES: readonly Row[] = [
  {
    id: "E1",
    given: "L1, R1",
    services: external(),
    slices: BOTH,
    loadBalancers: [C_BOTH, "E:80→8080 [R1,EP-L1] L0 P16 D0"],
  },
  {
    id: "E2",
    given: "external policy Local",
    services: external(LOCAL),
    slices: BOTH,
    loadBalancers: [C_BOTH, "E:80→8080 [EP-L1] L1 P16 D0"],
  },
  {
    id: "E3",
    given: "preserve-destination",
    services: external({}, { annotations: PRESERVE }),
    slices: BOTH,
    loadBalancers: [C_BOTH, "E:80→8080 [R1,EP-L1] L0 P16 D0"],
  },
  {
    id: "E4",
    given: "two addresses",
    services: external({ externalIPs: [ADDRESS.E, ADDRESS.E2] }),
    slices: L1,
    loadBalancers: [C_L1, "E:80→8080 [EP-L1] L0 P16 D0", "E2:80→8080 [EP-L1] L0 P16 D0"],
  },
  {
    id: "E5",
    given: "an address of each family",
    minors: [36, 37],
    services: external({ externalIPs: [ADDRESS.E, "2001:db8::1"] }),
    slices: L1,
    loadBalancers: [C_L1, "E:80→8080 [EP-L1] L0 P16 D0"],
  },
  {
    id: "E5",
    given: "an address of each family: both are taken",
    minors: [20, 35],
    services: external({ externalIPs: [ADDRESS.E, "2001:db8::1"] }),
    slices: L1,
    loadBalancers: [C_L1, "E:80→8080 [EP-L1] L0 P16 D0", "2001:db8::1:80→8080 [EP-L1] L0 P16 D0"],
  },
  {
    id: "E7",
    given: "external policy Local; R1",
    minors: [23, 37],
    services: external(LOCAL),
    slices: R1,
    loadBalancers: [C_R1],
    codes: [WITHOUT_LOCAL],
  },
  {
    id: "E7",
    given: "external policy Local; R1: the empty list is asked for and refused, which ends nothing",
    minors: [20, 22],
    services: external(LOCAL),
    slices: R1,
    loadBalancers: [C_R1],
    codes: [REFUSED],
  },
  {
    id: "E8",
    given: "affinity",
    node: { hns: { Major: 12, Minor: 0 } },
    services: external({ sessionAffinity: "ClientIP" }),
    slices: L1,
    loadBalancers: ["C:80→8080 [EP-L1] L0 P0 D2", "E:80→8080 [EP-L1] L0 P16 D2"],
  },
];

describe("node ports on L2Bridge (§8.5)", () => {
  describeRows(NODE_PORTS);
});

describe("external addresses on L2Bridge (§8.6)", () => {
  describeRows(EXTERNAL_ADDRESSES);

  /** HNS refuses load balancers with E. */
  function refuseE(node: KubeProxyNode): void {
    node.hns.refuse = ({ call, body }) =>
      call === "create LoadBalancer" && JSON.stringify(body).includes(ADDRESS.E)
        ? new HcnError("HCN_E_PORT_ALREADY_EXISTS")
        : undefined;
  }
  const TWO = external({ type: "NodePort", ports: NODE_PORT, externalIPs: [ADDRESS.E, ADDRESS.E2] });

  inVersions(
    "KP-E6 a refused address leaves the others, and is not tried again",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      refuseE(node);
      await node.begin(TWO, L1);
      const others = [C_L1, "∅:3001→8080 [EP-L1] L0 P18 D0", "E2:80→8080 [EP-L1] L0 P16 D0"];
      expect(node.loadBalancers()).toEqual(asMadeIn(minor, others));
      expect(node.applied()).toEqual(["svc:p80"]);
      expect(node.codes()).toEqual(["load-balancer-port-already-exists"]);
      node.hns.refuse = undefined;
      node.forgetCalls();
      await node.proxy.sync();
      expect(node.calls()).toEqual([]);
    },
  );

  it("KP-E6 hardened tries the refused address again until it is there", async () => {
    const node = new KubeProxyNode({ compat: "hardened" });
    refuseE(node);
    await node.begin(TWO, L1);
    expect(node.notApplied()).toEqual(["svc:p80"]);
    node.hns.refuse = undefined;
    node.forgetCalls();
    await node.proxy.sync();
    expect(node.calls()).toEqual(["create LBID-4"]);
    expect(node.loadBalancers()).toContain("E:80→8080 [EP-L1] L0 P16 D0");
    expect(node.applied()).toEqual(["svc:p80"]);
    expect(node.codes()).toEqual([]);
  });

  inVersions(
    "KP-E9 deleting the Service deletes everything, and nothing stays stale",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      await node.begin(external(), BOTH);
      const report = await node.remove(...external());
      expect(node.loadBalancers()).toEqual([]);
      expect(node.madeEndpoints()).toEqual([]);
      expect(new Set(report.families.map(({ staleLoadBalancers }) => staleLoadBalancers))).toEqual(
        new Set([0]),
      );
    },
  );
});
