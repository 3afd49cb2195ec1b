import { describe, expect } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import type { Service } from "#contracts/kubernetes/objects.ts";
import {
  ADDRESS,
  type EndpointLike,
  HNS_WITHOUT_DSR,
  KubeProxyNode,
  NODE_PORT,
  type NodeSettings,
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
const NP_L1 = "∅:3001→8080 [EP-L1] L0 P18 D0";
const NP_L1_DSR = "∅:3001→8080 [EP-L1] L1 P18 D0";
const G_BOTH = "G:80→8080 [R1,EP-L1] L0 P16 D0";
const G_L1 = "G:80→8080 [EP-L1] L0 P16 D0";
const G_L1_DSR = "G:80→8080 [EP-L1] L1 P16 D0";
const CHECKED = "G:10256→10256 [GW] L0 P0 D0";
const WITHOUT_LOCAL = "external-traffic-policy-local-without-local-endpoint";
const TERMINATING = "service-endpoints-terminating";

type Spec = NonNullable<ServiceSketch["spec"]>;

/** Service of type LoadBalancer with node port and ingress G. */
function balanced(spec: Spec = {}, more: ServiceSketch = {}): readonly Service[] {
  const ingress = [{ ip: ADDRESS.G }];
  return [service({ ingress, ...more, spec: { type: "LoadBalancer", ports: NODE_PORT, ...spec } })];
}

function endpoints(...list: readonly EndpointLike[]): readonly ReturnType<typeof slice>[] {
  return [slice(list)];
}

const FORWARD: NodeSettings = { options: { forwardHealthCheckVip: true } };
const LOCAL = { externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 } as const;
const PRESERVE = { "preserve-destination": "true" };
const BOTH = endpoints("L1", "R1");
const L1 = endpoints("L1");
const WITH_E = { externalIPs: [ADDRESS.E] } as const;
const UDP = [{ name: "p80", port: 80, protocol: "UDP", targetPort: 8080, nodePort: 3001 }];

/** Versions that know terminating endpoints (kube-proxy.md §3.9). */
const SINCE_TERMINATING = [27, 37] as const;

type Slices = ReturnType<typeof endpoints>;

/** Rows that older versions see as one: they take ready endpoints and no others. */
const READY_ALONE: readonly (readonly [id: string, slices: Slices])[] = [
  ["F14", endpoints({ at: "L1", is: "serving" }, { at: "R1", is: "serving" })],
  ["F16", endpoints({ at: "L1", is: "unready" }, { at: "R1", is: "unready" })],
  ["F17", endpoints({ at: "L1", is: "unready" }, { at: "R1", is: "serving" })],
  ["F18", endpoints({ at: "L1", is: "terminating" })],
  ["F29", endpoints({ at: "L1", is: "serving" })],
];

/** The same with policy Local and a ready pod elsewhere. */
const LOCAL_ELSEWHERE: readonly (readonly [id: string, slices: Slices])[] = [
  ["F19", endpoints("R1", { at: "R2", is: "unready" })],
  ["F20", endpoints({ at: "L1", is: "serving" }, "R1")],
  ["F28", endpoints("R1")],
];

/** kube-proxy.md §8.7. */
const ROWS: readonly Row[] = [
  {
    id: "F1",
    given: "L1, R1",
    services: balanced(),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH, G_BOTH],
    endpoints: ["R1 ×1"],
  },
  {
    id: "F2",
    given: "no node port",
    services: balanced({ ports: [{ ...NODE_PORT[0]!, nodePort: 0 }], allocateLoadBalancerNodePorts: false }),
    slices: BOTH,
    loadBalancers: [C_BOTH, G_BOTH],
  },
  {
    id: "F3",
    given: "external policy Local",
    services: balanced(LOCAL),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1_DSR, G_L1_DSR],
  },
  {
    id: "F4",
    given: "preserve-destination",
    services: balanced({}, { annotations: PRESERVE }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1, "G:80→8080 [EP-L1] L1 P28 D0"],
  },
  {
    id: "F5",
    given: "preserve-destination with another spelling of true",
    services: balanced({}, { annotations: { "preserve-destination": "True" } }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH, G_BOTH],
  },
  {
    id: "F6",
    given: "external policy Local, forward",
    node: FORWARD,
    services: balanced(LOCAL),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1_DSR, G_L1_DSR, "G:32000→32000 [GW] L0 P0 D0"],
  },
  {
    id: "F7",
    given: "forward",
    node: FORWARD,
    services: balanced(),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH, G_BOTH, CHECKED],
  },
  {
    id: "F8",
    given: "forward without a root endpoint",
    node: { ...FORWARD, hasRootEndpoint: false },
    services: balanced(),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH, G_BOTH],
  },
  {
    id: "F9",
    given: "preserve-destination, forward",
    node: FORWARD,
    services: balanced({}, { annotations: PRESERVE }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1, "G:80→8080 [EP-L1] L1 P28 D0", "G:10256→10256 [GW] L0 P12 D0"],
  },
  {
    id: "F10",
    given: "preserve-destination, external policy Local, forward",
    node: FORWARD,
    services: balanced(LOCAL, { annotations: PRESERVE }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_L1_DSR, "G:80→8080 [EP-L1] L1 P28 D0", "G:32000→32000 [GW] L0 P12 D0"],
  },
  {
    id: "F11",
    given: "ingress by host name",
    minors: [21, 37],
    services: balanced({}, { ingress: [{ hostname: "lb.example.com" }] }),
    slices: endpoints({ at: "L1", is: "serving" }, "R1"),
    loadBalancers: [C_R1, "∅:3001→8080 [R1] L0 P18 D0"],
  },
  {
    id: "F11",
    given: "ingress by host name: the empty address is taken (§4)",
    minors: [20, 20],
    services: balanced({}, { ingress: [{ hostname: "lb.example.com" }] }),
    slices: endpoints({ at: "L1", is: "serving" }, "R1"),
    loadBalancers: [C_R1, "∅:3001→8080 [R1] L0 P18 D0", "∅:80→8080 [R1] L0 P16 D0"],
  },
  {
    id: "F12",
    given: "ingress with ipMode Proxy",
    minors: [36, 37],
    services: balanced({}, { ingress: [{ ip: ADDRESS.G, ipMode: "Proxy" }] }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH],
  },
  {
    id: "F12",
    given: "ingress with ipMode Proxy: it is not read",
    minors: [20, 35],
    services: balanced({}, { ingress: [{ ip: ADDRESS.G, ipMode: "Proxy" }] }),
    slices: BOTH,
    loadBalancers: [C_BOTH, NP_BOTH, G_BOTH],
  },
  {
    id: "F13",
    given: "two ingress addresses, forward",
    node: FORWARD,
    services: balanced({}, { ingress: [{ ip: ADDRESS.G }, { ip: ADDRESS.G2 }] }),
    slices: L1,
    loadBalancers: [
      C_L1,
      NP_L1,
      G_L1,
      CHECKED,
      "G2:80→8080 [EP-L1] L0 P16 D0",
      "G2:10256→10256 [GW] L0 P0 D0",
    ],
  },
  {
    id: "F14",
    given: "all terminating and serving",
    minors: SINCE_TERMINATING,
    node: FORWARD,
    services: balanced(WITH_E),
    slices: endpoints({ at: "L1", is: "serving" }, { at: "R1", is: "serving" }),
    loadBalancers: [C_BOTH, G_BOTH],
    endpoints: ["R1 ×1"],
    codes: [TERMINATING, TERMINATING],
  },
  {
    id: "F15",
    given: "L1 ready, R1 terminating and serving",
    services: balanced(),
    slices: endpoints("L1", { at: "R1", is: "serving" }),
    loadBalancers: [C_L1, NP_L1, G_L1],
    endpoints: [],
  },
  {
    id: "F16",
    given: "none ready, none terminating",
    minors: SINCE_TERMINATING,
    node: FORWARD,
    services: balanced(WITH_E),
    slices: endpoints({ at: "L1", is: "unready" }, { at: "R1", is: "unready" }),
    loadBalancers: [C_BOTH, G_BOTH],
    codes: [TERMINATING, TERMINATING],
  },
  {
    id: "F17",
    given: "L1 not ready, R1 terminating and serving",
    minors: SINCE_TERMINATING,
    services: balanced(),
    slices: endpoints({ at: "L1", is: "unready" }, { at: "R1", is: "serving" }),
    loadBalancers: [C_R1, "G:80→8080 [R1] L0 P16 D0"],
    codes: [TERMINATING],
  },
  {
    id: "F18",
    given: "L1 terminating, not serving",
    minors: SINCE_TERMINATING,
    services: balanced(),
    slices: endpoints({ at: "L1", is: "terminating" }),
    loadBalancers: [C_L1, G_L1],
    codes: [TERMINATING],
  },
  {
    id: "F19",
    given: "external policy Local, no local pod, R2 not ready",
    minors: SINCE_TERMINATING,
    node: FORWARD,
    services: balanced(LOCAL),
    slices: endpoints("R1", { at: "R2", is: "unready" }),
    loadBalancers: ["C:80→8080 [R1,R2] L0 P0 D0"],
    endpoints: ["R1 ×1", "R2 ×1"],
    codes: [WITHOUT_LOCAL, WITHOUT_LOCAL],
  },
  {
    id: "F20",
    given: "external policy Local, L1 terminating and serving",
    minors: SINCE_TERMINATING,
    node: FORWARD,
    services: balanced(LOCAL),
    slices: endpoints({ at: "L1", is: "serving" }, "R1"),
    loadBalancers: [C_BOTH, G_L1_DSR],
    codes: [TERMINATING],
  },
  {
    id: "F21",
    given: "external policy Local, L1 ready, R1 not",
    node: FORWARD,
    services: balanced(LOCAL),
    slices: endpoints("L1", { at: "R1", is: "unready" }),
    loadBalancers: [C_L1, NP_L1_DSR, G_L1_DSR, "G:32000→32000 [GW] L0 P0 D0"],
  },
  {
    id: "F22",
    given: "affinity, everything",
    node: { ...FORWARD, hns: { Major: 12, Minor: 0 } },
    services: balanced({ ...WITH_E, sessionAffinity: "ClientIP" }),
    slices: L1,
    loadBalancers: [
      "C:80→8080 [EP-L1] L0 P0 D2",
      "∅:3001→8080 [EP-L1] L0 P18 D2",
      "E:80→8080 [EP-L1] L0 P16 D2",
      "G:80→8080 [EP-L1] L0 P16 D2",
      CHECKED,
    ],
  },
  {
    id: "F23",
    given: "enableDSR",
    minors: [22, 37],
    node: { options: { enableDSR: true } },
    services: balanced(WITH_E),
    slices: L1,
    loadBalancers: ["C:80→8080 [EP-L1] L1 P0 D0", NP_L1, "E:80→8080 [EP-L1] L0 P16 D0", G_L1],
  },
  {
    id: "F23",
    given: "enableDSR: on ingress, too",
    minors: [20, 21],
    node: { options: { enableDSR: true } },
    services: balanced(WITH_E),
    slices: L1,
    loadBalancers: [
      "C:80→8080 [EP-L1] L1 P0 D0",
      "∅:3001→8080 [EP-L1] L0 P2 D0",
      "E:80→8080 [EP-L1] L0 P0 D0",
      "G:80→8080 [EP-L1] L1 P0 D0",
    ],
  },
  {
    id: "F24",
    given: "overlay, enableDSR, external policy Local",
    node: { isOverlay: true, options: { enableDSR: true } },
    services: balanced({ ...LOCAL, ...WITH_E }),
    slices: BOTH,
    loadBalancers: [
      "C:80→8080 [R1,EP-L1] L1 P0 D0 S=SV",
      "∅:3001→8080 [EP-L1] L1 P18 D0 S=SV",
      "E:80→8080 [EP-L1] L1 P16 D0 S=SV",
      "G:80→8080 [EP-L1] L1 P16 D0 S=SV",
    ],
    endpoints: ["SV local", "C(10.0.0.1) ×1", "R1(10.0.0.3) ×1"],
  },
  {
    id: "F25",
    given: "UDP, forward",
    node: FORWARD,
    services: balanced({ ports: UDP }),
    slices: [slice(["L1"], { ports: [{ name: "p80", port: 8080, protocol: "UDP" }] })],
    loadBalancers: [C_L1, NP_L1, G_L1, CHECKED].map((text) => `udp ${text}`),
  },
  {
    id: "F28",
    given: "external policy Local, R1, forward",
    minors: SINCE_TERMINATING,
    node: FORWARD,
    services: balanced(LOCAL),
    slices: endpoints("R1"),
    loadBalancers: [C_R1],
    endpoints: ["R1 ×1"],
    codes: [WITHOUT_LOCAL, WITHOUT_LOCAL],
  },
  {
    id: "F29",
    given: "L1 terminating and serving (F-23)",
    minors: SINCE_TERMINATING,
    services: balanced(),
    slices: endpoints({ at: "L1", is: "serving" }),
    loadBalancers: [C_L1, G_L1],
    codes: [TERMINATING],
  },
  ...READY_ALONE.map(
    ([id, slices]): Row => ({
      id,
      given: "nothing is ready, and nothing else counts",
      minors: [20, 26],
      node: FORWARD,
      services: balanced(WITH_E),
      slices,
      loadBalancers: [],
      endpoints: [],
      notApplied: ["svc:p80"],
      codes: ["service-without-usable-endpoints"],
    }),
  ),
  // §4: endpointsAvailable gates health checks from 1.27 on, and empty lists are asked for up to 1.22.
  ...LOCAL_ELSEWHERE.flatMap(([id, slices]): readonly Row[] => [
    {
      id,
      given: "the ready pod is on another node",
      minors: [23, 26],
      node: FORWARD,
      services: balanced(LOCAL),
      slices,
      loadBalancers: [C_R1, "G:32000→32000 [GW] L0 P0 D0"],
      endpoints: ["R1 ×1"],
      codes: [WITHOUT_LOCAL, WITHOUT_LOCAL],
    },
    {
      id,
      given: "the ready pod is on another node: an empty list is asked for and refused",
      minors: [20, 22],
      node: FORWARD,
      services: balanced(LOCAL),
      slices,
      loadBalancers: [C_R1],
      endpoints: ["R1 ×1"],
      notApplied: ["svc:p80"],
      codes: ["service-load-balancer-refused"],
    },
  ]),
  {
    id: "F30",
    given: "internal policy Local, R1: it is not read",
    minors: [20, 26],
    services: balanced({ internalTrafficPolicy: "Local" }),
    slices: endpoints("R1"),
    loadBalancers: [C_R1, "∅:3001→8080 [R1] L0 P18 D0", "G:80→8080 [R1] L0 P16 D0"],
  },
  {
    id: "F30",
    given: "internal policy Local, R1",
    minors: [27, 37],
    services: balanced({ internalTrafficPolicy: "Local" }),
    slices: endpoints("R1"),
    loadBalancers: ["∅:3001→8080 [R1] L0 P18 D0", "G:80→8080 [R1] L0 P16 D0"],
    codes: ["internal-policy-local-without-endpoint"],
  },
];

describe("Services of type LoadBalancer on L2Bridge (§8.7)", () => {
  describeRows(ROWS);

  inVersions("KP-F6 identifiers follow the order of creation", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ ...FORWARD, minor });
    await node.begin(balanced(LOCAL), L1);
    const made = [
      `LBID-1 ${C_L1}`,
      `LBID-2 ${NP_L1_DSR}`,
      `LBID-3 ${G_L1_DSR}`,
      "LBID-4 G:32000→32000 [GW] L0 P0 D0",
    ];
    expect(node.numberedLoadBalancers()).toEqual(asMadeIn(minor, made));
  });

  inVersions(
    "KP-F26 a refused ingress takes its health check along, and the Service counts as applied",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ ...FORWARD, minor });
      node.hns.refuse = ({ call, body }) =>
        call === "create LoadBalancer" && JSON.stringify(body).includes(ADDRESS.G)
          ? new HcnError("HCN_E_PORT_ALREADY_EXISTS")
          : undefined;
      await node.begin(balanced(), L1);
      expect(node.loadBalancers()).toEqual(asMadeIn(minor, [C_L1, NP_L1]));
      expect(node.applied()).toEqual(["svc:p80"]);
      expect(node.codes()).toEqual(["load-balancer-port-already-exists"]);
    },
  );

  inVersions(
    "KP-F27 an ingress status that is taken away: everything is made anew without it",
    ALL_MINORS,
    async (minor) => {
      const node = new KubeProxyNode({ minor });
      await node.begin(balanced(), L1);
      await node.change(...balanced({}, { ingress: [] }));
      expect(node.calls()).toEqual([
        "delete LBID-1",
        "delete LBID-2",
        "delete LBID-3",
        "create LBID-4",
        "create LBID-5",
      ]);
      expect(node.loadBalancers()).toEqual(asMadeIn(minor, [C_L1, NP_L1]));
    },
  );

  inVersions("KP-F4 without DSR in HNS the annotation counts for nothing", ALL_MINORS, async (minor) => {
    const node = new KubeProxyNode({ hns: HNS_WITHOUT_DSR, minor });
    await node.begin(balanced({}, { annotations: PRESERVE }), BOTH);
    expect(node.loadBalancers()).toEqual(asMadeIn(minor, [C_BOTH, NP_BOTH, G_BOTH]));
  });
});
